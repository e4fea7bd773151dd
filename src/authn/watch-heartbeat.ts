// Proves that a gateway's watch of the keys is complete (contract 10.4). All gateways share a heartbeat key, which
// authenticates no one. A gateway that has seen no write to it for 5 seconds writes to it. Each gateway receives that
// write on its own watch, after every change that was committed before it.
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
  /** A random number from 0 to 1, so that replicas do not write at the same moment. */
  readonly random: () => number
  /** Called with the milliseconds from the sending of a write of this process to its watch event. */
  readonly onDelivered: (tookMs: number) => void
  /** Called when the watch is not complete, to make it list again. */
  readonly relist: () => void
}

/** Writes heartbeats, and observes those that arrive on the watch. */
export interface WatchHeartbeat {
  /** The moment up to which the watch is known to be complete; null = unknown. */
  readonly provenAt: () => Moment | null
  /** Returns a sink for the watch of the keys that passes all events to `sink`, and observes the heartbeat key. */
  readonly observe: (sink: StoreSink) => StoreSink
  /** Writes whenever a heartbeat is due, until the signal aborts. Never rejects. */
  readonly keepWriting: (signal: AbortSignal) => Promise<void>
}

/** Creates a heartbeat, which writes nothing until the keys are listed. */
export function createWatchHeartbeat(options: HeartbeatOptions): WatchHeartbeat {
  const { client, clock, log } = options
  const jitterMs = (): number => options.random() * MAX_JITTER_MS
  let state = initialHeartbeatState(jitterMs())
  const dispatch = (event: HeartbeatEvent): void => {
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
    // Recorded before the write is sent, because its watch event may arrive before its response.
    dispatch({ kind: 'writing', heartbeat: { written, sent }, jitterMs: jitterMs() })
    const mayWrite = (annotation: string | undefined): boolean => {
      const anotherWroteFirst = isUnseen(state, annotation)
      dispatch({ kind: 'read', annotation, written })
      return !anotherWroteFirst
    }
    try {
      const isOurs = await withTimeout(clock, READ_TIMEOUT_MS, (abort) =>
        writeHeartbeat({ client, log, mayWrite }, written, abort),
      )
      dispatch({ kind: 'stored', sent, isOurs, now: currentMoment(clock) })
    } catch (err) {
      // Another replica or the operator wrote first: the watch will deliver that write.
      if (signal.aborted || isConflict(err) || isTestFailed(err)) return
      log.warn({ err }, 'could not write to the heartbeat key, trying again')
    }
  }

  return {
    provenAt: () => state.provenAt,
    observe: (sink) => observingSink(sink, clock, dispatch),
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
  clock: Clock,
  dispatch: (event: HeartbeatEvent) => void,
): StoreSink => ({
  begin: () => {
    sink.begin()
    dispatch({ kind: 'listStarted' })
  },
  put: (object) => {
    sink.put(object)
    if (object.metadata.name !== HEARTBEAT_KEY) return
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

/** Label of the writes to the heartbeat key (contract 10.4), for metrics. */
export const HEARTBEAT_REASON = 'heartbeat'

const HEARTBEAT_REF = { name: HEARTBEAT_KEY }

/** Spec of the heartbeat key: a key of type Reset authenticates no one, whatever else changes in the object. */
const HEARTBEAT_SPEC = { type: 'Reset', subject: 'heartbeat' } as const

/** Dependencies of a write to the heartbeat key. */
interface HeartbeatWrite {
  readonly client: KubeClient
  readonly log: Log
  /** Called with the stored annotation, undefined = none; returns false if another gateway has just written it. */
  readonly mayWrite: (annotation: string | undefined) => boolean
}

/**
 * Writes the time into the heartbeat key; creates the key if it is missing, and replaces a key with another spec.
 *
 * @returns false when `mayWrite` returned false
 * @throws StatusError when another gateway wrote at the same time, or the API server refuses
 */
async function writeHeartbeat(
  { client, log, mayWrite }: HeartbeatWrite,
  writtenAt: string,
  signal: AbortSignal,
): Promise<boolean> {
  const found = await client.get<OwnedAccessKeyObject>(ACCESS_KEYS, HEARTBEAT_REF, signal)
  if (!mayWrite(found?.metadata.annotations?.[HEARTBEAT_ANNOTATION])) return false
  const kept =
    found && mustBeReplaced(found) ? await deleteForReplacement(found, client, log) : found
  if (!kept) await client.create(ACCESS_KEYS, heartbeatKey(writtenAt), HEARTBEAT_REASON)
  else
    await client.patch(
      ACCESS_KEYS,
      HEARTBEAT_REF,
      heartbeatPatch(kept, writtenAt),
      HEARTBEAT_REASON,
    )
  return true
}

/**
 * Deletes a heartbeat key with another spec, so that it is created again. Gateways of an earlier version write to a key
 * with any spec, and create one only if the key is missing, so both versions can run side by side.
 *
 * @returns null when the key is deleted; the object when a finalizer keeps it or the delete is refused
 */
async function deleteForReplacement(
  object: OwnedAccessKeyObject,
  client: KubeClient,
  log: Log,
): Promise<KubeObject | null> {
  const { uid, resourceVersion } = object.metadata
  try {
    return await client.delete(
      ACCESS_KEYS,
      HEARTBEAT_REF,
      { uid, resourceVersion },
      HEARTBEAT_REASON,
    )
  } catch (err) {
    if (isConflict(err)) throw err
    log.warn({ err }, 'could not replace the heartbeat key')
    return object
  }
}

/** A new heartbeat key, written at this time. Annotation `expired` makes operators of earlier versions keep it. */
const heartbeatKey = (writtenAt: string): NewObject => ({
  apiVersion: API_VERSION,
  kind: ACCESS_KEYS.kind,
  metadata: {
    name: HEARTBEAT_KEY,
    annotations: { [HEARTBEAT_ANNOTATION]: writtenAt, [EXPIRED_ANNOTATION]: 'Keep' },
  },
  spec: {
    ...HEARTBEAT_SPEC,
    description:
      'Opens nothing: gateways write to it to test that their watch of the keys is current.',
  },
})

/**
 * Whether the object must be replaced: its spec differs from HEARTBEAT_SPEC, because an earlier version created it or a
 * user changed it, and the type is immutable. A key with a secret may be in use, so it stays; so does one being
 * deleted.
 */
function mustBeReplaced({ metadata, spec = {} }: OwnedAccessKeyObject): boolean {
  if (metadata.deletionTimestamp !== undefined || spec.key) return false
  const { type, subject, disabled, ttl } = spec
  return (
    type !== HEARTBEAT_SPEC.type ||
    subject !== HEARTBEAT_SPEC.subject ||
    disabled === true ||
    (ttl ?? 0) > 0
  )
}

/** A write at this time, on condition of the version that was read: of concurrent writers only one succeeds. */
function heartbeatPatch({ metadata }: KubeObject, writtenAt: string): readonly PatchOperation[] {
  const { resourceVersion, annotations } = metadata
  const annotated = {
    [HEARTBEAT_ANNOTATION]: writtenAt,
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
