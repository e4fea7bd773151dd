// A kubeconfig from a value, such as the text of a Secret (contract 9.5). Its author may not be trusted with this
// process: it can't make the process read a file, run a program, act as another user or talk past TLS.
import { X509Certificate } from 'node:crypto'
import { createSecureContext } from 'node:tls'
import { type Json, type JsonMap, isList, isMap } from '../../domain/json/json.ts'
import { parsePlainYaml } from '../../runtime/yaml.ts'

/** The YAML parser takes up to 3 ms for 1 KiB. */
const LONGEST_TEXT = 64 * 1024
const MOST_FAULTS_LISTED = 50

/**
 * Parses the text of a kubeconfig, as YAML or JSON, and checks all of its clusters, contexts and users: it has a server
 * behind https and a token or a client certificate, all inline.
 *
 * @throws Error that lists each fault with its path, such as `users[0].user.exec`, and quotes no value
 */
export function parseKubeconfigValue(text: string): JsonMap {
  const config = parsed(text)
  const faults = isMap(config) ? faultsOf(config) : ['it is not a map']
  if (isMap(config) && faults.length === 0) return config
  const listed = faults.slice(0, MOST_FAULTS_LISTED)
  const rest = faults.length - listed.length
  const more = rest === 0 ? [] : [`and ${rest} more`]
  throw new Error(`the kubeconfig is refused: ${[...listed, ...more].join('; ')}`)
}

function parsed(text: string): Json {
  if (Buffer.byteLength(text) > LONGEST_TEXT)
    throw new Error(`the kubeconfig is refused: it is longer than ${LONGEST_TEXT / 1024} KiB`)
  try {
    return parsePlainYaml(text) as Json
  } catch (cause) {
    throw new Error('the kubeconfig is unreadable', { cause })
  }
}

/** Returns the fault of a field's value, which quotes none of it; null = the value is valid. */
type FieldCheck = (value: Json) => string | null

const isText: FieldCheck = (value) =>
  typeof value === 'string' && value !== '' ? null : 'must be a text that is not empty'
const ignored: FieldCheck = () => null
const namesFile: FieldCheck = () => 'names a file: a kubeconfig from a value holds its data inline'
const runsProgram: FieldCheck = () =>
  'names a program to run: a kubeconfig from a value holds its credential inline'
const isUnsupported: FieldCheck = () => 'is not supported'
const namesIdentity: FieldCheck = () =>
  'names an identity besides the credential: a kubeconfig from a value has a token or a client certificate'
const checksServer: FieldCheck = (value) =>
  value === false ? null : "is not supported: the server's certificate is always verified"

/** Whether the token is valid in a header. */
const isToken: FieldCheck = (value) =>
  typeof value === 'string' && /^[!-~]+$/.test(value)
    ? null
    : 'must be a text of printable ASCII without spaces'

const isPem: FieldCheck = (value) => {
  const plain = typeof value === 'string' ? value.replaceAll(/\s/g, '') : ''
  const isBase64 = /^[A-Za-z0-9+/]+={0,2}$/.test(plain)
  const isEncoded = isBase64 && Buffer.from(plain, 'base64').includes('-----BEGIN ')
  return isEncoded ? null : 'must be PEM in base64'
}

const isServer: FieldCheck = (value) => {
  const url = typeof value === 'string' ? URL.parse(value) : null
  const isBare = url && !url.username && !url.password && !url.search && !url.hash
  return isBare && url.protocol === 'https:' ? null : 'must be an https URL of host, port and path'
}

type Fields = Readonly<Record<string, FieldCheck>>

const CLUSTER: Fields = {
  server: isServer,
  'certificate-authority-data': isPem,
  'insecure-skip-tls-verify': checksServer,
  'tls-server-name': isText,
  'certificate-authority': namesFile,
  'proxy-url': isUnsupported,
  'disable-compression': ignored,
  extensions: ignored,
}

const USER: Fields = {
  token: isToken,
  'client-certificate-data': isPem,
  'client-key-data': isPem,
  username: namesIdentity,
  password: namesIdentity,
  tokenFile: namesFile,
  'client-certificate': namesFile,
  'client-key': namesFile,
  exec: runsProgram,
  'auth-provider': runsProgram,
  as: namesIdentity,
  'as-uid': namesIdentity,
  'as-groups': namesIdentity,
  'as-user-extra': namesIdentity,
  extensions: ignored,
}

const CONTEXT: Fields = {
  cluster: isText,
  user: isText,
  namespace: ignored,
  extensions: ignored,
}

/** The lists of a kubeconfig, with the field that holds an entry's content and the fields required in it. */
const LISTS = [
  { list: 'clusters', content: 'cluster', fields: CLUSTER, required: ['server'] },
  { list: 'contexts', content: 'context', fields: CONTEXT, required: ['cluster', 'user'] },
  { list: 'users', content: 'user', fields: USER, required: [] },
] as const

