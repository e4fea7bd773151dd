// Puts together the part of the direct endpoint that serves requests with a token, and the webhook.
import { type Caller, type TokenCaller, isKeyCaller } from '../../authn/caller.ts'
import type { StartedTokenAuthenticator } from '../../authn/token/setup.ts'
import type { ScopeContext } from '../../domain/scope/authorize.ts'
import { accessLog } from '../../gateway/access-log.ts'
import { answerMetrics } from '../../gateway/answer-metrics.ts'
import { DIRECT_STAGES, type DirectHandlerOptions, createHandler } from '../../gateway/handler.ts'
import type { AuditDeps } from '../../gateway/stages/audit.ts'
import { TOKEN_ANSWERS, createAuthentication } from '../../gateway/stages/authentication.ts'
import { withTokenExpiryHeaders } from '../../gateway/stages/expiry-headers.ts'
import { versionPage } from '../../gateway/stages/public-routes.ts'
import { createMaxInFlight } from '../../gateway/streams/max-in-flight.ts'
import { ForwardBuffer } from '../../gateway/streams/forward-buffer.ts'
import type { InFlightRequests } from '../../gateway/streams/in-flight.ts'
import { TOKEN_EXTRAS } from '../../gateway/targets/impersonation-probe.ts'
import { createTargetRegistry } from '../../gateway/targets/resolver.ts'
import { directRoutesOf } from '../../gateway/targets/routes.ts'
import type { StartedTargets } from '../../gateway/targets/follow.ts'
import { followCallerFiles } from '../../gateway/webhook/caller-files.ts'
import { webhookCallerCheck } from '../../gateway/webhook/callers.ts'
import { createWebhook, WEBHOOK_PATH } from '../../gateway/webhook/handler.ts'
import type { ClientDeps } from '../../kube/client/request.ts'
import { type Clock, jumpingClock } from '../../runtime/clock.ts'
import { PROGRAM_VERSION } from '../../runtime/flags.ts'
import type { HealthCheck } from '../../serving/http/pages.ts'
import type { GatewayServer, RequestHandler, ServerHandler } from '../../serving/http/server.ts'
import type { StreamMetrics } from '../shared/request-metrics.ts'
import { startInFlight, startProbe, startUpstream } from '../shared/serving.ts'
import { startTargets } from '../shared/connected-targets.ts'
import type { DirectProcess } from './metrics.ts'

/** The handler of requests, with its readiness. */
interface DirectApi {
  /** Creates the handler of all requests. @param pages the pages that need no credential */
  readonly handler: (pages: DirectHandlerOptions['pages']) => ServerHandler
  readonly readiness: Readonly<Record<string, HealthCheck>>
  /** Ends all open streams. */
  readonly endStreams: () => void
}

/** Parts that startDirectApi needs besides the process. */
interface DirectParts {
  readonly deps: ClientDeps
  readonly tokens: StartedTokenAuthenticator
  readonly trust: GatewayServer['trust']
  readonly audit: AuditDeps
}

/** Starts everything that requests with a token, and reviews of API servers, need. */
export function startDirectApi(self: DirectProcess, parts: DirectParts): DirectApi {
  const { settings, clock, log, lifecycle, metrics } = self
  const { cluster } = settings
  const { tokens, deps, audit } = parts
  const upstream = startUpstream(lifecycle, deps)
  const connected = startTargets(self, deps, 'direct', {
    ownCluster: upstream,
    extras: TOKEN_EXTRAS,
  })
  const inFlight = watchRequests(clock, metrics, tokens)
  connected.subscribe((ended) => inFlight.endConnection(ended))
  const { readiness } = startProbe(self, deps, upstream, TOKEN_EXTRAS)
  const scopeContext = (): ScopeContext | null => {
    const projectNamespacePrefix = tokens.projectNamespacePrefix()
    return projectNamespacePrefix === null ? null : { projectNamespacePrefix, roleRules: NO_ROLES }
  }
  const webhook = startWebhook(self, parts, { scopeContext, spaces: connected.spaces })
  return {
    readiness,
    endStreams: () => inFlight.close(),
    handler: (pages) =>
      createHandler(DIRECT_STAGES, {
        pages,
        version: versionPage(PROGRAM_VERSION),
        routeOf: directRoutesOf(cluster),
        isVersionGuarded: () => true,
        delegatedRoutes: [{ path: WEBHOOK_PATH, target: 'Webhook', answer: webhook }],
        authenticate: createAuthentication(tokens, TOKEN_ANSWERS, metrics.authenticated),
        scopeContext,
        scopeDenied: metrics.scopeDenied,
        limits: createMaxInFlight(metrics.limited),
        inFlight,
        forwardBuffer: new ForwardBuffer(settings.forwardBufferBytes),
        audit,
        targets: createTargetRegistry(
          { target: { kind: 'Cluster', cluster }, upstream },
          connected,
        ),
        expiryHeaders: (headers, caller) =>
          withTokenExpiryHeaders(headers, tokenCaller(caller).token, tokens.nowMs()),
        observers: [answerMetrics(metrics.answered, clock), accessLog(log, clock)],
        log,
      }),
  }
}

/** The roles of a scope grant nothing at a direct endpoint (contract 11.4). */
const NO_ROLES: ScopeContext['roleRules'] = () => []

/** The caller as one that presents a token. @throws Error for an access key, which only the gateway accepts */
function tokenCaller(caller: Caller): TokenCaller {
  if (isKeyCaller(caller)) throw new Error('an access key where only tokens are accepted')
  return caller
}

/** Starts to watch the requests in flight. Tokens end by the issuer's time, whatever the local clock shows (contract 2.9). */
export const watchRequests = (
  clock: Clock,
  metrics: StreamMetrics,
  tokens: Pick<StartedTokenAuthenticator, 'nowMs' | 'reauthenticate' | 'subscribe'>,
): InFlightRequests =>
  startInFlight(jumpingClock(clock, tokens.nowMs), metrics, {
    reauthenticate: (caller) => tokens.reauthenticate(tokenCaller(caller)),
    subscribe: tokens.subscribe,
  })

/** The webhook, with the files that name its callers. */
function startWebhook(
  { settings, clock, log, lifecycle, metrics }: DirectProcess,
  { tokens, trust }: DirectParts,
  decided: {
    readonly scopeContext: () => ScopeContext | null
    readonly spaces: StartedTargets['spaces']
  },
): RequestHandler {
  const { webhookTokenFile: tokenFile, webhookClientCaFile: clientAuthorityFile } = settings
  const followed = followCallerFiles({
    files: { tokenFile, clientAuthorityFile },
    clock,
    log,
    signal: lifecycle.stopping,
    trust,
  })
  return createWebhook({
    isCaller: followed && webhookCallerCheck(followed, clock),
    context: () => ({
      cluster: settings.cluster,
      scopeContext: decided.scopeContext(),
      revocation: tokens.revocation,
      spaces: decided.spaces,
    }),
    answered: metrics.reviewed,
    clock,
  })
}
