// A reflector on a scripted server, and the watch events and pages that an API server sends.
import { inspect, isDeepStrictEqual } from 'node:util'
import { onTestFinished } from 'vitest'
import type { ListQuery } from '../../../../src/kube/client/client.ts'
import { runReflector } from '../../../../src/kube/informer/reflector.ts'
import { Store, fullObject } from '../../../../src/kube/informer/store.ts'
import type { Clock } from '../../../../src/runtime/clock.ts'
import { eventually } from '../../../support/eventually.ts'
import { memoryLog } from '../../../support/memory-log.ts'
import {
  type Answer,
  type ReceivedRequest,
  THINGS,
  connectTo,
  answersInTurn,
  json,
  refuse,
  startScriptedServer,
  thing,
  writeKubeconfig,
} from './scripted-server.ts'

/** Less than the timeout of a test, so that a failure says what it waited for. */
export const WAIT_LIMIT = { withinMs: 30_000 }

export const event = (type: string, object: unknown): string =>
  `${JSON.stringify({ type, object })}\n`
export const added = (name: string, version: number): string => event('ADDED', thing(name, version))
export const modified = (name: string, version: number): string =>
  event('MODIFIED', thing(name, version))
export const deleted = (name: string, version: number): string =>
  event('DELETED', thing(name, version))
export const bookmark = (version: number, annotations?: object): string =>
  event('BOOKMARK', { kind: 'Thing', metadata: { resourceVersion: String(version), annotations } })
export const initialEventsEnd = (version: number): string =>
  bookmark(version, { 'k8s.io/initial-events-end': 'true' })
export const errorEvent = (code: number, reason: string): string =>
  event('ERROR', { kind: 'Status', status: 'Failure', code, reason, message: 'because' })
export const EXPIRED_EVENT = errorEvent(410, 'Expired')

/** Sends these lines and keeps the watch open; a test may write more to the response. */
export const openWatch =
  (...lines: readonly string[]): Answer =>
  (response) => {
    response.writeHead(200, { 'content-type': 'application/json' })
    response.flushHeaders()
    response.write(lines.join(''))
  }
/** Sends these lines and ends the watch, as the API server does after a change of the CRD's schema. */
export const closedWatch =
  (...lines: readonly string[]): Answer =>
  (response) =>
    response.writeHead(200).end(lines.join(''))
/** Sends these lines and breaks the connection. */
export const brokenWatch =
  (...lines: readonly string[]): Answer =>
  (response) => {
    response.writeHead(200).write(lines.join(''))
    setImmediate(() => response.destroy())
  }
export const listPage = (version: number, items: readonly object[], next = ''): Answer =>
  json(200, { metadata: { resourceVersion: String(version), continue: next }, items })
/** The answer of an API server whose feature gate WatchList is off. */
export const withoutWatchList = refuse(422, {
  reason: 'Invalid',
  message: 'sendInitialEvents: Forbidden: sendInitialEvents is forbidden for watch',
  details: { causes: [{ reason: 'FieldValueForbidden', field: 'sendInitialEvents' }] },
})

/** A short name of a request: `stream` (WatchList), `list`, `list x` (a later page) or `follow 5` (watch from 5). */
export function requestName({ query }: Pick<ReceivedRequest, 'query'>): string {
  const { watch: isWatch, sendInitialEvents, resourceVersion, continue: next } = query
  if (isWatch === undefined) return next === undefined ? 'list' : `list ${next}`
  return sendInitialEvents === 'true' ? 'stream' : `follow ${resourceVersion}`
}

export const SILENT_AFTER_MS = 95_000
/** Longer than every back-off, shorter than every wait of the silence watchdog. */
const LONGEST_WAIT_MS = 20_000

/** Objects in the store as name@resourceVersion, and requests by their short names. */
export interface State {
  readonly objects: readonly string[]
  readonly requests: readonly string[]
}

/** Starts a reflector on one server, with its store and everything it reported. */
export async function startReflector(answer: Answer, query: ListQuery = {}) {
  const server = await startScriptedServer(answer)
  const { client, clock } = await connectTo(await writeKubeconfig({ server: server.url }))
  const store = new Store(fullObject)
  const { log, lines } = memoryLog()
  const restarts: string[] = []
  const served: boolean[] = []
  const stuck: boolean[] = []
  /** The objects in the store at each call of onProgress. */
  const progress: (readonly string[])[] = []
  let relistNow = (): void => undefined
  /** Back-offs in ms (all waits but those of the silence watchdog), and when the last one is over. */
  const waits: number[] = []
  let overMs = 0
  const recordingClock: Clock = {
    ...clock,
    schedule: (delayMs, callback) => {
      if (delayMs <= LONGEST_WAIT_MS) {
        waits.push(delayMs)
        overMs = clock.monotonicMs() + delayMs
      }
      return clock.schedule(delayMs, callback)
    },
  }
  const abort = new AbortController()
  onTestFinished(() => abort.abort())
  const ended = runReflector(
    {
      client,
      resource: THINGS,
      query,
      sink: store,
      clock: recordingClock,
      log,
      restarted: (how) => void restarts.push(how),
      served: (is) => void served.push(is),
      stuck: (is) => {
        if (is !== (stuck.at(-1) ?? false)) stuck.push(is)
      },
      onProgress: () => void progress.push(objects()),
      opened: (relist) => {
        relistNow = relist
      },
    },
    abort.signal,
  )
  const objects = () => [...store.values()].map((item) => `${item.name}@${item.resourceVersion}`)
  const requests = () => server.received.map(requestName)
  /** Advances the clock over back-offs, and no further, until the condition holds. */
  const waitUntil = (what: string, isSo: () => boolean, bound = WAIT_LIMIT): Promise<true> =>
    eventually(
      what,
      async () => {
        await clock.advance(Math.ceil(Math.max(overMs - clock.monotonicMs(), 0)))
        return isSo() || undefined
      },
      bound,
    )
  /** Advances the clock over back-offs until the store and the requests are exactly these. */
  const waitForState = async (state: State): Promise<void> => {
    await waitUntil('the store and the requests match', () => {
      const now: State = { objects: objects(), requests: requests() }
      if (!isDeepStrictEqual(now, state)) throw new Error(inspect({ now, not: state }))
      return true
    })
  }
  return {
    server,
    clock,
    store,
    lines,
    restarts,
    served,
    /** Changes of stuck: true when a fault repeats, false after the recovery. */
    stuck,
    progress,
    waits,
    abort,
    /** Makes the reflector relist. */
    relist: () => relistNow(),
    ended,
    requests,
    waitUntil,
    waitForState,
  }
}

/** Answers of a server, and the state and restarts that they lead to. */
export interface RecoveryRow {
  readonly name: string
  readonly answers: readonly Answer[]
  readonly objects: readonly string[]
  readonly requests: readonly string[]
  readonly restarts: readonly string[]
}

/** Runs a row until the store and the requests match it. */
export async function outcomeOf({ answers, objects, requests }: RecoveryRow) {
  const reflector = await startReflector(answersInTurn(...answers))
  await reflector.waitForState({ objects, requests })
  // An empty store matches before the last answer arrives.
  await reflector.waitUntil('the store is synced', () => reflector.store.synced)
  return {
    restarts: reflector.restarts,
    isSynced: reflector.store.synced && reflector.served.at(-1) === true,
  }
}
