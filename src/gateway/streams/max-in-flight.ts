// Limits how many requests and streams a key, and the person behind it, may have in progress (contract 13.3). The API
// server limits the request rate: its priority and fairness knows the cost of a request and the impersonated user, and
// the gateway passes its 429s on. Refused credentials are not counted here: a key costs one digest, and
// authn/token/signature-limiter.ts limits what tokens cost.
import { type Caller, credentialUid } from '../../authn/caller.ts'
import { type BufferedAnswer, refuse } from '../../serving/http/answer.ts'
import { ERRORS } from '../errors.ts'

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

/** The owner of a request, to whom it counts. */
interface InFlightOwner {
  /** Uid of the access key or token. */
  readonly credential: string
  /** The user, team or subject that the credential names, as the API server sees it. */
  readonly user: string
}

/** The owner of a caller's requests. */
export const inFlightOwnerOf = (caller: Caller): InFlightOwner => ({
  credential: credentialUid(caller),
  user: caller.identity.user,
})

/** Counts the requests in progress at this replica. */
export interface MaxInFlight {
  readonly admit: (owner: InFlightOwner, kind: AdmissionKind) => Admission
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
 * The limits for all keys of one user, team or subject at one replica: twice what one key may have, so that a person with
 * many keys does not hold all connections.
 */
export const MAX_PER_USER: Readonly<Record<AdmissionKind, number>> = {
  request: 800,
  stream: 2000,
  filteredList: 2,
  filteredWatch: 10,
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

const perUserRefusal = (kind: AdmissionKind): BufferedAnswer =>
  refuse(ERRORS.tooManyOfUser, { kind: NAMES[kind], limit: MAX_PER_USER[kind] })

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
    admit: (owner, kind) => {
      const count = counts[kind]
      const answer = refusalOf(count, owner, kind)
      if (answer !== null) {
        limited(kind)
        return { ok: false, answer }
      }
      add(count, owner, 1)
      let isReleased = false
      const release = (): void => {
        if (!isReleased) add(count, owner, -1)
        isReleased = true
      }
      return { ok: true, release }
    },
  }
}

interface Count {
  total: number
  readonly byCredential: Map<string, number>
  readonly byUser: Map<string, number>
}

const newCount = (): Count => ({ total: 0, byCredential: new Map(), byUser: new Map() })

/** The refusal by the nearest limit that is reached; null = none is. */
function refusalOf(
  { total, byCredential, byUser }: Count,
  { credential, user }: InFlightOwner,
  kind: AdmissionKind,
): BufferedAnswer | null {
  if ((byCredential.get(credential) ?? 0) >= MAX_PER_KEY[kind]) return perKeyRefusal(kind)
  if ((byUser.get(user) ?? 0) >= MAX_PER_USER[kind]) return perUserRefusal(kind)
  return total >= MAX_IN_TOTAL[kind] ? inTotalRefusal(kind) : null
}

function add(count: Count, { credential, user }: InFlightOwner, change: 1 | -1): void {
  count.total += change
  addTo(count.byCredential, credential, change)
  addTo(count.byUser, user, change)
}

function addTo(counts: Map<string, number>, name: string, change: 1 | -1): void {
  const now = (counts.get(name) ?? 0) + change
  if (now > 0) counts.set(name, now)
  else counts.delete(name)
}
