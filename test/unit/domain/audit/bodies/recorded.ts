// Bodies of requests and answers as they are recorded; a row names what differs.
import { parsedBody, parsedRecord } from '../../../../../src/domain/audit/bodies/parsed-body.ts'
import { recordedBody } from '../../../../../src/domain/audit/bodies/recorded-body.ts'
import type { RecordedBody } from '../../../../../src/domain/audit/event.ts'
import type { AuditedRequest } from '../../../../../src/domain/audit/policy.ts'
import { parsePlainYaml } from '../../../../../src/runtime/yaml.ts'

/** A path, as `<group>/<plural>` or `<group>/<plural>/<subresource>`; the core group is empty. */
export type PathOfKind = `${string}/${string}`

/** What a row may name. */
export interface RecordedParts {
  readonly contentType?: string | undefined
  /** Default: ConfigMaps. */
  readonly path?: PathOfKind
  readonly verb?: string
  /** The code of an answer; absent = a request. */
  readonly code?: number
  readonly limit?: number
}

/** A request for a resource. */
export function requestFor(path: PathOfKind, verb: string): AuditedRequest {
  const [group = '', resource = '', subresource = ''] = path.split('/')
  const target = { kind: 'Management' } as const
  return { target, verb, group, version: 'v1', resource, subresource, namespace: 'n', name: '' }
}

/** What is recorded of a body. */
export function recordedOf(body: string | Buffer, parts: RecordedParts): RecordedBody | null {
  const { path = '/configmaps', verb = 'create', code = null, limit = 1024 ** 2 } = parts
  const bytes = typeof body === 'string' ? Buffer.from(body) : body
  const contentType = 'contentType' in parts ? parts.contentType : 'application/json'
  const parsed = parsedBody(
    { body: { bytes }, contentType, contentEncoding: undefined },
    parsePlainYaml,
  )
  return recordedBody(parsed, { request: requestFor(path, verb), code, limit })
}

/** The JSON that is recorded of a body. @throws Error when it is left out */
export function recordedJson(body: string | Buffer, parts: RecordedParts): string {
  const recorded = recordedOf(body, parts)
  if (recorded === null || !('json' in recorded))
    throw new Error(`left out: ${recorded?.omitted ?? 'no body'}`)
  return recorded.json
}

/** The JSON of a record when it is recorded again. @throws Error when it is left out */
export function recordedAgain(json: string, parts: RecordedParts): string {
  const { path = '/configmaps', verb = 'create', code = null, limit = 1024 ** 2 } = parts
  const parsed = parsedRecord(Buffer.from(json))
  const recorded = recordedBody(parsed, { request: requestFor(path, verb), code, limit })
  if (recorded === null || !('json' in recorded)) throw new Error('left out')
  return recorded.json
}
