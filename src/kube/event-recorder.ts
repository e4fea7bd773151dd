// Records Kubernetes Events, as `kubectl describe` lists them (contract 4.5): best effort, rate-limited, never
// blocking.
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { CONTROLLER_NAME, EVENTS, RECONCILE_ID_ANNOTATION } from '../api/names.ts'
import { formatMicroTime } from '../domain/time.ts'
import type { Clock } from '../runtime/clock.ts'
import { createRateLimiter } from '../runtime/concurrency/rate-limiter.ts'
import type { Log } from '../runtime/log.ts'
import { isConflict } from './client/api-error.ts'
import type { KubeClient, NewObject } from './client/client.ts'

/** An Event to record. */
export interface ObjectEvent {
  /**
   * The object. `kubectl describe` finds no event without the uid, or with a namespace for a cluster-scoped
   * object.
   */
  readonly regarding: {
    readonly apiVersion: string
    readonly kind: string
    readonly name: string
    /** Absent for a cluster-scoped object. */
    readonly namespace?: string
    readonly uid: string
  }
  readonly type: 'Normal' | 'Warning'
  /** One word in CamelCase, such as `Expired`, of at most 128 characters. */
  readonly reason: string
  /** The action, such as `Reconcile`, of at most 128 characters. */
  readonly action: string
  /** A sentence; truncated to 1024 bytes. */
  readonly note: string
  /**
   * Identifies the transition among those with this reason, such as by the expiry. It is the same after a restart,
   * so the transition makes no second event.
   */
  readonly discriminator: string
  /** The reconcile that recorded it, as in the log; absent = none did. */
  readonly reconcileID?: string
}

/** Sends events in the background. */
export interface EventRecorder {
  /**
   * Queues the event. A full queue drops its oldest event, and an urgent one (such as a revoked token) only if no
   * other is queued. Never throws, never blocks.
   */
  record(event: ObjectEvent): void
  /** Resolves when all queued events are sent, or when the signal aborts. */
  flush(signal: AbortSignal): Promise<void>
  /** Sends no more events, and drops the queued ones. */
  stop(): void
}

/** Dependencies of a recorder; `instance` is the identity of this process, at most 128 bytes. */
interface EventRecorderOptions {
  readonly client: KubeClient
  readonly clock: Clock
  readonly log: Log
  readonly instance: string
}

/** Why an Event is written, for metrics. */
export const EVENT_WRITE_REASONS = ['record'] as const

/** Namespace of events about cluster-scoped objects; others are in the namespace of their object. */
const NAMESPACE = 'default'
/** Reasons of urgent events (an attack, a refusal or an end): sent first, dropped last (contract 4.5). */
const URGENT: ReadonlySet<string> = new Set([
  'KeyConflict',
  'Revoked',
  'ScopeExceedsOwner',
  'ActivityIgnored',
])

const LONGEST_QUEUE = 1000
const RATE = { maxTasks: 10, perMs: 1000 }
const LONGEST_NOTE_BYTES = 1024
const LONGEST_NAME = 253
const LOG_DROPS_EVERY_MS = 60_000

/** A recorder with an empty queue. */
export function createEventRecorder(options: EventRecorderOptions): EventRecorder {
  const { client, clock, instance } = options
  const urgent: NewObject[] = []
  const others: NewObject[] = []
  const queuedCount = (): number => urgent.length + others.length
  const drops = createDropCounter(options)
  const stopped = new AbortController()
  const rateLimited = createRateLimiter(clock, RATE, stopped.signal)
  let sending: Promise<void> | null = null

  const send = async (event: NewObject): Promise<void> => {
    try {
      await client.create(EVENTS, event, EVENT_WRITE_REASONS[0])
    } catch (err) {
      // A conflict: this process or an earlier one has recorded the event already.
      if (!isConflict(err)) drops.add(1, err)
    }
  }
  const sendAll = async (): Promise<void> => {
    while (queuedCount() > 0) {
      await rateLimited(async () => {
        const event = urgent.shift() ?? others.shift()
        if (event) await send(event)
      })
    }
    sending = null
  }
  return {
    record: (event) => {
      if (stopped.signal.aborted) return
      const queue = URGENT.has(event.reason) ? urgent : others
      queue.push(eventObject(event, instance, clock.nowMs()))
      if (queuedCount() > LONGEST_QUEUE) {
        void (others.shift() ?? urgent.shift())
        drops.add(1, new Error('too many events wait'))
      }
      sending ??= sendAll()
    },
    flush: async (signal) => {
      if (sending && !signal.aborted) await Promise.race([sending, once(signal, 'abort')])
    },
    stop: () => {
      stopped.abort()
      drops.add(urgent.splice(0).length + others.splice(0).length, new Error('the process ends'))
      drops.report()
    },
  }
}

