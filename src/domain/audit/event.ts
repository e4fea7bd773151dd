// An audit event, as it stands in a line of the audit log: an `audit.k8s.io/v1` Event that the types of Kubernetes read
// (contract 21.3).
import { type AuditLevel, type AuditStage } from './policy.ts'

/** The user of a request, as it is sent upstream. */
export interface EventUser {
  readonly username: string
  readonly groups: readonly string[]
  readonly extra?: Readonly<Record<string, readonly string[]>>
}

/** The object of a resource request, as the API server computes it; a field that is empty there is absent. */
export interface EventObject {
  readonly resource: string
  readonly namespace?: string
  readonly name?: string
  readonly apiGroup?: string
  readonly apiVersion: string
  readonly subresource?: string
}

/** The outcome of a request: a metav1.Status, mostly with its code alone. */
export interface ResponseStatus {
  readonly metadata: Readonly<Record<string, never>>
  readonly status?: string
  readonly message?: string
  readonly reason?: string
  readonly code: number
}

/** An event without the bodies of its request, which `auditLine` adds. */
export interface AuditEvent {
  readonly kind: 'Event'
  readonly apiVersion: 'audit.k8s.io/v1'
  readonly level: AuditLevel
  readonly auditID: string
  readonly stage: AuditStage
  /** As the client sent it, without credentials. */
  readonly requestURI: string
  readonly verb: string
  readonly user: EventUser
  readonly sourceIPs?: readonly string[]
  readonly userAgent?: string
  /** Absent for other paths than resources. */
  readonly objectRef?: EventObject
  readonly responseStatus?: ResponseStatus
  /** UTC with six decimals, as metav1.MicroTime. */
  readonly requestReceivedTimestamp: string
  readonly stageTimestamp: string
  /** Names begin with `platform.sh/`, but for `audit.k8s.io/truncated`. */
  readonly annotations?: Readonly<Record<string, string>>
}

/** How a long answer has ended (contract 21.5). */
export const REQUEST_ENDS = ['upstream', 'client', 'key', 'target', 'shutdown'] as const

/** One of REQUEST_ENDS. */
export type RequestEnd = (typeof REQUEST_ENDS)[number]

/** Why a body is not in its event (contract 21.4). */
export const OMISSIONS = [
  'protobuf',
  'malformed',
  'depth',
  'size',
  'memory',
  'incomplete',
  'unread',
] as const

/** One of OMISSIONS. */
export type Omission = (typeof OMISSIONS)[number]

/** A body of a request as it is recorded: JSON text without secrets, or why it is left out. */
export type RecordedBody = { readonly json: string } | { readonly omitted: Omission }
