// Random requests with mistakes that no client makes, from a grammar of the API server's paths and queries.
// The same seed makes the same requests.
import { METHODS } from '../../src/gateway/request/request-info.ts'
import type { Random } from './random.ts'
import { repeated } from './tier.ts'

/** A request: method, and path and query after the route of its target. */
export interface SentRequest {
  readonly method: string
  readonly rest: string
}

/** A random request: mostly well-formed, as several mistakes would hide one another. */
export function requestSent(random: Random): SentRequest {
  const { pick } = random
  const method = pick([...METHODS, ...METHODS, ...GETS, pick(ODD_METHODS)])
  const segments = misspelled(segmentsAsked(random), random)
  const path = segments.map((segment) => spelled(segment, random)).join('/')
  const slash = pick([...Array.from({ length: 20 }, () => ''), '/', '/', '/', '//'])
  const rest = `${pick(BEGINNINGS)}${path}${slash}${querySent(random)}`
  // Trailing spaces can't be part of a target: they precede the version in the request line.
  return { method, rest: rest.replace(/ +$/, '') }
}

/** The verb of a GET depends on more than its path. */
const GETS = Array.from({ length: 14 }, () => 'GET')

// biome-ignore format: a table
const ODD_METHODS = ['OPTIONS', 'TRACE', 'CONNECT', 'QUERY', 'get', 'Get', 'post', 'LIST', 'WATCH', 'APPLY', 'DELETECOLLECTION', 'PROXY'] as const

// biome-ignore format: a table
const BEGINNINGS = [...Array.from({ length: 100 }, () => '/'), '', '//', '/\\', '///', 'http://evil.example/', '/./', '/../', '/%2f', '?'] as const

function segmentsAsked(random: Random): readonly string[] {
  const { pick } = random
  const kind = pick(['core', 'core', 'core', 'group', 'group', 'group', 'path'] as const)
  if (kind === 'path') return pick(PATHS).split('/')
  const [prefix, ...resources] = kind === 'core' ? pick(CORE) : pick(GROUPS)
  const legacy = pick([...Array.from({ length: 30 }, () => []), ['watch'], ['proxy']])
  const namespace = pick([[], ['namespaces', pick(NAMES)]])
  const resource = pick([pick(resources), pick(resources), pick(resources), pick(ODD_RESOURCES)])
  const tails = [[], [], [], [pick(NAMES)], [pick(NAMES)], [pick(NAMES), pick(SUBRESOURCES)]]
  const tail = pick([...tails, ...tails, [pick(NAMES), pick(SUBRESOURCES), pick(NAMES)]])
  const shape = pick([0, 0, 0, 0, 0, 0, 0, 0, 1, 2])
  if (shape === 1) return [...prefix.split('/'), ...legacy, ...namespace]
  if (shape === 2) return [...prefix.split('/'), ...legacy, ...namespace, pick(SUBRESOURCES)]
  return [...prefix.split('/'), ...legacy, ...namespace, resource, ...tail]
}

/** A prefix, then resources behind it. */
type Served = readonly [prefix: string, ...resources: string[]]

