// How Argo CD and Flux show objects in every state, with the shipped files and the interpreters of both tools (contract
// 4.1, 4.2, 4.3, 24.1, 28.7).
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  ACCESS_KEYS,
  ACCESS_KEY_CLAIMS,
  CONFIGS,
  TEAMS,
  TOKENS,
  USERS,
} from '../../../src/api/names.ts'
import { REASONS } from '../../../src/api/reasons.ts'
import type { KubeObject } from '../../../src/api/objects.ts'
import type { KeyState } from '../../../src/domain/accesskey/key-state.ts'
import { type OwnOperator, startOperator } from '../../support/command-process.ts'
import { privateControlPlane } from '../../support/control-plane.ts'
import { runBlock, shellBlocksOf } from '../../support/documentation-blocks.ts'
import { OPERATOR_ACCOUNT } from '../../support/installed-control-plane.ts'
import type { StoredObject } from '../../support/object-client.ts'
import {
  type ClaimReason,
  type ConfigReason,
  type States,
  type TeamReason,
  type TokenReason,
  type UserReason,
  claimStates,
  configStates,
  keyStates,
  teamStates,
  tokenStates,
  userStates,
} from './object-states.ts'
import { type Health, argoKey, healthTools } from './health-assessments.ts'

/**
 * `plain` is the result of kstatus without our files: a tool must not wait for a state that does not change by
 * itself.
 */
type Shown = readonly [argocd: string, flux: string, plain: string]

// biome-ignore format: a table
const KEYS: Readonly<Record<KeyState, Shown>> = {
  Active:      ['Healthy', 'Current', 'Current'],
  NoIdentity:  ['Degraded', 'Failed', 'Failed'],
  KeyConflict: ['Degraded', 'Failed', 'Failed'],
  Expired:     ['Suspended', 'Current', 'Failed'],
  Disabled:    ['Suspended', 'Current', 'Failed'],
  OwnerNotReady: ['Progressing', 'InProgress', 'InProgress'],
  UserDisabled:  ['Progressing', 'InProgress', 'InProgress'],
  TeamGone:      ['Progressing', 'InProgress', 'InProgress'],
  IdentityGone:  ['Progressing', 'InProgress', 'InProgress'],
  IdentityStale: ['Progressing', 'InProgress', 'InProgress'],
  SignInAgain:   ['Progressing', 'InProgress', 'InProgress'],
  Terminating: ['Progressing', 'InProgress', 'Terminating'],
}
// biome-ignore format: a table
const TOKEN_ROWS: Readonly<Record<TokenReason, Shown>> = {
  Issued:                ['Healthy', 'Current', 'Current'],
  Expired:               ['Suspended', 'Current', 'Failed'],
  Revoked:               ['Degraded', 'Failed', 'Failed'],
  ScopeExceedsOwner:     ['Degraded', 'Failed', 'Failed'],
  ScopeTooLarge:         ['Degraded', 'Failed', 'Failed'],
  OwnerNotReady:         ['Progressing', 'InProgress', 'InProgress'],
  SigningKeyUnavailable: ['Progressing', 'InProgress', 'InProgress'],
  IssuerUnknown:         ['Progressing', 'InProgress', 'InProgress'],
  Terminating:           ['Progressing', 'InProgress', 'Terminating'],
}
// biome-ignore format: a table
const USER_ROWS: Readonly<Record<UserReason, Shown>> = {
  Active:       ['Healthy', 'Current', 'Current'],
  Disabled:     ['Suspended', 'Current', 'Failed'],
  NameMismatch: ['Degraded', 'Failed', 'Failed'],
  Terminating:  ['Progressing', 'InProgress', 'Terminating'],
}
// biome-ignore format: a table
const TEAM_ROWS: Readonly<Record<TeamReason, Shown>> = {
  Active:       ['Healthy', 'Current', 'Current'],
  NameMismatch: ['Degraded', 'Failed', 'Failed'],
  Terminating:  ['Progressing', 'InProgress', 'Terminating'],
}
// biome-ignore format: a table
const CLAIM_ROWS: Readonly<Record<ClaimReason, Shown>> = {
  Delivered:         ['Healthy', 'Current', 'Current'],
  Terminating:       ['Progressing', 'InProgress', 'Terminating'],
  NamespaceRefused:  ['Degraded', 'Failed', 'Failed'],
  TooManyClaims:     ['Progressing', 'InProgress', 'InProgress'],
  GatewayUnknown:    ['Progressing', 'InProgress', 'InProgress'],
  LifetimeTooShort:  ['Degraded', 'Failed', 'Failed'],
  DeliveryForbidden: ['Progressing', 'InProgress', 'InProgress'],
  SecretTaken:       ['Degraded', 'Failed', 'Failed'],
  SecretRefused:     ['Progressing', 'InProgress', 'InProgress'],
  KeyDisabled:       ['Degraded', 'Failed', 'Failed'],
  KeyNotReady:       ['Progressing', 'InProgress', 'InProgress'],
  Suspended:         ['Suspended', 'Current', 'InProgress'],
  Pending:           ['Progressing', 'InProgress', 'InProgress'],
}
// biome-ignore format: a table
const CONFIG_ROWS: Readonly<Record<ConfigReason, Shown>> = {
  Applied:    ['Healthy', 'Current', 'Current'],
  Invalid:    ['Degraded', 'Failed', 'Failed'],
  NotInForce: ['Degraded', 'Failed', 'Failed'],
}

