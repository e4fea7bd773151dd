// The manager takes a report of the sign-in process over into a Login key (contract 25.7), with an API server in memory.
import { isDeepStrictEqual } from 'node:util'
import { expect, test } from 'vitest'
import {
  ACCESS_KEYS,
  CONFIG_MAPS,
  CREATED_ANNOTATION,
  IDENTITY_GONE_ANNOTATION,
  REVOKE_FINALIZER,
} from '../../../../src/api/names.ts'
import type { KubeObject } from '../../../../src/api/objects.ts'
import type { OwnedAccessKey } from '../../../../src/api/ownedaccesskey.gen.ts'
import { IssuesInProgress } from '../../../../src/controllers/indexes/tokens.ts'
import { storedReportOf } from '../../../../src/controllers/ownedaccesskey/identity-change.ts'
import { reconcile } from '../../../../src/controllers/ownedaccesskey/reconcile.ts'
import type { IdentityReport } from '../../../../src/domain/signin/identity-report.ts'
import { StatusError } from '../../../../src/kube/client/api-error.ts'
import type { KubeClient } from '../../../../src/kube/client/client.ts'
import { Store } from '../../../../src/kube/informer/store.ts'
import { recordedRevocations } from '../../../support/fake-kube-client.ts'
import { after, statusEntry, textAfter } from '../../../support/key-builder.ts'
import { manualClock } from '../../../support/manual-clock.ts'
import { memoryLog } from '../../../support/memory-log.ts'
import { keyObject } from '../../../support/object-builder.ts'
import { randomFrom, type Random } from '../../../support/random.ts'
import { reconcileContext } from '../../../support/reconcile-context.ts'
import { MemoryCluster } from '../../../support/signin/memory-cluster.ts'
import { keyStore, tokenStore } from '../../../support/token-builder.ts'
import { fixedKeyDeps } from './key-reconcile.ts'
import { reportObject, reportText } from './report-builder.ts'

const NOW = 100
const IDENTITY = { username: 'ada', groups: ['dev'], extraClaims: { 'a/b': { c: [1] } } }
const REFRESHED = { atMs: after(50.25), identity: IDENTITY } satisfies IdentityReport['refreshed']
const GONE = { atMs: after(60), reason: 'IdentityGone' } as const

/** An adopted Login key whose person was refreshed at its creation. */
const loginKey = (spec: object = {}): OwnedAccessKey =>
  keyObject({
    metadata: {
      annotations: { [CREATED_ANNOTATION]: textAfter(0), note: 'kept' },
      labels: { team: 'kept' },
      finalizers: [REVOKE_FINALIZER],
      managedFields: [statusEntry({})],
    },
    spec: {
      user: 'ada',
      type: 'Login',
      key: `sha256:${'d'.repeat(64)}`,
      identity: { username: 'Ada' },
      identityRefresh: textAfter(0),
      ...spec,
    },
  })

/** Key `ci` and a report, each in API server and store. */
function worldWith(text: string, spec: object = {}) {
  const cluster = new MemoryCluster()
  cluster.put(loginKey(spec))
  cluster.put(reportObject(text))
  const keys = keyStore()
  const reports = new Store(storedReportOf)
  cluster.feed(ACCESS_KEYS.kind, keys)
  cluster.feed(CONFIG_MAPS.kind, reports)
  const apply: KubeClient['apply'] = (_, { metadata, ...fields }) => {
    cluster.calls.push(`apply status`)
    const stored = cluster.object(ACCESS_KEYS.kind, 'ci')
    const managedFields = [statusEntry(fields['status'] as object)]
    const written = { ...stored, ...fields, metadata: { ...stored?.metadata, managedFields } }
    expect(metadata.resourceVersion).toBe(stored?.metadata.resourceVersion)
    return Promise.resolve(cluster.put(written as KubeObject) as never)
  }
  const clock = manualClock(after(NOW))
  const { log, lines } = memoryLog()
  const deps = {
    tokens: tokenStore(),
    revocations: recordedRevocations().revocations,
    issues: new IssuesInProgress(),
    clock,
    ...fixedKeyDeps(),
    client: { ...cluster.client, apply },
    keys,
    reports,
  }
  return {
    cluster,
    clock,
    lines,
    deps,
    key: () => cluster.object(ACCESS_KEYS.kind, 'ci') as OwnedAccessKey,
    take: () => reconcile('ci', deps, reconcileContext(log)),
    writes: () => cluster.calls.splice(0).filter((call) => !call.startsWith('get')),
  }
}

const readyOf = ({ status }: OwnedAccessKey) =>
  status?.conditions?.find(({ type }) => type === 'Ready')?.reason

const [PATCH, STATUS, DELETE] = [
  'patch OwnedAccessKey ci',
  'apply status',
  'delete OwnedAccessKey ci',
]

const refusal = (code: number): StatusError =>
  new StatusError({
    code,
    reason: 'Invalid',
    message: 'PATCH ownedaccesskeys/ci: 422 Invalid: spec.identity FieldValueInvalid',
    retryAfterMs: null,
    isTestFailed: false,
  })

