// What the API server took requests for, found in its audit log by a mark in their User-Agent.
import type { RequestInfo } from '../../../src/domain/scope/request-info.ts'

/** A user as the audit log has it; what is empty is left out. */
export interface AuditedUser {
  readonly username: string
  readonly groups?: readonly string[]
  readonly uid?: string
  readonly extra?: Readonly<Record<string, readonly string[]>>
}

/** One answered request. */
export interface Audited {
  readonly stage: string
  readonly verb: string
  readonly requestURI: string
  readonly userAgent?: string
  readonly user: AuditedUser
  readonly impersonatedUser?: AuditedUser
  readonly objectRef?: Readonly<Record<string, string>>
}

/** What a request was taken for, and as whom it ran. */
export interface Taken {
  readonly verb: string
  /** Absent for a path. */
  readonly objectRef?: Readonly<Record<string, string>>
  /** Decoded; absent for an object. */
  readonly path?: string
  /** As whom another client let it run; absent where no one did. */
  readonly as?: AuditedUser
}

/** The answered requests among the lines of an audit log. */
export const answeredIn = (lines: readonly string[]): readonly Audited[] =>
  lines
    .map((line) => JSON.parse(line) as Audited)
    .filter(({ stage }) => stage === 'ResponseComplete' || stage === 'Panic')

/** The same by their User-Agent; one that a gateway got may have become several. */
export const byUserAgent = (lines: readonly string[]): ReadonlyMap<string, readonly Audited[]> =>
  Map.groupBy(answeredIn(lines), ({ userAgent = '' }) => userAgent)

/** What a request with these attributes must have been taken for. */
export function wantedOf(attributes: RequestInfo, as?: AuditedUser): Taken {
  const by = as ? { as } : {}
  if ('path' in attributes) return { verb: attributes.verb, path: attributes.path, ...by }
  const { verb, resource, namespace, name, group, version, subresource } = attributes
  const ref = { resource, namespace, name, apiGroup: group, apiVersion: version, subresource }
  const objectRef = Object.fromEntries(Object.entries(ref).filter(([, value]) => value !== ''))
  return { verb, objectRef, ...by }
}

/** What it was taken for. */
export function takenOf({ verb, objectRef, requestURI, impersonatedUser: as }: Audited): Taken {
  const by = as ? { as } : {}
  if (objectRef) return { verb, objectRef: { ...objectRef }, ...by }
  const [path = ''] = requestURI.split('?')
  return { verb, path: decodeURIComponent(path), ...by }
}