const ROOT = join(import.meta.dirname, '../../..')
const PAGE = readFileSync(join(ROOT, 'docs/gitops.md'), 'utf8')

const plane = await privateControlPlane()
let operator: OwnOperator
let tools: Health
let states: States

const ROLE = `/apis/rbac.authorization.k8s.io/v1/namespaces/${OPERATOR_ACCOUNT.namespace}/roles/management-operator-manager`

interface Role {
  readonly rules: readonly {
    readonly resources: readonly string[]
    readonly verbs: readonly string[]
  }[]
}

/** Removes the operator's right to create signing keys; the returned function restores it. */
async function forbidSigningKeys(): Promise<() => Promise<void>> {
  const { rules } = (await plane.raw<Role>('GET', ROLE)).body
  const write = async (now: Role['rules']): Promise<void> =>
    expect((await plane.raw('PATCH', ROLE, { rules: now })).code).toBe(200)
  const isSecrets = ({ resources }: Role['rules'][number]): boolean => resources.includes('secrets')
  const fewer = rules.map((rule) =>
    isSecrets(rule) ? { ...rule, verbs: rule.verbs.filter((verb) => verb !== 'create') } : rule,
  )
  await write(fewer)
  return () => write(rules)
}

beforeAll(async () => {
  tools = await healthTools(plane)
  const allowSigning = await forbidSigningKeys()
  operator = await startOperator({ kubeconfig: await plane.operatorKubeconfig(), until: 'serving' })
  states = {
    keys: await keyStates(plane),
    tokens: await tokenStates(plane, allowSigning),
    users: await userStates(plane),
    teams: await teamStates(plane),
    claims: await claimStates(plane),
    configs: await configStates(plane),
  }
}, 300_000)
afterAll(() => operator?.stop())

/** The assessments of an object, whose messages must be those of its conditions. */
async function shown(object: KubeObject): Promise<Shown> {
  const [argocd, flux, plain] = await Promise.all([
    tools.argocd(object),
    tools.flux(object),
    tools.plain(object),
  ])
  expect(flux.error).toBeUndefined()
  const { conditions = [] } = (object as StoredObject).status
  const messages = [...conditions.map(({ message }) => message), 'It is being deleted.']
  expect(messages).toContain(argocd.message)
  return [argocd.status, flux.status, plain.status]
}

const KINDS = [
  { kind: ACCESS_KEYS.kind, rows: KEYS, of: () => states.keys, rule: '4.1' },
  { kind: TOKENS.kind, rows: TOKEN_ROWS, of: () => states.tokens, rule: '4.2' },
  { kind: USERS.kind, rows: USER_ROWS, of: () => states.users, rule: '24.1' },
  { kind: TEAMS.kind, rows: TEAM_ROWS, of: () => states.teams, rule: '24.1' },
  { kind: ACCESS_KEY_CLAIMS.kind, rows: CLAIM_ROWS, of: () => states.claims, rule: '28.7' },
  { kind: CONFIGS.kind, rows: CONFIG_ROWS, of: () => states.configs, rule: '4.3' },
]

