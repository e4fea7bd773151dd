// Writes and requests from the audit log of an API server.
import { randomUUID } from 'node:crypto'
import { open, stat } from 'node:fs/promises'
import { SELF_SUBJECT_ACCESS_REVIEWS } from '../../src/api/names.ts'
import type { RequestInfo } from '../../src/domain/scope/request-info.ts'
import type { TestControlPlane } from './control-plane.ts'
import { eventually } from './eventually.ts'

/** A moment in the audit log: an offset in bytes. */
export interface Mark {
  readonly offset: number
}

/** A request that changes something, as it was answered. */
export interface AuditedWrite {
  readonly verb: 'create' | 'update' | 'patch' | 'delete' | 'deletecollection'
  readonly resource: string
  /** The subresource, such as `status`; empty when there is none. */
  readonly subresource: string
  /** Empty for a create whose name the server chose. */
  readonly name: string
  readonly user: string
  /** HTTP status code of the answer. */
  readonly code: number
  /** When the request came in, RFC 3339 with microseconds. */
  readonly at: string
}

/** Which writes to return. */
export interface WriteFilter {
  /** Only writes of this user, such as OPERATOR_USER; of all users when absent. */
  readonly user?: string
  /** Leave out Leases, which leader election keeps renewing. */
  readonly notLeases?: true
}

/** The audit log of one control plane. */
export interface Audit {
  /** The current end of the log: requests answered by now are before it. */
  mark(): Promise<Mark>
  /**
   * The writes that came in between a mark and now, in the order of their answers. One that is under
   * way is waited for: an object may be gone before the request that let it go is answered. One that
   * was under way at the mark is none of them: its effect may be seen before its answer is logged.
   */
  writesSince(mark: Mark, filter?: WriteFilter): Promise<readonly AuditedWrite[]>
  /** The raw lines between a mark and now; of all users when none is given. */
  linesSince(mark: Mark, user?: string): Promise<readonly string[]>
}

interface AuditEvent {
  readonly auditID: string
  readonly stage: 'RequestReceived' | 'ResponseStarted' | 'ResponseComplete' | 'Panic'
  readonly verb: string
  readonly user: { readonly username: string }
  readonly objectRef?: {
    readonly resource?: string
    readonly subresource?: string
    readonly name?: string
  }
  readonly responseStatus?: { readonly code?: number }
  readonly requestReceivedTimestamp: string
}

const WRITES: ReadonlySet<string> = new Set([
  'create',
  'update',
  'patch',
  'delete',
  'deletecollection',
])
const FLUSH_LIMIT_MS = 10_000

/** Reads the audit log of a control plane whose API server runs. */
export function auditOf({ auditLog, raw }: Pick<TestControlPlane, 'auditLog' | 'raw'>): Audit {
  /** The offset behind a request of ours: each answered before it has its line before that one. */
  const fence = async (): Promise<number> => {
    const id = randomUUID()
    const { size } = await stat(auditLog)
    await raw('GET', `/version?fence=${id}`)
    return eventually(
      'the audit log has the latest request',
      async () => {
        const tail = await read(auditLog, size)
        const at = tail.indexOf(id)
        const end = at === -1 ? -1 : tail.indexOf('\n', at)
        return end === -1 ? undefined : size + end + 1
      },
      { withinMs: FLUSH_LIMIT_MS },
    )
  }
  const since = async ({ offset }: Mark): Promise<readonly string[]> =>
    (await read(auditLog, offset, await fence())).toString('utf8').split('\n').filter(Boolean)
  return {
    mark: async () => ({ offset: await fence() }),
    writesSince: async (mark, filter = {}) => {
      const isWanted = ({ verb, user, objectRef }: AuditEvent): boolean =>
        WRITES.has(verb) &&
        objectRef?.resource !== OWN_REVIEWS &&
        (filter.user === undefined || filter.user === user.username) &&
        !(filter.notLeases && objectRef?.resource === 'leases')
      const events = await eventually(
        'each write is answered',
        async () => {
          const lines = (await since(mark)).map((line) => JSON.parse(line) as AuditEvent)
          const wanted = lines.filter(isWanted)
          return areAnswered(wanted) ? wanted : undefined
        },
        { withinMs: FLUSH_LIMIT_MS },
      )
      const received = new Set(events.filter(isArrival).map(({ auditID }) => auditID))
      return events.filter((event) => isAnswer(event) && received.has(event.auditID)).map(writeOf)
    },
    linesSince: async (mark, user) =>
      (await since(mark)).filter(
        (line) => user === undefined || (JSON.parse(line) as AuditEvent).user.username === user,
      ),
  }
}

