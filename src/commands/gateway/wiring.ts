// Puts together the part of the gateway that serves requests with a key.
import { randomBytes } from 'node:crypto'
import { TOKENS } from '../../api/names.ts'
import { keyCaller } from '../../authn/caller.ts'
import { createTokenIndex } from '../../authn/credential-index.ts'
import { type StartedAuthenticator, startAuthenticator } from '../../authn/setup.ts'
import type { Caps } from '../../domain/accesskey/lifetime.ts'
import {
  type GatewaySwitches,
  auditSettingsInForce,
  gatewaySwitchesInForce,
} from '../../domain/settings/effective-settings.ts'
import { accessLog } from '../../gateway/access-log.ts'
import { type ActivityRecorder, createActivityRecorder } from '../../gateway/activity/recorder.ts'
import { answerMetrics } from '../../gateway/answer-metrics.ts'
import { AgentEvents } from '../../gateway/audit/agent-events.ts'
import { AgentLags } from '../../gateway/audit/agent-lags.ts'
import { EventQueries } from '../../gateway/audit/event-queries.ts'
import { createHandler, GATEWAY_STAGES, type GatewayHandlerOptions } from '../../gateway/handler.ts'
import { createSelfService, type SelfService } from '../../gateway/selfservice/handler.ts'
import { createQuota } from '../../gateway/selfservice/quota.ts'
import { createResponseBuffer } from '../../gateway/selfservice/response-buffer.ts'
import { createAuthentication, KEY_ANSWERS } from '../../gateway/stages/authentication.ts'
import { withExpiryHeaders } from '../../gateway/stages/expiry-headers.ts'
import { versionPage } from '../../gateway/stages/public-routes.ts'
import type { SignInDeps } from '../../gateway/stages/sign-in.ts'
import { ForwardBuffer } from '../../gateway/streams/forward-buffer.ts'
import type { InFlightRequests } from '../../gateway/streams/in-flight.ts'
import { createMaxInFlight, type MaxInFlight } from '../../gateway/streams/max-in-flight.ts'
import type { StartedTargets } from '../../gateway/targets/follow.ts'
import { KEY_EXTRAS } from '../../gateway/targets/impersonation-probe.ts'
import { createTargetRegistry } from '../../gateway/targets/resolver.ts'
import { gatewayRouteOf } from '../../gateway/targets/routes.ts'
import { generateKey } from '../../issuance/new-object.ts'
import { createClient, type KubeClient } from '../../kube/client/client.ts'
import type { ClientDeps } from '../../kube/client/request.ts'
import type { Upstream } from '../../kube/proxy/types.ts'
import { type ClampedClock, clampedClock } from '../../runtime/clock.ts'
import { EventLoopShare } from '../../runtime/concurrency/event-loop.ts'
import { PROGRAM_VERSION } from '../../runtime/flags.ts'
import type { ServerHandler } from '../../serving/http/server.ts'
import { followSetting, followSettings, type SettingsSources } from '../../settings/follow.ts'
import { type StartedAudit, startAudit } from '../shared/audit.ts'
import { startTargets } from '../shared/connected-targets.ts'
import { startInFlight, startProbe, startUpstream } from '../shared/serving.ts'
import { startDataStore } from './data-store.ts'
import type { GatewayInformers } from './informers.ts'
import type { GatewayProcess } from './metrics.ts'
import { startSignIn } from './sign-in.ts'

/** The handler of requests, with the readiness and metrics of the parts that it needs. */
interface Api extends Pick<StartedAuthenticator, 'readiness' | 'ageMs'> {
  /** Creates the handler of all requests. @param pages the pages that need no credential */
  readonly handler: (pages: GatewayHandlerOptions['pages']) => ServerHandler
  /** Ends all open streams. */
  readonly endStreams: () => void
}

const ACTIVITY_STOPS_WITHIN_MS = 8000

