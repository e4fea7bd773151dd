// Formats of single settings. A check returns the fault and how to correct it, or null. It never quotes the value,
// which may be a secret in the wrong field (contract 3.5).

import { RE2JS } from 're2js'
import { isDnsSubdomain } from '../dns-name.ts'
import { parseDuration } from '../time.ts'

/** Checks a text: returns a clause with the fault and how to correct it; null when the text is valid. */
export type FormatCheck = (text: string) => string | null

const MAX_PATTERN_LENGTH = 4096

const matching =
  (pattern: RegExp, fault: string): FormatCheck =>
  (text) =>
    pattern.test(text) ? null : fault

const oneOf =
  (values: readonly string[], kind: string): FormatCheck =>
  (text) =>
    values.includes(text) ? null : `is not ${kind}: write one of ${values.join(', ')}`

/** A URL of one of these schemes, with a host, no white space and no backslash. */
export const urlOf =
  (...schemes: readonly string[]): FormatCheck =>
  (text) => {
    const isUrl = /^[a-z][a-z0-9+.-]*:\/\/[^\s\\/?#][^\s\\]*$/i.test(text) && URL.canParse(text)
    const scheme = text.slice(0, text.indexOf(':')).toLowerCase()
    if (isUrl && schemes.includes(scheme)) return null
    return `is not a URL: write it with ${schemes.map((name) => `${name}://`).join(' or ')} and a host`
  }

/** A URL for browsers and clients. */
export const webUrl: FormatCheck = urlOf('https', 'http')

/** The target of a button: a page, a mail address or a path of the UI; never a script. */
export const link: FormatCheck = (text) =>
  /^(mailto:[^\s]+|\/(?![\\/])[^\s\\]*)$/i.test(text) || webUrl(text) === null
    ? null
    : 'is not a link: write https://, http://, mailto: or a path that starts with /'

/** The name of a module of the UI, or a URL. */
export const externalUrl: FormatCheck = (text) =>
  ['vcluster', 'gtm', 'featurebase'].includes(text) || webUrl(text) === null
    ? null
    : 'is neither a module nor a URL: write vcluster, gtm, featurebase or a URL with https://'

/** Redirect URI of an OIDC client: any scheme, wildcards allowed. */
export const redirectUri: FormatCheck = matching(
  /^(\*|[a-z][a-z0-9+.*-]*:[^\s]+)$/i,
  'is not a redirect URI: write it whole, for example https://app.example.com/callback',
)

/** A host name without scheme, optionally with a port. */
export const host: FormatCheck = (text) =>
  /^[^\s\\/?#@]+$/.test(text) && URL.canParse(`https://${text}`)
    ? null
    : 'is not a host: write a name such as platform.example.com, without scheme and path'

/** `#` and hexadecimal digits. */
export const colour: FormatCheck = matching(
  /^#([0-9a-f]{3}|[0-9a-f]{4}|[0-9a-f]{6}|[0-9a-f]{8})$/i,
  'is not a colour: write # and 3, 4, 6 or 8 hexadecimal digits, for example #1a2b3c',
)

/** Standard base64 with its padding; line breaks are accepted. */
export const base64: FormatCheck = (text) => {
  const plain = text.replaceAll(/\s/g, '')
  return plain.length > 0 && plain.length % 4 === 0 && /^[A-Za-z0-9+/]+={0,2}$/.test(plain)
    ? null
    : 'is not base64: write the certificate as base64 with its padding'
}

/** Name of an HTTP header (RFC 9110, token). */
export const headerName: FormatCheck = matching(
  /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/,
  "is not a header name: use letters, digits and any of !#$%&'*+-.^_`|~",
)

/** Value of an HTTP header: no control character except the tab, so that no value can add a header line. */
export const headerValue: FormatCheck = matching(
  /^[\t\x20-\x7e\x80-\xff]*$/,
  'is not a header value: leave out line breaks, other control characters and all beyond Latin-1',
)

/** Prefix of the names of namespaces. */
export const namespacePrefix: FormatCheck = matching(
  /^(?=.{2,62}$)[a-z0-9][a-z0-9-]*-$/,
  'is not a prefix of namespaces: write lower-case letters, digits and - (2 to 62 characters), ' +
    'beginning with a letter or digit and ending in -, for example p-',
)

/** A part of the day in 24-hour time, such as `22:00-23:30`. */
export const timeWindow: FormatCheck = matching(
  /^([01]\d|2[0-3]):[0-5]\d-([01]\d|2[0-3]):[0-5]\d$/,
  'is not a time window: write HH:MM-HH:MM in UTC, for example 22:00-23:30',
)

/** A day of the week. */
export const weekday: FormatCheck = oneOf(
  ['Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday', 'Sunday'],
  'a day of the week',
)

/** Position of a button in the navigation bar. */
export const position: FormatCheck = oneOf(
  ['TopStart', 'TopEnd', 'BottomStart', 'BottomEnd'],
  'a position',
)

/** A time span above 0 in Go's syntax. */
export const goDuration: FormatCheck = (text) =>
  (parseDuration(text) ?? 0) > 0
    ? null
    : "is not a duration: write it in Go's syntax and longer than 0, for example 1m or 1h30m"

/** A time span above 0 in Prometheus' syntax: each unit once, the longest first. */
export const prometheusDuration: FormatCheck = (text) =>
  /^(?=\d)(\d+y)?(\d+w)?(\d+d)?(\d+h)?(\d+m)?(\d+s)?(\d+ms)?$/.test(text) && /[1-9]/.test(text)
    ? null
    : "is not a duration: write it in Prometheus' syntax and longer than 0, for example 1y or 30d"

/** A Kubernetes quantity, 0 or more. */
export const quantity: FormatCheck = (text) =>
  isQuantity(text)
    ? null
    : 'is not a quantity of 0 or more: write it as in Kubernetes, for example 500m or 20Gi'

/** Directory of the audit log: an absolute path without `..`, or `-` for standard output. */
export const auditPath: FormatCheck = (text) => {
  if (text.split('/').includes('..') || text.includes('\0'))
    return 'is not a directory to write to: leave out .. and NUL characters'
  return text === '-' || text.startsWith('/')
    ? null
    : 'is neither an absolute path nor -: write a directory such as /var/log/platform, or - for standard output'
}

const NAME_ID_FORMATS = [
  ...['unspecified', 'emailAddress', 'X509SubjectName', 'WindowsDomainQualifiedName'].map(
    (name) => ['1.1', name] as const,
  ),
  ...['encrypted', 'entity', 'kerberos', 'persistent', 'transient'].map(
    (name) => ['2.0', name] as const,
  ),
]

/** A NameID format of SAML, whole or as its last part. */
export const nameIdFormat: FormatCheck = (text) =>
  nameIdFormatUrn(text) !== null
    ? null
    : `is not a NameID format: write one of ${NAME_ID_FORMATS.map(([, name]) => name).join(', ')}, or its whole URN`

/** The whole URN of a NameID format; null = there is none like it. */
export const nameIdFormatUrn = (text: string): string | null =>
  NAME_ID_FORMATS.map(
    ([version, name]) =>
      [name, `urn:oasis:names:tc:SAML:${version}:nameid-format:${name}`] as const,
  ).find(([name, urn]) => text === name || text === urn)?.[1] ?? null

/** The domain of workspaces. */
export const workspaceDomain: FormatCheck = (text) =>
  text.startsWith(WORKSPACE_PREFIX) && isDnsSubdomain(text.slice(WORKSPACE_PREFIX.length))
    ? null
    : 'is not a domain of workspaces: write *.workspace. and a domain, for example *.workspace.example.com'

const WORKSPACE_PREFIX = '*.workspace.'

const REQUEST_TARGETS = [
  'Management',
  'Cluster',
  'VCluster',
  'ProjectSpace',
  'ProjectVCluster',
  'ProjectVirtualCluster',
]

/** A kind of targets in an audit rule; the last is a scope's word for the one before it. */
export const requestTarget: FormatCheck = oneOf(REQUEST_TARGETS, 'a kind of targets')

/** A regular expression in RE2 syntax, as in Go: its matching time is linear. */
export const re2: FormatCheck = (text) => {
  const advice = 'write it in the syntax of RE2, without look-around and back references'
  if (text.length > MAX_PATTERN_LENGTH)
    return `is longer than ${MAX_PATTERN_LENGTH} characters: shorten it`
  try {
    RE2JS.compile(text)
    return null
  } catch {
    return `is not a regular expression: ${advice}`
  }
}

/**
 * Whether one of the patterns matches somewhere in a text; without patterns, every text matches.
 *
 * @param patterns each valid by `re2`
 * @throws Error for a pattern that is not
 */
export function matchesAny(patterns: readonly string[]): (text: string) => boolean {
  const compiled = patterns.map((pattern) => RE2JS.compile(pattern))
  return (text) => compiled.length === 0 || compiled.some((pattern) => pattern.matcher(text).find())
}

/**
 * The syntax of resource.ParseQuantity in apimachinery; a missing number means 0. Exponents are limited to five digits
 * here: apimachinery needs minutes to compute one of ten digits.
 */
const QUANTITY =
  /^([+-]?)(\d*)(?:\.(\d*))?(Ki|Mi|Gi|Ti|Pi|Ei|n|u|m|k|M|G|T|P|E|[eE][+-]?0*\d{1,5})?$/

/** Units that apimachinery accepts only after a number. */
const NEEDS_NUMBER: ReadonlySet<string> = new Set(['Pi', 'Ei'])

const FACTORS: ReadonlyMap<string, number> = new Map([
  ...['Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'].map((unit, at) => [unit, 1024 ** (at + 1)] as const),
  ...['n', 'u', 'm', '', 'k', 'M', 'G', 'T', 'P', 'E'].map(
    (unit, at) => [unit, 1000 ** (at - 3)] as const,
  ),
])

/** Whether the text is a quantity of 0 or more, such as `500m` or `20Gi`. */
const isQuantity = (text: string): boolean => quantityAmount(text) !== null

/** The amount of a quantity, precise enough to compare two; null when it is malformed or below 0. */
export function quantityAmount(value: number | string): number | null {
  const text = String(value)
  const found = text === '' ? null : QUANTITY.exec(text)
  if (!found) return null
  const [, sign, whole = '', fraction = '', unit = ''] = found
  if (whole + fraction === '' && NEEDS_NUMBER.has(unit)) return null
  if (sign === '-' && /[1-9]/.test(whole + fraction)) return null
  const digits = `${whole || '0'}.${fraction || '0'}`
  const factor = FACTORS.get(unit)
  return factor === undefined ? Number(digits + unit) : Number(digits) * factor
}
