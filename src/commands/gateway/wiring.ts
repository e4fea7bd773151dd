// Puts together the part of the gateway that serves requests with a key.
import { randomBytes } from 'node:crypto'
import { crc32 } from 'node:zlib'
import { TOKENS } from '../../api/names.ts'
import { keyCaller } from '../../authn/caller.ts'
import { createTokenIndex } from '../../authn/credential-index.ts'
import { type StartedAuthenticator, startAuthenticator } from '../../authn/setup.ts'
import { formatAccessKey } from '../../domain/accesskey/access-key.ts'
import type { Caps } from '../../domain/accesskey/lifetime.ts'
import { type ActivityRecorder, createActivityRecorder } from '../../gateway/activity/recorder.ts'
import type { GatewayHandlerOptions } from '../../gateway/handler.ts'
import { type SelfService, createSelfService } from '../../gateway/selfservice/handler.ts'
import { createQuota } from '../../gateway/selfservice/quota.ts'
import { createResponseBuffer } from '../../gateway/selfservice/response-buffer.ts'
import { KEY_ANSWERS, createAuthentication } from '../../gateway/stages/authentication.ts'
import { withExpiryHeaders } from '../../gateway/stages/expiry-headers.ts'
import { type MaxInFlight, createMaxInFlight } from '../../gateway/streams/max-in-flight.ts'
import { ForwardBuffer } from '../../gateway/streams/forward-buffer.ts'
import { KEY_EXTRAS } from '../../gateway/targets/impersonation-probe.ts'
import { createTargetRegistry } from '../../gateway/targets/resolver.ts'
import { gatewayRouteOf } from '../../gateway/targets/routes.ts'
import { type KubeClient, createClient } from '../../kube/client/client.ts'
import type { ClientDeps } from '../../kube/client/request.ts'
import type { Upstream } from '../../kube/proxy/types.ts'
import { type ClampedClock, type Clock, clampedClock } from '../../runtime/clock.ts'
import { followGatewaySwitches } from '../../settings/follow.ts'
import { startInFlight, startProbe, startUpstream } from '../shared/serving.ts'
import { startTargets } from '../shared/connected-targets.ts'
import type { GatewayInformers } from './informers.ts'
import type { GatewayProcess } from './metrics.ts'

/** The stages for requests with a key, with their readiness and metrics. */
interface Api
  extends Omit<GatewayHandlerOptions, 'pages' | 'version' | 'answered' | 'clock' | 'log'>,
    Pick<StartedAuthenticator, 'readiness' | 'ageMs'> {
  /** Ends all open streams. */
  readonly endStreams: () => void
}

const STOP_WITHIN_MS = { activity: 8000 }

/** What the start functions below share. */
interface Parts extends GatewayProcess {
  readonly deps: ClientDeps
  readonly clamped: ClampedDeps
  readonly client: KubeClient
  readonly following: GatewayInformers
  readonly sources: GatewayInformers['stores'] & {
    readonly configName: string
    readonly namespace: string
  }
}

/** Starts the watch of the keys, and everything else that requests with a key need. */
export function startApi(self: GatewayProcess, deps: ClientDeps, following: GatewayInformers): Api {
  const clamped = clampedDeps(self.clock, deps)
  const client = createClient(clamped.deps)
  const sources = {
    ...following.stores,
    configName: self.settings.configName,
    namespace: self.settings.namespace,
  }
  const parts: Parts = { ...self, deps, clamped, client, following, sources }
  const { clock, metrics } = self
  const authenticator = startAuthentication(parts)
  const caps = (): Caps => currentCaps(authenticator)
  const switches = followGatewaySwitches(sources)
  const inFlight = startInFlight(clock, metrics, {
    reauthenticate: (caller) => authenticator.reauthenticate(keyCaller(caller)),
    subscribe: authenticator.subscribe,
  })
  const upstream = startUpstream(self.lifecycle, clamped.deps)
  const connected = startTargets(self, clamped.deps, 'gateway', {
    ownCluster: null,
    extras: KEY_EXTRAS,
  })
  connected.subscribe((ended) => inFlight.endConnection(ended))
  const probe = startProbe(self, deps, upstream, KEY_EXTRAS)
  const limits = createMaxInFlight(metrics.limited)
  const activity = startActivity(parts, authenticator, caps)
  return {
    routeOf: gatewayRouteOf,
    readiness: { ...authenticator.readiness, ...probe.readiness },
    ageMs: authenticator.ageMs,
    endStreams: () => inFlight.close(),
    isVersionGuarded: () => switches()?.authenticateVersionEndpoint ?? true,
    authenticate: createAuthentication(authenticator, KEY_ANSWERS, metrics.authenticated),
    scopeContext: () => {
      const current = switches()
      const roleRules = authenticator.roleRules
      return current && { projectNamespacePrefix: current.projectNamespacePrefix, roleRules }
    },
    scopeDenied: metrics.scopeDenied,
    limits,
    inFlight,
    activity,
    forwardBuffer: new ForwardBuffer(self.settings.forwardBufferBytes),
    flowed: (caller) => activity.flowed(keyCaller(caller)),
    selfService: startSelfService(parts, authenticator, {
      upstream,
      limits,
      caps,
      isConfigClosed: () => switches()?.disableConfigEndpoint ?? true,
    }),
    targets: createTargetRegistry({ target: { kind: 'Management' }, upstream }, connected),
    expiryHeaders: (headers, caller, isUse) =>
      withExpiryHeaders(headers, { caller: keyCaller(caller), isUse }, caps(), clock.nowMs()),
  }
}

