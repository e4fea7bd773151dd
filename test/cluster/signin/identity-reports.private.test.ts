// What the sign-in process reports of people, in keys, at the gateway, and against those who would undo it (contract 25.7, 24.5, 5.5).
import { randomBytes } from 'node:crypto'
import { describe, expect, onTestFinished, test } from 'vitest'
import {
  ACCESS_KEYS,
  API_VERSION,
  CONFIG_MAPS,
  IDENTITY_GONE_ANNOTATION,
  IDENTITY_REPORT_LABEL,
} from '../../../src/api/names.ts'
import type { OwnedAccessKeySpec } from '../../../src/api/ownedaccesskey.gen.ts'
import {
  type IdentityReport,
  REPORT_DATA_KEY,
  identityReportText,
} from '../../../src/domain/signin/identity-report.ts'
import { formatTimestamp } from '../../../src/domain/time.ts'
import { pathOf } from '../../../src/kube/client/client.ts'
import { auditOf } from '../../support/audit-log.ts'
import { startOperator } from '../../support/command-process.ts'
import { privateControlPlane } from '../../support/control-plane.ts'
import { eventually } from '../../support/eventually.ts'
import { OPERATOR_USER } from '../../support/installed-control-plane.ts'
import { conditionIn } from '../../support/object-client.ts'
import { type UsableKey, startTestGateway } from '../gateway/test-gateway.ts'
import type { StoredKey } from '../keys/key-client.ts'
import { WRITES, rbacUser } from '../policies/rbac-users.ts'
import { SIGN_IN_NAMESPACE } from './sign-in-world.ts'

const plane = await privateControlPlane()
const { raw } = plane
const setup = await startTestGateway(plane)
const { keys } = setup
const audit = auditOf(plane)
const signIn = await plane.serviceAccountKubeconfig(SIGN_IN_NAMESPACE, 'sign-in')
const writer = await rbacUser(plane, 'writer', [WRITES])

/** Contract 10.3: a gateway refuses a key within a second of the change; a busy machine takes longer. */
const SECONDS = { withinMs: 5000 }
const IDENTITY = { username: 'ada', groups: ['dev'], extraClaims: { department: { id: 7 } } }

const base32 = (): string => randomBytes(26).reduce((text, one) => text + DIGITS[one % 32], '')
const DIGITS = 'abcdefghijklmnopqrstuvwxyz234567'

/** A key as a sign-in of an hour ago made it. */
const signedIn = (spec: OwnedAccessKeySpec = {}): Promise<UsableKey> =>
  setup.key(
    { user: 'ada', type: 'Login', identityRefresh: ago(3600), ...spec },
    { name: `login-${base32()}` },
  )

const ago = (seconds: number): string => formatTimestamp(Date.now() - seconds * 1000)

const refreshedNow = (identity: object = IDENTITY): IdentityReport['refreshed'] => ({
  atMs: Date.now(),
  identity: identity as never,
})

const REPORTS = pathOf(CONFIG_MAPS, { namespace: SIGN_IN_NAMESPACE })

/** Makes a report, as the sign-in process. */
async function report({ metadata: { name, uid } }: StoredKey, text: string): Promise<void> {
  const owner = { apiVersion: API_VERSION, kind: ACCESS_KEYS.kind, name, uid }
  const object = {
    metadata: { name, labels: { [IDENTITY_REPORT_LABEL]: 'true' }, ownerReferences: [owner] },
    data: { [REPORT_DATA_KEY]: text },
  }
  expect((await raw('POST', REPORTS, object, { kubeconfig: signIn })).code).toBe(201)
}

/** Changes the report of a key. */
async function reportAgain({ metadata: { name } }: StoredKey, text: string): Promise<void> {
  const change = { data: { [REPORT_DATA_KEY]: text } }
  expect((await raw('PATCH', `${REPORTS}/${name}`, change)).code).toBe(200)
}

const textOf = (
  { metadata: { uid } }: StoredKey,
  said: Partial<Omit<IdentityReport, 'keyUid'>>,
): string => identityReportText({ keyUid: uid, refreshed: null, gone: null, ...said })

const codeOf = async ({ token }: UsableKey): Promise<number> =>
  (await setup.ask(token, '/version')).code

