// What the log says of a request: what was read of it, and never its bytes. People paste keys into paths
// and queries.
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

/** What a request has turned out to be; null = it did not get so far. */
export interface KnownRequest {
  readonly target: string
  readonly caller: Caller | null
  readonly asked: RequestInfo | null
}

/** The fields of a request; those that it does not have are absent. */
export function requestLogFields(
  method: string,
  { target, caller, asked }: KnownRequest,
): LogFields {
  return {
    method,
    target,
    ...(asked && askedFields(asked)),
    ...(caller && { keyName: caller.key.name, keyID: keyIdOf(caller.key) }),
  }
}

/** Of a path that is no object's only the verb: it may be anything. */
function askedFields(asked: RequestInfo): LogFields {
  const { verb } = asked
  if (!isResourceRequest(asked)) return { verb }
  const { group, namespace, name } = asked
  const parts = Object.entries({ group, resource: resourceWithSubresource(asked), namespace, name })
  const named = parts.filter(([, part]) => part !== '').map(([field, part]) => [field, shown(part)])
  return { verb, ...Object.fromEntries(named) }
}

/** No key in clear is shorter (contract 1.2); a name that is longer is not told either. */
const shown = (part: string): string => (/[\w-]{32}/.test(part) ? '<hidden>' : part)

// Who changed what of our kinds is told here: the API server's audit log names this program there.

const READS: ReadonlySet<string> = new Set(['get', 'list', 'watch'])

/**
 * Logs a write that somebody asked for, with what came of it; nothing for reads. `auditID` leads to the API
 * server's own line about it, `names` are those that nobody sent: made up, or deleted with others.
 */
export function logWrite(
  log: Log,
  { method, attributes, query }: ParsedRequest,
  caller: Caller,
  { status, headers, body }: Answer,
): void {
  if (!isResourceRequest(attributes) || READS.has(attributes.verb)) return
  const names = attributes.name === '' && Buffer.isBuffer(body) ? namesIn(body) : []
  const auditID = headers['audit-id']
  const fields = {
    ...requestLogFields(method, { target: attributes.target.kind, caller, asked: attributes }),
    user: caller.identity.user,
    ...(names.length === 0 ? {} : { names }),
    ...(isDryRun(query) ? { dryRun: true } : {}),
    ...(auditID === undefined ? {} : { auditID }),
    status,
  }
  log.info(fields, 'asked to write an own kind')
}

/** More is not read for a line of a log, and not told in one. */
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
