// The names that this program shares with the API server and its users. Every other file imports them.

/** API group of the six kinds (contract 1.1, 24.5, 28.1). */
export const GROUP = 'management.platform.sh'

/** The only version served. */
const VERSION = 'v1'

/** `apiVersion` of our kinds. */
export const API_VERSION = `${GROUP}/${VERSION}`

/** The extra with the name of the access key that a request was made with, or that owns its token (contract 9.2, 10.5). */
export const ACCESS_KEY_EXTRA = 'platform.sh/access-key'
/** The extra with the uid of the token object (contract 7.1). */
export const TOKEN_ID_EXTRA = 'platform.sh/token-id'
/** The extra with the scope of a token as JSON, `*` when unrestricted (contract 7.1). */
export const SCOPE_EXTRA = 'platform.sh/scope'

/**
 * The header with the `asOf` of a list of revoked tokens (contract 7.4), also of a 304, which has no body: `asOf`
 * advances while no token is revoked.
 */
export const AS_OF_HEADER = 'x-platform-as-of'

/** When the key of a request stops working, RFC 3339; absent = never (contract 13.5). */
export const KEY_EXPIRES_HEADER = 'x-platform-key-expires'

/** The path of the management API at the gateway (contract 9.1). */
export const MANAGEMENT_PATH = '/kubernetes/management'

/** A kind of the Kubernetes API: group, version and plural give its URL. An empty group is the core group. */
export interface Resource {
  readonly group: string
  readonly version: string
  readonly plural: string
  readonly kind: string
}

/** The apiVersion of objects of a resource. */
export const apiVersionOf = ({ group, version }: Resource): string =>
  group === '' ? version : `${group}/${version}`

const ours = (kind: string, plural: string): Resource => ({
  group: GROUP,
  version: VERSION,
  plural,
  kind,
})

/** The bearer credentials. Cluster-scoped. */
export const ACCESS_KEYS = ours('OwnedAccessKey', 'ownedaccesskeys')

/** The signed tokens for direct endpoints of connected clusters. Cluster-scoped. */
export const TOKENS = ours('DirectClusterEndpointToken', 'directclusterendpointtokens')

/** The platform's settings. Cluster-scoped. */
export const CONFIGS = ours('Config', 'configs')

/** The people. Cluster-scoped. */
export const USERS = ours('User', 'users')

/** The teams. Cluster-scoped. */
export const TEAMS = ours('Team', 'teams')

/** What namespaces ask for: access keys and tokens that are delivered into a Secret (contract 28). Namespaced. */
export const ACCESS_KEY_CLAIMS = ours('AccessKeyClaim', 'accesskeyclaims')

/** RBAC ClusterRoles: `platform:scope:<role>` has the rules of a scope's role (contract 11.4). */
export const CLUSTER_ROLES: Resource = {
  group: 'rbac.authorization.k8s.io',
  version: 'v1',
  plural: 'clusterroles',
  kind: 'ClusterRole',
}

/** Ask the API server's authorizers what the caller itself may do. */
export const SELF_SUBJECT_ACCESS_REVIEWS: Resource = {
  group: 'authorization.k8s.io',
  version: 'v1',
  plural: 'selfsubjectaccessreviews',
  kind: 'SelfSubjectAccessReview',
}

/** Ask the API server's authorizers what another account may do. */
export const SUBJECT_ACCESS_REVIEWS: Resource = {
  group: 'authorization.k8s.io',
  version: 'v1',
  plural: 'subjectaccessreviews',
  kind: 'SubjectAccessReview',
}

/** Ask the API server whose token it is. */
export const TOKEN_REVIEWS: Resource = {
  group: 'authentication.k8s.io',
  version: 'v1',
  plural: 'tokenreviews',
  kind: 'TokenReview',
}

/** Ask the API server whom it sees behind the request. */
export const SELF_SUBJECT_REVIEWS: Resource = {
  group: 'authentication.k8s.io',
  version: 'v1',
  plural: 'selfsubjectreviews',
  kind: 'SelfSubjectReview',
}

/** The admission policies of config/policies. */
export const POLICIES: Resource = {
  group: 'admissionregistration.k8s.io',
  version: 'v1',
  plural: 'validatingadmissionpolicies',
  kind: 'ValidatingAdmissionPolicy',
}

/** The bindings that put policies in force. */
export const POLICY_BINDINGS: Resource = {
  ...POLICIES,
  plural: 'validatingadmissionpolicybindings',
  kind: 'ValidatingAdmissionPolicyBinding',
}

/** Core ConfigMaps. */
export const CONFIG_MAPS: Resource = {
  group: '',
  version: 'v1',
  plural: 'configmaps',
  kind: 'ConfigMap',
}

/** Core Secrets. */
export const SECRETS: Resource = { group: '', version: 'v1', plural: 'secrets', kind: 'Secret' }

