// What three answers to one request must have in common: who refused it, and what was answered.
import { ERRORS } from '../../src/gateway/errors.ts'
import { AMBIGUITY_ERRORS } from '../../src/gateway/request/errors.ts'
import { parseJsonMap, stringsOf } from '../../src/domain/json/json.ts'

/** An answer without what differs by nature: the name of the user, times, versions. */
export interface Seen {
  readonly code: number
  /**
   * Who refused it: the scope with its text, RBAC, the rule on our own kinds, the account of the gateway, or the reader of
   * requests at a gateway; empty = nobody, or a HEAD, which has no text.
   */
  readonly by: string
  /** What was answered, as far as it is the same each time. */
  readonly what: string
}

const SCOPE = /the scope does not grant [^]*$/

/** The texts of refusals of requests that two servers could read differently (contract 11.6), without what varies. */
const UNREAD_TEXTS = Object.values(AMBIGUITY_ERRORS).map(
  ({ message }) => message.split('<')[0] ?? '',
)

/** The answer in a word or a number, as tables write it. */
export function inWords({ code, by, what }: Seen): number | string {
  if (what.startsWith(ACCESS_REVIEW)) return what.includes('"allowed":true') ? 'yes' : 'no'
  if (code !== 403 || by === '') return code
  return by.startsWith('the scope') ? 'scope' : by
}

const ACCESS_REVIEW = '{"kind":"SelfSubjectAccessReview"'

/** Reduces an answer. @param text the body; empty for an answer that is not read */
export function seenOf(code: number, text: string): Seen {
  const body = parseJsonMap(text) ?? {}
  const message = typeof body['message'] === 'string' ? body['message'] : ''
  return {
    code,
    by: code < 400 ? '' : refusedBy(code, message),
    what: code >= 200 && code < 300 ? whatIs(body) : '',
  }
}

function refusedBy(code: number, message: string): string {
  if (
    message === ERRORS.ownKindsElsewhere.message ||
    message.endsWith(`: ${ERRORS.ownKindsElsewhere.message}`)
  )
    return 'own kinds'
  const [scope] = SCOPE.exec(message) ?? []
  if (scope !== undefined) return scope
  // The answer to a HEAD has no text, and no server answers it 400 otherwise.
  const isUnread = message === '' || UNREAD_TEXTS.some((start) => message.startsWith(start))
  if (code === 400 && isUnread) return 'reader'
  if (code !== 403 || message === '') return ''
  return message.includes('impersonate') ? 'impersonation' : 'RBAC'
}

type Body = Readonly<Record<string, unknown>>

const mapOf = (value: unknown): Body =>
  typeof value === 'object' && value !== null ? (value as Body) : {}

function whatIs(body: Body): string {
  const kind = typeof body['kind'] === 'string' ? body['kind'] : ''
  const status = mapOf(body['status'])
  switch (kind) {
    case 'SelfSubjectAccessReview':
      return JSON.stringify({
        kind,
        allowed: status['allowed'] === true,
        denied: status['denied'] === true,
        scope: SCOPE.exec(String(status['reason']))?.[0],
      })
    case 'SelfSubjectRulesReview':
      return JSON.stringify({ kind, incomplete: status['incomplete'] })
    case 'SelfSubjectReview':
      return JSON.stringify({ kind, groups: platformGroups(mapOf(status['userInfo'])['groups']) })
    default:
      return JSON.stringify({
        kind,
        name: mapOf(body['metadata'])['name'],
        items: namesIn(kind, body['items']),
      })
  }
}

/** The gateway sends them in another order. */
const platformGroups = (groups: unknown): readonly string[] =>
  (stringsOf(groups) ?? [])
    .filter((one) => one.startsWith('platform:'))
    .toSorted((a, b) => a.localeCompare(b))

/** The names in a list; none for Events, which come and go. */
const namesIn = (kind: string, items: unknown): readonly unknown[] =>
  Array.isArray(items) && kind !== 'EventList'
    ? items.map((one) => mapOf(mapOf(one)['metadata'])['name'])
    : []