// biome-ignore format: a table
const CORE: readonly Served[] = [
  ['api/v1', 'pods', 'secrets', 'configmaps', 'services', 'nodes', 'namespaces', 'events', 'serviceaccounts', 'endpoints', 'persistentvolumes', 'componentstatuses', 'bindings'],
  ['api/v2', 'pods', 'namespaces'],
  ['api/V1', 'pods'],
]
// biome-ignore format: a table
const GROUPS: readonly Served[] = [
  ['apis/apps/v1', 'deployments', 'statefulsets', 'daemonsets', 'replicasets'],
  ['apis/management.platform.sh/v1', 'ownedaccesskeys', 'directclusterendpointtokens', 'configs', 'config', 'Config'],
  ['apis/management.platform.sh/v2', 'config', 'ownedaccesskeys'],
  ['apis/rbac.authorization.k8s.io/v1', 'roles', 'clusterroles', 'rolebindings', 'clusterrolebindings'],
  ['apis/apiextensions.k8s.io/v1', 'customresourcedefinitions'],
  ['apis/certificates.k8s.io/v1', 'certificatesigningrequests'],
  ['apis/authentication.k8s.io/v1', 'selfsubjectreviews', 'tokenreviews'],
  ['apis/authorization.k8s.io/v1', 'selfsubjectaccessreviews', 'localsubjectaccessreviews'],
  ['apis/events.k8s.io/v1', 'events'],
  ['apis/coordination.k8s.io/v1', 'leases'],
  ['apis/apiregistration.k8s.io/v1', 'apiservices'],
  ['apis/metrics.k8s.io/v1beta1', 'pods', 'nodes'],
  ['apis/no.such.group/v1', 'things'],
  ['apis/namespaces/v1', 'namespaces'],
  ['apis/api/v1', 'pods'],
]
// biome-ignore format: a table
const PATHS = [
  '', 'api', 'apis', 'api/v1', 'apis/apps', 'apis/apps/v1', 'apis/management.platform.sh', 'apis/management.platform.sh/v1', 'version', 'healthz', 'healthz/ping',
  'livez', 'readyz', 'readyz/etcd', 'metrics', 'metrics/slis', 'openapi', 'openapi/v3', 'openapi/v3/apis/apps/v1', 'logs', 'logs/kube-apiserver.log', 'debug/pprof/profile',
  '.well-known/openid-configuration', 'openid/v1/jwks', 'API', 'API/v1/pods', 'Apis/apps/v1/deployments', 'apiv1/pods', 'ap', 'api.', 'swagger.json', 'kubernetes/management/api/v1/pods',
  'api/watch', 'apis/watch/v1', 'api/v1/watch', 'api/v1/proxy', 'apis/apps/v1/watch', 'apis/apps/v1/proxy', 'flagz', 'statusz', 'clusters/x/api/v1/pods', 'favicon.ico',
] as const
// biome-ignore format: a table
const ODD_RESOURCES = ['Pods', 'po', 'pod', 'secrets.', 'secrets ', 'SECRETS', 'watch', 'proxy', 'status', 'finalize', 'namespaces', 'v1', '*', 'pods:x', 'api', 'ｐods', '__proto__', 'constructor'] as const
// biome-ignore format: a table
const NAMES = [
  'a', 'b', 'default', 'kube-system', 'p-one', 'x.y', 'system:node', 'a b', 'é', 'e\u0301', '日本', '🙂', 'a;b', 'a=b', 'a&b', 'a?b', 'a#b', 'a+b', 'a,b', '*', '~', '-', '_', '@', '$', "it's", '(x)',
  'status', 'finalize', 'namespaces', 'pods', 'secrets', 'watch', 'proxy', 'log', '...', '.a', 'a.', 'https:web:443', '{a}', '[a]', '"a"', '<a>', 'a|b', 'a^b', 'a`b', '!', 'true', '0', '\ufeffa', '\u00a0',
  '\u2028', '\u200b', 'ſ', 'K', 'İ', 'x'.repeat(300),
] as const
// biome-ignore format: a table
const SUBRESOURCES = ['status', 'scale', 'log', 'exec', 'attach', 'portforward', 'proxy', 'token', 'finalize', 'eviction', 'binding', 'ephemeralcontainers', 'approval', 'resize', 'x', 'watch', 'namespaces'] as const

// Queries with parameters that the API server reads, and others.

/** A query with its question mark, or none. */
function querySent(random: Random): string {
  const { pick } = random
  const count = pick([0, 0, 0, 1, 1, 2, 3, 5])
  const pairs = Array.from({ length: count }, () => pairSent(random))
  const junk = pick([...Array.from({ length: 150 }, () => []), ...JUNK.map((one) => [one])])
  return count + junk.length === 0 ? pick(['', '', '', '?']) : `?${[...pairs, ...junk].join('&')}`
}

/** Parts of a query that are no pair. */
const JUNK = [
  '',
  '&',
  '=',
  '=a',
  '?',
  '??',
  '%',
  '%zz',
  'a;b',
  ';',
  '#',
  '#watch=1',
  '+',
  '%26watch=1',
  'a=%c3%28',
  'a=\xff',
  '\x7f',
]

function pairSent(random: Random): string {
  const { pick } = random
  const name = pick(PARAMETERS)
  const value = pick(pick([VALUES.get(name) ?? ANY, VALUES.get(name) ?? ANY, ANY]))
  // The equals sign may be missing, and spaces may be encoded as in forms.
  const text = pick(['=', '=', '=', '=', '=', '=', '=', ''])
  const isForm = pick([true, false])
  const written = spelled(value, random)
  return `${spelled(name, random)}${text}${text === '' ? '' : isForm ? written.replaceAll('%20', '+') : written}`
}