describe.each(KINDS)('$kind', ({ kind, rows, of, rule }) => {
  test.each(Object.entries(rows))(`%s is shown as %j (${rule})`, async (reason, expected) => {
    const object = stateOf(reason)
    expect(object.kind).toBe(kind)
    expect(await shown(object)).toEqual(expected)
  })

  const stateOf = (reason: string): KubeObject =>
    (of() as Readonly<Record<string, KubeObject>>)[reason] as KubeObject

  /** The healthy object of the first row with another status or other metadata. */
  const altered = (differing: { readonly metadata?: object; readonly status?: object | null }) => {
    const { status: before, ...object } = stateOf(Object.keys(rows)[0] ?? '')
    const metadata = { ...object.metadata, ...differing.metadata }
    const { status = before } = differing
    return { ...object, metadata, ...(status === null ? {} : { status }) } as KubeObject
  }
  const wellWith = (ready: object): object => ({
    observedGeneration: altered({}).metadata.generation,
    conditions: [
      { type: 'Ready', status: 'False', reason: 'New', message: 'A later one.', ...ready },
    ],
  })

  test.each([
    { name: 'no status', changed: () => ({ status: null }), flux: 'Unknown' },
    { name: 'an empty status', changed: () => ({ status: {} }), flux: 'Unknown' },
    {
      name: 'the default status of a new object (4.3)',
      changed: () => ({ status: { observedGeneration: -1 } }),
      flux: 'InProgress',
    },
    {
      name: 'the default status of a new object (4.3)',
      changed: () => ({ status: { observedGeneration: -1 } }),
      flux: 'InProgress',
    },
    {
      name: 'no conditions',
      changed: () => ({ status: { ...wellWith({}), conditions: [] } }),
      flux: 'InProgress',
    },
    {
      name: 'a status of an earlier generation',
      changed: () => ({ metadata: { generation: 1000 } }),
      flux: 'InProgress',
    },
    {
      name: 'an unknown reason',
      changed: () => ({ status: wellWith({}) }),
      flux: 'InProgress',
    },
    {
      name: 'Ready Unknown',
      changed: () => ({ status: wellWith({ status: 'Unknown', reason: 'Pending' }) }),
      flux: 'InProgress',
    },
    {
      name: 'a deletionTimestamp that the operator has not observed',
      changed: () => ({ metadata: { deletionTimestamp: '2026-11-21T10:00:00Z' } }),
      flux: 'InProgress',
    },
  ])('is in progress with $name', async ({ changed, flux: expected }) => {
    const object = altered(changed())
    expect((await tools.argocd(object)).status).toBe('Progressing')
    const { status, error } = await tools.flux(object)
    expect(status).toBe(expected)
    // Flux waits for Unknown like for InProgress.
    expect(error !== undefined).toBe(expected === 'Unknown')
  })
})

test('kstatus without our files waits for an object that no controller has observed (4.3)', async () => {
  const { status: _, ...object } = states.keys.Active as StoredObject
  const fresh = { ...object, status: { observedGeneration: -1 } } as KubeObject
  expect((await tools.plain(fresh)).status).toBe('InProgress')
  // Without the default status it would count as healthy.
  expect((await tools.plain(object)).status).toBe('Current')
})

test('the table has all states of a key (4.1)', () =>
  expect(Object.keys(KEYS).toSorted()).toEqual(REASONS.accessKeyReady.toSorted()))

test('the patch adds the health scripts to the ConfigMap of Argo CD and keeps its other settings', async () => {
  const metadata = { name: 'argocd-cm', namespace: 'argocd' }
  const foreign = {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata,
    data: { url: 'https://cd.example.com' },
  }
  await plane.kubectl(['create', 'namespace', 'argocd'])
  await plane.kubectl(['apply', '-f', '-'], { input: JSON.stringify(foreign) })
  const [patch = ''] = shellBlocksOf(PAGE)
  await runBlock(plane, patch, { cwd: ROOT })
  const path = '/api/v1/namespaces/argocd/configmaps/argocd-cm'
  const { data } = (await plane.raw<typeof foreign>('GET', path)).body
  const keys = [ACCESS_KEYS, TOKENS, USERS, TEAMS, ACCESS_KEY_CLAIMS, CONFIGS].map(({ kind }) =>
    argoKey(kind),
  )
  expect(Object.keys(data).toSorted()).toEqual(['url', ...keys].toSorted())
})

test('docs/gitops.md has the same tables', () => {
  const rows = [...PAGE.matchAll(/^\| (\w+) \| `(\w+)` \| (\w+) \| (\w+) \| (\w+) \|$/gm)]
  const written = rows.map(([, ...row]) => row)
  const seen = KINDS.flatMap(({ kind, rows: table }) =>
    Object.entries(table).map(([reason, answers]) => [kind, reason, ...answers]),
  )
  expect(written).toEqual(seen)
})
