// Limits how many requests and streams a key may have in progress (contract 13.3). The API server limits the request
// rate: its priority and fairness knows the cost of a request and the impersonated user, and the gateway passes its
// 429s on. Refused credentials are not counted here: a key costs one digest, and signature-checks.ts limits what tokens
// cost.
import { credentialUid } from '../../authn/caller.ts'
import { type BufferedAnswer, refuse } from '../../serving/http/answer.ts'
import { ERRORS } from '../errors.ts'
import { isLongRunning } from '../proxy/forward.ts'
import { type Stage, known } from '../request-context.ts'
import type { InFlightRequests } from '../streams/in-flight.ts'
import { leaseRequest } from '../streams/request-lease.ts'

/**
 * `stream`: a request without a time limit, such as a watch or logs. `filteredList`, `filteredWatch`: the gateway filters
 * the objects of all users; each counts as a request or stream as well.
 */
export const ADMISSION_KINDS = ['request', 'stream', 'filteredList', 'filteredWatch'] as const

/** One of ADMISSION_KINDS. */
export type AdmissionKind = (typeof ADMISSION_KINDS)[number]

/** Called for every refusal, for metrics. */
type LimitedObserver = (kind: AdmissionKind) => void

/** Whether a request is admitted. `release` frees its place; later calls do nothing. */
export type Admission =
  | { readonly ok: true; readonly release: () => void }
  | { readonly ok: false; readonly answer: BufferedAnswer }

/** Counts the requests in progress at this replica. */
export interface MaxInFlight {
  readonly admit: (keyUid: string, kind: AdmissionKind) => Admission
}

/**
 * The limits for one key at one replica. `request`: the default max-requests-inflight of a kube-apiserver, where more
 * would only wait. `stream`: a controller may watch a thousand CRDs; eight such keys use all connections. Filtered: one
 * list after the other, and one or two clients that watch each kind.
 */
export const MAX_PER_KEY: Readonly<Record<AdmissionKind, number>> = {
  request: 400,
  stream: 1000,
  filteredList: 1,
  filteredWatch: 5,
}

/**
 * The limits for all keys together. For a filtered list or watch, the gateway reads all objects or events of the kind as
 * itself: the API server can't limit those by user.
 */
export const MAX_IN_TOTAL: Readonly<Record<AdmissionKind, number>> = {
  request: Number.POSITIVE_INFINITY,
  stream: Number.POSITIVE_INFINITY,
  filteredList: 4,
  filteredWatch: 100,
}

const NAMES: Readonly<Record<AdmissionKind, string>> = {
  request: 'requests',
  stream: 'streams (watches, logs, exec, attach, port-forward, proxied requests)',
  filteredList: 'filtered lists',
  filteredWatch: 'filtered watches',
}

const perKeyRefusal = (kind: AdmissionKind): BufferedAnswer =>
  refuse(ERRORS.tooManyOfKey, { kind: NAMES[kind], limit: MAX_PER_KEY[kind] })

const inTotalRefusal = (kind: AdmissionKind): BufferedAnswer =>
  refuse(ERRORS.tooManyInAll, { kind: NAMES[kind], limit: MAX_IN_TOTAL[kind] })

/** Creates the counter, with no request in progress. @param limited called for every refusal */
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
      const isKeyFull = (count.byKey.get(keyUid) ?? 0) >= MAX_PER_KEY[kind]
      if (isKeyFull || count.total >= MAX_IN_TOTAL[kind]) {
        limited(kind)
        return { ok: false, answer: isKeyFull ? perKeyRefusal(kind) : inTotalRefusal(kind) }
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
  total: number
  readonly byKey: Map<string, number>
}

const newCount = (): Count => ({ total: 0, byKey: new Map() })

function add(count: Count, keyUid: string, change: 1 | -1): void {
  count.total += change
  const now = (count.byKey.get(keyUid) ?? 0) + change
  if (now > 0) count.byKey.set(keyUid, now)
  else count.byKey.delete(keyUid)
}

/** The dependencies of the stage. */
export interface MaxInFlightDeps {
  readonly limits: MaxInFlight
  readonly inFlight: InFlightRequests
}

/**
 * Refuses a request beyond the limits. An admitted one keeps its place and a lease of its key until its answer ends.
 */
export const maxInFlight: Stage<MaxInFlightDeps> = (context, { limits, inFlight }) => {
  const caller = known(context, 'caller')
  const isLong = context.upgrade !== null || isLongRunning(known(context, 'request').attributes)
  const admission = limits.admit(credentialUid(caller), isLong ? 'stream' : 'request')
  if (!admission.ok) return admission.answer
  const lease = leaseRequest(inFlight, {
    call: context.http,
    caller,
    connection: known(context, 'resolved').connection,
    isLong,
  })
  const release = (): void => {
    lease.close()
    admission.release()
  }
  context.admitted = { lease, isLong, release }
  return null
}
