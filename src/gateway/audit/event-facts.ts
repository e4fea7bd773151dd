// What every event of a request says, whatever its stage: who asked for what, from where, and by which credential
// (contract 21.3).
import { SCOPE_EXTRA } from '../../api/names.ts'
import { type Caller, extrasOf, isKeyCaller } from '../../authn/caller.ts'
import { keyIdOf } from '../../domain/accesskey/access-key.ts'
import type { AuditEvent, EventUser, EventObject } from '../../domain/audit/event.ts'
import {
  mayNameProxy,
  mayNameSignIn,
  recordedForwardedFor,
  recordedUserAgent,
} from '../../domain/audit/client-texts.ts'
import { hideCredentials, hideCredentialsInUri } from '../../domain/redaction/credentials.ts'
import type { AuditedRequest, AuditedUser } from '../../domain/audit/policy.ts'
import { type RequestTarget, isResourceRequest } from '../../domain/scope/request-info.ts'
import { formatMicroTime } from '../../domain/time.ts'
import type { HttpRequest } from '../../serving/http/request.ts'
import { isProxied } from '../proxy/forward.ts'
import type { RequestContext } from '../request-context.ts'
import { reportedFields } from '../signin/answer-headers.ts'

/** The parts of an event that its stage does not change. */
export type EventFacts = Omit<AuditEvent, 'level' | 'stage' | 'stageTimestamp' | 'responseStatus'>

/** The request as the policy judges it: a path without a target, or that can't be read, is one of no resource. */
export function auditedRequest({ http, path, parsing }: RequestContext): AuditedRequest {
  if (parsing?.ok === true) return parsing.request.attributes
  return { target: parsing?.target ?? null, verb: http.method.toLowerCase(), path }
}

/** The user of a request, as it is sent upstream; without a caller, what the API server calls him. */
export function auditedUser(caller: Caller | null): AuditedUser {
  if (caller === null) return ANONYMOUS
  const { user: username, groups } = caller.identity
  return { username, groups }
}

/** The same with its extras, but for the scope. */
function eventUser(caller: Caller | null): EventUser {
  const user = auditedUser(caller)
  if (caller === null) return user
  const extra = Object.entries(extrasOf(caller)).filter(([name]) => name !== SCOPE_EXTRA)
  return { ...user, extra: Object.fromEntries(extra.map(([name, value]) => [name, [value]])) }
}

const ANONYMOUS: AuditedUser = { username: 'system:anonymous', groups: ['system:unauthenticated'] }

/** The facts of a request whose stages have run as far as they did. */
export function eventFacts(context: RequestContext, receivedMs: number): EventFacts {
  const { http } = context
  const request = auditedRequest(context)
  const userAgent = http.headers['user-agent']
  const objectRef = objectReference(request)
  return {
    kind: 'Event',
    apiVersion: 'audit.k8s.io/v1',
    auditID: http.id,
    requestURI: requestUri(context),
    verb: request.verb,
    user: eventUser(context.caller),
    ...(http.remoteAddress === '' ? {} : { sourceIPs: [http.remoteAddress] }),
    ...(userAgent === undefined ? {} : { userAgent: recordedUserAgent(userAgent) }),
    ...(objectRef === null ? {} : { objectRef }),
    requestReceivedTimestamp: formatMicroTime(receivedMs),
    annotations: {
      ...targetAnnotations(request.target),
      ...credentialAnnotations(context),
      ...signInAnnotations(context),
      ...forwardedFor(http),
    },
  }
}

/**
 * The request-target as it was sent, without the query that a workload behind `proxy` gets, or the sign-in process
 * (contract 21.4).
 */
function requestUri({ http, path, parsing }: RequestContext): string {
  const isOfOthers =
    parsing?.ok === true
      ? isProxied(parsing.request.attributes)
      : mayNameProxy(path) || mayNameSignIn(path)
  return hideCredentialsInUri(isOfOthers ? path : http.target)
}

/** The object of a resource request; null = the request is for another path. */
function objectReference(request: AuditedRequest): EventObject | null {
  if ('path' in request) return null
  const { resource, namespace, name, group, version, subresource } = request
  return {
    resource: hideCredentials(resource),
    ...(namespace === '' ? {} : { namespace: hideCredentials(namespace) }),
    ...(name === '' ? {} : { name: hideCredentials(name) }),
    ...(group === '' ? {} : { apiGroup: hideCredentials(group) }),
    apiVersion: hideCredentials(version),
    ...(subresource === '' ? {} : { subresource: hideCredentials(subresource) }),
  }
}

function targetAnnotations(target: RequestTarget | null): Readonly<Record<string, string>> {
  if (target === null) return {}
  const names = {
    'platform.sh/target': target.kind,
    'platform.sh/cluster': 'cluster' in target ? target.cluster : '',
    'platform.sh/project': 'project' in target ? target.project : '',
    'platform.sh/space': 'space' in target ? target.space : '',
    'platform.sh/virtual-cluster': 'virtualCluster' in target ? target.virtualCluster : '',
  }
  const present = Object.entries(names).filter(([, name]) => name !== '')
  return Object.fromEntries(present.map(([name, value]) => [name, hideCredentials(value)]))
}

/** The credential of the caller, or the known key that was refused. */
function credentialAnnotations({
  caller,
  credentialRefusal,
}: RequestContext): Readonly<Record<string, string>> {
  if (caller !== null && !isKeyCaller(caller)) {
    const { name, jti } = caller.token
    return { 'platform.sh/access-key': name, 'platform.sh/token-id': jti }
  }
  const key = caller?.key ?? credentialRefusal?.key ?? null
  if (key === null) return {}
  return { 'platform.sh/access-key': key.name, 'platform.sh/key-id': keyIdOf(key) }
}

/** What the sign-in process has reported (contract 25.1); an empty text is unknown. */
function signInAnnotations({ signIn }: RequestContext): Readonly<Record<string, string>> {
  const fields = Object.entries(reportedFields(signIn))
  return Object.fromEntries(fields.map(([name, value]) => [`platform.sh/sign-in-${name}`, value]))
}

function forwardedFor({ headers }: HttpRequest): Readonly<Record<string, string>> {
  const sent = headers['x-forwarded-for']
  if (sent === undefined) return {}
  return { 'platform.sh/forwarded-for': recordedForwardedFor([sent].flat().join(', ')) }
}

/** The subresources whose requests last, to the API server as well (contract 21.5). */
const LONG_SUBRESOURCES: ReadonlySet<string> = new Set([
  'attach',
  'exec',
  'log',
  'portforward',
  'proxy',
])

/** The API server's profiles take as long as they are asked to. */
const PROFILES = '/debug/pprof/'

/** Whether the answer to the request may last: it then has an event at its start and one at its end. */
export function isLongRunningEvent({ parsing }: RequestContext): boolean {
  if (parsing?.ok !== true) return false
  const { attributes } = parsing.request
  return isResourceRequest(attributes)
    ? attributes.verb === 'watch' || LONG_SUBRESOURCES.has(attributes.subresource)
    : attributes.path.startsWith(PROFILES)
}
