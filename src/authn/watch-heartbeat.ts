// Proves that a gateway's watch of a kind is complete (contract 10.4). All gateways share one object of the kind, its
// heartbeat. A gateway that has seen no write to it for 5 seconds writes to it. Each gateway receives that write on its
// own watch, after every change that was committed before it.
import { HEARTBEAT_ANNOTATION, HEARTBEAT_BEFORE_ANNOTATION, type Resource } from '../api/names.ts'
import type { KubeObject } from '../api/objects.ts'
import { formatTimestamp } from '../domain/time.ts'
import { isConflict, isTestFailed } from '../kube/client/api-error.ts'
import type { KubeClient, NewObject, PatchOperation } from '../kube/client/client.ts'
import type { StoreSink } from '../kube/informer/store.ts'
import { type Clock, currentMoment, type Moment, sleep, withTimeout } from '../runtime/clock.ts'
import type { Log } from '../runtime/log.ts'
import { READ_TIMEOUT_MS } from './staleness.ts'
import {
  afterHeartbeatEvent,
  dueInMs,
  type HeartbeatEvent,
  initialHeartbeatState,
  isUnseen,
  MAX_JITTER_MS,
} from './watch-heartbeat-state.ts'

/** The heartbeat of a kind. */
export interface HeartbeatObject<T extends KubeObject> {
  readonly resource: Resource
  readonly name: string
  /** Annotations that each write sets, besides the heartbeat's own. */
  readonly annotations: Readonly<Record<string, string>>
  /** A new object with these annotations. */
  readonly newObject: (annotations: Readonly<Record<string, string>>) => NewObject
  /** Whether an object of this name must be deleted and created again. */
  readonly mustBeReplaced: (object: T) => boolean
}

/** Dependencies of a watch heartbeat. */
interface HeartbeatOptions<T extends KubeObject> {
  readonly object: HeartbeatObject<T>
  readonly client: KubeClient
  readonly clock: Clock
  readonly log: Log
  /** A random number from 0 to 1, so that replicas do not write at the same moment. */
  readonly random: () => number
  /** Called with the milliseconds from the sending of a write of this process to its watch event. */
  readonly onDelivered: (tookMs: number) => void
  /** Called when a heartbeat on the watch did not follow the one before. */
  readonly onGap: () => void
  /** Called when the watch is not complete, to make it list again. */
  readonly relist: () => void
}

/** Writes heartbeats, and observes those that arrive on the watch. */
export interface WatchHeartbeat {
  /** The moment up to which the watch is proven complete; null = there is no proof. */
  readonly provenAt: () => Moment | null
  /** Drops the proof, and lists again: a gap in the watch of another kind means that etcd may have been restored. */
  readonly distrust: () => void
  /** Returns a sink for the watch of the kind that passes all events to `sink`, and observes the heartbeat. */
  readonly observe: (sink: StoreSink) => StoreSink
  /** Writes whenever a heartbeat is due, until the signal aborts. Never rejects. */
  readonly keepWriting: (signal: AbortSignal) => Promise<void>
}

/** Creates a heartbeat, which writes nothing until the objects are listed. */
export function createWatchHeartbeat<T extends KubeObject>(
  options: HeartbeatOptions<T>,
): WatchHeartbeat {
  const { object, client, clock, log } = options
  const { kind } = object.resource
  const jitterMs = (): number => options.random() * MAX_JITTER_MS
  let state = initialHeartbeatState(jitterMs())
  const logRelist = (because: 'gap' | 'distrusted' | 'missedWrite'): void => {
    if (because === 'gap')
      log.warn({ kind }, 'watched objects went back to an earlier state, listing them again')
    else if (because === 'distrusted')
      log.warn({ kind }, 'objects of another kind went back to an earlier state, listing these')
    else log.warn({ kind }, 'the watch missed a write, listing the objects again')
  }
  const dispatch = (event: HeartbeatEvent): void => {
    const { state: next, effect } = afterHeartbeatEvent(state, event)
    state = next
    if (effect.kind === 'delivered') options.onDelivered(effect.tookMs)
    if (effect.kind !== 'relist') return
    logRelist(effect.because)
    options.relist()
    if (effect.because === 'gap') options.onGap()
  }

  const write = async (signal: AbortSignal): Promise<void> => {
    const sent = currentMoment(clock)
    const written = formatTimestamp(sent.wallMs)
    // Recorded before the write is sent, because its watch event may arrive before its response.
    dispatch({ kind: 'writing', heartbeat: { written, sent }, jitterMs: jitterMs() })
    const mayWrite = (annotation: string | undefined): boolean => {
      const anotherWroteFirst = isUnseen(state, annotation)
      dispatch({ kind: 'read', annotation, written })
      return !anotherWroteFirst
    }
    try {
      const isOurs = await withTimeout(clock, READ_TIMEOUT_MS, (abort) =>
        writeHeartbeat({ object, client, log, mayWrite }, written, abort),
      )
      dispatch({ kind: 'stored', sent, isOurs, now: currentMoment(clock) })
    } catch (err) {
      // Another replica or the operator wrote first: the watch will deliver that write.
      if (signal.aborted || isConflict(err) || isTestFailed(err)) return
      log.warn({ kind, err }, 'could not write the heartbeat, trying again')
    }
  }

  return {
    provenAt: () => state.provenAt,
    distrust: () => dispatch({ kind: 'distrusted' }),
    observe: (sink) => observingSink(sink, object.name, clock, dispatch),
    keepWriting: async (signal) => {
      while (!signal.aborted) {
        const waitMs = dueInMs(state, currentMoment(clock))
        if (waitMs > 0) await sleep(clock, waitMs, signal)
        else await write(signal)
      }
    },
  }
}

