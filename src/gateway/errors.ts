// The refusals of the gateway that are of no part of it alone. docs/gateway.md and docs/troubleshooting.md have their tables
// from here and from the catalogues of the parts: neighbours with the same `because` are one row there.
import { refusalCatalogue } from '../serving/http/answer.ts'

const CHALLENGE = { 'www-authenticate': 'Bearer' }
const SOON = { 'retry-after': '1' }
const LATER = { 'retry-after': '5' }

const LIMITED = 'the message has the kind and the number: see [below](#limits)'
const CHANGED_KEY =
  'the scope or identity of the key changed meanwhile, and the next request uses the new one. The second message is for a write, the third is the last event of a watch'
const CANNOT_TELL = 'see [GatewayCannotTell](#managementoperatorgatewaycannottell)'
const PUBLIC_PAGE = 'below `/oidc`, which needs no key'

/** The catalogue, in the order of the documentation. */
export const ERRORS = refusalCatalogue({
  keyNotFound: {
    reason: 'Unauthorized',
    message: 'platform access key not found. Please login again',
    headers: CHALLENGE,
    because:
      'no key, or one that is unknown, disabled, deleted, or not a bearer credential: the answer does not say which',
  },
  keyExpired: {
    reason: 'Unauthorized',
    message: 'platform access key expired. Please login again',
    headers: CHALLENGE,
    because: 'the key has expired',
  },
  keyChanged: {
    reason: 'Unauthorized',
    message: 'the platform access key changed. Please try again',
    headers: CHALLENGE,
    because: CHANGED_KEY,
  },
  keyChangedUnderWay: {
    reason: 'Unauthorized',
    message:
      'the platform access key changed while the request was under way. The API server may have carried it out',
    headers: CHALLENGE,
    because: CHANGED_KEY,
    remedy: 'see whether the write was done',
  },
  keyChangedInWatch: {
    reason: 'Unauthorized',
    message: 'the platform access key changed. Please watch again',
    because: CHANGED_KEY,
  },
  credentialRepeated: {
    reason: 'BadRequest',
    message: 'the request has more than one credential: send one, in the header Authorization',
    because: '',
  },
  impersonationHeader: {
    reason: 'BadRequest',
    message: 'headers that impersonate are not accepted here',
    because: '`Impersonate-*`, as `kubectl --as` sends it: a key acts for its own user only',
  },
  headerRepeated: {
    reason: 'BadRequest',
    message: 'header <header> may be given once',
    because: 'a header that affects a decision, such as `Content-Type`, is repeated',
  },
  transferEncoding: {
    reason: 'BadRequest',
    message: 'header transfer-encoding may be chunked, once',
    because: 'the body has another encoding, or several',
  },
  scopeDenied: {
    reason: 'Forbidden',
    message: '<decision>',
    shown: 'the scope does not grant …',
    because: 'see [Scopes](scopes.md)',
  },
  outsideSpace: {
    reason: 'Forbidden',
    message: '<decision>',
    shown: '… is outside the space',
    because: 'the path of a space leads to objects in its namespace only, whatever the scope',
  },
  ownKindsElsewhere: {
    reason: 'Forbidden',
    message: 'objects of management.platform.sh are served below /kubernetes/management only',
    because:
      'a connected cluster that has kinds of this group: their secrets would not be hidden there',
  },
  noSuchApi: {
    reason: 'NotFound',
    message:
      'there is nothing here: APIs are below /kubernetes/management, /kubernetes/cluster/NAME and /kubernetes/project/NAME/virtualcluster|space/NAME',
    because: '',
  },
  targetUnknown: {
    reason: 'NotFound',
    message: '<target> is unknown here',
    because: 'no Secret in the namespace of targets defines it',
    remedy: 'see [Targets](targets.md)',
  },
  targetUnusable: {
    reason: 'ServiceUnavailable',
    message: '<target> cannot be used: <fault>',
    headers: LATER,
    because: 'the Secret of the target has a fault, or its API server does not answer',
    remedy: 'see [Targets](targets.md); an Event on the Secret says the same',
  },
  targetsStale: {
    reason: 'ServiceUnavailable',
    message: 'the targets are not known here now, try again',
    headers: SOON,
    because: 'the Secrets of targets were last compared more than 15 s ago',
    remedy: 'see [Targets](targets.md)',
  },
  targetChanged: {
    reason: 'ServiceUnavailable',
    message: 'the target of the request was removed or changed. Please try again',
    headers: SOON,
    because: 'it got another kubeconfig, or lost its Secret, while the request was in progress',
    remedy: 'nothing: somebody has changed the Secret of the target',
  },
  method: {
    reason: 'MethodNotAllowed',
    message: 'the method must be one of <methods>',
    because: '',
  },
  onlyReads: {
    reason: 'MethodNotAllowed',
    message: 'only GET and HEAD are answered here',
    headers: { allow: 'GET, HEAD' },
    because: 'at the paths [that need no key](operating.md#flags-of-management-operator-gateway)',
  },
  tooManyOfKey: {
    reason: 'TooManyRequests',
    message: 'too many <kind> in progress for this credential (limit <limit>); try again in 1 s',
    headers: SOON,
    because: LIMITED,
  },
  tooManyOfUser: {
    reason: 'TooManyRequests',
    message:
      'too many <kind> in progress for all credentials of this user, team or subject together (limit <limit>); try again in 1 s',
    headers: SOON,
    because: LIMITED,
  },
  tooManyInAll: {
    reason: 'TooManyRequests',
    message:
      'too many <kind> in progress at this gateway for all credentials together (limit <limit>); try again in 1 s',
    headers: SOON,
    because: LIMITED,
  },
  internal: {
    reason: 'InternalError',
    message: 'internal error, see the log of this server',
    because: 'a fault of this server',
    remedy: 'a fault of this program: the log line `request failed` says where; report it',
  },
  upgradeProtocol: {
    reason: 'NotImplemented',
    message: 'an upgrade must be to one of <protocols>, without a body; a WebSocket by GET',
    because: 'another protocol, a body, or CONNECT',
  },
  upgradePath: {
    reason: 'NotImplemented',
    message: 'no upgrade is served at this path',
    because:
      'exec, attach, port-forward, logs, watches and whatever is behind `proxy` can be upgraded, but not requests for objects of management.platform.sh',
  },
  notUpgraded: {
    reason: 'InternalError',
    code: 502,
    message: 'the API server answered the upgrade with 101, but not to the protocol of the request',
    because: 'the answer has no `Upgrade` header, or one with another protocol',
    remedy: 'a proxy between gateway and API server changes responses: remove it',
  },
  keyUnchecked: {
    reason: 'ServiceUnavailable',
    message:
      'the gateway cannot tell now whether the platform access key is good. Please try again',
    headers: SOON,
    because:
      'its data on keys is too old, and the API server does not answer: no request passes on old data',
    remedy: CANNOT_TELL,
  },
  keyUncheckedInWatch: {
    reason: 'ServiceUnavailable',
    message:
      'the gateway cannot tell whether the platform access key is still good. Please watch again',
    because: 'the same, as the last event of a watch',
    remedy: CANNOT_TELL,
  },
  useNotRecorded: {
    reason: 'ServiceUnavailable',
    message:
      'the use of the access key cannot be recorded now, and without that it would end: try again',
    headers: SOON,
    because:
      'the key ends without use, its last recorded use is old, and this one cannot be written',
    remedy:
      'log line `uses of access keys cannot be recorded` says why; keys without `ttlAfterLastActivity` still work',
  },
  apiServerUnreachable: {
    reason: 'ServiceUnavailable',
    message: 'the API server cannot be reached, try again',
    headers: SOON,
    because: '',
    remedy:
      "look at the API server and the network; a 503 with another text is the API server's own",
  },
  accountRefused: {
    reason: 'ServiceUnavailable',
    message: 'the API server does not let this server act for its callers now, try again',
    headers: SOON,
    because:
      'it refuses the account of this server, not the caller: for a moment after its start, or for a lack of rights',
    remedy:
      'nothing, if the API server has just started. Otherwise see check `may-act` and log line `the API server does not let this server act for its callers`',
  },
  unanswered: {
    reason: 'Timeout',
    message:
      'no answer came to this request: the API server may have carried it out. See whether it did before you repeat it',
    because:
      'the connection broke or the request timed out after it was sent. There is no `Retry-After`: clients would repeat a write',
    remedy: 'look at the API server and the network; see whether the write was done',
  },
  endedUnderWay: {
    reason: 'Timeout',
    message: 'the request was ended: <because>. The API server may have carried it out',
    because:
      'the same, as the target was removed or changed, or the credential cannot be checked any more, while a write was in progress',
    remedy: 'see whether the write was done',
  },
  settingsUnknown: {
    reason: 'ServiceUnavailable',
    message: 'the settings in force are not known here yet, try again',
    headers: SOON,
    because: 'this server has just started',
    remedy:
      'nothing, if it has just started. Otherwise its check `settings-seen` fails: a manager publishes the settings in ConfigMap `platform-config-in-force`. At a direct endpoint it is `project-prefix-known`: see [Health](direct-endpoint.md#health)',
  },
  selfReviewUnreadable: {
    reason: 'ServiceUnavailable',
    message: 'the API server answered a self review in a form that this server cannot read',
    because: '`kubectl auth can-i` with a scoped key: a proxy in between changes answers',
    remedy: 'a proxy between gateway and API server changes responses: remove it',
  },
  issuerUnknown: {
    reason: 'ServiceUnavailable',
    message:
      'the issuer of tokens is unknown: set --issuer-url, or platformHost in the spec of Config',
    headers: LATER,
    because: PUBLIC_PAGE,
    remedy: 'see [IssuerUnknown](#issuerunknown)',
  },
  signingKeysUnknown: {
    reason: 'ServiceUnavailable',
    message: 'the public signing keys are not known yet',
    headers: LATER,
    because: PUBLIC_PAGE,
    remedy: 'see [GatewayNotServingKeys](#managementoperatorgatewaynotservingkeys)',
  },
  revocationsUnknown: {
    reason: 'ServiceUnavailable',
    message: 'the revoked tokens are not known yet',
    headers: LATER,
    because: PUBLIC_PAGE,
    remedy:
      'it has not read the ConfigMaps of its namespace: log line `watch failed, trying again` says why',
  },
})
