// Redacts the secret parts of settings (contract 6.3).
import type { FieldPath } from '../json/field-path.ts'
import type { Json, JsonMap } from '../json/json.ts'
import type { Secrecy } from './field-rules.ts'
import { type SettingLeaf, leavesOf, mapLeaves } from './walk.ts'

/** The text that replaces a secret in status. It never counts as a value. */
export const REDACTED = 'REDACTED'

/**
 * The settings as status and the ConfigMap show them: `REDACTED` replaces secret values, the user information of URLs
 * anywhere in a text, and data source names that are not URLs (contract 6.3). Idempotent.
 */
export const redactSettings = (settings: JsonMap): JsonMap => mapLeaves(settings, redactedLeaf)

/** Redacts literal secrets only: a reference `$NAME` is not secret, so it stays. */
export const redactLiterals = (settings: JsonMap): JsonMap =>
  mapLeaves(settings, (leaf) => (isReferenceLeaf(leaf) ? leaf.value : redactedLeaf(leaf)))

/** The paths of values with `REDACTED` in place of a secret (contract 6.3). */
export const redactedPathsOf = (settings: JsonMap): readonly FieldPath[] =>
  leavesOf(settings)
    .filter(isRedactedLeaf)
    .map(({ path }) => path)

/** Whether the value has `REDACTED` in place of a secret, and so must not be used (contract 6.3). */
export const isRedactedLeaf = ({ value, rule }: SettingLeaf): boolean =>
  typeof value === 'string' && REDACTORS[rule.secrecy].isRedacted(value)

function redactedLeaf({ value, rule }: SettingLeaf): Json {
  if (typeof value === 'string') return REDACTORS[rule.secrecy].redact(value)
  return rule.secrecy === 'whole' && value !== null ? REDACTORS.whole.redact('') : value
}

/** Whether a value of that secrecy may be a reference: none that everybody sees is. */
const MAY_BE_REFERENCE: Readonly<Record<Secrecy, boolean>> = {
  whole: true,
  url: true,
  dsn: true,
  text: false,
  header: false,
}

const REFERENCE = /^\$(PLATFORM_CONFIG_[A-Z0-9_]+)$/

/** The environment variable of the operator that a value refers to; null = the value is not a reference (6.3). */
export const referencedVariable = (value: string, secrecy: Secrecy): string | null =>
  MAY_BE_REFERENCE[secrecy] ? (REFERENCE.exec(value)?.[1] ?? null) : null

const isReferenceLeaf = ({ value, rule }: SettingLeaf): boolean =>
  typeof value === 'string' && referencedVariable(value, rule.secrecy) !== null

// Browsers accept any number of slashes and backslashes after the colon. The length of a scheme is bounded to keep the
// search through a megabyte of text linear.
const USERINFO_OF_WHOLE = /^([a-z][a-z0-9+.-]{0,31}:[\\/]+)([^\s\\/?#]*)@/i
const USERINFO_IN_TEXT = /([a-z][a-z0-9+.-]{0,31}:[\\/]+)([^\s\\/?#"'<>`]*)@/gi
const DSN = /^([a-z][a-z0-9+.-]{0,31}:\/\/)(.*)$/is
const SECRET_PARAMETER = /[?&;][^=&;]*(?:pass|pwd|secret|token|key)[^=&;]*=/i

interface Redactor {
  /** Whether the value contains a readable secret. */
  readonly hasSecret: (value: string) => boolean
  readonly redact: (value: string) => string
  /** Whether the value is the result of a redaction. */
  readonly isRedacted: (value: string) => boolean
}

const urls: Redactor = {
  hasSecret: (value) => redactUserinfo(value) !== value,
  redact: redactUserinfo,
  isRedacted: (value) => value.search(/:[\\/]+REDACTED@/) !== -1,
}

/** How to redact values of each secrecy. A URL inside a text is redacted like a single URL. */
export const REDACTORS: Readonly<Record<Secrecy, Redactor>> = {
  whole: {
    hasSecret: (value) => value !== '',
    redact: () => REDACTED,
    isRedacted: (value) => value === REDACTED,
  },
  dsn: {
    hasSecret: dsnHasSecret,
    redact: redactDsn,
    isRedacted: (value) => value === REDACTED || /:\/\/REDACTED@|\?REDACTED$/.test(value),
  },
  url: urls,
  text: urls,
  // In the record of an earlier version it stands for the whole value.
  header: { ...urls, isRedacted: (value) => value === REDACTED || urls.isRedacted(value) },
}

function redactUserinfo(text: string): string {
  const redacted = `$1${REDACTED}@`
  return text.replace(USERINFO_OF_WHOLE, redacted).replace(USERINFO_IN_TEXT, redacted)
}

// In a DSN that is not a URL, the position of the password is unknown. In a URL, parameters may have secrets too.
function dsnHasSecret(dsn: string): boolean {
  const [, , rest] = DSN.exec(dsn) ?? []
  return rest === undefined || rest.includes('@') || SECRET_PARAMETER.test(rest)
}

// Passwords in DSNs are often not escaped, so everything up to the last `@` is redacted, and so are all parameters,
// whatever their names.
function redactDsn(dsn: string): string {
  const [, scheme, rest] = DSN.exec(dsn) ?? []
  if (scheme === undefined || rest === undefined) return REDACTED
  const at = rest.lastIndexOf('@')
  const host = at === -1 ? rest : `${REDACTED}@${rest.slice(at + 1)}`
  return scheme + host.replace(/\?.*$/s, `?${REDACTED}`)
}
