// Who would write to an API server, and records of revoked tokens, remembered instead.
import type { Resource } from '../../src/api/names.ts'
import type { RevocationList } from '../../src/authn/revocation/revocation-list.ts'
import { NOTHING_OVERDUE } from '../../src/domain/time.ts'
import { StatusError } from '../../src/kube/client/api-error.ts'
import type { KubeClient } from '../../src/kube/client/client.ts'

/** A write that was asked for. */
export interface RecordedRequest {
  readonly verb: 'apply' | 'patch' | 'delete'
  readonly kind: string
  /** The object, the operations or the preconditions. */
  readonly body: unknown
  /** As metrics tell it. */
  readonly reason: string
  readonly name: string
  readonly subresource?: 'status'
}

/** What the client answers; by default nothing is there, and an apply echoes. */
export type Answers = Partial<Pick<KubeClient, 'get' | 'apply' | 'patch' | 'delete'>>

/** A client that remembers each write, and then answers. */
export function recordingClient(answers: Answers = {}): {
  readonly client: KubeClient
  readonly asked: RecordedRequest[]
} {
  const asked: RecordedRequest[] = []
  const nothing = (): Promise<never> => Promise.resolve(null as never)
  const echo: KubeClient['apply'] = (_, object) => Promise.resolve(object as never)
  const { get = nothing, apply = echo, patch = nothing, delete: remove = nothing } = answers
  const remember = (
    verb: RecordedRequest['verb'],
    { kind }: Resource,
    name: string,
    body: unknown,
    reason: string,
    subresource?: 'status',
  ): void =>
    void asked.push({ verb, kind, name, body, reason, ...(subresource ? { subresource } : {}) })
  const client: KubeClient = {
    get,
    apply: (resource, body, reason, subresource) => {
      const { name } = body.metadata
      remember('apply', resource, name, body, reason, subresource)
      return apply(resource, body, reason, subresource)
    },
    patch: (resource, { name }, body, reason) => {
      remember('patch', resource, name, body, reason)
      return patch(resource, { name }, body, reason)
    },
    delete: (resource, { name }, body, reason) => {
      remember('delete', resource, name, body, reason)
      return remove(resource, { name }, body, reason)
    },
    list: unexpected,
    watch: unexpected,
    create: unexpected,
    replace: unexpected,
  }
  return { client, asked }
}

const unexpected = (): Promise<never> => Promise.reject(new Error('nobody should ask for this'))

/** The API server's refusal. */
export const refused = (code: number, reason: string): StatusError =>
  new StatusError({ code, reason, message: reason, retryAfterMs: null, causes: 0 })

/** Records that are stored when a test says so. */
export interface RecordedRevocations {
  readonly revocations: RevocationList
  /** Asked for, with the end of each. */
  readonly asked: Map<string, number>
  readonly stored: Set<string>
  /** Why the last write failed. */
  fault: string | null
  /** How long those that are not stored have been asked for. */
  askedForMs: number
}

/** None are there, none fail. */
export function recordedRevocations(): RecordedRevocations {
  const asked = new Map<string, number>()
  const stored = new Set<string>()
  const records: RecordedRevocations = {
    asked,
    stored,
    fault: null,
    askedForMs: 0,
    revocations: {
      has: (jti) => stored.has(jti),
      record: (jti, expiresMs) => void asked.set(jti, expiresMs),
      backlog: () => NOTHING_OVERDUE,
      countAt: () => stored.size,
      requestedForMs: (jti) => (asked.has(jti) && !stored.has(jti) ? records.askedForMs : null),
      fault: () => records.fault,
      subscribe: () => undefined,
      sweep: () => Promise.resolve(),
      stop: () => Promise.resolve(),
    },
  }
  return records
}
