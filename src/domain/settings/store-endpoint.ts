// The setting `audit.dataStoreEndpoint`: a URL that names the database of the audit log (contract 22.3).
import { isWithin, parseCidr, parseIpAddress, type Cidr, withoutBrackets } from '../ip-address.ts'

/**
 * How a connection is encrypted: `off` = plain text; `require` = TLS with any certificate; `verify-ca` = one of a trusted
 * issuer; `verify-full` = one that also names the host.
 */
type StoreTls = 'off' | 'require' | 'verify-ca' | 'verify-full'

/** A database server. */
export interface ServerEndpoint {
  readonly kind: 'postgres' | 'mysql'
  /** A name or an address, without brackets. */
  readonly host: string
  readonly port: number
  readonly user: string
  /** Empty = none. */
  readonly password: string
  readonly database: string
  readonly tls: StoreTls
  /** An absolute file with the certificates of the issuers that are trusted; null = the certificates of the system. */
  readonly rootCertificates: string | null
}

/** The database of the audit log. */
export type StoreEndpoint = { readonly kind: 'sqlite'; readonly file: string } | ServerEndpoint

/** The endpoint of a text, or why it names none: a clause such as `has no database`, without any part of the text. */
type ParsedEndpoint =
  | { readonly endpoint: StoreEndpoint; readonly fault: null }
  | { readonly endpoint: null; readonly fault: string }

const FORMS =
  'is none of sqlite:///<absolute file>, postgres://user:password@host:port/database and mysql://user:password@host:port/database'

const faulty = (fault: string): ParsedEndpoint => ({ endpoint: null, fault })

/** Parses the setting; an empty one, which means no data store, is the caller's affair. */
export function parseStoreEndpoint(text: string): ParsedEndpoint {
  if (CONTROL.test(text)) return faulty('has a control character')
  const [, scheme = '', rest = ''] = /^([a-z]+):\/\/(.*)$/su.exec(text) ?? []
  switch (scheme) {
    case 'sqlite':
      return sqliteOf(rest)
    case 'postgres':
    case 'postgresql':
      return serverOf('postgres', text)
    case 'mysql':
      return serverOf('mysql', urlOfDriverForm(rest) ?? text)
    default:
      return faulty(FORMS)
  }
}

/** Control characters, which URLs lose in silence. */
const CONTROL = /\p{Cc}/u

function sqliteOf(rest: string): ParsedEndpoint {
  const file = decoded(rest)
  if (/[?#]/.test(rest)) return faulty('has parameters, and a sqlite file has none')
  if (file === null) return faulty(MALFORMED_ESCAPE)
  const parts = file.split('/')
  if (parts[0] !== '' || parts.at(-1) === '' || parts.includes('..'))
    return faulty('names no absolute file: write sqlite:///<absolute file>')
  return { endpoint: { kind: 'sqlite', file }, fault: null }
}

/** `user:password@tcp(host:port)/database`, the form of Go's driver, whose user and password have no escapes. */
const DRIVER_FORM = /^(?:([^:@/]*)(?::(.*))?@)?tcp\(([^()]*)\)(\/.*)?$/su

/** The URL of a text in the form of Go's driver; null = it has another form. */
function urlOfDriverForm(rest: string): string | null {
  const match = DRIVER_FORM.exec(rest)
  if (match === null) return null
  const [, user = '', password = '', address = '', path = ''] = match
  return `mysql://${encodeURIComponent(user)}:${encodeURIComponent(password)}@${address}${path}`
}

const MALFORMED_ESCAPE = 'has a % that two hexadecimal digits do not follow: write %25'

const DEFAULT_PORT = { postgres: 5432, mysql: 3306 } as const

/** A name or an address. */
const HOST = /^(?:[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9.])?|\[[0-9A-Fa-f:.]+\])$/

function serverOf(kind: 'postgres' | 'mysql', text: string): ParsedEndpoint {
  const url = URL.parse(text)
  if (url === null) return faulty(FORMS)
  if (url.hash !== '') return faulty('has a #: write %23')
  const [user, password, database] = [url.username, url.password, url.pathname.slice(1)].map(
    decoded,
  )
  if (user == null || password == null || database == null) return faulty(MALFORMED_ESCAPE)
  if (!HOST.test(url.hostname)) return faulty('has no host, or more than one')
  if (url.port === '0') return faulty('has port 0')
  if (user === '') return faulty('has no user')
  if (database === '' || database.includes('/')) return faulty('has no database')
  const host = withoutBrackets(url.hostname)
  const parameters = [...url.searchParams]
  const fault = parametersFault(kind, parameters)
  if (fault !== null) return faulty(fault)
  const given = new Map(parameters)
  const tls = TLS_WORDS[kind].get(given.get(TLS_PARAMETER[kind]) ?? '')
  const endpoint: ServerEndpoint = {
    kind,
    host,
    port: url.port === '' ? DEFAULT_PORT[kind] : Number(url.port),
    user,
    password,
    database,
    tls: tls ?? (isLoopbackHost(host) ? 'off' : 'verify-full'),
    rootCertificates: given.get('sslrootcert') ?? null,
  }
  return { endpoint, fault: null }
}

const TLS_PARAMETER = { postgres: 'sslmode', mysql: 'tls' } as const

/** The words for TLS. Those that go on without it where the server has none are not among them. */
const TLS_WORDS: Readonly<Record<'postgres' | 'mysql', ReadonlyMap<string, StoreTls>>> = {
  postgres: new Map([
    ['disable', 'off'],
    ['require', 'require'],
    ['verify-ca', 'verify-ca'],
    ['verify-full', 'verify-full'],
  ]),
  mysql: new Map([
    ['false', 'off'],
    ['skip-verify', 'require'],
    ['true', 'verify-full'],
  ]),
}

/** Parameters that users paste from other programs and that change nothing here. */
const WITHOUT_EFFECT: Readonly<Record<'postgres' | 'mysql', readonly string[]>> = {
  postgres: ['application_name', 'connect_timeout'],
  mysql: ['charset', 'collation', 'loc', 'parseTime'],
}

function parametersFault(
  kind: 'postgres' | 'mysql',
  parameters: readonly (readonly [name: string, text: string])[],
): string | null {
  const tls = TLS_PARAMETER[kind]
  const words = [...TLS_WORDS[kind].keys()]
  const known = [tls, 'sslrootcert', ...WITHOUT_EFFECT[kind]]
  const names = parameters.map(([name]) => name)
  if (names.some((name) => !known.includes(name)))
    return `has a parameter other than ${known.join(', ')}`
  if (new Set(names).size < names.length) return 'has a parameter twice'
  const given = new Map(parameters)
  const word = given.get(tls)
  if (word !== undefined && !words.includes(word))
    return `has ${tls} other than ${words.join(', ')}`
  const file = given.get('sslrootcert')
  return file === undefined || file.startsWith('/')
    ? null
    : 'has sslrootcert that is no absolute file'
}

function decoded(text: string): string | null {
  try {
    return decodeURIComponent(text)
  } catch {
    return null
  }
}

/** The loopback addresses, which a store may have (contract 22.3) and no target (9.5). */
export const LOOPBACK: readonly Cidr[] = ['127.0.0.0/8', '::1/128'].flatMap(
  (range) => parseCidr(range) ?? [],
)

/** Whether a host, without brackets around IPv6, names this machine. */
export function isLoopbackHost(host: string): boolean {
  const address = parseIpAddress(host)
  if (address === null) return host.toLowerCase() === 'localhost'
  return LOOPBACK.some((range) => isWithin(address, range))
}
