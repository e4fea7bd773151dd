// Proves that a gateway's watch of the keys is complete (contract 10.4). All gateways share one key that
// authenticates no one. The first gateway that has seen no write to it for 5 seconds writes to it; each gateway
// sees that write on its own watch, behind every change that was committed before.
import {
  ACCESS_KEYS,
  API_VERSION,
  EXPIRED_ANNOTATION,
  HEARTBEAT_ANNOTATION,
  HEARTBEAT_BEFORE_ANNOTATION,
  HEARTBEAT_KEY,
} from '../api/names.ts'
import type { KubeObject } from '../api/objects.ts'
import type { OwnedAccessKeyObject } from '../domain/accesskey/access-key.ts'
import { formatTimestamp } from '../domain/time.ts'
import { isConflict, isTestFailed } from '../kube/client/api-error.ts'
import type { KubeClient, NewObject, PatchOperation } from '../kube/client/client.ts'
import type { StoreSink } from '../kube/informer/store.ts'
import { type Clock, type Moment, currentMoment, sleep, withTimeout } from '../runtime/clock.ts'
import type { Log } from '../runtime/log.ts'
import { READ_TIMEOUT_MS } from './staleness.ts'
import {
  type HeartbeatEvent,
  MAX_JITTER_MS,
  afterHeartbeatEvent,
  dueInMs,
  initialHeartbeatState,
  isUnseen,
} from './watch-heartbeat-state.ts'

/** Dependencies of the heartbeat. */
interface HeartbeatOptions {
  readonly client: KubeClient
  readonly clock: Clock
  readonly log: Log
  /** From 0 to 1, so that replicas do not write at the same moment. */
  readonly random: () => number
  /** Called with the milliseconds from the sending of a write of this process to its watch event. */
  readonly onDelivered: (tookMs: number) => void
  /** Called when the watch is not complete: it must list again. */
  readonly relist: () => void
}

/** The heartbeat of this process: its own writes, and all that arrive on the watch. */
export interface WatchHeartbeat {
  /** The moment up to which the watch is known to be complete; null = unknown. */
  readonly provenAt: () => Moment | null
  /** A sink for the watch of the keys: passes all events on to another, and observes the heartbeat key. */
  readonly observe: (sink: StoreSink) => StoreSink
  /** Writes whenever it is time, until the signal aborts. Never rejects. */
  readonly keepWriting: (signal: AbortSignal) => Promise<void>
}

/** A heartbeat before the first list: it writes nothing until the keys are listed. */
export function createWatchHeartbeat(options: HeartbeatOptions): WatchHeartbeat {
  const { client, clock, log } = options
  const jitterMs = (): number => options.random() * MAX_JITTER_MS
  let state = initialHeartbeatState(jitterMs())
  const on = (event: HeartbeatEvent): void => {
    const { state: next, effect } = afterHeartbeatEvent(state, event)
    state = next
    if (effect.kind === 'delivered') options.onDelivered(effect.tookMs)
    if (effect.kind !== 'relist') return
    if (effect.because === 'gap')
      log.warn({}, 'the access keys went back to an earlier state, listing them again')
    else log.warn({}, 'the watch of the access keys missed a write, listing them again')
    options.relist()
  }

  const write = async (signal: AbortSignal): Promise<void> => {
    const sent = currentMoment(clock)
    const written = formatTimestamp(sent.wallMs)
    // Before it is sent: its event may arrive before its response.
    on({ kind: 'writing', heartbeat: { written, sent }, jitterMs: jitterMs() })
    const mayWrite = (annotation: string | undefined): boolean => {
      const isOtherFirst = isUnseen(state, annotation)
      on({ kind: 'read', annotation, written })
      return !isOtherFirst
    }
    try {
      const isOurs = await withTimeout(clock, READ_TIMEOUT_MS, (abort) =>
        writeHeartbeat({ client, log, mayWrite }, written, abort),
      )
      on({ kind: 'stored', sent, isOurs, now: currentMoment(clock) })
    } catch (err) {
      // Another replica was first, or the operator wrote to it: the watch will show it.
      if (signal.aborted || isConflict(err) || isTestFailed(err)) return
      log.warn({ err }, 'could not write to the heartbeat key, trying again')
    }
  }

  return {
    provenAt: () => state.provenAt,
    observe: (sink) => observingSink(sink, clock, on),
    keepWriting: async (signal) => {
      while (!signal.aborted) {
        const waitMs = dueInMs(state, currentMoment(clock))
        if (waitMs > 0) await sleep(clock, waitMs, signal)
        else await write(signal)
      }
    },
  }
}

/** The sink has each event before the heartbeat does: what is proven is in the store by then. */
const observingSink = (
  sink: StoreSink,
  clock: Clock,
  on: (event: HeartbeatEvent) => void,
): StoreSink => ({
  begin: () => {
    sink.begin()
    on({ kind: 'listStarted' })
  },
  put: (object) => {
    sink.put(object)
    if (object.metadata.name !== HEARTBEAT_KEY) return
    on({ kind: 'observed', heartbeat: observedHeartbeat(object), now: currentMoment(clock) })
  },
  remove: (object) => {
    sink.remove(object)
    on({ kind: 'removed', uid: object.metadata.uid })
  },
  sweep: () => sink.sweep(),
  end: () => {
    sink.end()
    on({ kind: 'listComplete' })
  },
})