/** Core Endpoints. */
export const ENDPOINTS: Resource = {
  group: '',
  version: 'v1',
  plural: 'endpoints',
  kind: 'Endpoints',
}

/** Core Services. */
export const SERVICES: Resource = { group: '', version: 'v1', plural: 'services', kind: 'Service' }

/** Namespaces. Cluster-scoped. */
export const NAMESPACES: Resource = {
  group: '',
  version: 'v1',
  plural: 'namespaces',
  kind: 'Namespace',
}

/** Leases for leader election. */
export const LEASES: Resource = {
  group: 'coordination.k8s.io',
  version: 'v1',
  plural: 'leases',
  kind: 'Lease',
}

/** Events as `kubectl describe` lists them (contract 4.5). */
export const EVENTS: Resource = {
  group: 'events.k8s.io',
  version: 'v1',
  plural: 'events',
  kind: 'Event',
}

/** Finalizer that keeps an object until its credential is revoked everywhere (contract 5.1). */
export const REVOKE_FINALIZER = `${GROUP}/revoke`

/** When the operator first saw a key, RFC 3339, so that a restore from backup renews no lifetime (contract 2.8). */
export const CREATED_ANNOTATION = `${GROUP}/created`

/** On an Event: the reconcile that recorded it, as `reconcileID` in the log. */
export const RECONCILE_ID_ANNOTATION = `${GROUP}/reconcile-id`

/** On a key created through self-service: the uid of the access key that created it (contract 12.2). */
export const MADE_WITH_LABEL = `${GROUP}/made-with`

/**
 * Name of the objects that gateways write to, to prove that their watches work (10.4): an access key without a secret,
 * a disabled User and a Team without people (24.5).
 */
export const HEARTBEAT_NAME = 'platform-heartbeat'

/** On heartbeats: time of the last write, RFC 3339, by the clock of the gateway that wrote. */
export const HEARTBEAT_ANNOTATION = `${GROUP}/heartbeat`

/**
 * On heartbeats: the value of HEARTBEAT_ANNOTATION before the last write. A gateway whose last watch event had
 * another value has missed an event, or etcd was restored from a backup.
 */
export const HEARTBEAT_BEFORE_ANNOTATION = `${GROUP}/heartbeat-before`

/**
 * On a key of a person who is gone at the sign-in provider, a time and `IdentityGone` or `SignInAgain`: with
 * any value the key does not work (contract 24.5).
 */
export const IDENTITY_GONE_ANNOTATION = `${GROUP}/identity-gone`

/** What the operator does with an expired object: `Keep` or `Delete` (contract 5.2). */
export const EXPIRED_ANNOTATION = `${GROUP}/expired`

/**
 * On a key or token of a claim and on the Secret that has it: label, the uid of the claim (contract 28.3, 28.4); on a key or
 * token also annotation, `<namespace>/<name>` of the claim.
 */
export const CLAIM_LABEL = `${GROUP}/claim`

/** On the Secret of a claim: the id of the key that it has, or that owns the token that it has (contract 28.4). */
export const KEY_ID_ANNOTATION = `${GROUP}/key-id`

/** On the Secret of a claim: when the credential that it has stops working, RFC 3339 (contract 28.4). */
export const EXPIRES_ANNOTATION = `${GROUP}/expires`

/** On the Secret of a claim: the name of the token that it has; absent = it has a key. */
export const TOKEN_ANNOTATION = `${GROUP}/token`

/** On the Secret of a claim: SHA-256 in hex of what its data were made from besides the credential. */
export const TEMPLATE_ANNOTATION = `${GROUP}/template`

/** On a key of a claim: whether the Secret has the key itself, `Key`, or a token of it, `Token`. */
export const DELIVERS_ANNOTATION = `${GROUP}/delivers`

/** Our field manager in every server-side apply, on objects and on their status (contract 3.1). */
export const FIELD_MANAGER = 'management-operator'

/**
 * The field manager of the fields that the gateway adds to a client's object. It never applies again, so the fields
 * stay when the client applies without them.
 */
export const GATEWAY_FIELD_MANAGER = `${FIELD_MANAGER}-gateway`

/** The field manager of the process that delivers the credentials of claims (contract 28.4). */
export const DELIVERY_FIELD_MANAGER = `${FIELD_MANAGER}-delivery`

/** The platform's field managers, which clients must not use. */
export const RESERVED_MANAGERS: readonly string[] = [
  FIELD_MANAGER,
  GATEWAY_FIELD_MANAGER,
  DELIVERY_FIELD_MANAGER,
]

/** `reportingController` of our events and name of the Lease (contract 4.5, 8.1). */
export const CONTROLLER_NAME = 'management-operator'

/** Name of the Lease of the process that delivers the credentials of claims (contract 28.3). */
export const DELIVERY_LEASE = `${CONTROLLER_NAME}-delivery`

