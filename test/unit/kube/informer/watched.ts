// A watcher on a scripted server, and the words that an API server uses in a watch.
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
  type Received,
  THINGS,
  connectTo,
  json,
  refuse,
  startScripted,
  thing,
  writeKubeconfig,
} from './scripted-server.ts'

/** Below the time that a test has, so that it can say what it waited for. */
export const SOON = { withinMs: 30_000 }

export const event = (type: string, object: unknown): string =>
  `${JSON.stringify({ type, object })}\n`
export const added = (name: string, version: number): string => event('ADDED', thing(name, version))
export const modified = (name: string, version: number): string =>
  event('MODIFIED', thing(name, version))
export const deleted = (name: string, version: number): string =>
  event('DELETED', thing(name, version))
export const bookmark = (version: number, annotations?: object): string =>
  event('BOOKMARK', { kind: 'Thing', metadata: { resourceVersion: String(version), annotations } })
export const end = (version: number): string =>
  bookmark(version, { 'k8s.io/initial-events-end': 'true' })
export const error = (code: number, reason: string): string =>
  event('ERROR', { kind: 'Status', status: 'Failure', code, reason, message: 'because' })
export const EXPIRED = error(410, 'Expired')

/** A watch that stays open behind these lines; more may be written to the response. */
export const open =
  (...lines: readonly string[]): Answer =>
  (response) => {
    response.writeHead(200, { 'content-type': 'application/json' })
    response.flushHeaders()
    response.write(lines.join(''))
  }
/** One that ends behind them, as after a change of the CRD's schema. */
export const closing =
  (...lines: readonly string[]): Answer =>
  (response) =>
    response.writeHead(200).end(lines.join(''))
/** One whose connection breaks behind them. */
export const cut =
  (...lines: readonly string[]): Answer =>
  (response) => {
    response.writeHead(200).write(lines.join(''))
    setImmediate(() => response.destroy())
  }
export const page = (version: number, items: readonly object[], next = ''): Answer =>
  json(200, { metadata: { resourceVersion: String(version), continue: next }, items })
/** The words of a server whose feature gate WatchList is off. */
export const withoutWatchList = refuse(422, {
  reason: 'Invalid',
  message: 'sendInitialEvents: Forbidden: sendInitialEvents is forbidden for watch',
  details: { causes: [{ reason: 'FieldValueForbidden', field: 'sendInitialEvents' }] },
})

/** A short name of what was asked: `stream`, `list`, `list x` (a later page) or `follow 5`. */
export function asked({ query }: Pick<Received, 'query'>): string {
  const { watch: isWatch, sendInitialEvents, resourceVersion, continue: next } = query
  if (isWatch === undefined) return next === undefined ? 'list' : `list ${next}`
  return sendInitialEvents === 'true' ? 'stream' : `follow ${resourceVersion}`
}

export const SILENT_AFTER_MS = 95_000
/** Above every back-off, below every wait of the watchdog. */
const LONGEST_WAIT_MS = 20_000

/** Objects as name@resourceVersion, and what was asked, each by its short name. */
export interface State {
  readonly world: readonly string[]
  readonly requests: readonly string[]
}

/** A watcher of one server and its store, with all that it told. */
export async function watch(answer: Answer, query: ListQuery = {}) {
  const server = await startScripted(answer)
  const { client, clock } = await connectTo(await writeKubeconfig({ server: server.url }))
  const store = new Store(fullObject)
  const { log, lines } = memoryLog()
  const restarts: string[] = []
  const served: boolean[] = []
  const stuck: boolean[] = []
  /** The world at each call of onProgress. */
  const progress: (readonly string[])[] = []
  let relistNow = (): void => undefined
  /** Back-offs: every wait but those of the watchdog, and when the last is over. */
  const waits: number[] = []
  let overMs = 0
  const noting: Clock = {
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
      clock: noting,
      log,
      restarted: (how) => void restarts.push(how),
      served: (is) => void served.push(is),
      stuck: (is) => {
        if (is !== (stuck.at(-1) ?? false)) stuck.push(is)
      },
      onProgress: () => void progress.push(world()),
      opened: (relist) => {
        relistNow = relist
      },
    },
    abort.signal,
  )
  const world = () => [...store.values()].map((item) => `${item.name}@${item.resourceVersion}`)
  const requests = () => server.received.map(asked)
  /** Lets time pass until it is so: that of back-offs, no other. */
  const until = (what: string, isSo: () => boolean, bound = SOON): Promise<true> =>
    eventually(
      what,
      async () => {
        await clock.advance(Math.ceil(Math.max(overMs - clock.monotonicMs(), 0)))
        return isSo() || undefined
      },
      bound,
    )
  /** Lets time pass until the store holds this and these were asked. */
  const becomes = async (state: State): Promise<void> => {
    await until('it becomes so', () => {
      const now: State = { world: world(), requests: requests() }
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
    /** Each time that the watch got stuck, and was free again. */
    stuck,
    progress,
    waits,
    abort,
    /** Makes the reflector list again. */
    relist: () => relistNow(),
    ended,
    requests,
    until,
    becomes,
  }
}
