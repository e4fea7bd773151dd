// Parts of a gateway that run in the test's own process with the rights of the gateway's ServiceAccount: its
// authenticator, its activity recorder, and raw requests with its credentials.
import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, expect } from 'vitest'
import type { Config } from '../../../src/api/config.gen.ts'
import {
  ACCESS_KEYS,
  CONFIGS,
  CONFIG_MAPS,
  FIELD_MANAGER,
  HEARTBEAT_ANNOTATION,
  HEARTBEAT_NAME,
} from '../../../src/api/names.ts'
import type { OwnedAccessKey, OwnedAccessKeySpec } from '../../../src/api/ownedaccesskey.gen.ts'
import type { KeyCaller } from '../../../src/authn/caller.ts'
import { secretDigest } from '../../../src/authn/credential-index.ts'
import { type StartedAuthenticator, startAuthenticator } from '../../../src/authn/setup.ts'
import { type AccessKey, accessKeyOf } from '../../../src/domain/accesskey/access-key.ts'
import {
  type ActivityRecorder,
  createActivityRecorder,
} from '../../../src/gateway/activity/recorder.ts'
import { type KubeClient, createClient } from '../../../src/kube/client/client.ts'
import { connect } from '../../../src/kube/client/connection.ts'
import { createInformerFactory } from '../../../src/kube/informer/informers.ts'
import { EventLoopShare } from '../../../src/runtime/concurrency/event-loop.ts'
import { Store, fullObject } from '../../../src/kube/informer/store.ts'
import { systemClock } from '../../../src/runtime/clock.ts'
import { platformConfigMap } from '../../../src/settings/follow.ts'
import { plantCanary } from '../../support/canary.ts'
import { type OwnOperator, startOperator } from '../../support/command-process.ts'
import type { TestControlPlane } from '../../support/control-plane.ts'
import { eventuallyPasses } from '../../support/eventually.ts'
import { type FaultProxy, startProxy } from '../../support/fault-proxy.ts'
import { GATEWAY_ACCOUNT } from '../../support/installed-control-plane.ts'
import { type LoggedLine, memoryLog } from '../../support/memory-log.ts'
import type { Raw, RawAnswer } from '../../support/raw-client.ts'
import { type KeyClient, type StoredKey, keyClientOf } from '../keys/key-client.ts'
import { measureMachineLag } from './timed-requests.ts'

/** The time in which a new or a changed key takes effect at every replica (10.3). */
const PROMISED = { promisedMs: 1000 }
/** A bound for steps without a promised time. */
export const SOON = { withinMs: 20_000 }

/** Client and informers of one gateway, with a log that tests read. */
async function startInformers(kubeconfig: string, userAgent: string) {
  const clock = systemClock()
  const { log, lines } = memoryLog()
  const connection = await connect({ kind: 'files', paths: [kubeconfig] }, clock)
  const client = createClient({
    connection,
    clock,
    observer: { responded: () => undefined, wrote: () => undefined },
    userAgent,
    fieldManager: FIELD_MANAGER,
    mayWrite: () => undefined,
  })
  const stopping = new AbortController()
  const { signal } = stopping
  const { startInformer } = createInformerFactory({
    client,
    clock,
    log,
    restarted: () => undefined,
    signal,
  })
  const close = async (): Promise<void> => {
    stopping.abort()
    await connection.close()
  }
  return { client, clock, log, lines, signal, startInformer, close }
}

/** A key with a secret that the test knows. */
export interface GivenKey {
  readonly key: StoredKey
  readonly secret: string
}

/** Two authenticators beside an operator, and the keys of their control plane. */
export interface TwoAuthenticators {
  readonly keys: KeyClient
  /** Filled before the first test. */
  readonly authenticators: () => readonly [AuthenticatorUnderTest, AuthenticatorUnderTest]
  readonly createKey: (
    spec?: OwnedAccessKeySpec,
    metadata?: Parameters<KeyClient['create']>[1],
  ) => Promise<GivenKey>
  /**
   * Waits until both authenticators give this outcome for the secret: by default within the promised second. A
   * promised time is extended by the measured lag of API server and operator.
   */
  readonly expectOutcome: (
    secret: string,
    outcome: string,
    bound?: { readonly withinMs: number } | { readonly promisedMs: number },
  ) => Promise<void>
}

