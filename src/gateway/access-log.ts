// The log lines of requests. They have what was parsed, and never the bytes: people paste keys into paths and
// queries.
import type { Caller } from '../authn/caller.ts'
import { keyIdOf } from '../domain/accesskey/access-key.ts'
import { type Json, isMap, parseJsonMap } from '../domain/json/json.ts'
import {
  type RequestInfo,
  isResourceRequest,
  resourceWithSubresource,
} from '../domain/scope/request-info.ts'
import type { Log, LogFields } from '../runtime/log.ts'
import type { Answer } from '../serving/http/answer.ts'
import type { ParsedRequest } from './request/parse.ts'
import { isDryRun } from './selfservice/write-options.ts'

/** What is known of a request. */
interface KnownRequest {
  readonly method: string
  readonly target: string
  /** null = not authenticated. */
  readonly caller: Caller | null
  /** null = not understood, or refused before the caller may learn of it. */
  readonly asked: RequestInfo | null
}

/** The fields of a request; those that it does not have are absent. */
export function requestLogFields({ method, target, caller, asked }: KnownRequest): LogFields {
  return {
    method,
    target,
    ...(asked && askedFields(asked)),
    ...(caller && { keyName: caller.key.name, keyID: keyIdOf(caller.key) }),
  }
}

/** Of a non-resource path only the verb: its segments may be anything. */
function askedFields(asked: RequestInfo): LogFields {
  const { verb } = asked
  if (!isResourceRequest(asked)) return { verb }
  const { group, namespace, name } = asked
  const parts = Object.entries({ group, resource: resourceWithSubresource(asked), namespace, name })
  const named = parts.filter(([, part]) => part !== '').map(([field, part]) => [field, shown(part)])
  return { verb, ...Object.fromEntries(named) }
}

/** No key in clear is shorter (contract 1.2); longer names are hidden with them. */
const shown = (part: string): string => (/[\w-]{32}/.test(part) ? '<hidden>' : part)

/**
 * Logs a refusal by this gateway, so that its request ID leads to the reason. At level debug where the caller is
 * unknown: anyone can cause these, and they say nothing but that a credential is bad.
 */
export function logRefusal(log: Log, request: KnownRequest, { status, refusal }: Answer): void {
  if (request.caller === null && !log.tellsDebug) return
  const fields = { ...requestLogFields(request), status, refusal }
  if (request.caller === null) log.debug(fields, 'request refused')
  else log.info(fields, 'request refused')
}

const READS: ReadonlySet<string> = new Set(['get', 'list', 'watch'])

/**
 * Logs a write of our kinds with its result, because the API server's audit log names this program there;
 * nothing for reads. `names` are those that the client did not send: generated, or deleted with others.
 *
 * @returns whether it was a write
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
  log.info(fields, 'asked to write an own kind')
  return true
}

/** The most that is read for one line of the log, and the most names in it. */
const MOST = { bytes: 1024 * 1024, names: 100 }

/** Names of the objects in an answer that is JSON. */
function namesIn(body: Buffer): readonly string[] {
  const answered = body.length > MOST.bytes ? null : parseJsonMap(body.toString())
  const objects = Array.isArray(answered?.['items']) ? answered['items'] : [answered]
  return objects
    .map(nameOf)
    .filter((name) => name !== null)
    .slice(0, MOST.names)
}

function nameOf(object: Json): string | null {
  const metadata = isMap(object) ? object['metadata'] : null
  const name = isMap(metadata) ? metadata['name'] : null
  return typeof name === 'string' ? name : null
}
