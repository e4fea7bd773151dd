// Keeps a store equal to a collection of the API server, whatever happens to the connection.
import type { Resource } from '../../api/names.ts'
import type { KubeObject } from '../../api/objects.ts'
import { backoffMs } from '../../runtime/backoff.ts'
import { type Clock, sleep } from '../../runtime/clock.ts'
import { EventLoopShare } from '../../runtime/concurrency/event-loop.ts'
import type { Log } from '../../runtime/log.ts'
import {
  isGone,
  isNotFound,
  NoResponseError,
  StatusError,
  statusErrorOf,
} from '../client/api-error.ts'
import type { KubeClient, ListQuery } from '../client/client.ts'
import { jsonLines } from '../client/request.ts'
import {
  type Ending,
  NOT_BEGUN,
  type ReflectorState,
  following,
  recoveryAfter,
  relistFrom,
} from './reflector-state.ts'
import type { StoreSink } from './store.ts'

/** Options of a reflector: the collection, the sink for its objects, and callbacks. */
interface ReflectorOptions {
  readonly client: KubeClient
  readonly resource: Resource
  readonly query: ListQuery
  readonly sink: StoreSink
  readonly clock: Clock
  readonly log: Log
  /** Called for each restart of the watch, for platform_watch_restarts_total. */
  readonly restarted: (reason: Ending['how']) => void
  /** Called with whether the API server serves the resource at all. */
  readonly served: (isServed: boolean) => void
  /** Called with true when the sink fails repeatedly on the same events, and with false once it takes them. */
  readonly stuck: (isStuck: boolean) => void
  /**
   * Called whenever the sink is proven to be current: after a complete list, and for each event or bookmark
   * that follows. Not called during a list or while the watch is down.
   */
  readonly onProgress?: () => void
  /**
   * Receives, for each request, a function that makes the reflector list again, at once or after its back-off, for
   * callers that know of a missed event.
   */
  readonly opened?: (relist: () => void) => void
}

const PAGE_SIZE = 500
/** The API server sends a bookmark each minute: a watch that is silent for longer than this is dead. */
const SILENT_AFTER_MS = 95_000
const BACK_OFF = { firstMs: 200, longestMs: 5_000 }
const END_OF_INITIAL_EVENTS = 'k8s.io/initial-events-end'

/** Watches until the signal aborts; resolves then, and never rejects. */
export async function runReflector(options: ReflectorOptions, signal: AbortSignal): Promise<void> {
  let progress = NOT_BEGUN
  while (!signal.aborted) {
    const run = new ReflectorRun(options, progress.state, signal)
    options.opened?.(() => run.relist())
    const ending = await run.untilEnding()
    if (signal.aborted) return
    report(options, ending)
    const recovery = recoveryAfter({ ...progress, state: run.state }, ending)
    progress = recovery.progress
    if (recovery.isStuck) options.stuck(true)
    if (recovery.backOffAfter !== null) {
      // Jitter: replicas that lost the same API server must not reconnect at the same time.
      const jitteredMs = backoffMs(BACK_OFF, recovery.backOffAfter) * (0.5 + Math.random() / 2)
      await sleep(options.clock, run.retryAfterMs + jitteredMs, signal)
    }
    // It may have been requested after the run had ended.
    if (run.isRelistWanted) progress = { ...progress, state: relistFrom(progress.state) }
  }
}

function report({ restarted, served, resource, log }: ReflectorOptions, ending: Ending): void {
  if (ending.how === 'listed') return
  if (ending.how === 'absent') served(false)
  restarted(ending.how)
  log.debug({ resource: resource.plural, because: ending.how }, 'watch reopened')
}

/** A watch event: one line of the response. */
interface WatchEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR'
  /** With ERROR it is a Status. */
  readonly object: KubeObject & { readonly code?: number }
}

/** Runs one state of the reflector until it ends. A `stream` becomes `follow` once its list is complete. */
class ReflectorRun {
  state: ReflectorState
  /** Retry-After of the API server, in milliseconds; 0 = none. */
  retryAfterMs = 0
  /** Whether a list must follow. */
  isRelistWanted = false
  readonly #options: ReflectorOptions
  readonly #eventLoop: EventLoopShare
  readonly #abort = new AbortController()
  readonly #signal: AbortSignal
  #aliveMs: number
  #isSilent = false
  #hasRead = false
  /** Whether the sink is storing objects: then an error is not one of the API server or the connection. */
  #isStoring = false

  constructor(options: ReflectorOptions, state: ReflectorState, signal: AbortSignal) {
    this.#options = options
    this.#eventLoop = new EventLoopShare(options.clock)
    this.state = state
    this.#signal = AbortSignal.any([signal, this.#abort.signal])
    this.#aliveMs = options.clock.monotonicMs()
  }

  /** Resolves with the ending of the state; never rejects. */
  async untilEnding(): Promise<Ending> {
    const stopWatchdog = this.#watchdog()
    try {
      return this.state.at === 'list' ? await this.#list() : await this.#stream(this.state)
    } catch (error) {
      return this.#endingAfter(error)
    } finally {
      stopWatchdog()
    }
  }

  /** Ends a watch like a 410 does, so that a list follows. Does nothing while the reflector lists. */
  relist(): void {
    if (this.state.at !== 'follow') return
    this.isRelistWanted = true
    this.#abort.abort()
  }

