// Parts that the gateway and the direct endpoint share: the upstream of forwarded requests, its probe, and the requests
// in flight.
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
import type { Clock } from '../../runtime/clock.ts'
import type { Lifecycle } from '../../runtime/lifecycle.ts'
import type { Log } from '../../runtime/log.ts'
import { forwardedRequestObserver } from './traffic-observers.ts'
import type { StreamMetrics } from './request-metrics.ts'

const UPSTREAM_STOPS_WITHIN_MS = 2000

/** Starts the upstream that forwards requests to the API server of `deps`. */
export function startUpstream(
  lifecycle: Pick<Lifecycle, 'onStop'>,
  { connection, clock, observer }: ClientDeps,
): Upstream {
  const upstream = createUpstream({
    connection,
    clock,
    observer: forwardedRequestObserver(observer),
  })
  lifecycle.onStop('upstream', UPSTREAM_STOPS_WITHIN_MS, () => upstream.close())
  return upstream
}

/** The parts of a process that startProbe uses. */
interface ProbingProcess {
  readonly clock: Clock
  readonly log: Log
  readonly lifecycle: Pick<Lifecycle, 'stopping'>
}

/** Starts the probe of impersonation. @param extras the extras that requests of callers carry */
export const startProbe = (
  { clock, log, lifecycle }: ProbingProcess,
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

/** Authenticates callers again, and reports when they must. */
interface Callers {
  readonly reauthenticate: (caller: Caller) => Reauthentication | Promise<Reauthentication>
  /** Calls the listener with the uid of a credential whose callers must authenticate again; null = all callers. */
  readonly subscribe: (listener: (uid: string | null) => void) => void
}

/** Starts to watch the requests in flight. @param clock the clock by which credentials end */
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