/** ConfigMap that records the settings in force (contract 6.5), data key `config`, JSON. */
export const IN_FORCE_CONFIG_MAP = 'platform-config-in-force'

/** Secret with the settings in force that are secret and that the gateway needs (contract 6.8), data key `config`, JSON. */
export const GATEWAY_SETTINGS_SECRET = 'platform-settings-gateway'

/**
 * Secret with the settings in force that the sign-in process needs, some of them secret (contract 6.8), data key `config`,
 * JSON. In the sign-in namespace.
 */
export const SIGN_IN_SETTINGS_SECRET = 'platform-settings-sign-in'

/** Secret with the keys that seal cookies and codes (contract 25.3). In the sign-in namespace. */
export const SIGN_IN_KEYS_SECRET = 'platform-sign-in-keys'

/** ConfigMap with the authority of the sign-in process's own certificate (contract 25.1), data key `ca.crt`. */
export const SIGN_IN_CA_CONFIG_MAP = 'platform-sign-in-ca'

/**
 * ConfigMap with the state of the sign-in providers (contract 27.1), data key `status`, JSON as in
 * domain/signin/provider-status.ts. In the sign-in namespace; the operator copies it into condition SignInReady.
 */
export const SIGN_IN_STATUS_CONFIG_MAP = 'platform-sign-in-status'

/** Type of the Secrets that hold a session of a person (contract 25.4). */
export const SESSION_TYPE = `${GROUP}/session`

/** Secret with the keys that sign the tokens of apps (contract 26.1). In the sign-in namespace. */
export const APP_SIGNING_KEYS_SECRET = 'platform-app-signing-keys'

/** Type of the Secrets that hold what an app was granted for a person (contract 26.3). */
export const APP_GRANT_TYPE = `${GROUP}/app-grant`

/** On a Secret with an app that signs people in through the platform, with any value (contract 26.2). In the sign-in namespace. */
export const APP_CLIENT_LABEL = `${GROUP}/oidc-client`

/** On a Secret of type APP_GRANT_TYPE: a digest of person and app. */
export const APP_GRANT_OF_LABEL = `${GROUP}/app-grant-of`

/**
 * On a ConfigMap of the sign-in namespace, with any value: data key `report` says what a sign-in provider has said of the person
 * of a Login key since the sign-in, JSON as in domain/signin/identity-report.ts. Its name is the key's.
 */
export const IDENTITY_REPORT_LABEL = `${GROUP}/identity-report`

/** Audience of the token by which the gateway authenticates to the sign-in process (contract 25.1). */
export const SIGN_IN_AUDIENCE = 'sign-in'

/** The header by which the sign-in process reports an attempt to the gateway, which removes it (contract 25.1). */
export const SIGN_IN_OUTCOME_HEADER = 'x-platform-sign-in'

/** The header in which the gateway passes on what an app authenticates with (contract 26.3): `Authorization` is its own. */
export const APP_AUTHORIZATION_HEADER = 'x-platform-authorization'

/** ConfigMap with the public signing keys (contract 7.3), data key `jwks.json`. */
export const JWKS_CONFIG_MAP = 'platform-jwks'

/**
 * Asks for a rotation now. On JWKS_CONFIG_MAP with any value: the operator removes it (contract 7.3). On a claim, with a
 * value that status.lastRotate does not have (28.5); the key that answers it carries the same.
 */
export const ROTATE_ANNOTATION = `${GROUP}/rotate`

/** On JWKS_CONFIG_MAP: the `kid` of a leaked key to withdraw now. The operator removes it (contract 7.3). */
export const WITHDRAW_ANNOTATION = `${GROUP}/withdraw`

/** Type of the Secrets that hold a private signing key (contract 7.3). */
export const SIGNING_KEY_TYPE = `${GROUP}/signing-key`

/** Prefix of a signing key's Secret name; its generation number follows. */
export const SIGNING_KEY_PREFIX = 'platform-signing-key-'

/** Prefix of the names of ConfigMaps with revoked tokens; the UTC hour of the tokens' expiry follows (contract 7.4). */
export const REVOKED_TOKENS_PREFIX = 'platform-revoked-tokens-'

/** On a Secret of the target namespace: the kind of target that it defines (contract 9.5). */
export const TARGET_LABEL = `${GROUP}/target`

/** Secret with the certificate authority of the gateway's own certificate (contract 9.7). */
export const GATEWAY_CA_SECRET = 'platform-gateway-ca'

/** ConfigMap with the authority of the gateway's own certificate (contract 9.7), data key `ca.crt`. */
export const GATEWAY_CA_CONFIG_MAP = 'platform-gateway-ca'

/** Secret with the gateway's own certificate, when no files are configured (contract 9.7). */
export const GATEWAY_TLS_SECRET = 'platform-gateway-tls'
