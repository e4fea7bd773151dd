// Two gateways' knowledge of their callers beside an operator, on a control plane of a test file's own.
import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, expect } from 'vitest'
import type { Config } from '../../../src/api/config.gen.ts'
import {
  CONFIGS,
  CONFIG_MAPS,
  FIELD_MANAGER,
  HEARTBEAT_ANNOTATION,
  HEARTBEAT_KEY,
} from '../../../src/api/names.ts'
import type { OwnedAccessKeySpec } from '../../../src/api/ownedaccesskey.gen.ts'
import { type StartedAuthenticator, startAuthenticator } from '../../../src/authn/start.ts'
import { createClient } from '../../../src/kube/client/client.ts'
import { connect } from '../../../src/kube/client/connection.ts'
import { createInformerFactory } from '../../../src/kube/informer/informers.ts'
import { Store, fullObject } from '../../../src/kube/informer/store.ts'
import { systemClock } from '../../../src/runtime/clock.ts'
import { platformConfigMap } from '../../../src/settings/follow.ts'
import { plantCanary } from '../../support/canary.ts'
import { type OwnOperator, startOperator } from '../../support/command-process.ts'
import type { TestControlPlane } from '../../support/control-plane.ts'
import { eventuallyPasses } from '../../support/eventually.ts'
import { type FaultProxy, startProxy } from '../../support/fault-proxy.ts'
import { GATEWAY_ACCOUNT } from '../../support/installed-control-plane.ts'
import { memoryLog } from '../../support/memory-log.ts'
import { type KeyClient, type StoredKey, keyClientOf } from '../keys/key-client.ts'
import { measureEventLoopLag } from './event-loop-lag.ts'

/** A new key works at every replica within a second (10.3), and what ends one ends it as fast. */
const SECOND = { promisedMs: 1000 }
/** Enough for anything that is no promise. */
export const SOON = { withinMs: 20_000 }

/** A key with a secret that the test knows. */
export interface GivenKey {
  readonly key: StoredKey
  readonly secret: string
}

/** What a test file looks at and does. */
export interface TwoGateways {
  readonly keys: KeyClient
  /** To be asked for once the tests run. */
  readonly stands: () => readonly [AuthenticatorUnderTest, AuthenticatorUnderTest]
  readonly given: (
    spec?: OwnedAccessKeySpec,
    metadata?: Parameters<KeyClient['create']>[1],
  ) => Promise<GivenKey>
  /**
   * Every stand comes to say this of the secret within the time: a second unless told otherwise. A promise is
   * kept by so much later as API server and operator took at most for anything meanwhile.
   */
  readonly check: (
    secret: string,
    outcome: string,
    bound?: { readonly withinMs: number } | { readonly promisedMs: number },
  ) => Promise<void>
}

/** Starts it before the tests of the file, and ends it after them. */
export function startTwoGateways(plane: TestControlPlane): TwoGateways {
  const keys = keyClientOf(plane)
  let operator: OwnOperator
  let both: readonly [AuthenticatorUnderTest, AuthenticatorUnderTest]
  beforeAll(async () => {
    operator = await startOperator({ kubeconfig: await plane.operatorKubeconfig() })
    both = [await startAuthenticatorUnderTest(plane), await startAuthenticatorUnderTest(plane)]
    await eventuallyPasses(
      'both are ready',
      () => expect(both.map(({ unready }) => unready())).toEqual([[], []]),
      SOON,
    )
  }, 300_000)
  afterAll(async () => {
    for (const stand of both ?? []) await stand[Symbol.asyncDispose]()
    await operator?.stop()
  })
  return {
    keys,
    stands: () => both,
    given: async (spec = {}, metadata = {}) => {
      const { secret } = plantCanary('caller')
      return { key: await keys.create({ key: secret, ...spec }, metadata), secret }
    },
    check: async (secret, outcome, bound = SECOND) => {
      const says = ({ outcome: ask }: AuthenticatorUnderTest): Promise<void> =>
        eventuallyPasses(
          `it is ${outcome}`,
          async () => expect(await ask(secret)).toBe(outcome),
          'withinMs' in bound ? bound : SOON,
        )
      if ('withinMs' in bound) {
        await Promise.all(both.map(says))
        return
      }
      const startMs = performance.now()
      await using late = measureEventLoopLag(async () => {
        await keys.read(HEARTBEAT_KEY)
        await operator.health('/healthz')
      })
      await Promise.all(both.map(says))
      const tookMs = performance.now() - startMs
      expect(tookMs - late.mostMs(), `ms to ${outcome}`).toBeLessThan(bound.promisedMs)
    },
  }
}

