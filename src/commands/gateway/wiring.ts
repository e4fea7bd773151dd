// The part of the gateway behind authentication, put together.
import { randomBytes } from 'node:crypto'
import { crc32 } from 'node:zlib'
import { TOKENS } from '../../api/names.ts'
import { type StartedAuthenticator, startAuthenticator } from '../../authn/start.ts'
import { createTokenIndex } from '../../authn/token-index.ts'
import { formatAccessKey } from '../../domain/accesskey/access-key-format.ts'
import type { Caps } from '../../domain/accesskey/lifetime.ts'
import { type ActivityRecorder, createActivityRecorder } from '../../gateway/activity/recorder.ts'
import type { HandlerOptions } from '../../gateway/handler.ts'
import { type SelfService, createSelfService } from '../../gateway/selfservice/handler.ts'
import { createQuota } from '../../gateway/selfservice/quota.ts'
import { createResponseBuffer } from '../../gateway/selfservice/response-buffer.ts'
import { createAuthentication } from '../../gateway/stages/authentication.ts'
import { withExpiryHeaders } from '../../gateway/stages/expiry-headers.ts'
import { type MaxInFlight, createMaxInFlight } from '../../gateway/stages/max-in-flight.ts'
import { InFlightRequests } from '../../gateway/streams/in-flight.ts'
import {
  type ImpersonationProbe,
  probeImpersonation,
} from '../../gateway/targets/impersonation-probe.ts'
import { createTargetRegistry } from '../../gateway/targets/registry.ts'
import { type KubeClient, createClient } from '../../kube/client/client.ts'
import type { ClientDeps } from '../../kube/client/request.ts'
import type { Upstream } from '../../kube/proxy/types.ts'
import { createUpstream } from '../../kube/proxy/upstream.ts'
import { followGatewaySwitches } from '../../settings/follow.ts'
import type { Following } from './informers.ts'
import type { GatewayProcess } from './metrics.ts'
import { type TimedDeps, ofForwarded, timedDeps } from './observers.ts'

/** The stages behind the public pages, and their readiness and metrics. */
interface Api
  extends Omit<HandlerOptions, 'pages' | 'version' | 'answered' | 'clock' | 'log'>,
    Pick<StartedAuthenticator, 'readiness' | 'ageMs'> {
  /** Ends all open streams. */
  readonly endStreams: () => void
}

const STOP_WITHIN_MS = { upstream: 2000, activity: 8000 }

/** What the parts of the API share. */
interface Parts extends GatewayProcess {
  readonly deps: ClientDeps
  readonly timed: TimedDeps
  readonly client: KubeClient
  readonly following: Following
  readonly sources: Following['stores'] & {
    readonly configName: string
    readonly namespace: string
  }
}

/** Watches keys and settings, and serves requests with a key, from now on. */
export function startApi(self: GatewayProcess, deps: ClientDeps, following: Following): Api {
  const timed = timedDeps(self.clock, deps)
  const client = createClient(timed.deps)
  const sources = {
    ...following.stores,
    configName: self.settings.configName,
    namespace: self.settings.namespace,
  }
  const parts: Parts = { ...self, deps, timed, client, following, sources }
  const { clock, metrics } = self
  const authenticator = startAuthentication(parts)
  const caps = (): Caps => currentCaps(authenticator)
  const switches = followGatewaySwitches(sources)
  const inFlight = startInFlight(self, authenticator)
  const upstream = startUpstream(parts)
  const probe = startProbe(parts, upstream)
  const limits = createMaxInFlight(metrics.limited)
  return {
    readiness: { ...authenticator.readiness, ...probe.readiness },
    ageMs: authenticator.ageMs,
    endStreams: () => inFlight.close(),
    isVersionGuarded: () => switches()?.authenticateVersionEndpoint ?? true,
    authenticate: createAuthentication(authenticator, metrics.authenticated),
    scopeContext: () => {
      const now = switches()
      const roleRules = authenticator.roleRules
      return now && { projectNamespacePrefix: now.projectNamespacePrefix, roleRules }
    },
    scopeDenied: metrics.scopeDenied,
    limits,
    inFlight,
    activity: startActivity(parts, authenticator, caps),
    selfService: startSelfService(parts, authenticator, {
      upstream,
      limits,
      caps,
      isConfigClosed: () => switches()?.disableConfigEndpoint ?? true,
    }),
    targets: createTargetRegistry(upstream),
    expiryHeaders: (headers, caller, isUse) =>
      withExpiryHeaders(headers, { caller, isUse }, caps(), clock.nowMs()),
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

/** The caps in force. @throws Error before they are known: no key authenticates then, so no request gets here */
function currentCaps({ caps }: StartedAuthenticator): Caps {
  const current = caps.current()
  if (current === null) throw new Error('the caps are asked for before they are known')
  return current
}

function startInFlight(
  { clock, metrics }: GatewayProcess,
  authenticator: StartedAuthenticator,
): InFlightRequests {
  const inFlight = new InFlightRequests({
    clock,
    reconsider: authenticator.reauthenticate,
    observer: {
      opened: metrics.streamOpened,
      closed: metrics.streamClosed,
      cut: metrics.streamCut,
    },
  })
  authenticator.subscribe((uid) => inFlight.look(uid))
  return inFlight
}

function startUpstream({ timed, lifecycle }: Parts): Upstream {
  const upstream = createUpstream({ ...timed.deps, observer: ofForwarded(timed.deps.observer) })
  lifecycle.onStop('upstream', STOP_WITHIN_MS.upstream, () => upstream.close())
  return upstream
}

const startProbe = (parts: Parts, upstream: Upstream): ImpersonationProbe =>
  probeImpersonation({
    ...parts,
    upstream,
    userAgent: parts.deps.userAgent,
    refused: () => parts.deps.observer.responded('GET', '403', null),
    signal: parts.lifecycle.stopping,
  })

function startActivity(
  parts: Parts,
  authenticator: StartedAuthenticator,
  caps: () => Caps,
): ActivityRecorder {
  const { settings, lifecycle, metrics, timed } = parts
  const activity = createActivityRecorder({
    ...parts,
    keys: authenticator.index.store,
    caps,
    clock: timed.clock,
    budgetPerSecond: settings.activityWritesPerSecond,
    random: Math.random,
    observer: { written: metrics.activityWritten, failed: metrics.activityFailed },
  })
  lifecycle.onStop('activity', STOP_WITHIN_MS.activity, () => activity.flush())
  return activity
}

/** What self-service shares with the stages. */
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