  async #list(): Promise<Ending> {
    const { client, resource, query, sink, served } = this.#options
    sink.begin()
    for (let next: string | undefined; ; ) {
      const page = await client.list(resource, query, PAGE_SIZE, next, this.#signal)
      this.#markAlive()
      this.#isStoring = true
      await this.#storePage(page.items)
      next = page.next
      if (next === undefined) {
        await this.#sweep()
        sink.end()
      }
      this.#isStoring = false
      if (next !== undefined) continue
      served(true)
      this.#options.stuck(false)
      this.#options.onProgress?.()
      return { how: 'listed', resourceVersion: page.resourceVersion }
    }
  }

  /** Yields to the event loop: an object may have a thousand indexed values. */
  async #storePage(items: readonly KubeObject[]): Promise<void> {
    for (const item of items) {
      const nextTurn = this.#eventLoop.waitForTurn()
      if (nextTurn !== null) await nextTurn
      this.#options.sink.put(item)
    }
  }

  async #stream(state: ReflectorState): Promise<Ending> {
    const { client, resource, query, sink } = this.#options
    // Before the request is sent: its list may lack our own writes that are answered meanwhile.
    if (state.at === 'stream') sink.begin()
    const body = await client.watch(
      resource,
      parametersOf(state, query),
      query.namespace,
      this.#signal,
    )
    for await (const line of jsonLines(body, () => this.#markAlive())) {
      const event = line as WatchEvent
      this.#isStoring = true
      if (this.#isEndOfListing(event)) await this.#sweep()
      this.#store(event)
      this.#isStoring = false
    }
    return { how: 'closed', served: this.#hasRead }
  }

  #store(event: WatchEvent): void {
    const { type, object } = event
    const { sink, resource } = this.#options
    switch (type) {
      case 'ADDED':
      case 'MODIFIED':
        sink.put(object)
        break
      case 'DELETED':
        sink.remove(object)
        break
      case 'BOOKMARK':
        if (this.#isEndOfListing(event)) this.#finishList(object)
        break
      case 'ERROR':
        throw statusErrorOf(`WATCH ${resource.plural}`, object.code ?? 500, object, undefined)
      default:
        throw new Error('a watch event of an unknown type was read')
    }
    this.#hasRead = true
    if (this.state.at !== 'follow') return
    this.#advance(object)
    this.#options.onProgress?.()
  }

  #isEndOfListing({ type, object }: WatchEvent): boolean {
    if (type !== 'BOOKMARK' || this.state.at !== 'stream') return false
    return Boolean(object.metadata.annotations?.[END_OF_INITIAL_EVENTS])
  }

  /** Removes the objects that the list lacks. Yields to the event loop; no event is read meanwhile. */
  async #sweep(): Promise<void> {
    while (this.#options.sink.sweep()) await new Promise(setImmediate)
  }

  #finishList(object: KubeObject): void {
    this.#options.sink.end()
    this.#options.served(true)
    this.#advance(object)
  }

  #advance({ metadata }: KubeObject): void {
    this.#options.stuck(false)
    this.state = following(this.state, metadata.resourceVersion)
  }

  #endingAfter(error: unknown): Ending {
    if (error instanceof StatusError) this.retryAfterMs = error.retryAfterMs ?? 0
    if (this.isRelistWanted) return { how: 'expired' }
    if (this.#isSilent) return { how: 'silent', served: this.#hasRead }
    if (isGone(error)) return { how: 'expired' }
    if (isNotFound(error)) return { how: 'absent' }
    // An API server without WatchList answers 422 or 400 to its parameters.
    const invalid = error instanceof StatusError && (error.code === 422 || error.code === 400)
    if (invalid && this.state.at === 'stream') return { how: 'refused' }
    const { log, resource } = this.#options
    const fields = { resource: resource.plural, err: error }
    // The circuit breaker logs one line for all watches.
    if (error instanceof NoResponseError) log.debug(fields, 'watch has no answer, trying again')
    else if (!this.#signal.aborted) log.warn(fields, 'watch failed, trying again')
    const isFault =
      error instanceof SyntaxError || (this.#isStoring && !(error instanceof StatusError))
    const fault = isFault ? { fault: String(error) } : {}
    return { how: 'failed', served: this.#hasRead, ...fault }
  }

  #markAlive(): void {
    this.#aliveMs = this.#options.clock.monotonicMs()
  }

  /** Ends the state when the watch is silent for too long. @returns stops the watchdog */
  #watchdog(): () => void {
    const { clock } = this.#options
    const check = (): void => {
      const leftMs = this.#aliveMs + SILENT_AFTER_MS - clock.monotonicMs()
      if (leftMs > 0) {
        cancel = clock.schedule(leftMs, check)
        return
      }
      this.#isSilent = true
      this.#abort.abort()
    }
    let cancel = clock.schedule(SILENT_AFTER_MS, check)
    return () => cancel()
  }
}

function parametersOf(state: ReflectorState, query: ListQuery): Readonly<Record<string, string>> {
  const from: Readonly<Record<string, string>> =
    state.at === 'follow'
      ? { resourceVersion: state.resourceVersion }
      : { sendInitialEvents: 'true', resourceVersionMatch: 'NotOlderThan' }
  const { namespace: _, ...selectors } = query
  return { watch: 'true', allowWatchBookmarks: 'true', ...from, ...selectors }
}
