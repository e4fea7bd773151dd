// What a gateway knows of its callers, followed in this process from a real API server, as the gateway's own
// ServiceAccount and by way of a proxy that a test breaks.
import { randomBytes } from 'node:crypto'
import type { Config } from '../../../src/api/config.gen.ts'
import { CONFIGS, CONFIG_MAPS, FIELD_MANAGER } from '../../../src/api/names.ts'
import { type StartedAuthenticator, startAuthenticator } from '../../../src/authn/start.ts'
import { createClient } from '../../../src/kube/client/client.ts'
import { connect } from '../../../src/kube/client/connection.ts'
import { createInformerFactory } from '../../../src/kube/informer/informers.ts'
import { Store, fullObject } from '../../../src/kube/informer/store.ts'
import { systemClock } from '../../../src/runtime/clock.ts'
import { platformConfigMap } from '../../../src/settings/follow.ts'
import type { TestControlPlane } from '../../support/control-plane.ts'
import { GATEWAY_ACCOUNT } from '../../support/installed.ts'
import { rememberingLog } from '../../support/log.ts'
import { type FaultProxy, startProxy } from '../../support/proxy.ts'

/** One gateway's knowledge of callers. `await using` ends it where the block ends. */
export interface Stand extends AsyncDisposable {
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
export async function startStand(plane: TestControlPlane): Promise<Stand> {
  const { namespace, name } = GATEWAY_ACCOUNT
  const line = await startProxy(plane)
  const own = await plane.serviceAccountKubeconfig(namespace, name)
  const clock = systemClock()
  const connection = await connect({ kind: 'files', paths: [await line.kubeconfig(own)] }, clock)
  const abort = new AbortController()
  const { log, lines } = rememberingLog()
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