const readAll = async (some: readonly UsableKey[]): Promise<readonly (StoredKey | null)[]> =>
  Promise.all(some.map(({ object }) => keys.read(object)))

const isGone = ({ metadata }: StoredKey): boolean =>
  metadata.annotations?.[IDENTITY_GONE_ANNOTATION] !== undefined

test('a refresh stands in the key, and nothing else of the key changes (25.7)', async () => {
  const key = await signedIn()
  const refreshed = refreshedNow()
  await report(key.object, textOf(key.object, { refreshed }))
  const at = formatTimestamp(refreshed?.atMs ?? 0)
  const now = await keys.until(
    key.object,
    'is refreshed',
    ({ spec: { identityRefresh } }) => identityRefresh === at,
  )
  expect(now.spec).toEqual({ ...key.object.spec, identity: IDENTITY, identityRefresh: at })
  for (const field of ['annotations', 'labels', 'finalizers'] as const)
    expect(now.metadata[field]).toEqual(key.object.metadata[field])
  await keys.shown(now, 'Active')
  expect(await codeOf(key)).toBe(200)
})

describe('the key of a person who is gone (24.5, 25.7)', () => {
  const gone = (async () => {
    const key = await signedIn({ disabled: false })
    const refreshed = refreshedNow()
    await report(key.object, textOf(key.object, { refreshed }))
    const end = { atMs: Date.now(), reason: 'IdentityGone' } as const
    await reportAgain(key.object, textOf(key.object, { refreshed, gone: end }))
    return { key, value: `${formatTimestamp(end.atMs)} IdentityGone` }
  })()

  test('has the annotation, is not Ready, and is refused by the gateway within seconds', async () => {
    const { key, value } = await gone
    await eventually(
      'the gateway refuses the key',
      async () => (await codeOf(key)) === 401 || undefined,
      SECONDS,
    )
    const shown = await keys.shown(key.object, 'IdentityGone')
    expect(conditionIn(shown, 'Ready').status).toBe('False')
    expect(shown.metadata.annotations?.[IDENTITY_GONE_ANNOTATION]).toBe(value)
  })

  test('gets no refresh any more', async () => {
    const { key, value } = await gone
    const before = await keys.until(key.object, 'is gone', isGone)
    await reportAgain(key.object, textOf(key.object, { refreshed: refreshedNow() }))
    await sentinel()
    const now = await keys.read(key.object)
    expect(now?.spec).toEqual(before.spec)
    expect(now?.metadata.annotations?.[IDENTITY_GONE_ANNOTATION]).toBe(value)
  })

  test('is revived by nobody who may write keys, nor by another key of the person', async () => {
    const { key } = await gone
    await keys.until(key.object, 'is gone', isGone)
    const path = pathOf(ACCESS_KEYS, key.object.metadata)
    const unmarked = { metadata: { annotations: { [IDENTITY_GONE_ANNOTATION]: null } } }
    const changes = [unmarked, { spec: { identityRefresh: null } }]
    for (const change of changes) {
      const answer = await raw('PATCH', path, change, { kubeconfig: writer })
      expect({ change, code: answer.code }).toEqual({ change, code: 403 })
    }
    const other = await setup.key({ user: 'ada' })
    const headers = { 'content-type': 'application/merge-patch+json' }
    for (const change of changes) {
      const options = { method: 'PATCH', headers, body: JSON.stringify(change) }
      const { code } = await setup.ask(other.token, path, options)
      expect([403, 422]).toContain(code)
    }
    expect((await keys.read(key.object))?.metadata.annotations).toHaveProperty([
      IDENTITY_GONE_ANNOTATION,
    ])
  })
})

/** Resolves when the manager has taken over what was reported before. */
async function sentinel(): Promise<void> {
  const key = await signedIn()
  await report(key.object, textOf(key.object, { gone: { atMs: 0, reason: 'SignInAgain' } }))
  await keys.shown(key.object, 'SignInAgain')
}

