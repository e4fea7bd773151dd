import { randomBytes } from 'node:crypto'
import { crc32 } from 'node:zlib'
import { TOKENS } from '../../api/names.ts'
import { type StartedAuthenticator, startAuthenticator } from '../../authn/start.ts'
import { createTokenIndex } from '../../authn/token-index.ts'
import { formatAccessKey } from '../../domain/accesskey/access-key-format.ts'
import type { Caps } from '../../domain/accesskey/lifetime.ts'
import type { ScopeContext } from '../../domain/scope/authorize.ts'
import { type ClampedClock, clampedClock } from '../../gateway/activity/clamped-clock.ts'
import { createActivityRecorder } from '../../gateway/activity/recorder.ts'
import type { HandlerOptions } from '../../gateway/handler.ts'
import { forward } from '../../gateway/proxy/forward.ts'
import { createSelfService, isOwnKind } from '../../gateway/selfservice/handler.ts'
import { createQuota } from '../../gateway/selfservice/quota.ts'
import { createResponseBuffer } from '../../gateway/selfservice/response-buffer.ts'
import { createServeApi } from '../../gateway/serve-api.ts'
import { createAuthentication } from '../../gateway/stages/authentication.ts'
import { withExpiryHeaders } from '../../gateway/stages/expiry-headers.ts'
import { createMaxInFlight } from '../../gateway/stages/max-in-flight.ts'
import { InFlightRequests } from '../../gateway/streams/in-flight.ts'
import { probeImpersonation } from '../../gateway/targets/impersonation-probe.ts'
import { createClient } from '../../kube/client/client.ts'
import type { ClientDeps, ClientObserver } from '../../kube/client/request.ts'
import { type UpstreamObserver, createUpstream } from '../../kube/proxy/upstream.ts'
import type { ServerObserver } from '../../serving/http/server.ts'
import { followGatewaySwitches } from '../../settings/follow.ts'
import type { Following } from './informers.ts'
import type { GatewayProcess } from './metrics.ts'

/** The part of the pipeline behind authentication, and its readiness and metrics. */
export interface Api
  extends Pick<HandlerOptions, 'isVersionGuarded' | 'authenticate' | 'serve' | 'withExpiry'>,
    Pick<StartedAuthenticator, 'readiness' | 'ageMs'> {
  /** Ends all open streams. */
  readonly endStreams: () => void
}

const STOP_WITHIN_MS = { upstream: 2000, activity: 8000 }