/** A question of a client about itself: it changes nothing. */
const OWN_REVIEWS = SELF_SUBJECT_ACCESS_REVIEWS.plural

const isAnswer = ({ stage }: AuditEvent): boolean =>
  stage === 'ResponseComplete' || stage === 'Panic'

const isArrival = ({ stage }: AuditEvent): boolean => stage === 'RequestReceived'

function areAnswered(events: readonly AuditEvent[]): boolean {
  // Requests of the gateway for one request of a caller have one ID.
  const pending = new Map<string, number>()
  for (const event of events) {
    const change = isArrival(event) ? 1 : isAnswer(event) ? -1 : 0
    pending.set(event.auditID, (pending.get(event.auditID) ?? 0) + change)
  }
  return [...pending.values()].every((count) => count <= 0)
}

function writeOf(event: AuditEvent): AuditedWrite {
  const { resource = '', subresource = '', name = '' } = event.objectRef ?? {}
  return {
    verb: event.verb as AuditedWrite['verb'],
    resource,
    subresource,
    name,
    user: event.user.username,
    code: event.responseStatus?.code ?? 0,
    at: event.requestReceivedTimestamp,
  }
}

/** The bytes from `start` to `end`; to where the file ends now when that is absent. */
async function read(path: string, start: number, end?: number): Promise<Buffer> {
  const file = await open(path)
  try {
    const length = (end ?? (await file.stat()).size) - start
    const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, start)
    return buffer.subarray(0, bytesRead)
  } finally {
    await file.close()
  }
}

// The attributes of requests in the audit log, found by a mark in their User-Agent.

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
  /** When the request came in, RFC 3339 with microseconds. */
  readonly requestReceivedTimestamp: string
  readonly userAgent?: string
  readonly user: AuditedUser
  readonly impersonatedUser?: AuditedUser
  readonly objectRef?: Readonly<Record<string, string>>
}

/** The attributes of a request, and the user it ran as. */
export interface Taken {
  readonly verb: string
  /** Absent for a path. */
  readonly objectRef?: Readonly<Record<string, string>>
  /** Decoded; absent for an object. */
  readonly path?: string
  /** The impersonated user; absent without impersonation. */
  readonly as?: AuditedUser
}

/** The answered requests among the lines of an audit log. */
export const answeredIn = (lines: readonly string[]): readonly Audited[] =>
  lines
    .map((line) => JSON.parse(line) as Audited)
    .filter(({ stage }) => stage === 'ResponseComplete' || stage === 'Panic')

/** The answered requests by User-Agent; one request to a gateway may cause several. */
export const byUserAgent = (lines: readonly string[]): ReadonlyMap<string, readonly Audited[]> =>
  Map.groupBy(answeredIn(lines), ({ userAgent = '' }) => userAgent)

/** The expected entry of the audit log for a request with these attributes. */
export function wantedOf(attributes: RequestInfo, as?: AuditedUser): Taken {
  const by = as ? { as } : {}
  if ('path' in attributes) return { verb: attributes.verb, path: attributes.path, ...by }
  const { verb, resource, namespace, name, group, version, subresource } = attributes
  const ref = { resource, namespace, name, apiGroup: group, apiVersion: version, subresource }
  const objectRef = Object.fromEntries(Object.entries(ref).filter(([, value]) => value !== ''))
  return { verb, objectRef, ...by }
}

/** The attributes of an entry of the audit log. */
export function takenOf({ verb, objectRef, requestURI, impersonatedUser: as }: Audited): Taken {
  const by = as ? { as } : {}
  if (objectRef) return { verb, objectRef: { ...objectRef }, ...by }
  const [path = ''] = requestURI.split('?')
  return { verb, path: decodeURIComponent(path), ...by }
}

/** How many writes there are of each verb, subresource and status code, such as `patch status 200`. */
export function countWrites(
  writes: readonly Pick<AuditedWrite, 'verb' | 'subresource' | 'code'>[],
): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {}
  for (const { verb, subresource, code } of writes) {
    const what = `${verb} ${subresource} ${code}`
    counts[what] = (counts[what] ?? 0) + 1
  }
  return counts
}
