// What one key may have under way at a time (contract 13.3). How often it asks is the API server's to
// limit, which knows what a request costs: its priority and fairness goes by the user that we send, and
// its 429s pass. A credential that is refused costs one digest, so nothing limits those.
import { failure, type WholeAnswer } from '../http/answer.ts'

/** `stream`: open until somebody ends it, as a watch is. */
export type AdmissionKind = 'request' | 'stream'

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
 * are.
 */
export const MOST_AT_A_TIME: Readonly<Record<AdmissionKind, number>> = {
  request: 400,
  stream: 1000,
}

const NAMES: Readonly<Record<AdmissionKind, string>> = { request: 'requests', stream: 'watches' }

const REFUSALS: Readonly<Record<AdmissionKind, WholeAnswer>> = {
  request: refusal('request'),
  stream: refusal('stream'),
}

function refusal(kind: AdmissionKind): WholeAnswer {
  const most = MOST_AT_A_TIME[kind]
  return failure(
    'TooManyRequests',
    `this access key has ${most} ${NAMES[kind]} under way at this gateway, which is the most for one key, so that there is room for others: let some end, then try again`,
    { 'retry-after': '1' },
  )
}

/** Counts from now on. */
export function createLimits(): Limits {
  const counts: Readonly<Record<AdmissionKind, Map<string, number>>> = {
    request: new Map(),
    stream: new Map(),
  }
  return {
    admit: (keyUid, kind) => {
      const count = counts[kind]
      const before = count.get(keyUid) ?? 0
      if (before >= MOST_AT_A_TIME[kind]) return { ok: false, answer: REFUSALS[kind] }
      count.set(keyUid, before + 1)
      let isReleased = false
      const release = (): void => {
        if (isReleased) return
        isReleased = true
        const now = count.get(keyUid) ?? 0
        if (now > 1) count.set(keyUid, now - 1)
        else count.delete(keyUid)
      }
      return { ok: true, release }
    },
  }
}
