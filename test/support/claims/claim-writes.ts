// What claims cost the API server: the writes of all programs, from its audit log (contract 28.8).
import { EVENTS, LEASES } from '../../../src/api/names.ts'
import type { Audit, Mark } from '../audit-log.ts'

interface AuditedRequest {
  readonly stage: string
  readonly verb: string
  readonly requestURI: string
  readonly user: { readonly username: string }
  readonly objectRef?: {
    readonly resource?: string
    readonly subresource?: string
    readonly name?: string
    readonly apiGroup?: string
  }
  readonly responseStatus?: { readonly code?: number }
}

/** Counts by verb, resource and account, such as `patch secrets by delivery`. */
export type Writes = Readonly<Record<string, number>>

const VERBS: ReadonlySet<string> = new Set([
  'create',
  'update',
  'patch',
  'delete',
  'deletecollection',
])
const PROGRAM = 'system:serviceaccount:platform-system:'

/**
 * Successful writes of the product's accounts since a mark, all but Events and Leases. A try without effect is none.
 *
 * @param about only to objects with this in their names; absent = to all
 */
export async function writesOfPrograms(audit: Audit, mark: Mark, about = ''): Promise<Writes> {
  // Waits for the answers of those that are under way.
  await audit.writesSince(mark)
  const counts: Record<string, number> = {}
  for (const line of await audit.linesSince(mark)) {
    const request = JSON.parse(line) as AuditedRequest
    if (!isWrite(request) || !(request.objectRef?.name ?? '').includes(about)) continue
    const { verb, objectRef: { resource = '', subresource } = {}, user } = request
    const what = [resource, subresource].filter(Boolean).join('/')
    const name = `${verb} ${what} by ${user.username.slice(PROGRAM.length)}`
    counts[name] = (counts[name] ?? 0) + 1
  }
  return counts
}

function isWrite({
  stage,
  verb,
  requestURI,
  objectRef,
  user,
  responseStatus,
}: AuditedRequest): boolean {
  const { resource = '', apiGroup } = objectRef ?? {}
  return (
    stage === 'ResponseComplete' &&
    VERBS.has(verb) &&
    user.username.startsWith(PROGRAM) &&
    (responseStatus?.code ?? 500) < 300 &&
    !requestURI.includes('dryRun=') &&
    apiGroup !== 'authorization.k8s.io' &&
    apiGroup !== 'authentication.k8s.io' &&
    resource !== EVENTS.plural &&
    resource !== LEASES.plural
  )
}

/** All of them. */
export const sumOfWrites = (writes: Writes): number =>
  Object.values(writes).reduce((sum, count) => sum + count, 0)