const observedHeartbeat = ({ metadata }: KubeObject) => ({
  uid: metadata.uid,
  annotation: metadata.annotations?.[HEARTBEAT_ANNOTATION],
  before: metadata.annotations?.[HEARTBEAT_BEFORE_ANNOTATION] ?? '',
})

// The key that gateways write to, and that each sees on its own watch (contract 10.4): its form and its writes.

/** Label of the writes to the heartbeat key, for rest_client metrics. */
export const HEARTBEAT_REASON = 'heartbeat'

const REF = { name: HEARTBEAT_KEY }

/** A key of this type authenticates no one, whatever else changes in the object. */
const SPEC = { type: 'Reset', subject: 'heartbeat' } as const

/** Dependencies of a write to the heartbeat key. */
interface HeartbeatWrite {
  readonly client: KubeClient
  readonly log: Log
  /** Called with the stored annotation, undefined = none: false where another gateway has just written it. */
  readonly mayWrite: (annotation: string | undefined) => boolean
}

/**
 * Writes the time into the heartbeat key; creates it where it is missing, and replaces one of another form.
 *
 * @returns false where `mayWrite` refused
 * @throws StatusError when another gateway wrote at the same time, or the API server refuses
 */
async function writeHeartbeat(
  { client, log, mayWrite }: HeartbeatWrite,
  at: string,
  signal: AbortSignal,
): Promise<boolean> {
  const found = await client.get<OwnedAccessKeyObject>(ACCESS_KEYS, REF, signal)
  if (!mayWrite(found?.metadata.annotations?.[HEARTBEAT_ANNOTATION])) return false
  const kept = found && hasOtherForm(found) ? await deleteOtherForm(found, client, log) : found
  if (!kept) await client.create(ACCESS_KEYS, heartbeatKey(at), HEARTBEAT_REASON)
  else await client.patch(ACCESS_KEYS, REF, heartbeatPatch(kept, at), HEARTBEAT_REASON)
  return true
}

/**
 * Gateways of an earlier version write to either form, and create theirs only where the key is missing. So both
 * versions can run side by side, and an object of the earlier form is replaced at the next write.
 *
 * @returns null when it is gone; the object where a finalizer holds it or the delete is refused
 */
async function deleteOtherForm(
  object: OwnedAccessKeyObject,
  client: KubeClient,
  log: Log,
): Promise<KubeObject | null> {
  const { uid, resourceVersion } = object.metadata
  try {
    return await client.delete(ACCESS_KEYS, REF, { uid, resourceVersion }, HEARTBEAT_REASON)
  } catch (err) {
    if (isConflict(err)) throw err
    log.warn({ err }, 'could not replace the heartbeat key')
    return object
  }
}

/** The heartbeat key, written at that time. The annotation makes operators of earlier versions keep it. */
const heartbeatKey = (at: string): NewObject => ({
  apiVersion: API_VERSION,
  kind: ACCESS_KEYS.kind,
  metadata: {
    name: HEARTBEAT_KEY,
    annotations: { [HEARTBEAT_ANNOTATION]: at, [EXPIRED_ANNOTATION]: 'Keep' },
  },
  spec: {
    ...SPEC,
    description:
      'Opens nothing: gateways write to it to test that their watch of the keys is current.',
  },
})

/**
 * Whether the object differs from what gateways create now: an earlier version created it, or a user changed
 * it. It is then replaced, because the type is immutable. An object with a key may be in use and stays; so
 * does one that is being deleted.
 */
function hasOtherForm({ metadata, spec = {} }: OwnedAccessKeyObject): boolean {
  if (metadata.deletionTimestamp !== undefined || spec.key) return false
  const { type, subject, disabled, ttl } = spec
  return type !== SPEC.type || subject !== SPEC.subject || disabled === true || (ttl ?? 0) > 0
}

/** A write at that time, on condition of the version read: of concurrent writers only one succeeds. */
function heartbeatPatch({ metadata }: KubeObject, at: string): readonly PatchOperation[] {
  const { resourceVersion, annotations } = metadata
  const annotated = {
    [HEARTBEAT_ANNOTATION]: at,
    [HEARTBEAT_BEFORE_ANNOTATION]: annotations?.[HEARTBEAT_ANNOTATION] ?? '',
    [EXPIRED_ANNOTATION]: 'Keep',
  }
  return [
    { op: 'test', path: '/metadata/resourceVersion', value: resourceVersion },
    ...(annotations ? [] : [{ op: 'add', path: '/metadata/annotations', value: {} } as const]),
    ...Object.entries(annotated).map(
      ([name, value]) =>
        ({ op: 'add', path: `/metadata/annotations/${name.replace('/', '~1')}`, value }) as const,
    ),
  ]
}