/** Parts that the functions below share. */
interface Parts {
  readonly client: KubeClient
  /** A clock that is never far ahead of the API server's. */
  readonly clamped: ClampedClock
  readonly authenticator: StartedAuthenticator
  /** The caps in force. @throws Error before they are known */
  readonly caps: () => Caps
}

/** Starts the watch of the keys, and everything else that requests with a key need. */
export function startApi(self: GatewayProcess, deps: ClientDeps, following: GatewayInformers): Api {
  const { clock, lifecycle, metrics } = self
  const { configName, namespace } = self.settings
  const { configs, configMaps } = following.stores
  const clamped = clampedClock(clock)
  const clampedDeps = observingDates(deps, clamped)
  const client = createClient(clampedDeps)
  const sources = { configs, configMaps, configName, namespace }
  const authenticator = startAuthentication(self, client, following, sources)
  const parts = { client, clamped, authenticator, caps: () => currentCaps(authenticator) }
  const upstream = startUpstream(lifecycle, clampedDeps)
  const inFlight = startInFlight(clock, metrics, {
    reauthenticate: (caller) => authenticator.reauthenticate(keyCaller(caller)),
    subscribe: authenticator.subscribe,
  })
  const connected = startTargets(self, clampedDeps, 'gateway', {
    ownCluster: null,
    extras: KEY_EXTRAS,
  })
  connected.subscribe((ended) => inFlight.endConnection(ended))
  const probe = startProbe(self, deps, upstream, KEY_EXTRAS)
  const audit = startAudit(self, null)
  const dataStore = startDataStore(self, following.startInformer)
  followSettings(sources, (observed) => {
    const applied = auditSettingsInForce(observed)
    if (applied === null) return
    audit.apply(applied)
    dataStore.apply(applied)
  })
  const handler = handlerFactory(self, following, parts, {
    audit,
    signIn: startSignIn(self, client),
    eventQueries: new EventQueries({ store: dataStore.queried, clock }),
    agentEvents: createAgentEvents(self, audit),
    upstream,
    inFlight,
    connected,
    switches: followSetting(sources, gatewaySwitchesInForce),
  })
  return {
    readiness: { ...authenticator.readiness, ...probe.readiness },
    ageMs: authenticator.ageMs,
    handler,
    endStreams: () => inFlight.close(),
  }
}

/** Parts that forward requests, and the switches that decide about them. */
interface Forwarding extends SignInDeps {
  readonly eventQueries: EventQueries
  readonly agentEvents: AgentEvents
  readonly upstream: Upstream
  readonly inFlight: InFlightRequests
  readonly connected: StartedTargets
  readonly switches: () => GatewaySwitches | null
}

/** Starts activity and self-service, and returns the function that creates the handler. */
function handlerFactory(
  self: GatewayProcess,
  following: GatewayInformers,
  parts: Parts,
  forwarding: Forwarding,
): Api['handler'] {
  const { settings, clock, log, metrics } = self
  const { authenticator, caps } = parts
  const { audit, signIn, eventQueries, agentEvents } = forwarding
  const { upstream, inFlight, connected, switches } = forwarding
  const limits = createMaxInFlight(metrics.limited)
  const activity = startActivity(self, parts)
  const isConfigClosed = (): boolean => switches()?.disableConfigEndpoint ?? true
  const shared = { upstream, limits, isConfigClosed }
  const selfService = startSelfService(self, following, parts, shared)
  return (pages) =>
    createHandler(GATEWAY_STAGES, {
      audit,
      signIn,
      eventQueries,
      agentEvents,
      pages,
      version: versionPage(PROGRAM_VERSION),
      routeOf: gatewayRouteOf,
      isVersionGuarded: () => switches()?.authenticateVersionEndpoint ?? true,
      authenticate: createAuthentication(authenticator, KEY_ANSWERS, metrics.authenticated),
      scopeContext: () => {
        const current = switches()
        const { roleRules } = authenticator
        return current && { projectNamespacePrefix: current.projectNamespacePrefix, roleRules }
      },
      scopeDenied: metrics.scopeDenied,
      limits,
      inFlight,
      activity,
      forwardBuffer: new ForwardBuffer(settings.forwardBufferBytes),
      selfService,
      targets: createTargetRegistry({ target: { kind: 'Management' }, upstream }, connected),
      expiryHeaders: (headers, caller, isUse) =>
        withExpiryHeaders(headers, { caller: keyCaller(caller), isUse }, caps(), clock.nowMs()),
      observers: [answerMetrics(metrics.answered, clock), accessLog(log, clock)],
      log,
    })
}

