// The address of an API server and the credential of this process, from files, the pod's service account or a value.
// client-node's KubeConfig reads certificates and token files, and runs credential plugins.
import { readFileSync } from 'node:fs'
import type { RequestOptions } from 'node:https'
import { type LookupFunction, isIPv6 } from 'node:net'
import { delimiter, dirname, resolve } from 'node:path'
import type { KubeConfig } from '@kubernetes/client-node'
import { parseYaml } from '../../runtime/yaml.ts'
import { parseKubeconfigValue } from './kubeconfig-value.ts'

/**
 * Where a kubeconfig comes from. `files`: merged as in kubectl. `pod`: the service account of this process's
 * pod. `value`: a text with all data inline, such as that of a Secret.
 */
export type KubeconfigSource =
  | { readonly kind: 'files'; readonly paths: readonly string[] }
  | { readonly kind: 'pod'; readonly host: string; readonly port: string }
  | { readonly kind: 'value'; readonly text: string }

/**
 * Options of node:tls: the trusted authority, our client certificate, and how the name of the server is resolved. Every
 * connection to the server must be opened with all of them.
 */
export interface Tls {
  readonly ca?: RequestOptions['ca']
  readonly cert?: RequestOptions['cert']
  readonly key?: RequestOptions['key']
  readonly rejectUnauthorized?: boolean
  readonly servername?: string
  /** Absent = by the system, without a check of the addresses. */
  readonly lookup?: LookupFunction
}

/** The present credential of this process for one API server. */
interface ServerCredential {
  readonly tls: Tls
  readonly headers: Readonly<Record<string, string>>
}

/** A kubeconfig that was read once. */
interface ServerAccess {
  /** URL of the API server. */
  readonly server: URL
  /**
   * Reads the files named in the kubeconfig. With `refused` it reads the kubeconfig files too, and runs a credential
   * plugin again.
   *
   * @throws Error without any part of a credential
   */
  readonly readCredential: (refused: boolean) => Promise<ServerCredential>
}

/**
 * The source for a command: the given file, else KUBECONFIG, else the pod's service account (contract 8.1).
 *
 * @param path the given file; null = none
 * @param env reads an environment variable; null = it is not set
 * @throws Error if none of the three is given
 */
export function findKubeconfig(
  path: string | null,
  env: (name: string) => string | null,
): KubeconfigSource {
  const listed = (env('KUBECONFIG') ?? '').split(delimiter).filter(Boolean)
  const paths = path === null ? listed : [path]
  if (paths.length > 0) return { kind: 'files', paths }
  const host = env('KUBERNETES_SERVICE_HOST')
  if (host) return { kind: 'pod', host, port: env('KUBERNETES_SERVICE_PORT') ?? '443' }
  throw new Error(
    'no cluster: give --kubeconfig, set KUBECONFIG, or run in a pod with a service account',
  )
}

/**
 * Reads a kubeconfig.
 *
 * @throws Error that names the fault, and quotes no secret
 */
export async function readKubeconfig(source: KubeconfigSource): Promise<ServerAccess> {
  const load = loaderOf(source)
  let config = await load()
  const cluster = config.getCurrentCluster()
  if (!cluster) throw new Error('the kubeconfig has no current context with a cluster')
  if (cluster.proxyUrl) throw new Error('proxy-url in a kubeconfig is not supported')
  return {
    server: new URL(cluster.server),
    readCredential: async (refused) => {
      if (refused) config = await load()
      else if (readsTokenFile(config)) config = await withoutCachedTokens(config)
      const options = await optionsOf(config)
      return { tls: tlsOf(options), headers: headersOf(options) }
    },
  }
}

function loaderOf(source: KubeconfigSource): () => Promise<KubeConfig> {
  if (source.kind === 'files') return () => mergedFiles(source.paths)
  if (source.kind === 'pod') return () => podConfig(source)
  const config = configOf(parseKubeconfigValue(source.text))
  return () => config
}

/** client-node takes 0.3 s and memory to load: only commands that call a cluster load it. */
async function emptyConfig(): Promise<KubeConfig> {
  const { KubeConfig } = await import('@kubernetes/client-node')
  return new KubeConfig()
}

async function configOf(kubeconfig: object): Promise<KubeConfig> {
  const config = await emptyConfig()
  config.loadFromString(JSON.stringify(kubeconfig))
  return config
}

async function mergedFiles(paths: readonly string[]): Promise<KubeConfig> {
  const config = await emptyConfig()
  for (const path of paths) {
    const one = await configOf(readFile(path))
    one.makePathsAbsolute(dirname(path))
    // As in kubectl, the first file with a current context decides. client-node would take the last, perhaps for
    // another cluster.
    config.mergeConfig(one, Boolean(config.currentContext))
  }
  return config
}

/** client-node's name for the authenticator that reads a token file. */
const TOKEN_FILE = 'tokenFile'

interface FileContent {
  readonly users?: readonly {
    readonly name: string
    readonly user?: { readonly tokenFile?: string }
  }[]
}

/** Reads a kubeconfig file. client-node's parser is not used: it prints the lines around an error, with tokens. */
function readFile(path: string): object {
  try {
    const content = parseYaml(readFileSync(path, 'utf8')) as FileContent | null
    const users = (content?.users ?? []).map(({ name, user }) => ({
      name,
      user: user?.tokenFile ? withTokenFile(user, resolve(dirname(path), user.tokenFile)) : user,
    }))
    return { ...content, users }
  } catch (cause) {
    throw new Error(`kubeconfig ${path} is unreadable`, { cause })
  }
}

/** The user with its `tokenFile` as a file authenticator, as client-node ignores the field. It precedes `token`. */
const withTokenFile = (user: object, tokenFile: string): object => ({
  ...user,
  token: undefined,
  'auth-provider': { name: TOKEN_FILE, config: { tokenFile } },
})

const SERVICE_ACCOUNT = '/var/run/secrets/kubernetes.io/serviceaccount'

/** The pod's service account. Not by client-node's loadFromCluster(), which reads the environment. */
async function podConfig({ host, port }: { readonly host: string; readonly port: string }) {
  const config = await emptyConfig()
  const server = `https://${isIPv6(host) ? `[${host}]` : host}:${port}`
  const name = 'pod'
  const provider = { name: TOKEN_FILE, config: { tokenFile: `${SERVICE_ACCOUNT}/token` } }
  config.loadFromOptions({
    clusters: [{ name, server, caFile: `${SERVICE_ACCOUNT}/ca.crt`, skipTLSVerify: false }],
    users: [{ name, authProvider: provider }],
    contexts: [{ name, cluster: name, user: name }],
    currentContext: name,
  })
  return config
}

const readsTokenFile = (config: KubeConfig): boolean =>
  config.getCurrentUser()?.authProvider?.name === TOKEN_FILE

/**
 * The same configuration without cached tokens. client-node caches the token of a file for a minute and that of a
 * plugin until it expires, even after a 401.
 */
async function withoutCachedTokens(config: KubeConfig): Promise<KubeConfig> {
  const copy = await emptyConfig()
  const { clusters, contexts, users, currentContext } = config
  copy.loadFromOptions({ clusters, contexts, users, currentContext })
  return copy
}

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