// biome-ignore format: a table
const SELECTORS = [
  'metadata.name=x', 'metadata.name==x', 'metadata.name!=x', 'metadata.name=', 'metadata.name=x,metadata.name=y', 'metadata.name=x,metadata.namespace=p-a', 'metadata.namespace=p-a,metadata.name=x',
  'spec.nodeName=n', 'metadata.name=a/b', 'metadata.name=..', 'metadata.name=.', 'metadata.name=a%b', 'metadata.name=%61', 'metadata.name=a\\,b', 'metadata.name=a\\=b', 'metadata.name=a\\\\b', 'metadata.name=a\\b',
  'metadata.name=a\\', 'metadata.name=a=b', 'metadata.name', ' metadata.name=x', 'metadata.name =x', 'metadata.name= x', 'metadata.name=x ', ',metadata.name=x,', 'metadata.name=x,,', 'metadata.name=é', 'metadata.name=a b',
  'metadata.name=x,spec.foo', 'metadata.name=x,=', 'metadata.name=x,!=', 'METADATA.NAME=x', 'metadata.name===x', 'metadata.name=!x', 'metadata.name!=x,metadata.name=y', 'a\\,metadata.name=x', 'metadata.name=x\\', '', ',', '=', '\\', 'metadata.name=\0x',
  'metadata.name=x\ny', 'metadata\\.name=x', 'spec.type=Login', 'involvedObject.name=x',
]
// biome-ignore format: a table
const LABELS = [
  'a=b', 'a==b', 'a!=b', 'a in (b,c)', 'a notin (b)', 'a,!b', '!a', 'a', 'a>5', 'a<5', 'a>x', 'x.y/z=1', 'X.y/z=1', '-a=b', 'a=b=c', 'a in b', 'a in ()', 'a in (,)', 'a in (b', 'a=', 'a= ', ' a = b ', 'in in (in)', 'notin', '',
  ' ', ',', 'a,', ',a', 'a=b,,c', 'a=é', 'é=a', `${'a'.repeat(64)}=b`, `${'a'.repeat(63)}=${'b'.repeat(63)}`, 'a=-b', 'a=b-', 'a/b/c=d', '/a=b', 'a/=b', 'a\tin\n(b)', 'a in(b)', 'ain (b)', '(a)', 'a!', '!!a', '! a', '!a=b', 'a>9223372036854775808',
  'a>999999999999999999', 'a\u00a0=b', 'a in (b),c', 'a=b\0', '\0', 'a in (b c)', 'a..b/c', 'a.b/c', '.a/b', 'a-/b', 'a=>b', 'a><b', 'a=!b',
]
// biome-ignore format: a table
const TRUTHS = ['true', 'false', '1', '0', '', 'False', 'FALSE', 'fAlSe', 'True', 'no', 'off', '00', ' false', 'false ', 'fal\u017fe', '\u212aalse', '-1', 'null', '2', 'falſe', '0.0', 'f', '\0', 'ｆalse']
const NUMBERS = [
  '500',
  '0',
  '-1',
  '',
  'x',
  '1.5',
  '+1',
  '1_000',
  '0x10',
  '1e3',
  ' 1',
  '9223372036854775807',
  '9223372036854775808',
  '000',
  '१',
  '999999999999999999',
]
const ANY = [
  '',
  'x',
  'All',
  'true',
  'é',
  'a b',
  'a&b',
  'a=b',
  'a;b',
  '\n',
  '\0',
  '%',
  '+',
  '?',
  '#',
  '[]',
  '{"a":1}',
]

const VALUES: ReadonlyMap<string, readonly string[]> = new Map([
  ['watch', TRUTHS],
  ['fieldSelector', SELECTORS],
  ['labelSelector', LABELS],
  ['limit', NUMBERS],
  ['timeoutSeconds', NUMBERS],
  ['allowWatchBookmarks', TRUTHS],
  ['sendInitialEvents', TRUTHS],
])

// biome-ignore format: a table
const PARAMETERS = [
  'watch', 'watch', 'watch', 'watch', 'fieldSelector', 'fieldSelector', 'fieldSelector', 'fieldSelector', 'labelSelector', 'labelSelector', 'limit', 'timeoutSeconds', 'resourceVersion', 'resourceVersionMatch', 'continue',
  'allowWatchBookmarks', 'sendInitialEvents', 'shardSelector', 'dryRun', 'dryRun', 'command', 'exclude', 'fieldManager', 'fieldValidation', 'force', 'pretty', 'Watch', 'WATCH', 'watch[]', ' watch', 'watch ', 'fieldselector', '', 'a', '__proto__',
  'constructor', 'hasOwnProperty', 'path', 'method', 'as', 'impersonate',
]

