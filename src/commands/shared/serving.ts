// Parts that the gateway and the direct endpoint share: the run of the process, and what forwards requests and watches
// those in flight.
import type { Reauthentication } from '../../authn/authenticator.ts'
import type { Caller } from '../../authn/caller.ts'
import { InFlightRequests } from '../../gateway/streams/in-flight.ts'
import {
  type ImpersonationProbe,
  probeImpersonation,
} from '../../gateway/targets/impersonation-probe.ts'
import type { ClientDeps } from '../../kube/client/request.ts'
import type { Upstream } from '../../kube/proxy/types.ts'
import { createUpstream } from '../../kube/proxy/upstream.ts'
import { type Clock, systemClock } from '../../runtime/clock.ts'
import { type Invocation, printText } from '../../runtime/flags.ts'
import { type Lifecycle, startLifecycle } from '../../runtime/lifecycle.ts'
import { type Log, type LogLevel, createLogger } from '../../runtime/log.ts'
import { forwardedRequestObserver } from './traffic-observers.ts'
import type { StreamMetrics } from './request-metrics.ts'

/** What all parts of a process share. */
interface ServingProcess<Settings, Metrics> {
  readonly settings: Settings
  readonly clock: Clock
  readonly log: Log
  readonly lifecycle: Lifecycle
  readonly metrics: Metrics
}

/** How a process begins: its metrics, and then its parts. */
interface ServingStart<Settings, Metrics> {
  readonly createMetrics: (settings: Settings, clock: Clock) => Metrics
  /** Starts all parts. A rejection ends the process with code 1. */
  readonly start: (self: ServingProcess<Settings, Metrics>) => Promise<void>
}

/**
 * Runs a process until it is stopped, or prints what was asked for.
 *
 * @returns the exit code, after all parts have stopped
 */
export async function runServing<Settings extends { readonly logLevel: LogLevel }, Metrics>(
  invocation: Invocation<Settings>,
  { createMetrics, start }: ServingStart<Settings, Metrics>,
): Promise<number> {
  if (invocation.kind !== 'run') return printText(invocation)
  const { settings } = invocation
  const clock = systemClock()
  const log = createLogger(settings.logLevel)
  const lifecycle = startLifecycle(process, clock, log)
  const metrics = createMetrics(settings, clock)
  // Not awaited: the start waits for a certificate, and a signal may arrive before.
  start({ settings, clock, log, lifecycle, metrics }).catch((err: unknown) => {
    log.error({ err }, 'could not start')
    lifecycle.stop('start failed', 1)
  })
  return lifecycle.finished
}

const UPSTREAM_STOPS_WITHIN_MS = 2000

/** Opens the connections that requests are forwarded by, to the API server of `deps`. */
export function startUpstream(lifecycle: Lifecycle, deps: ClientDeps): Upstream {
  const observer = forwardedRequestObserver(deps.observer)
  const upstream = createUpstream({ ...deps, observer })
  lifecycle.onStop('upstream', UPSTREAM_STOPS_WITHIN_MS, () => upstream.close())
  return upstream
}

/** What startProbe needs of a process. */
type ProbedProcess = Pick<ServingProcess<unknown, unknown>, 'clock' | 'log' | 'lifecycle'>

/** Starts the probe of impersonation. @param extras those of the callers' requests */
export const startProbe = (
  { clock, log, lifecycle }: ProbedProcess,
  { userAgent, observer }: Pick<ClientDeps, 'userAgent' | 'observer'>,
  upstream: Upstream,
  extras: Readonly<Record<string, string>>,
): ImpersonationProbe =>
  probeImpersonation({
    clock,
    log,
    upstream,
    extras,
    userAgent,
    refused: () => observer.responded('GET', '403', null),
    signal: lifecycle.stopping,
  })

/** Authenticates callers again, and says when. */
interface Callers {
  readonly reauthenticate: (caller: Caller) => Reauthentication | Promise<Reauthentication>
  /** Calls the listener with the uid of a credential that must be looked at again; null = all of them. */
  readonly subscribe: (listener: (uid: string | null) => void) => void
}

/** Starts to watch the requests in flight. @param clock the one by which credentials end */
export function startInFlight(
  clock: Clock,
  metrics: StreamMetrics,
  { reauthenticate, subscribe }: Callers,
): InFlightRequests {
  const inFlight = new InFlightRequests({
    clock,
    reauthenticate,
    observer: {
      opened: metrics.streamOpened,
      closed: metrics.streamClosed,
      cut: metrics.streamCut,
    },
  })
  subscribe((uid) => inFlight.look(uid))
  return inFlight
}
