// What of an event can be asked for: the columns of the data store, and what a query of files compares (contract 22.4).
import { fieldsOf, stringOf } from '../json/json.ts'
import { resourceWithSubresource } from '../scope/request-info.ts'
import { parseTimestamp } from '../time.ts'
import { AUDIT_STAGES, type AuditStage } from './policy.ts'

/** The fields of an event by which it is found; null = the event has no such field. */
export interface EventFields {
  readonly auditID: string
  readonly stage: AuditStage
  /** When the stage was reached, in whole epoch milliseconds. */
  readonly stageTimeMs: number
  readonly verb: string
  readonly user: string
  /** Name of the access key. */
  readonly keyName: string | null
  readonly keyId: string | null
  /** The kind of target, such as `Cluster`. */
  readonly target: string | null
  readonly cluster: string | null
  readonly project: string | null
  /** Empty for objects outside of namespaces. */
  readonly namespace: string | null
  /** The API group; empty = the core group. */
  readonly group: string | null
  /** With its subresource, such as `pods/log`. */
  readonly resource: string | null
  /** Empty where the request names no object. */
  readonly name: string | null
  readonly code: number | null
  /** Who sent it, such as `agent:east`; null = the replica that wrote the line. */
  readonly source: string | null
}

/** The fields of a parsed line; null = another kind or API version. */
export function eventFieldsOf(line: unknown): EventFields | null {
  const event = fieldsOf(line)
  const { auditID, verb, user } = event
  const stage = AUDIT_STAGES.find((one) => one === event['stage'])
  const stageTimeMs = parseTimestamp(event['stageTimestamp'])
  const isEvent = event['kind'] === 'Event' && event['apiVersion'] === 'audit.k8s.io/v1'
  if (!isEvent || typeof auditID !== 'string' || stage === undefined || stageTimeMs === null)
    return null
  const annotation = (name: string): string | null => annotationOf(event, name)
  const { namespace, group, resource, name } = objectFields(event['objectRef'])
  const { code } = fieldsOf(event['responseStatus'])
  return {
    auditID,
    stage,
    stageTimeMs,
    verb: stringOf(verb) ?? '',
    user: stringOf(fieldsOf(user)['username']) ?? '',
    keyName: annotation('access-key'),
    keyId: annotation('key-id'),
    target: annotation('target'),
    cluster: annotation('cluster'),
    project: annotation('project'),
    namespace,
    group,
    resource,
    name,
    code: Number.isInteger(code) ? (code as number) : null,
    source: annotation('source'),
  }
}

/** The text of our annotation of this name, such as `access-key`; null = the event has none. */
export const annotationOf = (event: unknown, name: string): string | null =>
  stringOf(fieldsOf(fieldsOf(event)['annotations'])[`platform.sh/${name}`]) ?? null

type ObjectFields = Pick<EventFields, 'namespace' | 'group' | 'resource' | 'name'>

const NO_OBJECT: ObjectFields = { namespace: null, group: null, resource: null, name: null }

function objectFields(objectRef: unknown): ObjectFields {
  const fields = fieldsOf(objectRef)
  const text = (field: string): string => stringOf(fields[field]) ?? ''
  const resource = text('resource')
  if (resource === '') return NO_OBJECT
  return {
    namespace: text('namespace'),
    group: text('apiGroup'),
    resource: resourceWithSubresource({ resource, subresource: text('subresource') }),
    name: text('name'),
  }
}
