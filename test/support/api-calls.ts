// Requests of one user, from the audit log: they cost the API server, and do not depend on how noisy the machine is.
import type { Audit, Mark } from './audit-log.ts'

/** Requests since a mark, by `verb resource[/subresource]`, without those of leader election and Events. */
export type Calls = Readonly<Record<string, number>>

interface AuditLine {
  readonly stage: string
  readonly verb: string
  readonly objectRef?: {
    readonly apiGroup?: string
    readonly resource?: string
    readonly subresource?: string
  }
  readonly responseStatus?: { readonly code?: number }
}

/** The requests of a user since the mark; a conflict (409) counts as `conflict` beside its call. */
export async function callsSince(audit: Audit, mark: Mark, user: string): Promise<Calls> {
  const counts: Record<string, number> = {}
  const count = (name: string): void => void (counts[name] = (counts[name] ?? 0) + 1)
  for (const text of await audit.linesSince(mark, user)) {
    const { stage, verb, objectRef, responseStatus } = JSON.parse(text) as AuditLine
    const { resource, subresource } = objectRef ?? {}
    if (stage !== 'ResponseComplete' || resource === undefined) continue
    if (resource === 'leases' || resource === 'events') continue
    count(`${verb} ${[resource, subresource].filter(Boolean).join('/')}`)
    if (responseStatus?.code === 409) count('conflict')
  }
  return counts
}

/** All requests for these resources, reads included. */
export const callsFor = (calls: Calls, resource: string): number =>
  Object.entries(calls)
    .filter(([call]) => call.split(' ')[1]?.split('/')[0] === resource)
    .reduce((sum, [, count]) => sum + count, 0)

/** Writes among them, of any resource. A review is created too, and nothing is stored. */
export const writesIn = (calls: Calls): number =>
  Object.entries(calls)
    .filter(([call]) => /^(?:create|update|patch|delete) (?!\w+reviews$)/.test(call))
    .reduce((sum, [, count]) => sum + count, 0)