// Encodings of the parts of a request, valid and invalid.

/** Rarely a segment is dropped, doubled, or replaced by one that paths should not have. */
function misspelled(segments: readonly string[], { pick, between }: Random): readonly string[] {
  const at = Math.floor(between(0, segments.length + 1))
  const [before, after] = [segments.slice(0, at), segments.slice(at)]
  switch (pick([...SOUND, 'lose', 'double', 'insert', 'swap'])) {
    case 'lose':
      return [...before, ...after.slice(1)]
    case 'double':
      return [...before, ...after.slice(0, 1), ...after]
    case 'insert':
      return [...before, pick(TRAPS), ...after]
    case 'swap':
      return [...before, pick(TRAPS), ...after.slice(1)]
    default:
      return segments
  }
}

/** A well-formed choice, thirty times as likely as each mistake. */
const SOUND = Array.from({ length: 30 }, () => 'sound')

// biome-ignore format: a table
const TRAPS = [
  '', '.', '..', '...', '/', 'a/b', '../b', '\\', '..\\', 'a\\b', '%', '%2e', '%2e%2e', '%2f', '%zz', '\0', '\t', '\n', '\r\n', '\x7f', '\x80', '\x9f', ' ', '\ufffd', 'namespaces', 'watch', 'proxy', 'status',
]

type Spelling = (text: string, random: Random) => string

const escaped = (byte: number): string => `%${byte.toString(16).padStart(2, '0')}`
const bytesOf = (text: string): readonly number[] => [...Buffer.from(text)]
const isPlain = (byte: number): boolean => /[\w.~-]/.test(String.fromCharCode(byte))

const whole: Spelling = (text) => bytesOf(text).map(escaped).join('')
/** Any character may be escaped, with hex digits in either case. */
const partly: Spelling = (text, { pick }) =>
  bytesOf(text)
    .map((byte) => {
      if (isPlain(byte) && pick([true, true, false])) return String.fromCharCode(byte)
      return pick([escaped(byte), escaped(byte).toUpperCase()])
    })
    .join('')
/** Unescaped, without line breaks, which would end the request line. */
const bare: Spelling = (text) => Buffer.from(text.replace(/[\r\n]/g, '')).toString('latin1')
const broken: Spelling = (text, { pick }) => `${encodeURIComponent(text)}${pick(BROKEN)}`

const BROKEN = [
  '%',
  '%4',
  '%zz',
  '%c3',
  '%ff',
  '%c0%af',
  '%ed%a0%80',
  '%F4%90%80%80',
  '%u0041',
  '#',
  '#a',
  ';a',
  ';',
  '\\',
  '%00',
  '%0a',
  '+',
]

// biome-ignore format: a table
const SPELLINGS: readonly Spelling[] = [
  ...Array.from({ length: 60 }, () => encodeURIComponent), ...Array.from({ length: 20 }, () => partly), whole, whole, bare, broken,
  (text) => encodeURIComponent(encodeURIComponent(text)),
]

/** A text percent-encoded, once, twice, in part or not at all. */
const spelled: Spelling = (text, random) => random.pick(SPELLINGS)(text, random)

// How much is fuzzed, and from which seed.

const given = process.env['FUZZ_REQUESTS'] ?? String(repeated(1000, 10_000))
if (!/^[1-9]\d{0,7}$/.test(given)) {
  throw new Error(`FUZZ_REQUESTS=${given}: write a number of requests, or nothing`)
}
const seed = process.env['FUZZ_SEED'] ?? String(Date.now() % 2 ** 31)
if (!/^\d{1,10}$/.test(seed)) {
  throw new Error(
    `FUZZ_SEED=${seed}: write the seed that a failure printed, or nothing for a new one`,
  )
}

/** How many requests are to be compared. */
export const FUZZ_REQUESTS = Number(given)

/** The seed; a new one for each run unless it is given. */
export const FUZZ_SEED = Number(seed)

/** Requests that are sent before they are looked up in the audit log. */
const EACH_ROUND = 5000

/** How many are compared in each round. */
export const ROUNDS: readonly number[] = Array.from(
  { length: Math.ceil(FUZZ_REQUESTS / EACH_ROUND) },
  (_, round) => Math.min(EACH_ROUND, FUZZ_REQUESTS - round * EACH_ROUND),
)

/** The time limit of a test over them, on a busy machine. */
export const FUZZ_WITHIN_MS = 120_000 + FUZZ_REQUESTS * 20