/** Starts operator and authenticators before the tests of the file, and stops them after the last. */
export function startTwoAuthenticators(plane: TestControlPlane): TwoAuthenticators {
  const keys = keyClientOf(plane)
  let operator: OwnOperator
  let both: readonly [AuthenticatorUnderTest, AuthenticatorUnderTest]
  beforeAll(async () => {
    operator = await startOperator({ kubeconfig: await plane.operatorKubeconfig() })
    both = [await startAuthenticatorUnderTest(plane), await startAuthenticatorUnderTest(plane)]
    await eventuallyPasses(
      'both authenticators are ready',
      () => expect(both.map(({ failingChecks }) => failingChecks())).toEqual([[], []]),
      SOON,
    )
  }, 300_000)
  afterAll(async () => {
    for (const authenticator of both ?? []) await authenticator[Symbol.asyncDispose]()
    await operator?.stop()
  })
  return {
    keys,
    authenticators: () => both,
    createKey: async (spec = {}, metadata = {}) => {
      const { secret } = plantCanary('caller')
      return { key: await keys.create({ key: secret, ...spec }, metadata), secret }
    },
    expectOutcome: async (secret, outcome, bound = PROMISED) => {
      const comesTo = ({ outcome: ask }: AuthenticatorUnderTest): Promise<void> =>
        eventuallyPasses(
          `the outcome is ${outcome}`,
          async () => expect(await ask(secret)).toBe(outcome),
          'withinMs' in bound ? bound : SOON,
        )
      if ('withinMs' in bound) {
        await Promise.all(both.map(comesTo))
        return
      }
      const startMs = performance.now()
      await using lag = measureMachineLag(async () => {
        await keys.read(HEARTBEAT_NAME)
        await operator.health('/healthz')
      })
      await Promise.all(both.map(comesTo))
      const tookMs = performance.now() - startMs
      expect(tookMs - lag.maxMs(), `ms to ${outcome}`).toBeLessThan(bound.promisedMs)
    },
  }
}

/** The value that gateways write to the heartbeat key; undefined before the first write. */
export const heartbeatOf = ({ metadata }: Pick<StoredKey, 'metadata'>): string | undefined =>
  metadata.annotations?.[HEARTBEAT_ANNOTATION]

/** An authenticator on a real API server, through a proxy that tests break. `await using` stops it. */
export interface AuthenticatorUnderTest extends AsyncDisposable {
  readonly authenticator: StartedAuthenticator
  /** Between the authenticator and the API server. */
  readonly proxy: FaultProxy
  /** The user of the key with this secret, such as `ada`; else the reason why it is refused. */
  readonly outcome: (secret: string) => Promise<string>
  /** The readiness checks that fail now. */
  readonly failingChecks: () => readonly string[]
  /** How long its own writes to the heartbeat key took to come back on the watch, in milliseconds. */
  readonly heartbeatDelaysMs: readonly number[]
  /** The uids of keys that it reported as changed; null = any key may have changed. */
  readonly changedUids: readonly (string | null)[]
  /** The sentences that it logged as warnings or errors. */
  readonly warnings: () => readonly string[]
}

