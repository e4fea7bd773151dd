// A line of the audit log: an event with the bodies of its request as JSON (contract 21.3, 21.4).
import type { AuditEvent, Omission, RecordedBody } from './event.ts'
import { withoutLineEnds } from './raw-json.ts'

/** A line for the audit log, without its line feed. */
export interface AuditLine {
  readonly text: string
  /** Makes the line without bodies, which takes its place where there is no room for it; the same text where it has none. */
  readonly withoutBodies: () => string
}

/** The bodies of a request; null = the event has none. */
export interface EventBodies {
  readonly requestObject: RecordedBody | null
  readonly responseObject: RecordedBody | null
}

/** The bodies of an event at level Metadata, or before the bodies are known. */
export const NO_BODIES: EventBodies = { requestObject: null, responseObject: null }

/** Kubernetes' own annotation of events whose bodies are too large. */
const TRUNCATED = 'audit.k8s.io/truncated'

/** The line of an event. A body that is left out has an annotation that says why. */
export function auditLine(event: AuditEvent, bodies: EventBodies): AuditLine {
  const { requestObject, responseObject } = bodies
  const fields = [
    ...(requestObject !== null && 'json' in requestObject
      ? [`"requestObject":${requestObject.json}`]
      : []),
    ...(responseObject !== null && 'json' in responseObject
      ? [`"responseObject":${responseObject.json}`]
      : []),
  ]
  const head = headOf(event, bodies)
  if (fields.length === 0) return { text: head, withoutBodies: () => head }
  const without = {
    requestObject: withoutRoom(requestObject),
    responseObject: withoutRoom(responseObject),
  }
  return {
    text: `${head.slice(0, -1)},${fields.join(',')}}`,
    withoutBodies: () => headOf(event, without),
  }
}

/** The line but for bodies that are there. Texts of an agent may hold any character. */
const headOf = (event: AuditEvent, bodies: EventBodies): string =>
  withoutLineEnds(JSON.stringify(annotated(event, bodies)))

/** Why bodies of an event are left out. */
export const omissionsIn = ({ requestObject, responseObject }: EventBodies): readonly Omission[] =>
  [requestObject, responseObject].flatMap((body) =>
    body !== null && 'omitted' in body ? [body.omitted] : [],
  )

const withoutRoom = (body: RecordedBody | null): RecordedBody | null =>
  body !== null && 'json' in body ? { omitted: 'memory' } : body

/** The event with the annotations of bodies that are left out. */
function annotated(event: AuditEvent, { requestObject, responseObject }: EventBodies): AuditEvent {
  const omitted = [
    ...omissionOf('platform.sh/request-omitted', requestObject),
    ...omissionOf('platform.sh/response-omitted', responseObject),
  ]
  if (omitted.length === 0) return event
  const isTruncated = omitted.some(([, why]) => why === 'size')
  const annotations = {
    ...event.annotations,
    ...Object.fromEntries(omitted),
    ...(isTruncated ? { [TRUNCATED]: 'true' } : {}),
  }
  return { ...event, annotations }
}

const omissionOf = (
  annotation: string,
  body: RecordedBody | null,
): readonly (readonly [string, string])[] =>
  body !== null && 'omitted' in body ? [[annotation, body.omitted]] : []