function startAuthentication(parts: Parts): StartedAuthenticator {
  const { settings, lifecycle, metrics, following } = parts
  return startAuthenticator({
    ...parts,
    startInformer: following.startInformer,
    relistSettings: following.relistSettings,
    namespace: settings.namespace,
    secret: randomBytes(32),
    random: Math.random,
    onDelivered: (tookMs) => metrics.changeArrived(tookMs / 1000),
    signal: lifecycle.stopping,
  })
}

/** The caps in force. @throws Error before they are known: no key authenticates then, so no request needs them */
function currentCaps({ caps }: StartedAuthenticator): Caps {
  const current = caps.current()
  if (current === null) throw new Error('the caps are asked for before they are known')
  return current
}

function startActivity(
  parts: Parts,
  authenticator: StartedAuthenticator,
  caps: () => Caps,
): ActivityRecorder {
  const { settings, lifecycle, metrics, clamped } = parts
  const activity = createActivityRecorder({
    ...parts,
    keys: authenticator.index.store,
    caps,
    clock: clamped.clock,
    budgetPerSecond: settings.activityWritesPerSecond,
    random: Math.random,
    observer: { written: metrics.activityWritten, failed: metrics.activityFailed },
  })
  lifecycle.onStop('activity', STOP_WITHIN_MS.activity, () => activity.flush())
  return activity
}

/** Parts that self-service shares with the stages. */
interface SelfServiceParts {
  readonly upstream: Upstream
  readonly limits: MaxInFlight
  readonly caps: () => Caps
  readonly isConfigClosed: () => boolean
}

function startSelfService(
  { settings, clock, metrics, following }: Parts,
  { index }: StartedAuthenticator,
  parts: SelfServiceParts,
): SelfService {
  const tokens = createTokenIndex(index, () => clock.nowMs())
  following.startInformer(TOKENS, tokens.store, {})
  const most = { keys: settings.maxKeysPerUser, tokens: settings.maxTokensPerUser }
  return createSelfService({
    ...parts,
    buffer: createResponseBuffer(settings.ownKindsBufferBytes, () => metrics.limited('buffer')),
    keyNamed: index.named,
    counts: createQuota({ keys: index, tokens, most, caps: parts.caps, clock }),
    newKey: () => formatAccessKey(randomBytes(32), crc32),
    clock,
  })
}

/** Client dependencies, and a clock that follows the API server's. */
interface ClampedDeps {
  /** Never far ahead of the Date headers in responses to clients with `deps`. */
  readonly clock: ClampedClock
  readonly deps: ClientDeps
}

/** Adds a clock that observes the Date headers of the API server's responses. */
function clampedDeps(local: Clock, deps: ClientDeps): ClampedDeps {
  const clock = clampedClock(local)
  const { observer } = deps
  const responded: typeof observer.responded = (method, code, dateMs) => {
    observer.responded(method, code, dateMs)
    if (dateMs !== null) clock.observe(dateMs)
  }
  return { clock, deps: { ...deps, observer: { ...observer, responded } } }
}