test('a refresh and the status are written once, with the identity as it is reported (25.7)', async () => {
  const world = worldWith(reportText({ refreshed: REFRESHED }))
  const before = world.key()
  await world.take()
  const { spec, metadata, status } = world.key()
  expect(spec).toEqual({ ...before.spec, identity: IDENTITY, identityRefresh: textAfter(50.25) })
  expect(metadata.annotations).toEqual(before.metadata.annotations)
  expect(status?.conditions).toMatchObject([{ type: 'Ready', reason: 'Active' }])
  expect(world.writes()).toEqual([PATCH, STATUS])
  await world.take()
  expect(world.writes()).toEqual([])
  expect(world.lines).toEqual([])
})

test('an end is written although the key is disabled, and status says it in the same reconcile (25.7)', async () => {
  const world = worldWith(reportText({ refreshed: REFRESHED, gone: GONE }), { disabled: true })
  const before = world.key()
  await world.take()
  const { spec, metadata } = world.key()
  expect(spec).toEqual(before.spec)
  expect(metadata.annotations).toEqual({
    ...before.metadata.annotations,
    [IDENTITY_GONE_ANNOTATION]: `${textAfter(60)} IdentityGone`,
  })
  expect(world.writes()).toEqual([PATCH, STATUS])
  expect(world.lines).toMatchObject([
    { level: 'info', sentence: 'access key of a person who is gone' },
  ])
  await world.take()
  expect(world.writes()).toEqual([])
})

test('SignInAgain becomes IdentityGone, and is never taken back (25.7)', async () => {
  const world = worldWith(reportText({ gone: { ...GONE, reason: 'SignInAgain' } }))
  const annotation = () => world.key().metadata.annotations?.[IDENTITY_GONE_ANNOTATION]
  await world.take()
  expect(annotation()).toBe(`${textAfter(60)} SignInAgain`)
  world.cluster.put(reportObject(reportText({ gone: GONE })))
  await world.take()
  expect(annotation()).toBe(`${textAfter(60)} IdentityGone`)
  world.cluster.put(reportObject(reportText({ refreshed: { ...REFRESHED, atMs: after(99) } })))
  await world.take()
  world.cluster.remove(CONFIG_MAPS.kind, 'ci')
  await world.take()
  expect(annotation()).toBe(`${textAfter(60)} IdentityGone`)
  expect(world.key().spec?.identityRefresh).toBe(textAfter(0))
})

test.each([403, 422])(
  'a refresh that is refused with %i is tried again after minutes, and keeps the key from nothing',
  async (code) => {
    const world = worldWith(reportText({ refreshed: REFRESHED }), { ttl: 60 })
    world.cluster.before = ({ verb }) => {
      if (verb === 'patch') throw refusal(code)
    }
    expect(await world.take()).toEqual({ result: 'later', atMs: after(NOW) + 1000 })
    expect(world.writes()).toEqual([PATCH, STATUS])
    expect(readyOf(world.key())).toBe('Expired')
    await world.clock.advance(1000)
    await world.take()
    expect(world.writes()).toEqual([PATCH, DELETE])
    expect(world.lines.map(({ level }) => level)).toEqual(['warn', 'info', 'warn'])
  },
)

test('a refused refresh of a key with nothing else to do waits five minutes', async () => {
  const world = worldWith(reportText({ refreshed: REFRESHED }))
  world.cluster.before = ({ verb }) => {
    if (verb === 'patch') throw refusal(422)
  }
  expect(await world.take()).toEqual({ result: 'later', atMs: after(NOW + 300) })
})

test('a refresh that a clock ahead of ours reports is written at its time, not before', async () => {
  const world = worldWith(reportText({ refreshed: { ...REFRESHED, atMs: after(NOW + 3) } }))
  expect(await world.take()).toEqual({ result: 'later', atMs: after(NOW + 3) })
  await world.clock.advance(2999)
  await world.take()
  expect(world.key().spec?.identityRefresh).toBe(textAfter(0))
  await world.clock.advance(1)
  await world.take()
  expect(world.key().spec?.identityRefresh).toBe(textAfter(NOW + 3))
})

test.each([
  { kind: 'an end', report: reportText({ gone: GONE }) },
  { kind: 'a refresh', report: reportText({ refreshed: REFRESHED }) },
])(
  '$kind is not written into a key that has changed since: a conflict, and tried again',
  async ({ report }) => {
    const world = worldWith(report)
    world.cluster.isStale = true
    world.cluster.put(loginKey({ disabled: true }))
    const changed = world.key()
    await expect(world.take()).rejects.toMatchObject({ code: 409 })
    expect(world.key()).toEqual(changed)
  },
)