function faultsOf(config: JsonMap): readonly string[] {
  const listFaults = LISTS.flatMap(({ list, ...entry }) => {
    const entries = config[list]
    if (!isList(entries)) return [`${list} must be a list`]
    const names = entries.map((one) => (isMap(one) ? one['name'] : null))
    const faults = entries.flatMap((one, at) => faultsOfEntry(one, `${list}[${at}]`, entry))
    const isRepeated = new Set(names).size < names.length
    return [...faults, ...(isRepeated ? [`${list} has two entries of one name`] : [])]
  })
  return [...listFaults, ...(listFaults.length === 0 ? faultsOfCurrent(config) : [])]
}

interface KubeconfigEntryShape {
  readonly content: string
  readonly fields: Fields
  readonly required: readonly string[]
}

function faultsOfEntry(entry: Json, place: string, shape: KubeconfigEntryShape): readonly string[] {
  const { content, fields, required } = shape
  const name = isMap(entry) ? entry['name'] : null
  const map = isMap(entry) ? entry[content] : null
  const unnamed = isText(name ?? null) === null ? [] : [`${place}.name is missing`]
  if (!isMap(map)) return [...unnamed, `${place}.${content} must be a map`]
  const present = Object.entries(map).filter(([, value]) => value !== null)
  const missing = required.filter((field) => (map[field] ?? null) === null)
  const wrong = present.flatMap(([field, value]) => {
    const check = Object.hasOwn(fields, field) ? fields[field] : undefined
    // The name of an unknown field may be a misplaced secret.
    if (!check) return [`${place}.${content} has a field that is unknown`]
    const fault = check(value)
    return fault === null ? [] : [`${place}.${content}.${field} ${fault}`]
  })
  const absent = missing.map((field) => `${place}.${content}.${field} is missing`)
  return [...unnamed, ...absent, ...wrong]
}

/** The faults of the current context: it must name a cluster, and a user with a complete credential. */
function faultsOfCurrent(config: JsonMap): readonly string[] {
  const context = contentOf(config, 'contexts', 'context', config['current-context'])
  if (!context) return ['current-context names no context']
  const cluster = contentOf(config, 'clusters', 'cluster', context['cluster'])
  const user = contentOf(config, 'users', 'user', context['user'])
  return [
    ...(cluster ? faultsOfServer(cluster) : ['the current context names no cluster']),
    ...(user ? faultsOfCredential(user) : ['the current context names no user']),
  ]
}

/** The content of the entry with this name in a list of a kubeconfig; null = there is none. */
export function contentOf(
  config: JsonMap,
  list: string,
  content: string,
  name: Json | undefined,
): JsonMap | null {
  const entries = config[list]
  const found = isList(entries) ? entries.find((one) => isMap(one) && one['name'] === name) : null
  const map = isMap(found) ? found[content] : null
  return isMap(map) ? map : null
}

const CERTIFICATE = 'client-certificate-data'
const KEY = 'client-key-data'

function faultsOfCredential(user: JsonMap): readonly string[] {
  const has = (field: string): boolean => (user[field] ?? null) !== null
  if (has(CERTIFICATE) !== has(KEY))
    return [`the current user has only one of ${CERTIFICATE} and ${KEY}`]
  if (!has('token') && !has(KEY)) return ['the current user has no credential']
  const pair = { cert: pemOf(user[CERTIFICATE]), key: pemOf(user[KEY]) }
  // The key of another certificate does not work, nor one with a passphrase.
  return has(KEY) && !isAccepted(() => createSecureContext(pair))
    ? [`${CERTIFICATE} and ${KEY} of the current user do not work`]
    : []
}

function faultsOfServer(cluster: JsonMap): readonly string[] {
  const ca = cluster['certificate-authority-data'] ?? null
  const isTrusted = ca === null || areCertificates(pemOf(ca).toString('latin1'))
  return isTrusted ? [] : ['certificate-authority-data of the current cluster does not work']
}

const pemOf = (value: Json | undefined): Buffer =>
  Buffer.from(typeof value === 'string' ? value : '', 'base64')

const CERTIFICATES = /-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g

/** Whether there is a certificate, and each can be read. TLS would pass over others, and so trust no server. */
const areCertificates = (pem: string): boolean => {
  const each = pem.match(CERTIFICATES) ?? []
  return each.length > 0 && each.every((one) => isAccepted(() => new X509Certificate(one)))
}

/** Whether the function returns. */
function isAccepted(read: () => unknown): boolean {
  try {
    read()
    return true
  } catch {
    return false
  }
}
