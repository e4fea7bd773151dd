// What one key may have under way at a time (contract 13.3). How often it asks is the API server's to
// limit, which knows what a request costs: its priority and fairness goes by the user that we send, and
// its 429s pass. A credential that is refused costs one digest, so nothing limits those.
import { failure, type WholeAnswer } from '../http/answer.ts'

/**
 * `stream`: open until somebody ends it, as a watch is. `filteredList` and `filteredWatch`: what the
 * gateway picks out of everybody's objects, a request or stream as well.
 */
export const ADMISSION_KINDS = ['request', 'stream', 'filteredList', 'filteredWatch'] as const

/** One of ADMISSION_KINDS. */
export type AdmissionKind = (typeof ADMISSION_KINDS)[number]

/** Told of every refusal, for metrics. */
export type LimitedObserver = (kind: AdmissionKind) => void

/** Whether a request may go on; then `release` is called once it is over, and again does no harm. */
export type Admission =
  | { readonly ok: true; readonly release: () => void }
  | { readonly ok: false; readonly answer: WholeAnswer }

/** What each key has under way here. */
export interface Limits {
  readonly admit: (keyUid: string, kind: AdmissionKind) => Admission
}

/**
 * The most of one key at one replica. Requests: as many as a kube-apiserver reads at once by default
 * (max-requests-inflight), more would only wait there. Streams: a controller that watches every kind of
 * a cluster with a thousand CRDs has one for each, and eight such keys have the connections that there
 * are. What is filtered here: one list after the other, and a client or two with a watch of each kind.
 */
export const MOST_AT_A_TIME: Readonly<Record<AdmissionKind, number>> = {
  request: 400,
  stream: 1000,
  filteredList: 1,
  filteredWatch: 5,
}

/**
 * The most of all keys together. A filtered list goes through all objects of its kind, and a filtered
 * watch through every event, as nobody's request but the gateway's: the API server does not limit them.
 */
export const MOST_IN_ALL: Readonly<Record<AdmissionKind, number>> = {
  request: Number.POSITIVE_INFINITY,
  stream: Number.POSITIVE_INFINITY,
  filteredList: 4,
  filteredWatch: 100,
}

const NAMES: Readonly<Record<AdmissionKind, string>> = {
  request: 'requests',
  stream: 'watches',
  filteredList: 'of the lists that are picked out of more',
  filteredWatch: 'of the watches that are picked out of more',
}

const SOON = { 'retry-after': '1' }

const ofKeyRefusal = (kind: AdmissionKind): WholeAnswer =>
  failure(
    'TooManyRequests',
    `this access key has ${MOST_AT_A_TIME[kind]} ${NAMES[kind]} under way at this gateway, which is the most for one key, so that there is room for others: let some end, then try again`,
    SOON,
  )

const inAllRefusal = (kind: AdmissionKind): WholeAnswer =>
  failure(
    'TooManyRequests',
    `this gateway has ${MOST_IN_ALL[kind]} ${NAMES[kind]} under way for all access keys together, which is the most, as each goes through the objects of everybody: try again`,
    SOON,
  )

/** Counts from now on. */
export function createLimits(limited: LimitedObserver): Limits {
  const counts: Readonly<Record<AdmissionKind, Count>> = {
    request: newCount(),
    stream: newCount(),
    filteredList: newCount(),
    filteredWatch: newCount(),
  }
  return {
    admit: (keyUid, kind) => {
      const count = counts[kind]
      const isFull = (count.ofKey.get(keyUid) ?? 0) >= MOST_AT_A_TIME[kind]
      if (isFull || count.inAll >= MOST_IN_ALL[kind]) {
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
