// What is secret in a value, and how it is hidden (contract 6.3).

import type { Secrecy } from './field-rules.ts'

/** What status shows in place of a secret. It is never read as a value. */
export const REDACTED = 'REDACTED'

// Browsers take any number of slashes of either kind after the colon. A scheme has a bound so that
// a search through a megabyte of text stays linear.
const USERINFO_OF_WHOLE = /^([a-z][a-z0-9+.-]{0,31}:[\\/]+)([^\s\\/?#]*)@/i
const USERINFO_IN_TEXT = /([a-z][a-z0-9+.-]{0,31}:[\\/]+)([^\s\\/?#"'<>`]*)@/gi
const DSN = /^([a-z][a-z0-9+.-]{0,31}:\/\/)(.*)$/is
const SECRET_PARAMETER = /[?&;][^=&;]*(?:pass|pwd|secret|token|key)[^=&;]*=/i

interface Treatment {
  /** Whether the value lets a secret be seen. */
  readonly shows: (value: string) => boolean
  readonly hide: (value: string) => string
  /** Whether the value is what hiding leaves behind: no value at all. */
  readonly isHidden: (value: string) => boolean
}

const urls: Treatment = {
  shows: (value) => hideUserinfo(value) !== value,
  hide: hideUserinfo,
  isHidden: (value) => value.search(/:[\\/]+REDACTED@/) !== -1,
}

/** How values of each secrecy are treated. A URL is treated the same in a text and alone. */
export const treatments: Readonly<Record<Secrecy, Treatment>> = {
  whole: {
    shows: (value) => value !== '',
    hide: () => REDACTED,
    isHidden: (value) => value === REDACTED,
  },
  dsn: {
    shows: dsnShowsSecret,
    hide: hideDsn,
    isHidden: (value) => value === REDACTED || /:\/\/REDACTED@|\?REDACTED$/.test(value),
  },
  url: urls,
  text: urls,
}

function hideUserinfo(text: string): string {
  const hidden = `$1${REDACTED}@`
  return text.replace(USERINFO_OF_WHOLE, hidden).replace(USERINFO_IN_TEXT, hidden)
}

// No URL: nobody can tell where its password stands. A URL: drivers also read parameters.
function dsnShowsSecret(dsn: string): boolean {
  const [, , rest] = DSN.exec(dsn) ?? []
  return rest === undefined || rest.includes('@') || SECRET_PARAMETER.test(rest)
}

// A password in a DSN is often not escaped, so everything up to the last `@` goes; all parameters
// go together, whatever their names.
function hideDsn(dsn: string): string {
  const [, scheme, rest] = DSN.exec(dsn) ?? []
  if (scheme === undefined || rest === undefined) return REDACTED
  const at = rest.lastIndexOf('@')
  const host = at === -1 ? rest : `${REDACTED}@${rest.slice(at + 1)}`
  return scheme + host.replace(/\?.*$/s, `?${REDACTED}`)
}