// biome-ignore format: a table
test.each([
  { name: 'has another time by now', report: reportText({ refreshed: { ...REFRESHED, atMs: after(70) } }) },
  { name: 'is of another key by now', report: reportText({ keyUid: 'uid-other', refreshed: REFRESHED }) },
  { name: 'is malformed by now', report: '{' },
  { name: 'is gone by now', report: null },
])('a refresh whose report $name is left to its watch event', async ({ report }) => {
  const world = worldWith(reportText({ refreshed: REFRESHED }))
  world.cluster.isStale = true
  if (report === null) world.cluster.remove(CONFIG_MAPS.kind, 'ci')
  else world.cluster.put(reportObject(report))
  await world.take()
  expect(world.writes()).toEqual([STATUS])
})

test('a key that is gone by now is left alone', async () => {
  const world = worldWith(reportText({ gone: GONE }))
  world.cluster.isStale = true
  world.cluster.remove(ACCESS_KEYS.kind, 'ci')
  world.deps.client.apply = () => Promise.resolve(loginKey() as never)
  await world.take()
  expect(world.writes()).toEqual([PATCH])
})

/** Any JSON, which often has the fields of a report and of a key. */
function randomJson({ pick }: Random, levels: number): unknown {
  const random = { pick } as Random
  const leaf = () =>
    pick([
      null,
      true,
      0,
      '',
      'IdentityGone',
      'SignInAgain',
      'uid-ci',
      'Login',
      textAfter(50),
      textAfter(-90_000),
      textAfter(900),
    ])
  if (levels === 0) return leaf()
  const names = [
    'keyUid',
    'refreshed',
    'gone',
    'time',
    'reason',
    'identity',
    'spec',
    'metadata',
    '__proto__',
    'disabled',
    'a/b',
    'x~1y',
  ]
  const inner = () => randomJson(random, levels - 1)
  const kind = pick(['map', 'map', 'map', 'list', 'leaf'])
  if (kind === 'leaf') return leaf()
  if (kind === 'list') return [inner(), inner()]
  return Object.fromEntries([1, 2, 3, 4].map(() => [pick(names), inner()]))
}

const randomText = (random: Random): string => {
  const { pick } = random
  const part = (likely: object): unknown =>
    pick([true, true, false]) ? likely : randomJson(random, 2)
  const time = pick([
    textAfter(50),
    textAfter(-90_000),
    textAfter(900),
    '2026-11-21T12:00:01+02:00',
    'x',
  ])
  const refreshed = part({ time, identity: part(IDENTITY) })
  const gone = pick([
    undefined,
    undefined,
    part({ time, reason: part({}) }),
    { time, reason: pick(['IdentityGone', 'SignInAgain']) },
  ])
  const report = {
    keyUid: pick(['uid-ci', 'uid-ci', 'uid-ci', randomJson(random, 1)]),
    refreshed,
    gone,
  }
  return pick([true, true, true, false])
    ? JSON.stringify({ ...(randomJson(random, 1) as object), ...report })
    : JSON.stringify(randomJson(random, 3))
}

/** The parts of a key that no report may change. */
function withoutReported({ metadata, spec = {} }: OwnedAccessKey) {
  const { identity: _, identityRefresh: __, ...rest } = spec
  const { [IDENTITY_GONE_ANNOTATION]: ___, ...annotations } = metadata.annotations ?? {}
  const { uid, labels, finalizers } = metadata
  return { uid, labels, finalizers, annotations, spec: rest }
}

/** What a report has done to a key. */
function effectOf(before: OwnedAccessKey, now: OwnedAccessKey) {
  const gone = now.metadata.annotations?.[IDENTITY_GONE_ANNOTATION]
  if (gone !== undefined) return gone
  if (isDeepStrictEqual(now.spec, before.spec)) return 'nothing'
  return refreshOf(now) > refreshOf(before) ? 'refreshed' : 'set back'
}

const refreshOf = ({ spec }: OwnedAccessKey): number => Date.parse(spec?.identityRefresh ?? '')

/** The effects that are allowed, by the type of the key. */
const ALLOWED = {
  Login: /^nothing$|^refreshed$|^\S+Z (IdentityGone|SignInAgain)$/,
  User: /^nothing$/,
}

test('a report changes a Login key in three places only, in one direction, and once, whatever it holds (25.7)', async () => {
  const seen: string[] = []
  for (let seed = 0; seed < 1000; seed += 1) {
    const random = randomFrom(seed)
    const type = random.pick(['Login', 'Login', 'Login', 'User'] as const)
    const world = worldWith(randomText(random), { type })
    const before = world.key()
    await world.take()
    const now = world.key()
    const effect = effectOf(before, now)
    expect({ seed, ...withoutReported(now) }).toEqual({ seed, ...withoutReported(before) })
    expect(effect).toMatch(ALLOWED[type])
    expect(refreshOf(now)).toBeLessThanOrEqual(after(NOW))
    world.writes()
    await world.take()
    expect({ seed, writes: world.writes() }).toEqual({ seed, writes: [] })
    seen.push(effect.split(' ').at(-1) ?? '')
  }
  const counts = ['nothing', 'refreshed', 'IdentityGone', 'SignInAgain'].map(
    (effect) => seen.filter((one) => one === effect).length,
  )
  expect(Math.min(...counts)).toBeGreaterThan(30)
})
