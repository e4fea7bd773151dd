// Connection pools to one API server: client-node connects for each call. The credential is cached for a minute.
import { type Dispatcher, Pool } from 'undici'
import type { Clock } from '../../runtime/clock.ts'
import { CircuitBreaker } from './circuit-breaker.ts'
import { type KubeconfigSource, type Tls, readKubeconfig } from './kubeconfig.ts'

/** Connection pools to one API server, with the headers that authenticate a request. */
export interface Connection {
  /** Path prefix of the server URL, without a trailing slash; mostly empty. */
  readonly prefix: string
  /** Host and port, for messages. */
  readonly server: string
  /** Whether the API server answers requests of this connection. */
  readonly breaker: CircuitBreaker
  /**
   * Pools and headers for the next request. Reads the files that the kubeconfig names again after a minute;
   * with `refused` at once, the kubeconfig too. So rotated tokens and certificates need no restart.
   */
  open(refused?: boolean): Promise<OpenConnection>
  close(): Promise<void>
}

/**
 * The pools and headers for one request. Watches have a pool of their own, as they would fill that of the
 * calls. So do forwarded requests by HTTP/1.1.
 */
export interface OpenConnection {
  readonly calls: Dispatcher
  readonly watches: Dispatcher
  readonly forwards: Dispatcher
  /** Scheme, host and port, for connections outside the pools. */
  readonly origin: string
  /** For the same. The object is replaced exactly when one of its values changes. */
  readonly tls: Tls
  readonly headers: Readonly<Record<string, string>>
}

const REREAD_AFTER_MS = 60_000

/**
 * Connects to the API server of a kubeconfig; the first request opens the first socket.
 *
 * @throws Error as readKubeconfig does
 */
export async function connect(source: KubeconfigSource, clock: Clock): Promise<Connection> {
  const { server, readCredential } = await readKubeconfig(source)
  let held: (Pools & { readonly readAtMs: number }) | null = null
  let reading: Promise<OpenConnection> | null = null
  const breaker = new CircuitBreaker(clock)

  const read = async (refused: boolean): Promise<OpenConnection> => {
    const { tls, headers } = await readCredential(refused)
    const key = JSON.stringify(Object.values(tls).map(String))
    const old = held
    const pools = old?.key === key ? old : newPools(server.origin, tls, key)
    held = { ...pools, headers, readAtMs: clock.monotonicMs() }
    if (old && old.key !== key) void retire(old).catch(() => undefined)
    return held
  }

  return {
    prefix: withoutSlash(server.pathname),
    server: server.host,
    breaker,
    open: async (refused = false) => {
      const isFresh = held && clock.monotonicMs() - held.readAtMs < REREAD_AFTER_MS
      if (held && isFresh && !refused) return held
      reading ??= read(refused)
        .catch((error: unknown) => {
          // The cached credential may still be valid: only a refusal proves that it is not.
          if (held && !refused) return held
          throw error
        })
        .finally(() => {
          reading = null
        })
      return reading
    },
    close: async () => {
      breaker.close()
      if (held) await Promise.all(poolsOf(held).map((pool) => pool.destroy()))
      held = null
    },
  }
}

interface Pools extends OpenConnection {
  readonly key: string
}

/** The path without slashes at its end. */
const withoutSlash = (path: string): string =>
  path.endsWith('/') ? withoutSlash(path.slice(0, -1)) : path

function newPools(origin: string, tls: Tls, key: string): Pools {
  const sockets = {
    ...tls,
    keepAlive: true,
    keepAliveInitialDelay: 30_000,
  } as NonNullable<Pool.Options['connect']>
  const shared = { pipelining: 1, allowH2: false, headersTimeout: 30_000, connect: sockets }
  return {
    // The API server closes idle connections after 90 s. We close them earlier, so that none breaks a call.
    calls: new Pool(origin, {
      ...shared,
      connections: 32,
      keepAliveTimeout: 60_000,
      bodyTimeout: 60_000,
    }),
    // The reflector's watchdog bounds a silent watch.
    watches: new Pool(origin, { ...shared, bodyTimeout: 0 }),
    forwards: new Pool(origin, { ...shared, bodyTimeout: 0, keepAliveTimeout: 60_000 }),
    origin,
    tls,
    headers: {},
    key,
  }
}

/** Calls in flight on replaced pools finish; watches are cut, and start again. */
async function retire(pools: Pools): Promise<void> {
  await pools.watches.destroy()
  await Promise.all([pools.calls.close(), pools.forwards.close()])
}

const poolsOf = ({ calls, watches, forwards }: OpenConnection): readonly Dispatcher[] => [
  calls,
  watches,
  forwards,
]
