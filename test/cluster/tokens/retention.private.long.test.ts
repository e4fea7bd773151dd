/** @module-tag no-retry */
// Objects of ended tokens with a retention of two seconds (contract 5.2), and the writes and events for each token,
// on a control plane without other clients.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { EXPIRED_ANNOTATION, SECRETS, SIGN_IN_SETTINGS_SECRET } from '../../../src/api/names.ts'
import type { ObjectMeta } from '../../../src/api/objects.ts'
import { auditOf } from '../../support/audit-log.ts'
import { ISSUER, type OwnOperator, startOperator } from '../../support/command-process.ts'
import { isReadyBy, settingsOf } from '../../support/config-client.ts'
import { privateControlPlane } from '../../support/control-plane.ts'
import { eventually } from '../../support/eventually.ts'
import { OPERATOR_USER } from '../../support/installed-control-plane.ts'
import { uniqueName } from '../../support/object-builder.ts'
import { EVENT_WITHIN, keyClientOf } from '../keys/key-client.ts'
import { platformStateOf } from './platform-state.ts'
import {
  type StoredToken,
  issuedInTime,
  tokenClientOf,
  under,
  writesSince,
} from './token-client.ts'

const RETENTION = 2
/** The last object that a manager writes when it starts. */
const SIGN_IN_SETTINGS = { namespace: 'platform-system-sign-in', name: SIGN_IN_SETTINGS_SECRET }

const plane = await privateControlPlane()
const keys = keyClientOf(plane)
const tokens = tokenClientOf(plane)
const platform = platformStateOf(plane)
const audit = auditOf(plane)
const settings = settingsOf(plane)
let operator: OwnOperator

beforeAll(async () => {
  const flags = [`--issuer-url=${ISSUER}`, `--expired-retention=${RETENTION}s`]
  operator = await startOperator({ kubeconfig: await plane.operatorKubeconfig(), flags })
  await settings.settled('defaults are in force', isReadyBy('Applied'))
  await eventually(
    'the settings of the sign-in process are written',
    async () => (await plane.admin.get(SECRETS, SIGN_IN_SETTINGS)) ?? undefined,
    EVENT_WITHIN,
  )
})
afterAll(() => operator?.stop())

const KIND = 'directclusterendpointtokens'
const ADOPTION = `patch ${KIND}`
const STATUS = `patch ${KIND} status`
const DELETION = `delete ${KIND}`
const FINALIZER_REMOVAL = `patch ${KIND}`
const RECORD = expect.stringMatching(/^(create|update) configmaps$/)

const keep = { [EXPIRED_ANNOTATION]: 'Keep' }
const remove = { [EXPIRED_ANNOTATION]: 'Delete' }
const HELM = { 'app.kubernetes.io/managed-by': 'Helm' }