/** Starts an authenticator with informers of its own. */
async function startAuthenticatorUnderTest(
  plane: TestControlPlane,
): Promise<AuthenticatorUnderTest> {
  const { namespace, name } = GATEWAY_ACCOUNT
  const proxy = await startProxy(plane)
  const direct = await plane.serviceAccountKubeconfig(namespace, name)
  const { client, clock, log, lines, signal, startInformer, close } = await startInformers(
    await proxy.kubeconfig(direct),
    'management-operator/test',
  )
  const configs = new Store(fullObject<Config>)
  const configMaps = new Store(platformConfigMap)
  const informers = [
    startInformer(CONFIGS, configs, {}),
    startInformer(CONFIG_MAPS, configMaps, { namespace }),
  ]
  const heartbeatDelaysMs: number[] = []
  const authenticator = startAuthenticator({
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
    eventLoop: new EventLoopShare(clock),
    onDelivered: (tookMs) => heartbeatDelaysMs.push(tookMs),
  })
  const changedUids: (string | null)[] = []
  authenticator.subscribe((uid) => changedUids.push(uid))
  return {
    authenticator,
    proxy,
    heartbeatDelaysMs,
    changedUids,
    outcome: async (secret) => {
      const found = await authenticator.authenticate(secret)
      return found.ok ? found.caller.identity.user : found.because
    },
    failingChecks: () =>
      Object.entries(authenticator.readiness).flatMap(([check, run]) => (run() ? [check] : [])),
    warnings: () =>
      lines
        .filter(({ level }) => level === 'warn' || level === 'error')
        .map(({ sentence }) => sentence),
    [Symbol.asyncDispose]: async () => {
      await close()
      await proxy[Symbol.asyncDispose]()
    },
  }
}

/** The activity recorder of one replica, with a watch of the keys of its own. */
export interface ActivityReplica {
  readonly client: KubeClient
  readonly keys: Store<AccessKey>
  readonly activity: ActivityRecorder
  readonly lines: readonly LoggedLine[]
  /** The caller that the key of this name stands for. @throws Error when its store has no such key yet */
  readonly caller: (name: string) => KeyCaller
  readonly close: () => Promise<void>
}

/** Starts the recorder; its store has all keys when this resolves. */
export async function startActivityReplica(kubeconfig: string): Promise<ActivityReplica> {
  const started = await startInformers(kubeconfig, 'recorder/test')
  const { client, clock, log, lines, startInformer, close } = started
  const keys = new Store<AccessKey>((object) => accessKeyOf(object as OwnedAccessKey, secretDigest))
  startInformer(ACCESS_KEYS, keys, {})
  await new Promise<void>((resolve) => keys.whenSynced(resolve))
  const activity = createActivityRecorder({
    client,
    keys,
    caps: () => ({ maxTtlSeconds: null, loginTtlSeconds: null }),
    clock,
    log,
    budgetPerSecond: 10,
    random: Math.random,
    observer: { written: () => undefined, failed: () => undefined },
  })
  return {
    client,
    keys,
    activity,
    lines,
    caller: (name) => {
      const key = keys.get(name)
      if (!key) throw new Error(`key ${name} is not in the store yet`)
      return { key, identity: { user: 'ada', groups: [] }, scope: null, expiresMs: null }
    },
    close,
  }
}

/** Impersonation headers by the end of their names: `user`, `group`, `extra-platform.sh%2faccess-key`. */
export type Impersonation = Readonly<Record<string, string | string[]>>

/** The extra that the gateway sends with every impersonated request. */
export const KEY_EXTRA = { 'extra-platform.sh%2faccess-key': 'ci' } as const

/** Sends a request as the gateway's ServiceAccount, with these impersonation headers. */
export type GatewayAccountClient = <Body = unknown>(
  method: Parameters<Raw>[0],
  path: string,
  impersonation?: Impersonation,
  body?: unknown,
) => Promise<RawAnswer<Body>>

/** A client with a token of the gateway's ServiceAccount, or of another one that impersonates. */
export async function gatewayAccountClient(
  plane: Pick<TestControlPlane, 'raw' | 'serviceAccountKubeconfig'>,
  { namespace, name }: { readonly namespace: string; readonly name: string } = GATEWAY_ACCOUNT,
): Promise<GatewayAccountClient> {
  const kubeconfig = await plane.serviceAccountKubeconfig(namespace, name)
  return (method, path, impersonation = {}, body) => {
    const sent = Object.entries(impersonation).map(([end, value]) => [`impersonate-${end}`, value])
    const headers = { 'user-agent': 'borrowed/test', ...Object.fromEntries(sent) }
    return plane.raw(method, path, body, { kubeconfig, headers })
  }
}
