// The headers of the sign-in process's answer (contract 25.1): all pass to the client but connection headers and the
// outcome, which is for the gateway.
import type { OutgoingHttpHeaders } from 'node:http'
import { SIGN_IN_OUTCOME_HEADER } from '../../api/names.ts'
import { hideCredentials } from '../../domain/redaction/credentials.ts'
import { type SignInOutcome, outcomeIn } from '../../domain/signin/outcome.ts'
import { HOP_BY_HOP } from '../../kube/proxy/sent-headers.ts'
import type { UpstreamHeaders } from '../../kube/proxy/types.ts'
import { bodyLengthHeaders, pickedHeaders } from '../proxy/response-headers.ts'
import { namesIn } from './request-headers.ts'

/** The headers for the client; repeated ones stay repeated. */
export function signInAnswerHeaders(headers: UpstreamHeaders): OutgoingHttpHeaders {
  const ofConnection = namesIn([headers['connection'] ?? []].flat())
  const isPassed = (name: string): boolean =>
    !HOP_BY_HOP.has(name) && name !== SIGN_IN_OUTCOME_HEADER && !ofConnection.has(name)
  return { ...pickedHeaders(headers, isPassed), ...bodyLengthHeaders(headers) }
}

/** The outcome that an answer reports; null = it reports none, or none that can be read. */
export function reportedOutcome(headers: UpstreamHeaders): SignInOutcome | null {
  const header = headers[SIGN_IN_OUTCOME_HEADER]
  return typeof header === 'string' ? outcomeIn(header) : null
}

/** The texts of an outcome by name, without credentials; those that are unknown are absent. */
export function reportedFields(outcome: SignInOutcome | null): Readonly<Record<string, string>> {
  const known = Object.entries(outcome ?? {}).filter(([, value]) => value !== null && value !== '')
  return Object.fromEntries(known.map(([name, value]) => [name, hideCredentials(String(value))]))
}
