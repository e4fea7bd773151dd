// Connection pools to one API server, because client-node opens a connection for each call. The credential is cached
// for a minute.
import type { Dispatcher, Pool as PoolType } from 'undici'
import type { AddressGuard } from '../../runtime/address-guard.ts'
import type { Clock } from '../../runtime/clock.ts'
import { shareRun } from '../../runtime/concurrency/single-flight.ts'
import { CircuitBreaker } from './circuit-breaker.ts'
import { type KubeconfigSource, readKubeconfig, type Tls } from './kubeconfig.ts'
import { pacedConnector } from './paced-socket.ts'
import { Pool } from './undici.ts'

/** Connection pools to one API server, with the headers that authenticate a request. */
export interface Connection {
  /** Path prefix of the server URL, without a trailing slash; mostly empty. */
  readonly prefix: string
  /** Host and port, for messages. */
  readonly server: string
  /** Tracks whether the API server responds. */
  readonly breaker: CircuitBreaker
  /**
   * Pools and headers for the next request. After a minute it reads the files named in the kubeconfig again, with
   * `refused` at once and the kubeconfig too, so that rotated tokens and certificates need no restart.
   */
  open(refused?: boolean): Promise<OpenConnection>
  close(): Promise<void>
}

/**
 * The pools and headers for one request. Watches, and requests forwarded by HTTP/1.1, have pools of their own: they
 * would occupy all connections for calls.
 */
export interface OpenConnection {
  readonly calls: Dispatcher
  readonly watches: Dispatcher
  readonly forwards: Dispatcher
  /** Scheme, host and port, for connections outside the pools. */
  readonly origin: string
  /** TLS options for such connections. The object is replaced exactly when one of its values changes. */
  readonly tls: Tls
  readonly headers: Readonly<Record<string, string>>
}

const REREAD_AFTER_MS = 60_000

/** Maximum bytes of the headers of a forwarded response: as many as by HTTP/2. */
const LONGEST_ANSWER_HEAD = 65_536

/**
 * Connects to the API server of a kubeconfig; the first request opens the first socket.
 *
 * @param guard checks the addresses of each connection; absent = the kubeconfig is trusted
 * @throws Error as readKubeconfig does, AddressRefused if the server is a refused address
 */
export async function connect(
  source: KubeconfigSource,
  clock: Clock,
  guard?: AddressGuard,
): Promise<Connection> {
  const { server, readCredential } = await readKubeconfig(source)
  guard?.checkHost(server.hostname)
  let current: (Pools & { readonly readAtMs: number }) | null = null
  const breaker = new CircuitBreaker(clock)

  const readPools = async (refused: boolean): Promise<OpenConnection> => {
    const { tls: options, headers } = await readCredential(refused)
    const tls = guard ? { ...options, lookup: guard.lookup } : options
    const key = JSON.stringify(Object.values(tls).map(String))
    const previous = current
    const pools = previous?.key === key ? previous : newPools(server.origin, tls, key)
    current = { ...pools, headers, readAtMs: clock.monotonicMs() }
    if (previous && previous.key !== key) void retire(previous).catch(() => undefined)
    return current
  }
  const read = shareRun((refused: boolean) =>
    readPools(refused).catch((error: unknown) => {
      // The cached credential may still be valid: only a refusal proves that it is not.
      if (current && !refused) return current
      throw error
    }),
  )

  return {
    prefix: withoutSlash(server.pathname),
    server: server.host,
    breaker,
    open: async (refused = false) => {
      const isRecent = current && clock.monotonicMs() - current.readAtMs < REREAD_AFTER_MS
      return current && isRecent && !refused ? current : read(refused)
    },
    close: async () => {
      breaker.close()
      if (current) await Promise.all(poolsOf(current).map((pool) => pool.destroy()))
      current = null
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
    allowH2: false,
    keepAlive: true,
    keepAliveInitialDelay: 30_000,
  } as NonNullable<PoolType.Options['connect']> & object
  const shared = {
    pipelining: 1,
    allowH2: false,
    headersTimeout: 30_000,
    connect: pacedConnector(sockets),
  }
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
    forwards: new Pool(origin, {
      ...shared,
      bodyTimeout: 0,
      keepAliveTimeout: 60_000,
      maxHeaderSize: LONGEST_ANSWER_HEAD,
    }),
    origin,
    tls,
    headers: {},
    key,
  }
}

/** Closes replaced pools. Calls in flight finish; watches are destroyed, and their reflectors open new ones. */
async function retire(pools: Pools): Promise<void> {
  await pools.watches.destroy()
  await Promise.all([pools.calls.close(), pools.forwards.close()])
}

const poolsOf = ({ calls, watches, forwards }: OpenConnection): readonly Dispatcher[] => [
  calls,
  watches,
  forwards,
]
