// The address of the API server and our credential. client-node's KubeConfig decides; we cache its answer for
// a minute, and keep connection pools, as client-node connects for each call.
import { readFileSync } from 'node:fs'
import type { RequestOptions } from 'node:https'
import { delimiter, dirname, resolve } from 'node:path'
import type { KubeConfig } from '@kubernetes/client-node'
import { type Dispatcher, Pool } from 'undici'
import type { Clock } from '../../runtime/clock.ts'
import { parseYaml } from '../../runtime/yaml.ts'
import { CircuitBreaker } from './circuit-breaker.ts'

/** Connection pools to one API server, with the headers that authenticate a request. */
export interface Connection {
  /** Path prefix of the server URL, without a trailing slash; mostly empty. */
  readonly prefix: string
  /** Host and port, for messages. */
  readonly server: string
  /** Whether the API server answers requests of this connection. */
  readonly outage: CircuitBreaker
  /**
   * Pools and headers for the next request. Reads the files that the kubeconfig names again after a minute;
   * with `refused` at once, the kubeconfig too. So rotated tokens and certificates need no restart.
   */
  open(refused?: boolean): Promise<OpenConnection>
  close(): Promise<void>
}

/**
 * What one request needs. Watches have a pool of their own, as they would fill that of the calls. So do
 * forwarded requests by HTTP/1.1.
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
 * Finds the API server: the file given, else KUBECONFIG, else the pod's service account
 * (contract 8.1).
 *
 * @throws Error that names what is missing, without any of the three or with an unreadable file
 */
export async function connect(kubeconfig: string | null, clock: Clock): Promise<Connection> {
  let config = await loadConfig(kubeconfig)
  const cluster = config.getCurrentCluster()
  if (!cluster) throw new Error('the kubeconfig has no current context with a cluster')
  if (cluster.proxyUrl) throw new Error('proxy-url in a kubeconfig is not supported')
  const url = new URL(cluster.server)
  let held: (Pools & { readonly readAtMs: number }) | null = null
  let reading: Promise<OpenConnection> | null = null
  const outage = new CircuitBreaker(clock)

  const read = async (refused: boolean): Promise<OpenConnection> => {
    if (refused) config = await loadConfig(kubeconfig)
    else if (readsTokenFile(config)) config = await forgetful(config)
    const options = await optionsOf(config)
    const tls = tlsOf(options)
    const key = JSON.stringify(Object.values(tls).map(String))
    const old = held
    const pools = old?.key === key ? old : newPools(url.origin, tls, key)
    held = { ...pools, headers: headersOf(options), readAtMs: clock.monotonicMs() }
    if (old && old.key !== key) void retire(old).catch(() => undefined)
    return held
  }

  return {
    prefix: withoutSlash(url.pathname),
    server: url.host,
    outage,
    open: async (refused = false) => {
      const fresh = held && clock.monotonicMs() - held.readAtMs < REREAD_AFTER_MS
      if (held && fresh && !refused) return held
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
      outage.close()
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

/** Options of node:tls: the trusted authority, and our client certificate. */
export interface Tls {
  readonly ca?: RequestOptions['ca']
  readonly cert?: RequestOptions['cert']
  readonly key?: RequestOptions['key']
  readonly rejectUnauthorized?: boolean
  readonly servername?: string
}

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
    // The watcher's watchdog bounds a silent watch.
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

function tlsOf({ ca, cert, key, rejectUnauthorized, servername }: RequestOptions): Tls {
  return {
    ...(ca ? { ca } : {}),
    ...(cert ? { cert } : {}),
    ...(key ? { key } : {}),
    ...(rejectUnauthorized === undefined ? {} : { rejectUnauthorized }),
    ...(servername ? { servername } : {}),
  }
}

function headersOf(options: RequestOptions): Readonly<Record<string, string>> {
  const basic = options.auth ? { authorization: `Basic ${btoa(options.auth)}` } : {}
  const given = Object.entries(options.headers ?? {}).map(([name, value]) => [
    name,
    String(value).trim(),
  ])
  return { ...basic, ...Object.fromEntries(given) }
}

/** @throws Error without any part of a credential */
async function optionsOf(config: KubeConfig): Promise<RequestOptions> {
  const options: RequestOptions = { headers: {} }
  try {
    await config.applyToHTTPSOptions(options)
    return options
  } catch (cause) {
    const message = 'the credentials for the API server are unreadable'
    if (!(cause instanceof SyntaxError)) throw new Error(message, { cause })
    // oxlint-disable-next-line preserve-caught-error -- V8 quotes what it can't parse: a token (contract 3.5)
    throw new Error(`${message}: the credential plugin printed no JSON`)
  }
}

/** client-node takes 0.3 s and memory to load: only commands that call a cluster load it. */
async function emptyConfig(): Promise<KubeConfig> {
  const { KubeConfig } = await import('@kubernetes/client-node')
  return new KubeConfig()
}

/**
 * The same configuration without cached tokens: client-node caches that of a file for a minute, and that of a
 * plugin until it expires, also after a 401.
 */
async function forgetful(config: KubeConfig): Promise<KubeConfig> {
  const fresh = await emptyConfig()
  const { clusters, contexts, users, currentContext } = config
  fresh.loadFromOptions({ clusters, contexts, users, currentContext })
  return fresh
}

const readsTokenFile = (config: KubeConfig): boolean =>
  config.getCurrentUser()?.authProvider?.name === TOKEN_FILE

async function loadConfig(path: string | null): Promise<KubeConfig> {
  const fromEnv = process.env['KUBECONFIG'] ?? ''
  const paths = path === null ? fromEnv.split(delimiter).filter(Boolean) : [path]
  const config = await emptyConfig()
  for (const file of paths) {
    const one = await emptyConfig()
    one.loadFromString(JSON.stringify(readKubeconfig(file)))
    one.makePathsAbsolute(dirname(file))
    // As in kubectl, the first file with a current context decides. client-node takes the last, which may be
    // another cluster.
    config.mergeConfig(one, Boolean(config.currentContext))
  }
  if (paths.length > 0) return config
  if (!process.env['KUBERNETES_SERVICE_HOST'])
    throw new Error(
      'no cluster: give --kubeconfig, set KUBECONFIG, or run in a pod with a service account',
    )
  config.loadFromCluster()
  return config
}

/** The user's name for client-node's file authenticator. */
const TOKEN_FILE = 'tokenFile'

interface Kubeconfig {
  readonly users?: readonly {
    readonly name: string
    readonly user?: { readonly tokenFile?: string }
  }[]
}

/** Parsed here: client-node's parser prints the lines around a mistake, with their tokens. */
function readKubeconfig(path: string): object {
  try {
    const file = parseYaml(readFileSync(path, 'utf8')) as Kubeconfig | null
    const users = (file?.users ?? []).map(({ name, user }) => ({
      name,
      user: user?.tokenFile ? withTokenFile(user, resolve(dirname(path), user.tokenFile)) : user,
    }))
    return { ...file, users }
  } catch (cause) {
    throw new Error(`kubeconfig ${path} is unreadable`, { cause })
  }
}

/** client-node drops `tokenFile`; its file authenticator reads it. It takes precedence over `token`. */
const withTokenFile = (user: object, tokenFile: string): object => ({
  ...user,
  token: undefined,
  'auth-provider': { name: TOKEN_FILE, config: { tokenFile } },
})
