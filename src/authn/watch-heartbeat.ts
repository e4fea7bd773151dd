// Proves that a gateway's watch of the keys is complete (contract 10.4). All gateways share one key that opens
// nothing. The first gateway that has seen no write to it for 5 seconds writes to it; each gateway sees that
// write on its own watch, behind every change that was committed before.
import {
  ACCESS_KEYS,
  HEARTBEAT_ANNOTATION,
  HEARTBEAT_BEFORE_ANNOTATION,
  HEARTBEAT_KEY,
} from '../api/names.ts'
import type { KubeObject } from '../api/objects.ts'
import type { OwnedAccessKeyObject } from '../domain/accesskey/access-key.ts'
import { formatTimestamp } from '../domain/time.ts'
import { isConflict, isTestFailed } from '../kube/client/api-error.ts'
import type { KubeClient } from '../kube/client/client.ts'
import type { StoreSink } from '../kube/informer/store.ts'
import { type Clock, sleep, withTimeout } from '../runtime/clock.ts'
import type { Log } from '../runtime/log.ts'
import { type Moment, currentMoment, laterMoment, msBetween } from '../runtime/moment.ts'
import { beatOn, heartbeatKey, isOfAnotherForm } from './heartbeat-key.ts'
import { READ_TIMEOUT_MS, RENEW_AFTER_MS, type SentHeartbeat, momentProvenBy } from './staleness.ts'

const REF = { name: HEARTBEAT_KEY }

/** Label of the writes to the heartbeat key, for rest_client metrics. */
export const HEARTBEAT_REASON = 'heartbeat'

/** Dependencies of the heartbeat. */
export interface HeartbeatOptions {
  readonly client: KubeClient
  readonly clock: Clock
  readonly log: Log
  /** From 0 to 1, so that replicas do not write at the same moment. */
  readonly random: () => number
  /** Called with the milliseconds from the sending of a write of this process to its watch event. */
  readonly returned: (tookMs: number) => void
  /** Called when the watch is not complete: it must list again. */
  readonly doubt: () => void
}

/** Replicas that find it old at the same time wait for a random part of this, so that one is first. */
const JITTER_MS = 1000
/** Least time between two tries, unless a write of this process succeeded. */
const RETRY_AFTER_MS = 1000
/** A watch that has not delivered a stored write after this long is broken: a sound one takes milliseconds. */
const TOLD_WITHIN_MS = 10_000
/** How many writes of this process may still arrive on the watch. */
const REMEMBERED = 8

/** The heartbeat of this process: its own writes, and all that arrive on the watch. */
export class Heartbeat {
  readonly #options: HeartbeatOptions
  #proven: Moment | null = null
  /** What a listing under way will prove once it is complete. */
  #inListing: Moment | null = null
  #listing = false
  #listed = false
  #ours: readonly SentHeartbeat[] = []
  /** The last heartbeat on the watch; null = there is none, or none arrived yet. */
  #told: Told | null = null
  /** The last heartbeat does not follow the one before: nothing is proven until the keys are listed again. */
  #isTorn = false
  /** The annotation that arrived, was read or was written last. */
  #seen: string | undefined
  /** When the oldest stored write was sent that the watch has not delivered; null = it delivered all. */
  #awaited: Moment | null = null
  /** The earliest moment of our next write, on the monotonic clock. */
  #notBeforeMs = 0
  #jitterMs = 0

  constructor(options: HeartbeatOptions) {
    this.#options = options
    this.#jitterMs = options.random() * JITTER_MS
  }

  /** The moment up to which the watch is known to be complete; null = unknown. */
  provenAt(): Moment | null {
    return this.#proven
  }

