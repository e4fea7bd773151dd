// Who changed what of our kinds is told here: the API server's audit log names this program there.
import type { Caller } from '../../authn/caller.ts'
import { type Json, isMap, mapIn } from '../../domain/json/json.ts'
import { isResourceRequest } from '../../domain/scope/sensitive.ts'
import type { Log } from '../../runtime/log.ts'
import type { Answer } from '../../serving/http/answer.ts'
import type { ApiRequest } from '../request/api-request.ts'
import { toldOf } from '../request/told.ts'
import { isDryRun } from './writing.ts'

const READS: ReadonlySet<string> = new Set(['get', 'list', 'watch'])

/**
 * Logs a write that somebody asked for, with what came of it; nothing for reads. `auditID` leads to the API
 * server's own line about it, `names` are those that nobody sent: made up, or deleted with others.
 */
export function tellOfWrite(
  log: Log,
  { method, attributes, query }: ApiRequest,
  caller: Caller,
  { status, headers, body }: Answer,
): void {
  if (!isResourceRequest(attributes) || READS.has(attributes.verb)) return
  const names = attributes.name === '' && Buffer.isBuffer(body) ? namesIn(body) : []
  const auditID = headers['audit-id']
  const fields = {
    ...toldOf(method, { target: attributes.target.kind, caller, asked: attributes }),
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
  const answered = body.length > MOST.bytes ? null : mapIn(body.toString())
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
