// The connections to a target: opened for the first request, closed when no request uses them, gone with the kubeconfig.
import type { Readable } from 'node:stream'
import { type Upstream, UpstreamUnavailable } from '../../kube/proxy/types.ts'
import { type Clock, sleep } from '../../runtime/clock.ts'
import { type ProbeResult, attemptOnce } from './impersonation-probe.ts'
import type { TargetConnection } from './resolver.ts'

/** The connections of one kubeconfig. */
export interface KubeconfigConnection extends TargetConnection {
  /** Tries the target. Uses the open connections, or one of its own: a probe keeps no idle connection open. */
  readonly probe: (signal: AbortSignal) => Promise<ProbeResult>
  /** Refuses further requests; those in flight go on. */
  readonly retire: () => void
  /** Refuses further requests, and ends those in flight. */
  readonly close: () => Promise<void>
}

/** Dependencies of the connections. */
interface KubeconfigConnectionOptions {
  /** Opens an upstream; closing it closes its connections. May throw, such as AddressRefused. */
  readonly open: () => Promise<Upstream>
  /** As in ImpersonationProbeOptions. */
  readonly extras: Readonly<Record<string, string>>
  /** For the API server's audit log. */
  readonly userAgent: string
  readonly clock: Clock
}

/** How long after the last request the connections are closed. */
const CLOSE_IDLE_AFTER_MS = 5 * 60_000

/** Creates the connections of a target; nothing is opened yet. */
export function createKubeconfigConnection(
  options: KubeconfigConnectionOptions,
): KubeconfigConnection {
  const shared = new SharedUpstream(options)
  return {
    upstream: {
      send: (call) =>
        shared.use(
          (upstream) => upstream.send(call),
          ({ body }) => body,
        ),
      upgrade: (call) =>
        shared.use(
          (upstream) => upstream.upgrade(call),
          (answer) => ('socket' in answer ? answer.socket : answer.body),
        ),
      close: () => shared.close(),
    },
    probe: (signal) => shared.probe(signal),
    retire: () => shared.retire(),
    close: () => shared.close(),
  }
}

/** One upstream at a time, for all requests to a target. */
class SharedUpstream {
  readonly #options: KubeconfigConnectionOptions
  #current: Promise<Upstream> | null = null
  #requests = 0
  #probes = 0
  /** Ends the wait after which the idle upstream is closed. */
  #idling: AbortController | null = null
  /** Whether the upstream is to be closed when the probe that uses it has ended. */
  #isIdle = false
  #isClosed = false

  constructor(options: KubeconfigConnectionOptions) {
    this.#options = options
  }

  /** @throws UpstreamUnavailable, also where no upstream can be opened */
  async use<Result extends object>(
    request: (upstream: Upstream) => Promise<Result>,
    streamOf: (result: Result) => Pick<Readable, 'closed' | 'once'>,
  ): Promise<Result> {
    this.#begin()
    try {
      const result = await request(await this.#opened())
      const stream = streamOf(result)
      if (stream.closed) this.#end()
      else stream.once('close', () => this.#end())
      return result
    } catch (error) {
      this.#end()
      throw error
    }
  }

  async probe(signal: AbortSignal): Promise<ProbeResult> {
    const { extras, userAgent } = this.#options
    const ownOrShared = this.#current
    this.#probes += 1
    const upstream = await (ownOrShared ?? this.#open()).catch((cause: Error) => unavailable(cause))
    try {
      return upstream instanceof Error
        ? { kind: 'unknown', because: upstream.message, cause: upstream }
        : await attemptOnce({ upstream, extras, userAgent, signal })
    } finally {
      this.#probes -= 1
      if (!ownOrShared && !(upstream instanceof Error)) await upstream.close()
      if (this.#isIdle) this.#closeIdle()
    }
  }

  retire(): void {
    this.#isClosed = true
    this.#idling?.abort()
  }

  async close(): Promise<void> {
    this.retire()
    await this.#closeCurrent()
  }

  #begin(): void {
    this.#requests += 1
    this.#isIdle = false
    this.#idling?.abort()
  }

  #end(): void {
    this.#requests -= 1
    if (this.#requests === 0 && this.#current && !this.#isClosed) void this.#closeWhenIdle()
  }

  async #closeWhenIdle(): Promise<void> {
    const idling = new AbortController()
    this.#idling = idling
    await sleep(this.#options.clock, CLOSE_IDLE_AFTER_MS, idling.signal)
    if (idling.signal.aborted) return
    this.#isIdle = true
    this.#closeIdle()
  }

  #closeIdle(): void {
    if (this.#probes === 0) void this.#closeCurrent()
  }

  async #closeCurrent(): Promise<void> {
    const current = this.#current
    this.#current = null
    this.#isIdle = false
    await current?.then((upstream) => upstream.close()).catch(() => undefined)
  }

  async #opened(): Promise<Upstream> {
    if (this.#isClosed)
      throw new UpstreamUnavailable('unprocessed', 'the target is gone or has changed')
    const opening = (this.#current ??= this.#open())
    try {
      return await opening
    } catch (cause) {
      if (this.#current === opening) this.#current = null
      throw unavailable(cause)
    }
  }

  #open(): Promise<Upstream> {
    return this.#options.open()
  }
}

const unavailable = (cause: unknown): UpstreamUnavailable =>
  new UpstreamUnavailable('unprocessed', 'no connection to the target can be opened', { cause })