  /** Passes the events of the keys on, and takes heartbeats from them. */
  through(to: StoreSink): StoreSink {
    return {
      begin: () => {
        to.begin()
        this.#listing = true
        this.#inListing = null
        this.#told = null
      },
      put: (object) => {
        to.put(object)
        if (object.metadata.name === HEARTBEAT_KEY) this.#hear(object)
      },
      remove: (object) => {
        to.remove(object)
        if (object.metadata.uid === this.#told?.uid) this.#told = null
      },
      sweep: () => to.sweep(),
      end: () => {
        to.end()
        this.#listing = false
        this.#listed = true
        this.#isTorn = false
        this.#awaited = null
        this.#prove(this.#inListing)
      },
    }
  }

  /** Writes whenever it is time, until the signal aborts. Never rejects. */
  async keepBeating(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options
    while (!signal.aborted) {
      const dueInMs = this.#dueInMs()
      if (dueInMs > 0) await sleep(clock, dueInMs, signal)
      else await this.#beat(signal)
    }
  }

  /** Before the keys are listed it is unknown whether the heartbeat key exists. */
  #dueInMs(): number {
    if (!this.#listed) return RETRY_AFTER_MS / 4
    const now = currentMoment(this.#options.clock)
    const agedInMs = RENEW_AFTER_MS + this.#jitterMs - msBetween(this.#proven, now)
    return Math.max(agedInMs, this.#notBeforeMs - now.monotonicMs)
  }

  #hear({ metadata }: KubeObject): void {
    const arrived = currentMoment(this.#options.clock)
    const annotation = metadata.annotations?.[HEARTBEAT_ANNOTATION]
    this.#seen = annotation
    const before = metadata.annotations?.[HEARTBEAT_BEFORE_ANNOTATION] ?? ''
    const told = { uid: metadata.uid, at: annotation ?? '', before }
    if (!this.#listing && this.#told && !follows(told, this.#told)) this.#tear()
    this.#told = told
    if (this.#isTorn && !this.#listing) return
    const proof = momentProvenBy(annotation, arrived, this.#ours)
    const own = this.#ours.find(({ written }) => written === annotation)
    if (own && !this.#listing && laterMoment(this.#proven, proof) !== this.#proven)
      this.#options.returned(arrived.monotonicMs - own.sent.monotonicMs)
    // The rest of the list, behind this object, is not known yet.
    if (this.#listing) this.#inListing = laterMoment(this.#inListing, proof)
    else this.#prove(proof)
  }

  /**
   * As after etcd was restored to an earlier state and its versions have caught up with the watch: the
   * watch has missed what happened in between.
   */
  #tear(): void {
    if (this.#isTorn) return
    this.#isTorn = true
    this.#proven = null
    const { log, doubt } = this.#options
    log.warn({}, 'the access keys went back to an earlier state, listing them again')
    doubt()
  }

  #prove(moment: Moment | null): void {
    this.#proven = laterMoment(this.#proven, moment)
    if (this.#awaited && this.#proves(this.#awaited)) this.#awaited = null
  }

  #proves(moment: Moment): boolean {
    return this.#proven !== null && this.#proven.monotonicMs >= moment.monotonicMs
  }

  async #beat(signal: AbortSignal): Promise<void> {
    const { clock, log, random } = this.#options
    const sent = currentMoment(clock)
    const beat = { written: formatTimestamp(sent.wallMs), sent }
    // Before it is sent: its event may arrive before its response.
    this.#ours = [...this.#ours, beat].slice(-REMEMBERED)
    this.#jitterMs = random() * JITTER_MS
    this.#notBeforeMs = sent.monotonicMs + RETRY_AFTER_MS
    try {
      const isOurs = await withTimeout(clock, READ_TIMEOUT_MS, (abort) =>
        this.#write(beat.written, abort),
      )
      if (isOurs) this.#notBeforeMs = sent.monotonicMs + RENEW_AFTER_MS
      this.#await(sent)
    } catch (err) {
      // Another replica was first, or the operator wrote to it: the watch will show it.
      if (signal.aborted || isConflict(err) || isTestFailed(err)) return
      log.warn({ err }, 'could not write to the heartbeat key, trying again')
    }
  }

  /** @returns false where another replica was first and its write has not arrived on the watch yet */
  async #write(at: string, signal: AbortSignal): Promise<boolean> {
    const { client } = this.#options
    const there = await client.get<OwnedAccessKeyObject>(ACCESS_KEYS, REF, signal)
    const stored = there?.metadata.annotations?.[HEARTBEAT_ANNOTATION]
    const isNew = stored !== undefined && stored !== this.#seen
    this.#seen = isNew ? stored : at
    if (isNew) return false
    const kept = there && isOfAnotherForm(there) ? await this.#removed(there) : there
    if (!kept) await client.create(ACCESS_KEYS, heartbeatKey(at), HEARTBEAT_REASON)
    else await client.patch(ACCESS_KEYS, REF, beatOn(kept, at), HEARTBEAT_REASON)
    return true
  }

  /**
   * Gateways of an earlier version write to either form, and create theirs only where there is none. So both
   * versions can run side by side, and an object of the earlier form is replaced at the next write.
   *
   * @returns null when it is gone; the object where a finalizer holds it or the delete is refused
   */
  async #removed(object: OwnedAccessKeyObject): Promise<KubeObject | null> {
    const { client, log } = this.#options
    const { uid, resourceVersion } = object.metadata
    try {
      return await client.delete(ACCESS_KEYS, REF, { uid, resourceVersion }, HEARTBEAT_REASON)
    } catch (err) {
      if (isConflict(err)) throw err
      log.warn({ err }, 'could not replace the heartbeat key')
      return object
    }
  }

  /** The watch is broken where a write was stored long ago and no event as recent has arrived. */
  #await(stored: Moment): void {
    const { clock, log, doubt } = this.#options
    if (this.#proves(stored)) return
    this.#awaited ??= stored
    if (msBetween(this.#awaited, currentMoment(clock)) < TOLD_WITHIN_MS) return
    this.#awaited = null
    log.warn({}, 'the watch of the access keys missed a write, listing them again')
    doubt()
  }
}

/** A heartbeat as it arrived on the watch. */
interface Told {
  readonly uid: string
  /** The time in it; empty without the annotation. */
  readonly at: string
  readonly before: string
}

const follows = (now: Told, last: Told): boolean =>
  now.uid === last.uid && (now.at === last.at || now.before === last.at)