/** Passes each event to the sink first, so that everything that a heartbeat proves is in the store by then. */
const observingSink = (
  sink: StoreSink,
  heartbeatName: string,
  clock: Clock,
  dispatch: (event: HeartbeatEvent) => void,
): StoreSink => ({
  begin: () => {
    sink.begin()
    dispatch({ kind: 'listStarted' })
  },
  put: (object) => {
    sink.put(object)
    if (object.metadata.name !== heartbeatName) return
    dispatch({ kind: 'observed', heartbeat: observedHeartbeat(object), now: currentMoment(clock) })
  },
  remove: (object) => {
    sink.remove(object)
    dispatch({ kind: 'removed', uid: object.metadata.uid })
  },
  sweep: () => sink.sweep(),
  end: () => {
    sink.end()
    dispatch({ kind: 'listComplete' })
  },
})

const observedHeartbeat = ({ metadata }: KubeObject) => ({
  uid: metadata.uid,
  annotation: metadata.annotations?.[HEARTBEAT_ANNOTATION],
  before: metadata.annotations?.[HEARTBEAT_BEFORE_ANNOTATION] ?? '',
})

/** Reason of the writes of heartbeats (contract 10.4), for metrics. */
export const HEARTBEAT_REASON = 'heartbeat'

/** Dependencies of a write of the heartbeat. */
interface HeartbeatWrite<T extends KubeObject> {
  readonly object: HeartbeatObject<T>
  readonly client: KubeClient
  readonly log: Log
  /** Called with the stored annotation, undefined = none; returns false if another gateway has just written it. */
  readonly mayWrite: (annotation: string | undefined) => boolean
}

/**
 * Writes the time into the heartbeat; creates it if it is missing, and replaces one that must be replaced.
 *
 * @returns false when `mayWrite` returned false
 * @throws StatusError when another gateway wrote at the same time, or the API server refuses
 */
async function writeHeartbeat<T extends KubeObject>(
  { object, client, log, mayWrite }: HeartbeatWrite<T>,
  writtenAt: string,
  signal: AbortSignal,
): Promise<boolean> {
  const { resource, name, annotations, newObject, mustBeReplaced } = object
  const found = await client.get<T>(resource, { name }, signal)
  if (!mayWrite(found?.metadata.annotations?.[HEARTBEAT_ANNOTATION])) return false
  const kept =
    found && mustBeReplaced(found)
      ? await deleteForReplacement(resource, found, client, log)
      : found
  const written = { ...annotations, [HEARTBEAT_ANNOTATION]: writtenAt }
  if (kept) await client.patch(resource, { name }, heartbeatPatch(kept, written), HEARTBEAT_REASON)
  else await client.create(resource, newObject(written), HEARTBEAT_REASON)
  return true
}

/**
 * Deletes a heartbeat that must be replaced, so that it is created again. Gateways of an earlier version write to any
 * object of its name, and create one only if it is missing, so both versions can run side by side.
 *
 * @returns null when the object is deleted; the object when a finalizer keeps it or the delete is refused
 */
async function deleteForReplacement(
  resource: Resource,
  object: KubeObject,
  client: KubeClient,
  log: Log,
): Promise<KubeObject | null> {
  const { name, uid, resourceVersion } = object.metadata
  try {
    return await client.delete(resource, { name }, { uid, resourceVersion }, HEARTBEAT_REASON)
  } catch (err) {
    if (isConflict(err)) throw err
    log.warn({ kind: resource.kind, err }, 'could not replace the heartbeat object')
    return object
  }
}

/** A write of these annotations, on condition of the version that was read: of concurrent writers only one succeeds. */
function heartbeatPatch(
  { metadata }: KubeObject,
  written: Readonly<Record<string, string>>,
): readonly PatchOperation[] {
  const { resourceVersion, annotations } = metadata
  const annotated = {
    ...written,
    [HEARTBEAT_BEFORE_ANNOTATION]: annotations?.[HEARTBEAT_ANNOTATION] ?? '',
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