describe('the operator writes', () => {
  /** An issued token, and the mark in the audit log after its first writes. */
  async function settled(metadata: Partial<ObjectMeta> = {}) {
    const token = await tokens.issue({}, metadata)
    return { token, mark: await audit.mark() }
  }

  /** A busy operator may see a token only after its end: then one status write is missing. */
  const wasIssued = ({ metadata: { uid } }: StoredToken): boolean =>
    operator
      .logs()
      .some(({ msg, object }) => msg === 'token issued' && (object as { uid?: string }).uid === uid)

  test('twice for a new token (5.1, 8.6)', async () => {
    const mark = await audit.mark()
    await tokens.issue()
    expect(await writesSince(audit, mark)).toEqual([ADOPTION, STATUS])
  })

  test('once when a token expires, and twice when its retention is over (2.7, 5.2)', async () => {
    const writtenOfIssued = async () => {
      const mark = await audit.mark()
      const token = await tokens.create({ ttl: 3 })
      await tokens.gone(token)
      const written = await writesSince(audit, mark)
      return wasIssued(token) ? written : undefined
    }
    const writes = [ADOPTION, STATUS, STATUS, DELETION, FINALIZER_REMOVAL]
    expect(await eventually('one was issued', writtenOfIssued, EVENT_WITHIN)).toEqual(writes)
  })

  test('a record and a status when a token is revoked (5.4, 7.4)', async () => {
    const owner = await keys.shown(await keys.create(), 'Active')
    const { token, mark } = await settled({ ...under(owner), annotations: keep })
    await keys.patch(owner, { metadata: { labels: { look: 'again' } }, spec: { user: 'bob' } })
    await tokens.shown(token, 'Revoked')
    const toKey = 'patch ownedaccesskeys status'
    const writes = (await writesSince(audit, mark)).filter((write) => write !== toKey)
    expect(writes).toEqual([RECORD, STATUS])
  })

  test('a record, then the finalizer, when a user deletes a token (5.1, 7.4)', async () => {
    const { token, mark } = await settled()
    await tokens.remove(token)
    await tokens.gone(token)
    expect(await writesSince(audit, mark)).toEqual([RECORD, FINALIZER_REMOVAL])
  })

  test('once when a user deletes an ended token (5.1)', async () => {
    const token = await tokens.create({ ttl: 2 }, { annotations: keep })
    await tokens.shown(token, 'Expired')
    const mark = await audit.mark()
    await tokens.remove(token)
    await tokens.gone(token)
    expect(await writesSince(audit, mark)).toEqual([FINALIZER_REMOVAL])
  })

  // biome-ignore format: a table
  test.each([
    { name: 'a label', change: { metadata: { labels: { team: 'a' } } } },
    { name: 'a foreign annotation', change: { metadata: { annotations: { note: 'x' } } } },
    { name: 'a foreign finalizer', change: { metadata: { finalizers: ['management.platform.sh/revoke', 'example.com/x'] } } },
  ])('nothing for $name (4.4)', async ({ change }) => {
    const { token, mark } = await settled()
    await tokens.patch(token, change)
    // A later object is reconciled later.
    await tokens.issue()
    expect(await writesSince(audit, mark)).toEqual([ADOPTION, STATUS])
  })

  test('nothing when a field of the owner changes that no claim has (5.4)', async () => {
    const owner = await keys.shown(await keys.create(), 'Active')
    const { token, mark } = await settled(under(owner))
    await keys.patch(owner, { spec: { displayName: 'other' } })
    await tokens.issue({}, under(owner))
    const toKey = 'patch ownedaccesskeys status'
    const writes = (await writesSince(audit, mark)).filter((write) => write !== toKey)
    expect(writes).toEqual([ADOPTION, STATUS])
    expect(await tokens.read(token)).toEqual(token)
  })
})

interface Row {
  readonly name: string
  readonly metadata?: Partial<ObjectMeta>
  /** The field manager that applies the token; absent = it is created by POST. */
  readonly manager?: string
}

// biome-ignore format: a table
const KEPT: readonly Row[] = [
  { name: 'annotated with Keep', metadata: { annotations: keep } },
  { name: 'annotated with Keep and applied by Helm', metadata: { annotations: keep, labels: HELM } },
  { name: 'applied by Helm', metadata: { labels: HELM } },
  { name: 'applied by a Flux Kustomization', metadata: { labels: { 'kustomize.toolkit.fluxcd.io/name': 'shop' } } },
  { name: 'applied by a Flux HelmRelease', metadata: { labels: { 'helm.toolkit.fluxcd.io/name': 'shop' } } },
  { name: 'tracked by Argo CD', metadata: { annotations: { 'argocd.argoproj.io/tracking-id': 'shop:x/y:z' } } },
  { name: 'applied by Argo CD', metadata: { labels: { 'app.kubernetes.io/instance': 'shop' } }, manager: 'argocd-controller' },
]

// biome-ignore format: a table
const DELETED: readonly Row[] = [
  { name: 'without annotation and tool' },
  { name: 'with the instance label of Argo CD, but applied by kubectl', metadata: { labels: { 'app.kubernetes.io/instance': 'shop', 'app.kubernetes.io/managed-by': 'kubectl' } } },
  { name: 'with an invalid annotation', metadata: { annotations: { [EXPIRED_ANNOTATION]: 'keep' } } },
]