/** The Event object to create. */
function eventObject(event: ObjectEvent, instance: string, nowMs: number): NewObject {
  const { regarding, type, reason, action, note, reconcileID } = event
  return {
    apiVersion: 'events.k8s.io/v1',
    kind: 'Event',
    metadata: {
      name: nameOf(event),
      namespace: regarding.namespace ?? NAMESPACE,
      ...(reconcileID && { annotations: { [RECONCILE_ID_ANNOTATION]: reconcileID } }),
    },
    eventTime: formatMicroTime(nowMs),
    reportingController: CONTROLLER_NAME,
    reportingInstance: instance,
    regarding,
    type,
    reason,
    action,
    note: truncated(note, LONGEST_NOTE_BYTES),
  }
}

/** `<object name>.<16 hex digits>`, the same for the same transition of the same object. */
function nameOf({ regarding: { name, uid }, reason, discriminator }: ObjectEvent): string {
  const identity = JSON.stringify([uid, reason, discriminator])
  const suffix = `.${createHash('sha256').update(identity).digest('hex').slice(0, 16)}`
  // Truncation may leave a dot or dash at the end, which a DNS label must not have.
  return trimToAlphanumeric(name.slice(0, LONGEST_NAME - suffix.length)) + suffix
}

/** The text without what follows its last lower-case letter or digit. */
const trimToAlphanumeric = (text: string): string =>
  text === '' || /[a-z0-9]/.test(text.charAt(text.length - 1))
    ? text
    : trimToAlphanumeric(text.slice(0, -1))

/** Truncates a text to at most `maxBytes` of UTF-8, at a character boundary; `…` marks the truncation. */
function truncated(text: string, maxBytes: number): string {
  if (Buffer.byteLength(text) <= maxBytes) return text
  const mark = '…'
  const room = new Uint8Array(maxBytes - Buffer.byteLength(mark))
  return text.slice(0, new TextEncoder().encodeInto(text, room).read) + mark
}

/** Counts dropped events, and logs the count at most once a minute, with the last reason. */
function createDropCounter({ clock, log }: EventRecorderOptions) {
  let dropped = 0
  let lastReason: unknown
  let loggedMs = Number.NEGATIVE_INFINITY
  const report = (): void => {
    if (dropped > 0) log.warn({ dropped, err: lastReason }, 'events were dropped')
    dropped = 0
  }
  const add = (count: number, because: unknown): void => {
    if (count === 0) return
    dropped += count
    lastReason = because
    const nowMs = clock.monotonicMs()
    if (nowMs - loggedMs < LOG_DROPS_EVERY_MS) return
    loggedMs = nowMs
    report()
  }
  return { add, report }
}

/** A change of an object's state, which an event reports once (contract 4.5). */
export interface TransitionEvent<Reason extends string = string> {
  readonly reason: Reason
  /** A sentence. */
  readonly note: string
  /** ObjectEvent.discriminator. */
  readonly discriminator: string
}

/** The object of transitions, and the reconcile that found them. */
interface TransitionsOf {
  readonly regarding: ObjectEvent['regarding']
  /** Reasons of events of type Normal; the others are warnings. */
  readonly normalReasons: readonly string[]
  /** Absent = no reconcile found them. */
  readonly reconcileID?: string
}

/** Records an event for each transition. */
export function recordTransitions(
  transitions: readonly TransitionEvent[],
  { regarding, normalReasons, reconcileID }: TransitionsOf,
  events: EventRecorder,
): void {
  for (const { reason, note, discriminator } of transitions) {
    events.record({
      regarding,
      type: normalReasons.includes(reason) ? 'Normal' : 'Warning',
      reason,
      action: 'Reconcile',
      note,
      discriminator,
      ...(reconcileID === undefined ? {} : { reconcileID }),
    })
  }
}
