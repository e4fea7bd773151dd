// The address of an API server and the credential of this process, from files, the pod's service account or a value.
import { readFileSync } from 'node:fs'
import type { RequestOptions } from 'node:https'
import { type LookupFunction, isIPv6 } from 'node:net'
import { delimiter, dirname, resolve } from 'node:path'
import { type Json, type JsonMap, isMap, stringOf } from '../../domain/json/json.ts'
import { parseYaml } from '../../runtime/yaml.ts'
import { type CredentialPlugin, loadPlugin } from './credential-plugin.ts'
import { contentOf, parseKubeconfigValue } from './kubeconfig-value.ts'

/**
 * Where a kubeconfig comes from. `files`: merged as in kubectl. `pod`: the service account of this process's
 * pod. `value`: a text with all data inline, such as a Secret's.
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
  const load = (): Promise<CurrentContext> => currentOf(documentsOf(source))
  let current = await load()
  const { content: cluster } = current.cluster
  if (cluster['proxy-url']) throw new Error('proxy-url in a kubeconfig is not supported')
  const server = URL.parse(stringOf(cluster['server']) ?? '')
  if (!server) throw new Error('the current cluster of the kubeconfig has no server that is a URL')
  if (server.protocol !== 'https:' && !skipsVerification(current))
    throw new Error('the server of a kubeconfig has no https, and no insecure-skip-tls-verify')
  return {
    server,
    readCredential: async (refused) => {
      if (refused) current = await load()
      return credentialOf(current)
    },
  }
}

/** A parsed kubeconfig. Paths in it are relative to the folder. */
interface KubeconfigDocument {
  readonly folder: string
  readonly config: JsonMap
}

function documentsOf(source: KubeconfigSource): readonly KubeconfigDocument[] {
  if (source.kind === 'files') return source.paths.map(readFile)
  const config = source.kind === 'pod' ? podConfig(source) : parseKubeconfigValue(source.text)
  return [{ folder: SERVICE_ACCOUNT, config }]
}

/** Reads a kubeconfig file; an empty one has nothing in it. */
function readFile(path: string): KubeconfigDocument {
  try {
    const config = parseYaml(readFileSync(path, 'utf8'))
    return { folder: dirname(path), config: isMap(config) ? config : {} }
  } catch (cause) {
    throw new Error(`kubeconfig ${path} is unreadable`, { cause })
  }
}

const SERVICE_ACCOUNT = '/var/run/secrets/kubernetes.io/serviceaccount'

/** The pod's service account. */
function podConfig({ host, port }: { readonly host: string; readonly port: string }): JsonMap {
  const server = `https://${isIPv6(host) ? `[${host}]` : host}:${port}`
  const name = 'pod'
  return {
    'current-context': name,
    clusters: [{ name, cluster: { server, 'certificate-authority': 'ca.crt' } }],
    contexts: [{ name, context: { cluster: name, user: name } }],
    users: [{ name, user: { tokenFile: 'token' } }],
  }
}

/** The content of an entry of a kubeconfig. */
interface NamedContent {
  readonly folder: string
  readonly content: JsonMap
}

/** The cluster and the user of the current context. */
interface CurrentContext {
  readonly cluster: NamedContent
  readonly user: NamedContent
  /** The plugin that gives the user's credential; null = the user has one of its own. */
  readonly plugin: CredentialPlugin | null
}

/** The current context of merged documents: as in kubectl, the first that has a value decides it. */
async function currentOf(documents: readonly KubeconfigDocument[]): Promise<CurrentContext> {
  const find = (list: string, content: string, name: Json | undefined): NamedContent | undefined =>
    documents
      .map(({ folder, config }) => ({ folder, content: contentOf(config, list, content, name) }))
      .find((entry): entry is NamedContent => entry.content !== null)
  const name = documents.map(({ config }) => config['current-context']).find(Boolean)
  const context = find('contexts', 'context', name)?.content
  const cluster = find('clusters', 'cluster', context?.['cluster'])
  if (!context || !cluster) throw new Error('the kubeconfig has no current context with a cluster')
  const user = find('users', 'user', context['user']) ?? { folder: '', content: {} }
  return { cluster, user, plugin: await loadPlugin(user.content) }
}

const skipsVerification = ({ cluster }: CurrentContext): boolean =>
  cluster.content['insecure-skip-tls-verify'] === true

async function credentialOf(current: CurrentContext): Promise<ServerCredential> {
  try {
    const given = await current.plugin?.()
    const headers = { ...headersOf(current.user), ...given?.headers }
    return { tls: { ...tlsOf(current), ...given?.tls }, headers }
  } catch (cause) {
    const message = 'the credentials for the API server are unreadable'
    if (!(cause instanceof SyntaxError)) throw new Error(message, { cause })
    // oxlint-disable-next-line preserve-caught-error -- V8 quotes what it can't parse: a token (contract 3.5)
    throw new Error(`${message}: the credential plugin printed no JSON`)
  }
}

function tlsOf(current: CurrentContext): Tls {
  const { cluster, user } = current
  const ca = bytesOf(cluster, 'certificate-authority')
  const cert = bytesOf(user, 'client-certificate')
  const key = bytesOf(user, 'client-key')
  const servername = stringOf(cluster.content['tls-server-name'])
  return {
    ...(ca ? { ca } : {}),
    ...(cert ? { cert } : {}),
    ...(key ? { key } : {}),
    ...(skipsVerification(current) ? { rejectUnauthorized: false } : {}),
    ...(servername ? { servername } : {}),
  }
}

/** The bytes of a field, inline or in a file; null = neither. As in kubectl, those inline come first. */
function bytesOf(entry: NamedContent, field: string): Buffer | null {
  const inline = stringOf(entry.content[`${field}-data`])
  return inline ? Buffer.from(inline, 'base64') : fileOf(entry, field)
}

/** The file that a field names; null = it names none. */
function fileOf({ folder, content }: NamedContent, field: string): Buffer | null {
  const path = stringOf(content[field])
  return path ? readFileSync(resolve(folder, path)) : null
}

function headersOf(user: NamedContent): Readonly<Record<string, string>> {
  const text = (field: string): string => stringOf(user.content[field]) ?? ''
  const token = (fileOf(user, 'tokenFile')?.toString() ?? text('token')).trim()
  const basic = text('username') && `Basic ${btoa(`${text('username')}:${text('password')}`)}`
  const authorization = token ? `Bearer ${token}` : basic
  return {
    ...(authorization ? { authorization } : {}),
    ...(text('as') ? { 'impersonate-user': text('as') } : {}),
  }
}