/** Creates or applies the token of a row. */
async function madeAs(row: Row, ttl: number, owned: Partial<ObjectMeta> = {}) {
  const metadata = { ...row.metadata, ...owned }
  if (row.manager === undefined) return tokens.create({ ttl }, metadata)
  const name = uniqueName('applied')
  const path = `/apis/management.platform.sh/v1/${KIND}/${name}?fieldManager=${row.manager}`
  const object = { apiVersion: 'management.platform.sh/v1', kind: 'DirectClusterEndpointToken' }
  const contentType = 'application/apply-patch+yaml'
  const body = { ...object, metadata: { ...metadata, name }, spec: { ttl } }
  const { code, body: applied } = await plane.raw<StoredToken>('PATCH', path, body, { contentType })
  expect(code).toBe(201)
  return applied
}

/** When the API server received the one delete of a token. */
async function deletedMs({ metadata: { name } }: StoredToken, mark: { readonly offset: number }) {
  const writes = await audit.writesSince(mark, { user: OPERATOR_USER })
  const deletes = writes.filter((write) => write.verb === 'delete' && write.name === name)
  expect(deletes.map(({ code }) => code)).toEqual([200])
  return Date.parse(deletes[0]?.at ?? '')
}

describe('after the retention', () => {
  test('an expired token is deleted, not before, and one to keep stays (5.2)', async () => {
    const mark = await audit.mark()
    const kept = await Promise.all(KEPT.map((row) => madeAs(row, 3)))
    const deleted = await Promise.all(DELETED.map((row) => madeAs(row, 3)))
    for (const token of deleted) {
      await tokens.gone(token)
      const endMs = Date.parse(token.metadata.creationTimestamp) + 3000
      expect(await deletedMs(token, mark)).toBeGreaterThanOrEqual(endMs + RETENTION * 1000)
    }
    for (const token of kept) {
      const { status } = await tokens.shown(token, 'Expired')
      expect(status).not.toHaveProperty('token')
    }
  })

  test('a revoked token is deleted, counted from its revocation (5.2)', async () => {
    const owner = await keys.shown(await keys.create(), 'Active')
    const make = async (row: Row) => tokens.shown(await madeAs(row, 600, under(owner)), 'Issued')
    const kept = await Promise.all(KEPT.map(make))
    const deleted = await Promise.all(DELETED.map(make))
    const mark = await audit.mark()
    const disabledMs = Date.now()
    await keys.patch(owner, { spec: { disabled: true } })
    for (const token of deleted) {
      await tokens.gone(token)
      const keptMs = (await deletedMs(token, mark)) - Math.floor(disabledMs / 1000) * 1000
      expect(keptMs).toBeGreaterThanOrEqual(RETENTION * 1000)
    }
    for (const token of kept) {
      const { status } = await tokens.shown(token, 'Revoked')
      expect(status).not.toHaveProperty('token')
    }
  })

  test('a token that the cap ended is deleted, whatever its annotation (5.2)', async () => {
    const created = await tokens.issue({ ttl: 600 }, { annotations: remove })
    const isOld = () => Date.now() >= Date.parse(created.metadata.creationTimestamp) + 1000
    await eventually('the token is a second old', () => isOld() || undefined, EVENT_WITHIN)
    const mark = await audit.mark()
    const loweredMs = Math.floor(Date.now() / 1000) * 1000
    await settings.declare({ auth: { accessKeyMaxTTLSeconds: 1 } })
    await tokens.gone(created)
    // Its status may exist for less than two seconds; the event stays.
    const isReported = async () =>
      (await tokens.events(created)).find(({ reason }) => reason === 'Revoked')
    const { message } = await eventually('its revocation is reported', isReported, EVENT_WITHIN)
    expect(message).toContain(
      'accessKeyMaxTTLSeconds of Config platform-manager-config ended it 1 s',
    )
    expect(await deletedMs(created, mark)).toBeGreaterThanOrEqual(loweredMs + RETENTION * 1000)
    await settings.declare({})
    await settings.settled('the cap is gone', ({ auth }) => !auth?.accessKeyMaxTTLSeconds)
  })
})

