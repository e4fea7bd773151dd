// The fields and lines of requests in the log. They have parsed values, never the raw bytes: people paste keys into paths
// and queries.
import { type Caller, isKeyCaller } from '../authn/caller.ts'
import { keyIdOf } from '../domain/accesskey/access-key.ts'
import { type Json, isMap, parseJsonMap } from '../domain/json/json.ts'
import {
  type RequestInfo,
  isResourceRequest,
  resourceWithSubresource,
} from '../domain/scope/request-info.ts'
import type { SignInOutcome } from '../domain/signin/outcome.ts'
import type { Log, LogFields } from '../runtime/log.ts'
import type { Answer } from '../serving/http/answer.ts'
import type { ParsedRequest } from './request/parse.ts'
import { isDryRun } from './selfservice/write-options.ts'
import { reportedFields } from './signin/answer-headers.ts'

/** The parts of a request for the log. */
export interface KnownRequest {
  readonly method: string
  readonly target: string
  /** null = not authenticated. */
  readonly caller: Caller | null
  /** null = malformed, or refused before the caller may learn whether it is. */
  readonly asked: RequestInfo | null
}

/** The log fields of a request; a field without a value is absent. */
export function requestLogFields({ method, target, caller, asked }: KnownRequest): LogFields {
  return {
    method,
    target,
    ...(asked && requestInfoFields(asked)),
    ...(caller && credentialFields(caller)),
  }
}

const credentialFields = (caller: Caller): LogFields =>
  isKeyCaller(caller)
    ? { keyName: caller.key.name, keyID: keyIdOf(caller.key) }
    : { keyName: caller.token.name, tokenID: caller.token.jti }

/** The fields of RequestInfo. A non-resource path is left out: its segments may be anything, such as a pasted key. */
function requestInfoFields(asked: RequestInfo): LogFields {
  const { verb } = asked
  if (!isResourceRequest(asked)) return { verb }
  const { group, namespace, name } = asked
  const fields = Object.entries({
    group,
    resource: resourceWithSubresource(asked),
    namespace,
    name,
  })
  const present = fields
    .filter(([, part]) => part !== '')
    .map(([field, part]) => [field, hideLong(part)])
  return { verb, ...Object.fromEntries(present) }
}

/** Hides any part that is long enough to be a key in clear (contract 1.2). */
const hideLong = (part: string): string => (/[\w-]{32}/.test(part) ? '<hidden>' : part)

/**
 * Logs a refusal by this gateway, so that its request ID leads to the reason. Unauthenticated requests are logged at
 * level debug: anyone can cause them, and their lines only say that a credential is bad.
 */
export function logRefusal(log: Log, request: KnownRequest, { status, refusal }: Answer): void {
  if (request.caller === null && !log.isDebugEnabled) return
  const fields = { ...requestLogFields(request), status, refusal }
  if (request.caller === null) log.debug(fields, 'request refused')
  else log.info(fields, 'request refused')
}

/** Logs what the sign-in process has reported of a request (contract 25.1). An empty text is unknown, and absent. */
export function logSignIn(
  log: Log,
  request: KnownRequest,
  outcome: SignInOutcome,
  { status }: Answer,
): void {
  const { provider, subject, user, outcome: end, reason } = reportedFields(outcome)
  const fields = {
    signInProvider: provider,
    signInSubject: subject,
    signInUser: user,
    signInOutcome: end,
    signInReason: reason,
  }
  const known = Object.entries(fields).filter(([, value]) => value !== undefined)
  log.info({ ...requestLogFields(request), ...Object.fromEntries(known), status }, 'sign-in')
}

const READS: ReadonlySet<string> = new Set(['get', 'list', 'watch'])

/**
 * Logs a write of our kinds with its result: for these, the API server's audit log only names the gateway. `names` are
 * the names that the client did not send: generated ones, or those of a deletecollection.
 *
 * @returns whether the request was a write; reads are not logged
 */
export function logWrite(
  log: Log,
  { method, attributes, query }: ParsedRequest,
  caller: Caller,
  { status, body, refusal }: Answer,
): boolean {
  if (!isResourceRequest(attributes) || READS.has(attributes.verb)) return false
  const names = attributes.name === '' && Buffer.isBuffer(body) ? namesIn(body) : []
  const { target } = attributes
  const fields = {
    ...requestLogFields({ method, target: target.kind, caller, asked: attributes }),
    user: caller.identity.user,
    ...(names.length === 0 ? {} : { names }),
    ...(isDryRun(query) ? { dryRun: true } : {}),
    ...(refusal === undefined ? {} : { refusal }),
    status,
  }
  log.info(fields, 'self-service write')
  return true
}

/** Limits of one log line: the bytes of an answer that are parsed for names, and the names. */
const LIMITS = { bytes: 1024 * 1024, names: 100 }

/** The names of the objects in an answer; empty unless it is JSON within the limit. */
function namesIn(body: Buffer): readonly string[] {
  const parsed = body.length > LIMITS.bytes ? null : parseJsonMap(body.toString())
  const objects = Array.isArray(parsed?.['items']) ? parsed['items'] : [parsed]
  return objects
    .map(nameOf)
    .filter((name) => name !== null)
    .slice(0, LIMITS.names)
}

function nameOf(object: Json): string | null {
  const metadata = isMap(object) ? object['metadata'] : null
  const name = isMap(metadata) ? metadata['name'] : null
  return typeof name === 'string' ? name : null
}
