// How many requests and streams a key may have in progress (contract 13.3). The request rate is the API
// server's to limit: its priority and fairness knows the cost of a request and the user that we send, and
// its 429s pass. A refused credential costs one digest, so nothing limits those.
import { type WholeAnswer, refuse } from '../../serving/http/answer.ts'
import { ERRORS } from '../errors.ts'
import { isLongRunning } from '../proxy/forward.ts'
import { type Stage, known } from '../request-context.ts'
import type { InFlightRequests } from '../streams/in-flight.ts'
import { leaseRequest } from '../streams/request-lease.ts'

/**
 * `stream`: a request without a bound of time, such as a watch or logs. `filteredList`, `filteredWatch`: the
 * gateway filters the objects of all users for them; each counts as a request or stream as well.
 */
export const ADMISSION_KINDS = ['request', 'stream', 'filteredList', 'filteredWatch'] as const

/** One of ADMISSION_KINDS. */
export type AdmissionKind = (typeof ADMISSION_KINDS)[number]

/** Called for every refusal, for metrics. */
type LimitedObserver = (kind: AdmissionKind) => void

/** Whether a request is admitted; `release` ends its place, and may be called again. */
export type Admission =
  | { readonly ok: true; readonly release: () => void }
  | { readonly ok: false; readonly answer: WholeAnswer }

/** Counts the requests in progress at this replica. */
export interface MaxInFlight {
  readonly admit: (keyUid: string, kind: AdmissionKind) => Admission
}

/**
 * The limits for one key at one replica. Requests: the default max-requests-inflight of a kube-apiserver; more
 * would only wait there. Streams: a controller may watch a thousand CRDs, and eight such keys use all
 * connections. Filtered: one list after the other, and one or two clients that watch each kind.
 */
export const MAX_PER_KEY: Readonly<Record<AdmissionKind, number>> = {
  request: 400,
  stream: 1000,
  filteredList: 1,
  filteredWatch: 5,
}

/**
 * The limits for all keys together. A filtered list reads all objects of its kind, and a filtered watch every
 * event, as the gateway's own request: the API server can't limit them by user.
 */
export const MAX_IN_TOTAL: Readonly<Record<AdmissionKind, number>> = {
  request: Number.POSITIVE_INFINITY,
  stream: Number.POSITIVE_INFINITY,
  filteredList: 4,
  filteredWatch: 100,
}

const NAMES: Readonly<Record<AdmissionKind, string>> = {
  request: 'requests',
  stream: 'streams (watches, logs, proxied requests)',
  filteredList: 'filtered lists',
  filteredWatch: 'filtered watches',
}

const ofKeyRefusal = (kind: AdmissionKind): WholeAnswer =>
  refuse(ERRORS.tooManyOfKey, { kind: NAMES[kind], limit: MAX_PER_KEY[kind] })

const inAllRefusal = (kind: AdmissionKind): WholeAnswer =>
  refuse(ERRORS.tooManyInAll, { kind: NAMES[kind], limit: MAX_IN_TOTAL[kind] })

/** Counts from now on. */
export function createMaxInFlight(limited: LimitedObserver): MaxInFlight {
  const counts: Readonly<Record<AdmissionKind, Count>> = {
    request: newCount(),
    stream: newCount(),
    filteredList: newCount(),
    filteredWatch: newCount(),
  }
  return {
    admit: (keyUid, kind) => {
      const count = counts[kind]
      const isFull = (count.ofKey.get(keyUid) ?? 0) >= MAX_PER_KEY[kind]
      if (isFull || count.inAll >= MAX_IN_TOTAL[kind]) {
        limited(kind)
        return { ok: false, answer: isFull ? ofKeyRefusal(kind) : inAllRefusal(kind) }
      }
      add(count, keyUid, 1)
      let isReleased = false
      const release = (): void => {
        if (!isReleased) add(count, keyUid, -1)
        isReleased = true
      }
      return { ok: true, release }
    },
  }
}

interface Count {
  inAll: number
  readonly ofKey: Map<string, number>
}

const newCount = (): Count => ({ inAll: 0, ofKey: new Map() })

function add(count: Count, keyUid: string, change: 1 | -1): void {
  count.inAll += change
  const now = (count.ofKey.get(keyUid) ?? 0) + change
  if (now > 0) count.ofKey.set(keyUid, now)
  else count.ofKey.delete(keyUid)
}

/** The counts, and the requests that end with their keys. */
export interface MaxInFlightDeps {
  readonly limits: MaxInFlight
  readonly inFlight: InFlightRequests
}

/** Refuses a request too many; an admitted one keeps its place, and a lease of its key, until its answer ends. */
export const maxInFlight: Stage<MaxInFlightDeps> = (context, { limits, inFlight }) => {
  const caller = known(context, 'caller')
  const isLong = isLongRunning(known(context, 'request').attributes)
  const admission = limits.admit(caller.key.uid, isLong ? 'stream' : 'request')
  if (!admission.ok) return admission.answer
  const lease = leaseRequest(inFlight, { call: context.http, caller, isLong })
  const release = (): void => {
    lease.close()
    admission.release()
  }
  context.admitted = { lease, isLong, release }
  return null
}