describe('kubectl describe shows', () => {
  /** The text below `Events:` once it has all reasons. */
  const reported = ({ metadata }: StoredToken, ...reasons: readonly string[]): Promise<string> =>
    eventually(
      `${reasons.join(' and ')} are reported`,
      async () => {
        const { stdout } = await plane.kubectl(['describe', 'dcet', metadata.name])
        const events = stdout.slice(stdout.indexOf('\nEvents:'))
        return reasons.every((reason) => events.includes(reason)) ? events : undefined
      },
      EVENT_WITHIN,
    )
  const line = (type: string, reason: string, note: string): RegExp =>
    new RegExp(`${type} +${reason} +\\S+ +management-operator +${note}`)

  test('the issue and the expiry of a token (4.5)', async () => {
    const token = await issuedInTime(tokens, () => tokens.create({ ttl: 3 }, { annotations: keep }))
    const events = await reported(token, 'TokenIssued', 'Expired')
    const end = new Date(Date.parse(token.metadata.creationTimestamp) + 3000)
      .toISOString()
      .replace('.000Z', 'Z')
    expect(events).toMatch(
      line('Normal', 'TokenIssued', `The token is valid until ${end}, issued without an owner\\.`),
    )
    expect(events).toMatch(line('Warning', 'Expired', `The token expired ${end}\\.`))
  })

  test('the reason of its revocation (4.5)', async () => {
    const owner = await keys.shown(await keys.create(), 'Active')
    const token = await tokens.issue({}, { ...under(owner), annotations: keep })
    await keys.patch(owner, { spec: { disabled: true } })
    const events = await reported(token, 'TokenIssued', 'Revoked')
    const name = owner.metadata.name
    expect(events).toMatch(
      line(
        'Normal',
        'TokenIssued',
        `The token is valid until \\S+, issued under access key ${name}\\.`,
      ),
    )
    expect(events).toMatch(
      line(
        'Normal',
        'Revoked',
        `The token was revoked for good, because access key ${name} is disabled;`,
      ),
    )
  })

  test('the part of its scope that its owner does not have (4.5)', async () => {
    const owner = await keys.create({ scope: { clusters: [{ cluster: 'a' }] } })
    const token = await tokens.create({ scope: { clusters: [{ cluster: 'b' }] } }, under(owner))
    const events = await reported(token, 'ScopeExceedsOwner')
    const note = `The scope grants more than that of access key ${owner.metadata.name}: scope\\.clusters\\[0\\]: cluster "b"\\.`
    expect(events).toMatch(line('Warning', 'ScopeExceedsOwner', note))
  })

  test('no duplicate events after a restart (4.5)', async () => {
    const owner = await keys.shown(await keys.create(), 'Active')
    const token = await tokens.issue({}, { ...under(owner), annotations: keep })
    await reported(token, 'TokenIssued')
    const mark = await audit.mark()
    await operator.stop()
    const flags = [`--issuer-url=${ISSUER}`]
    operator = await startOperator({ kubeconfig: await plane.operatorKubeconfig(), flags })
    const later = await tokens.issue({}, under(owner))
    await reported(later, 'TokenIssued')
    const writes = await audit.writesSince(mark, { user: OPERATOR_USER })
    const events = writes.filter(
      ({ resource, name }) => resource === 'events' && name.startsWith(token.metadata.name),
    )
    expect(events).toEqual([])
    expect((await tokens.events(token)).map(({ reason }) => reason)).toEqual(['TokenIssued'])
    expect(await platform.revoked()).not.toHaveProperty(token.metadata.uid)
  })
})
