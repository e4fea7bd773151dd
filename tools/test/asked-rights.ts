// Which rights a request needed, by the line that the API server wrote about it into its audit log.

/** One verb on one resource, or on one path, of one account of the program. */
export interface Right {
  readonly account: string
  readonly verb: string
  readonly group: string
  /** The resource with its subresource, such as `configs/status`; `*` for all; empty for a path. */
  readonly resource: string
  /** A non-resource path; `*` for all; empty for a resource. */
  readonly path: string
  /** The namespace that it is limited to; empty = cluster-scoped objects. */
  readonly namespace: string
  /** The object that it is limited to; empty = any. */
  readonly name: string
}

/** A request, as an audit log has it. */
export interface AuditedRequest {
  readonly verb: string
  readonly user: { readonly username: string }
  /** The identity that the request ran as; absent = the user. */
  readonly impersonatedUser?: {
    readonly username: string
    readonly groups?: readonly string[]
    readonly extra?: Readonly<Record<string, readonly string[]>>
  }
  /** The verb that allowed the impersonation; absent = the older verb. */
  readonly authenticationMetadata?: { readonly impersonationConstraint?: string }
  readonly userAgent?: string
  readonly requestURI: string
  readonly objectRef?: {
    readonly apiGroup?: string
    readonly resource?: string
    readonly subresource?: string
    readonly namespace?: string
    readonly name?: string
  }
  readonly responseStatus?: { readonly code?: number; readonly message?: string }
  readonly annotations?: Readonly<Record<string, string>>
}

/** Names of the program's accounts in an audit log: of the platform's namespace, and of that of signing in. */
const ACCOUNT = /^system:serviceaccount:platform-system(?:-sign-in)?:(.+)$/

/** The ServiceAccount of a user, such as `gateway`; null = it is no account of the program. */
export const accountIn = (username: string): string | null => ACCOUNT.exec(username)?.[1] ?? null

const NONE = { group: '', resource: '', path: '', namespace: '', name: '' }
const REVIEWED = 'authentication.k8s.io'

/** The rights that a request made use of; none when it was refused. */
export function rightsUsed(request: AuditedRequest): readonly Right[] {
  // The answer depends on the rights of the impersonated user: of the account's, only impersonation was used.
  if (request.impersonatedUser !== undefined) return rightsToImpersonate(request)
  const { code = 0 } = request.responseStatus ?? {}
  return code >= 200 && code <= 299 ? ownRights(request) : []
}

/** The rights for lack of which a request was refused, as far as the answer names them; none when it was not. */
export function rightsMissed(request: AuditedRequest): readonly Right[] {
  const { annotations = {}, responseStatus = {} } = request
  if (request.impersonatedUser !== undefined) return []
  const decision = annotations['authorization.k8s.io/decision']
  if (decision === 'forbid') return ownRights(request)
  // Impersonation is refused before anything is decided, and only the message says what for.
  return decision === undefined && responseStatus.code === 403 ? rightsNamed(request) : []
}

/** The rights that a request needs. An apply that makes the object needs create as well; its answer is 201. */
function ownRights(request: AuditedRequest): readonly Right[] {
  const { verb, objectRef, requestURI, responseStatus } = request
  const account = accountOf(request)
  if (objectRef === undefined) return [{ ...NONE, account, verb, path: pathOf(requestURI) }]
  const { apiGroup: group = '', namespace = '', name = '' } = objectRef
  const verbs = verb === 'patch' && responseStatus?.code === 201 ? ['patch', 'create'] : [verb]
  const resource = resourceOf(objectRef)
  return verbs.map((each) => ({ ...NONE, account, verb: each, group, resource, namespace, name }))
}

function rightsToImpersonate(request: AuditedRequest): readonly Right[] {
  const { impersonatedUser, authenticationMetadata = {}, objectRef, requestURI } = request
  const { username = '', groups = [], extra = {} } = impersonatedUser ?? {}
  const { impersonationConstraint: verb = 'impersonate' } = authenticationMetadata
  const isConstrained = verb !== 'impersonate'
  const account = accountOf(request)
  const group = isConstrained ? REVIEWED : ''
  const one = { ...NONE, account, verb }
  const on = { ...NONE, account, verb: `${verb.replace(':', '-on:')}:${request.verb}` }
  return [
    { ...one, group, resource: 'users', name: username },
    ...groups.map((name) => ({ ...one, group, resource: 'groups', name })),
    ...Object.entries(extra).flatMap(([key, values]) =>
      values.map((name) => ({ ...one, group: REVIEWED, resource: `userextras/${key}`, name })),
    ),
    ...(!isConstrained
      ? []
      : objectRef === undefined
        ? [{ ...on, path: pathOf(requestURI) }]
        : [{ ...on, group: objectRef.apiGroup ?? '', resource: resourceOf(objectRef) }]),
  ]
}

const REFUSED = /cannot (\S+) (?:resource "([^"]*)" in API group "([^"]*)"|path "([^"]*)")/
/** The API server refuses this to every user, whatever is granted. */
const NEVER = /impersonating .* is not allowed/

function rightsNamed(request: AuditedRequest): readonly Right[] {
  const { message = '' } = request.responseStatus ?? {}
  const [, verb = '', resource = '', group = '', path = ''] = REFUSED.exec(message) ?? []
  const [never] = NEVER.exec(message) ?? []
  const account = accountOf(request)
  return [{ ...NONE, account, verb: never ?? verb, group, resource, path }]
}

const accountOf = ({ user }: AuditedRequest): string => accountIn(user.username) ?? user.username

const resourceOf = ({
  resource = '',
  subresource,
}: NonNullable<AuditedRequest['objectRef']>): string =>
  subresource === undefined ? resource : `${resource}/${subresource}`

const pathOf = (uri: string): string => uri.split('?')[0] ?? ''
