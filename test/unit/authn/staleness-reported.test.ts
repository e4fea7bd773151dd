/** @module-tag no-retry */
// Open requests are checked within a second after keys, roles or settings became stale (contract 10.4, 13.4),
// also when another of them became stale a moment before.
import { expect, onTestFinished, test } from 'vitest'
import type { Config } from '../../../src/api/config.gen.ts'
import {
  CLUSTER_ROLES,
  CONFIGS,
  HEARTBEAT_ANNOTATION,
  HEARTBEAT_BEFORE_ANNOTATION,
  HEARTBEAT_NAME,
} from '../../../src/api/names.ts'
import type { KubeObject } from '../../../src/api/objects.ts'
import { startAuthenticator } from '../../../src/authn/setup.ts'
import type { KubeClient } from '../../../src/kube/client/client.ts'
import { Store, type StoreSink, fullObject } from '../../../src/kube/informer/store.ts'
import { EventLoopShare } from '../../../src/runtime/concurrency/event-loop.ts'
import { platformConfigMap } from '../../../src/settings/follow.ts'
import { t0 } from '../../support/key-builder.ts'
import { manualClock } from '../../support/manual-clock.ts'
import { memoryLog } from '../../support/memory-log.ts'
import { configObject, keyObject } from '../../support/object-builder.ts'

const KNOWN_FOR_MS = 15_000
const LOOKED_AT_WITHIN_MS = 1000

/** Settings in force without any cap. */
const IN_FORCE = configObject({
  metadata: { name: 'c' },
  status: {
    observedGeneration: 1,
    conditions: [
      { type: 'Ready', status: 'True', reason: 'Applied', message: '', lastTransitionTime: '' },
    ],
  },
})

/** The store after a list of these objects. */
function listed<S extends StoreSink>(store: S, objects: readonly KubeObject[] = []): S {
  store.begin()
  for (const object of objects) store.put(object)
  store.end()
  return store
}

/** An authenticator whose API server stops delivering some kinds at given moments. */
function followed() {
  const clock = manualClock(t0)
  const stop = new AbortController()
  onTestFinished(() => stop.abort())
  const failing = { roles: false, watch: null as string | null }
  let beats = 0
  const heartbeat = (): KubeObject => {
    beats += 1
    const annotations = {
      [HEARTBEAT_ANNOTATION]: new Date(clock.nowMs()).toISOString(),
      [HEARTBEAT_BEFORE_ANNOTATION]: '',
    }
    const metadata = { name: HEARTBEAT_NAME, resourceVersion: String(beats), annotations }
    return keyObject({ metadata, spec: { subject: 'heartbeat', disabled: true } })
  }
  const client = {
    get: async ({ plural }: { readonly plural: string }) => {
      if (plural === CLUSTER_ROLES.plural && failing.roles) throw new Error('no roles')
      return plural === CONFIGS.plural ? IN_FORCE : null
    },
    patch: async () => heartbeat(),
    create: async () => heartbeat(),
  } as unknown as KubeClient
  const sinks = new Map<string, StoreSink>()
  const relisted = new Set<string>()
  const list = (): void => {
    for (const [plural, sink] of sinks) if (failing.watch !== plural) listed(sink, [heartbeat()])
  }
  const callers = startAuthenticator({
    client,
    startInformer: ({ plural }, to) => {
      sinks.set(plural, to)
      list()
      return { relist: () => void relisted.add(plural), stop: () => undefined }
    },
    sources: {
      configs: listed(new Store(fullObject<Config>), [IN_FORCE]),
      configMaps: listed(new Store(platformConfigMap)),
      configName: 'c',
      namespace: 'platform-system',
    },
    relistSettings: () => undefined,
    namespace: 'platform-system',
    secret: new Uint8Array(32),
    random: () => 0.5,
    onDelivered: () => undefined,
    eventLoop: new EventLoopShare(clock),
    clock,
    log: memoryLog().log,
    signal: stop.signal,
  })
  const notifiedAtMs: number[] = []
  callers.subscribe((uid) => void (uid === null && notifiedAtMs.push(clock.monotonicMs())))
  const pass = async (seconds: number): Promise<void> => {
    for (let quarter = 0; quarter < seconds * 4; quarter += 1) {
      await clock.advance(250)
      list()
    }
  }
  const outcome = async () => {
    const found = await callers.authenticate('pak_nobody')
    return found.ok ? 'accepted' : found.because
  }
  return { clock, failing, heartbeat, list, notifiedAtMs, outcome, pass, relisted, sinks }
}

const WATCHED = ['ownedaccesskeys', 'users', 'teams']

test.each([
  { earlierSeconds: 0, kind: 'ownedaccesskeys' },
  { earlierSeconds: 2, kind: 'ownedaccesskeys' },
  { earlierSeconds: 4, kind: 'ownedaccesskeys' },
  { earlierSeconds: 2, kind: 'users' },
  { earlierSeconds: 2, kind: 'teams' },
])(
  '$kind that become stale $earlierSeconds s after the roles are reported, too (13.4, 24.5)',
  async ({ earlierSeconds, kind }) => {
    const { clock, failing, notifiedAtMs, pass } = followed()
    await pass(20)
    failing.roles = true
    await pass(earlierSeconds)
    failing.watch = kind
    const staleMs = clock.monotonicMs() + KNOWN_FOR_MS
    await pass(20)
    const first = notifiedAtMs.find((ms) => ms > staleMs) ?? Number.POSITIVE_INFINITY
    expect(first - staleMs).toBeLessThanOrEqual(LOOKED_AT_WITHIN_MS)
  },
)

test.each(WATCHED)(
  'no caller is decided from the index while the watch of %s is stale (10.4, 24.5)',
  async (kind) => {
    const { failing, outcome, pass } = followed()
    await pass(20)
    const before = await outcome()
    failing.watch = kind
    await pass(16)
    expect([before, await outcome()]).toEqual(['unknown', 'unavailable'])
  },
)

const GAPS = WATCHED.flatMap((gap) => WATCHED.map((last) => ({ gap, last })))

test.each(GAPS)(
  'no caller is decided from the index after a gap in the watch of $gap until $last are listed, too (10.4)',
  async ({ gap, last }) => {
    const { clock, failing, heartbeat, list, outcome, pass, relisted, sinks } = followed()
    await pass(20)
    await clock.advance(250)
    sinks.get(gap)?.put(heartbeat())
    failing.watch = last
    const afterGap = await outcome()
    list()
    const beforeLast = await outcome()
    failing.watch = null
    list()
    expect([...relisted].toSorted()).toEqual(WATCHED.toSorted())
    expect([afterGap, beforeLast, await outcome()]).toEqual([
      'unavailable',
      'unavailable',
      'unknown',
    ])
  },
)

test('checks no caller again while keys, roles and settings are current', async () => {
  const { notifiedAtMs, pass } = followed()
  await pass(20)
  const before = notifiedAtMs.length
  await pass(30)
  expect(notifiedAtMs.length).toBe(before)
})
