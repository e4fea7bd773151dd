// Which part of a setting is secret, and the redaction of it (contract 6.3).
import type { FieldPath } from '../json/field-path.ts'
import type { Json, JsonMap } from '../json/json.ts'
import type { Secrecy } from './field-rules.ts'
import { type SettingLeaf, leavesOf, mapLeaves } from './walk.ts'

/** The text in status in place of a secret. It is never read as a value. */
export const REDACTED = 'REDACTED'

/**
 * The settings as status and the ConfigMap show them: every secret is `REDACTED`, be it a whole
 * value, the user information of a URL anywhere in a text, or a data source name that is no URL
 * (contract 6.3). Idempotent.
 */
export const redactSettings = (settings: JsonMap): JsonMap => mapLeaves(settings, redactedLeaf)

/** The settings with literal secrets redacted: a reference `$NAME` is no secret, so it stays. */
export const redactLiterals = (settings: JsonMap): JsonMap =>
  mapLeaves(settings, (leaf) => (isReferenceLeaf(leaf) ? leaf.value : redactedLeaf(leaf)))

/** Paths of the values that hold `REDACTED` in place of a secret (contract 6.3). */
export const redactedPathsOf = (settings: JsonMap): readonly FieldPath[] =>
  leavesOf(settings)
    .filter(isRedactedLeaf)
    .map(({ path }) => path)

/** Whether the value holds `REDACTED` in place of a secret, so that it is no value (contract 6.3). */
export const isRedactedLeaf = ({ value, rule }: SettingLeaf): boolean =>
  typeof value === 'string' && REDACTORS[rule.secrecy].isRedacted(value)

function redactedLeaf({ value, rule }: SettingLeaf): Json {
  if (typeof value === 'string') return REDACTORS[rule.secrecy].redact(value)
  return rule.secrecy === 'whole' && value !== null ? REDACTORS.whole.redact('') : value
}

const REFERENCE = /^\$(PLATFORM_CONFIG_[A-Z0-9_]+)$/

/** The variable of the operator that a value refers to; null = it is no reference (contract 6.3). */
export const referencedVariable = (value: string, secrecy: Secrecy): string | null =>
  secrecy === 'text' ? null : (REFERENCE.exec(value)?.[1] ?? null)

const isReferenceLeaf = ({ value, rule }: SettingLeaf): boolean =>
  typeof value === 'string' && referencedVariable(value, rule.secrecy) !== null

// Browsers take any number of slashes of either kind after the colon. A scheme has a bound so that
// a search through a megabyte of text stays linear.
const USERINFO_OF_WHOLE = /^([a-z][a-z0-9+.-]{0,31}:[\\/]+)([^\s\\/?#]*)@/i
const USERINFO_IN_TEXT = /([a-z][a-z0-9+.-]{0,31}:[\\/]+)([^\s\\/?#"'<>`]*)@/gi
const DSN = /^([a-z][a-z0-9+.-]{0,31}:\/\/)(.*)$/is
const SECRET_PARAMETER = /[?&;][^=&;]*(?:pass|pwd|secret|token|key)[^=&;]*=/i

interface Redactor {
  /** Whether a secret is readable in the value. */
  readonly hasSecret: (value: string) => boolean
  readonly redact: (value: string) => string
  /** Whether the value is the result of a redaction: no value at all. */
  readonly isRedacted: (value: string) => boolean
}

const urls: Redactor = {
  hasSecret: (value) => redactUserinfo(value) !== value,
  redact: redactUserinfo,
  isRedacted: (value) => value.search(/:[\\/]+REDACTED@/) !== -1,
}

/** How to redact values of each secrecy. A URL inside a text is redacted like a URL alone. */
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
}

function redactUserinfo(text: string): string {
  const redacted = `$1${REDACTED}@`
  return text.replace(USERINFO_OF_WHOLE, redacted).replace(USERINFO_IN_TEXT, redacted)
}

// In a DSN that is no URL the place of the password is unknown. In a URL, drivers also read parameters.
function dsnHasSecret(dsn: string): boolean {
  const [, , rest] = DSN.exec(dsn) ?? []
  return rest === undefined || rest.includes('@') || SECRET_PARAMETER.test(rest)
}

// A password in a DSN is often not escaped, so everything up to the last `@` is redacted; so are all parameters
// together, whatever their names.
function redactDsn(dsn: string): string {
  const [, scheme, rest] = DSN.exec(dsn) ?? []
  if (scheme === undefined || rest === undefined) return REDACTED
  const at = rest.lastIndexOf('@')
  const host = at === -1 ? rest : `${REDACTED}@${rest.slice(at + 1)}`
  return scheme + host.replace(/\?.*$/s, `?${REDACTED}`)
}