function createAgentEvents(
  { clock, metrics, settings }: GatewayProcess,
  { recording, isKnown }: StartedAudit,
): AgentEvents {
  const lags = new AgentLags(clock)
  metrics.followAgentLags(() => lags.current())
  return new AgentEvents({
    recording,
    isKnown,
    clock,
    bodyLimit: settings.audit.bodyLimitBytes,
    observer: {
      recorded: metrics.auditRecorded,
      omitted: metrics.auditOmitted,
      heard: (cluster, lagSeconds) => lags.heard(cluster, lagSeconds),
    },
  })
}

function startAuthentication(
  { clock, log, lifecycle, metrics }: GatewayProcess,
  client: KubeClient,
  { startInformer, relistSettings }: GatewayInformers,
  sources: SettingsSources,
): StartedAuthenticator {
  return startAuthenticator({
    client,
    startInformer,
    sources,
    relistSettings,
    namespace: sources.namespace,
    secret: randomBytes(32),
    random: Math.random,
    eventLoop: new EventLoopShare(clock),
    onDelivered: (tookMs) => metrics.changeArrived(tookMs / 1000),
    clock,
    log,
    signal: lifecycle.stopping,
  })
}

/** The caps in force. @throws Error before they are known: no key authenticates then, so no request needs them */
function currentCaps({ caps }: StartedAuthenticator): Caps {
  const current = caps.current()
  if (current === null) throw new Error('the caps are needed before they are known')
  return current
}

function startActivity(
  { settings, log, lifecycle, metrics }: GatewayProcess,
  { client, clamped, authenticator, caps }: Parts,
): ActivityRecorder {
  const activity = createActivityRecorder({
    client,
    keys: authenticator.index.store,
    caps,
    clock: clamped,
    log,
    budgetPerSecond: settings.activityWritesPerSecond,
    random: Math.random,
    observer: { written: metrics.activityWritten, failed: metrics.activityFailed },
  })
  lifecycle.onStop('activity', ACTIVITY_STOPS_WITHIN_MS, () => activity.flush())
  return activity
}

/** Parts that self-service shares with the stages. */
interface SelfServiceParts {
  readonly upstream: Upstream
  readonly limits: MaxInFlight
  readonly isConfigClosed: () => boolean
}

function startSelfService(
  { settings, clock, metrics }: GatewayProcess,
  { startInformer }: GatewayInformers,
  { authenticator: { index }, caps }: Parts,
  { upstream, limits, isConfigClosed }: SelfServiceParts,
): SelfService {
  const tokens = createTokenIndex(index, () => clock.nowMs())
  startInformer(TOKENS, tokens.store, {})
  const quota = { keys: settings.maxKeysPerUser, tokens: settings.maxTokensPerUser }
  return createSelfService({
    upstream,
    limits,
    caps,
    isConfigClosed,
    buffer: createResponseBuffer(settings.ownKindsBufferBytes, () => metrics.limited('buffer')),
    keyNamed: index.named,
    counts: createQuota({ keys: index, tokens, limits: quota, caps, clock }),
    newKey: generateKey,
    clock,
  })
}

/** The client dependencies, with responses that also set the clock by their Date headers. */
function observingDates(deps: ClientDeps, clock: ClampedClock): ClientDeps {
  const { observer } = deps
  const responded: typeof observer.responded = (method, code, dateMs) => {
    observer.responded(method, code, dateMs)
    if (dateMs !== null) clock.observe(dateMs)
  }
  return { ...deps, observer: { ...observer, responded } }
}
