// Answers of a provider: JSON within bounds, which are counted before it is parsed, and error codes of OAuth (contract 25.5,
// 25.6). No other text of a provider is shown.
import { exceedsBounds } from '../../domain/json/bounds.ts'
import { isMap, type Json, type JsonMap, parseJson } from '../../domain/json/json.ts'
import { GrantEnded, SignInRefused } from '../../domain/signin/refusals.ts'

/** A list of 5,000 groups is within them, and a page of 100 teams with everything that GitHub says of each. */
const JSON_BOUNDS = { levels: 32, values: 20_000 }

/** The value in a text of a provider; undefined = the text is not JSON, or exceeds the bounds. */
export const boundedJson = (text: Buffer): Json | undefined =>
  exceedsBounds(text, JSON_BOUNDS) ? undefined : parseJson(text.toString('utf8'))

/** The object in a text of a provider; null = the text has another form, or exceeds the bounds. */
export function boundedJsonMap(text: Buffer): JsonMap | null {
  const value = boundedJson(text)
  return isMap(value) ? value : null
}

/** Maximum length of a name for people. */
const LONGEST_NAME = 256

/** A name for people, cut at 256 characters; null = the value is none. */
export const shownName = (value: unknown): string | null =>
  typeof value === 'string' ? value.slice(0, LONGEST_NAME).toWellFormed() || null : null

/** Maximum length of any other text: no field of a key or a User has longer ones. */
export const LONGEST_TEXT = 1024

const ERROR_CODE = /^[a-z_]{1,64}$/

/** An error code of OAuth as people and logs may see it; null = it has another form. */
export const shownCode = (code: unknown): string | null =>
  typeof code === 'string' && ERROR_CODE.test(code) ? code : null

/**
 * The refusal where an endpoint of a provider says no.
 *
 * @param endpoint for administrators, such as `token endpoint`
 * @param code field `error` as it came; the person sees it if it has the form of a code of OAuth
 */
export function refusedBy(endpoint: string, code: unknown): SignInRefused {
  const detail = shownCode(code)
  const said = detail === null ? 'refused' : `says ${detail}`
  return new SignInRefused('provider_refused', `the ${endpoint} ${said}`, { detail })
}

const TOKEN_ENDPOINT = 'token endpoint'
const GRANT_ENDED = 'invalid_grant'

/**
 * The refusal where a token endpoint says no.
 *
 * @param code field `error` as it came
 * @param clientErrors the codes by which it doubts the client, not the person
 */
export function tokenRefusal(code: unknown, clientErrors: readonly unknown[]): SignInRefused {
  if (code === GRANT_ENDED) return new GrantEnded(`the ${TOKEN_ENDPOINT} says ${GRANT_ENDED}`)
  return clientErrors.includes(code)
    ? new SignInRefused('provider_unusable', `the ${TOKEN_ENDPOINT} says ${String(code)}`)
    : refusedBy(TOKEN_ENDPOINT, code)
}