/** What a heartbeat key says. */
export const heartbeatOf = ({ metadata }: Pick<StoredKey, 'metadata'>): string | undefined =>
  metadata.annotations?.[HEARTBEAT_ANNOTATION]

// What a gateway knows of its callers, followed in this process from a real API server, as the gateway's own
// ServiceAccount and by way of a proxy that a test breaks.

/** One gateway's knowledge of callers. `await using` ends it where the block ends. */
export interface AuthenticatorUnderTest extends AsyncDisposable {
  readonly callers: StartedAuthenticator
  /** Its line to the API server. */
  readonly line: FaultProxy
  /** Whose key this is, such as `ada`; or why it is nobody's. */
  readonly outcome: (secret: string) => Promise<string>
  /** What keeps it from being ready. */
  readonly unready: () => readonly string[]
  /** How long its own writes to the heartbeat key took to come back, in milliseconds. */
  readonly returned: readonly number[]
  /** The uids that it was told to look at anew; null = all. */
  readonly news: readonly (string | null)[]
  /** What it warned of. */
  readonly warnings: () => readonly string[]
}

/** Follows the callers from now on. */
export async function startAuthenticatorUnderTest(
  plane: TestControlPlane,
): Promise<AuthenticatorUnderTest> {
  const { namespace, name } = GATEWAY_ACCOUNT
  const line = await startProxy(plane)
  const own = await plane.serviceAccountKubeconfig(namespace, name)
  const clock = systemClock()
  const connection = await connect({ kind: 'files', paths: [await line.kubeconfig(own)] }, clock)
  const abort = new AbortController()
  const { log, lines } = memoryLog()
  const observer = { responded: () => undefined, wrote: () => undefined }
  const client = createClient({
    connection,
    clock,
    observer,
    userAgent: 'management-operator/test',
    fieldManager: FIELD_MANAGER,
    mayWrite: () => undefined,
  })
  const { signal } = abort
  const { startInformer } = createInformerFactory({
    client,
    clock,
    log,
    restarted: () => undefined,
    signal,
  })
  const configs = new Store(fullObject<Config>)
  const configMaps = new Store(platformConfigMap)
  const informers = [
    startInformer(CONFIGS, configs, {}),
    startInformer(CONFIG_MAPS, configMaps, { namespace }),
  ]
  const returned: number[] = []
  const callers = startAuthenticator({
    client,
    startInformer,
    namespace,
    clock,
    log,
    signal,
    sources: { configs, configMaps, configName: 'platform-manager-config', namespace },
    relistSettings: () => {
      for (const { relist } of informers) relist()
    },
    secret: randomBytes(32),
    random: Math.random,
    onDelivered: (tookMs) => returned.push(tookMs),
  })
  const news: (string | null)[] = []
  callers.subscribe((uid) => news.push(uid))
  return {
    callers,
    line,
    returned,
    news,
    outcome: async (secret) => {
      const found = await callers.authenticate(secret)
      return found.ok ? found.caller.identity.user : found.because
    },
    unready: () =>
      Object.entries(callers.readiness).flatMap(([check, run]) => (run() ? [check] : [])),
    warnings: () =>
      lines
        .filter(({ level }) => level === 'warn' || level === 'error')
        .map(({ sentence }) => sentence),
    [Symbol.asyncDispose]: async () => {
      abort.abort()
      await connection.close()
      await line[Symbol.asyncDispose]()
    },
  }
}