test('reports that are stale, of another key or malformed change nothing, nor does one about a key of type User (25.7)', async () => {
  const gone = { atMs: Date.now(), reason: 'IdentityGone' } as const
  const refreshed = refreshedNow()
  const said = { gone, refreshed }
  const stale = { refreshed: { atMs: Date.now() - 7_200_000, identity: IDENTITY } }
  const early = { refreshed: { atMs: Date.now() + 600_000, identity: IDENTITY } }
  // biome-ignore format: a table
  const rows: readonly { readonly spec?: OwnedAccessKeySpec; readonly text: (key: StoredKey) => string }[] = [
    { text: (key) => textOf(key, stale) },
    { text: (key) => textOf(key, early) },
    { text: () => identityReportText({ ...said, keyUid: 'a key before this one' }) },
    { text: (key) => textOf(key, said).slice(1) },
    { text: (key) => JSON.stringify({ keyUid: key.metadata.uid, gone: { reason: 'IdentityGone' } }) },
    { spec: { type: 'User' }, text: (key) => textOf(key, said) },
  ]
  const made = await Promise.all(
    rows.map(async ({ spec, text }) => ({ key: await signedIn(spec), text })),
  )
  const all = made.map(({ key }) => key)
  const before = await readAll(all)
  await Promise.all(made.map(({ key: { object }, text }) => report(object, text(object))))
  await sentinel()
  const withoutStatus = (some: readonly (StoredKey | null)[]) =>
    some.map((key) => ({ spec: key?.spec, annotations: key?.metadata.annotations }))
  expect(withoutStatus(await readAll(all))).toEqual(withoutStatus(before))
  const malformed = setup.operator.logs().filter(({ msg }) => msg?.includes('is malformed'))
  expect(malformed).toHaveLength(2)
})

test('an identity with 200 groups of the longest names stands in the key (24.1, 25.7)', async () => {
  const key = await signedIn()
  const groups = Array.from({ length: 200 }, (_, at) => `${at}`.padEnd(1024, 'ü'))
  await report(key.object, textOf(key.object, { refreshed: refreshedNow({ groups }) }))
  const { spec } = await keys.until(
    key.object,
    'has groups',
    ({ spec: { identity } }) => identity?.groups !== undefined,
  )
  expect(spec.identity?.groups).toEqual(groups)
})

test('an identity that the schema refuses changes nothing, is not tried again and again, and is not logged', async () => {
  const key = await signedIn()
  const identity = { username: 'ada', groups: ['a secret group', ''] }
  await report(key.object, textOf(key.object, { refreshed: refreshedNow(identity) }))
  onTestFinished(async () => {
    await keys.remove(key.object)
    await keys.gone(key.object)
  })
  const { name } = key.object.metadata
  const refused = () =>
    setup.operator
      .logs()
      .filter((line) => line.msg?.includes('cannot be written into'))
      .filter((line) => JSON.stringify(line).includes(name))
  await eventually('the refusal is logged', async () => refused().length > 0 || undefined, SECONDS)
  await sentinel()
  // Once more for each change of the key, such as a use that the gateway records.
  expect(refused().length).toBeLessThan(4)
  expect(JSON.stringify(setup.operator.logs())).not.toContain('a secret group')
  expect((await keys.read(key.object))?.spec).toEqual(key.object.spec)
})

test('a manager that starts again writes to no key that it knew, and goes on with what is reported later (25.7)', async () => {
  await sentinel()
  await setup.operator.stop()
  const { body } = await raw<{ readonly items: readonly StoredKey[] }>(
    'GET',
    pathOf(ACCESS_KEYS, {}),
  )
  const known = new Set(body.items.map(({ metadata: { name } }) => name))
  const mark = await audit.mark()
  await using second = await startOperator({ kubeconfig: await plane.operatorKubeconfig() })
  await eventually(
    'the reports are read',
    async () => second.logs().some(({ msg }) => msg?.includes('is malformed')) || undefined,
    { withinMs: 15_000 },
  )
  await sentinel()
  const writes = await audit.writesSince(mark, { user: OPERATOR_USER })
  const again = writes.filter(({ resource, name }) => resource === KEYS && known.has(name))
  expect(again).toEqual([])
  expect(writes.filter(({ resource }) => resource === KEYS)).not.toEqual([])
})

const KEYS = ACCESS_KEYS.plural