/** Watches keys and settings, and serves requests with a key, from now on. */
export function startApi(self: GatewayProcess, deps: ClientDeps, following: Following): Api {
  const { settings, clock, lifecycle, metrics } = self
  const { namespace, configName } = settings
  const sources = { ...following.stores, configName, namespace }
  const timed = timedDeps(self, deps)
  const client = createClient(timed.deps)
  const callers = startAuthenticator({
    ...self,
    client,
    startInformer: following.startInformer,
    sources,
    relistSettings: following.doubtSettings,
    namespace,
    secret: randomBytes(32),
    random: Math.random,
    onDelivered: (tookMs) => metrics.changeArrived(tookMs / 1000),
    signal: lifecycle.stopping,
  })
  const capsNow = (): Caps => {
    const caps = callers.caps.current()
    // Without caps no key authenticates, so no request gets here.
    if (caps === null) throw new Error('the caps are asked for before they are known')
    return caps
  }
  const switches = followGatewaySwitches(sources)
  const streams = new InFlightRequests({
    clock,
    reconsider: callers.reauthenticate,
    observer: {
      opened: metrics.streamOpened,
      closed: metrics.streamClosed,
      cut: metrics.streamCut,
    },
  })
  callers.subscribe((uid) => streams.look(uid))
  const upstream = createUpstream({ ...timed.deps, observer: ofForwarded(timed.deps.observer) })
  lifecycle.onStop('upstream', STOP_WITHIN_MS.upstream, () => upstream.close())
  const trial = probeImpersonation({
    ...self,
    upstream,
    userAgent: deps.userAgent,
    refused: () => deps.observer.responded('GET', '403', null),
    signal: lifecycle.stopping,
  })
  const activity = createActivityRecorder({
    ...self,
    client,
    keys: callers.index.store,
    caps: capsNow,
    clock: timed.clock,
    budgetPerSecond: settings.activityWritesPerSecond,
    random: Math.random,
    observer: { written: metrics.activityWritten, failed: metrics.activityFailed },
  })
  lifecycle.onStop('activity', STOP_WITHIN_MS.activity, () => activity.flush())
  const limits = createMaxInFlight(metrics.limited)
  const tokens = createTokenIndex(callers.index, () => clock.nowMs())
  following.startInformer(TOKENS, tokens.store, {})
  const counts = createQuota({
    keys: callers.index,
    tokens,
    most: { keys: settings.maxKeysPerUser, tokens: settings.maxTokensPerUser },
    caps: capsNow,
    clock,
  })
  const ownKinds = createSelfService({
    upstream,
    limits,
    buffer: createResponseBuffer(settings.ownKindsBufferBytes, () => metrics.limited('buffer')),
    keyNamed: callers.index.named,
    isConfigClosed: () => switches()?.disableConfigEndpoint ?? true,
    caps: capsNow,
    counts,
    newKey: () => formatAccessKey(randomBytes(32), crc32),
    clock,
  })
  const surroundings = (): ScopeContext | null => {
    const now = switches()
    return (
      now && { projectNamespacePrefix: now.projectNamespacePrefix, roleRules: callers.roleRules }
    )
  }
  return {
    readiness: { ...callers.readiness, ...trial.readiness },
    ageMs: callers.ageMs,
    endStreams: () => streams.close(),
    isVersionGuarded: () => switches()?.authenticateVersionEndpoint ?? true,
    authenticate: createAuthentication(callers, metrics.authenticated),
    withExpiry: (headers, caller, isUse) =>
      withExpiryHeaders(headers, { caller, isUse }, capsNow(), clock.nowMs()),
    serve: createServeApi({
      surroundings,
      limits,
      activity,
      streams,
      isOwnKind,
      ownKinds: ownKinds.answer,
      forward: (request, call, caller, signal) =>
        forward(upstream, request, call, { caller }, signal),
      denied: metrics.scopeDenied,
      log: self.log,
    }),
  }
}

interface Timed {
  /** Held back by the Date headers of responses to `deps`. */
  readonly clock: ClampedClock
  readonly deps: ClientDeps
}

/** The same dependencies, with a clock that follows the API server's Date headers. */
function timedDeps({ clock: local }: GatewayProcess, deps: ClientDeps): Timed {
  const clock = clampedClock(local)
  const { observer } = deps
  const responded: typeof observer.responded = (method, code, dateMs) => {
    observer.responded(method, code, dateMs)
    if (dateMs !== null) clock.heard(dateMs)
  }
  return { clock, deps: { ...deps, observer: { ...observer, responded } } }
}

/**
 * Responses to forwarded requests count as the caller's, a missing response too. rest_client_requests_total
 * counts the gateway's own requests, and a 401 for its own credential. The Date header may be that of a pod
 * behind the API server's proxy, so it measures no clock.
 */
export const ofForwarded = (observer: Pick<ClientObserver, 'responded'>): UpstreamObserver => ({
  responded: ({ method, impersonation, isProxied = false }, code) => {
    if (impersonation === null || (code === '401' && !isProxied))
      observer.responded(method, code, null)
  },
})

/** A flood of connections writes one line a minute. */
const TELL_EVERY_MS = 60_000

/** Counts and logs refused connections, at most one line a minute, and responses that can't be sent. */
export function connectionObserver({
  clock,
  log,
  metrics,
}: Pick<GatewayProcess, 'clock' | 'log' | 'metrics'>): ServerObserver {
  let dropped = 0
  let tellFromMs = Number.NEGATIVE_INFINITY
  return {
    dropped: () => {
      metrics.connectionDropped()
      dropped += 1
      const nowMs = clock.monotonicMs()
      if (nowMs < tellFromMs) return
      log.warn({ dropped }, 'connections are refused, the limit is reached')
      dropped = 0
      tellFromMs = nowMs + TELL_EVERY_MS
    },
    unsent: (err) => log.error({ err }, 'an answer can not be sent'),
  }
}
