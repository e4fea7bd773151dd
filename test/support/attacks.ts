// Requests that make a naive gateway act as another client, on another object or another server, and the
// check for that (threats A1 to A11, B1 to B4, B11). Requests that evade a scope follow below.
import type { Scope } from '../../src/api/scope.gen.ts'
import type { Audited, AuditedUser } from './audit-log.ts'

/** The owner of a key. */
export interface Caller {
  readonly user: string
  readonly groups?: readonly string[]
  readonly scope?: Scope
  /** The policies reject such a key, so it does not exist behind the real gateway. */
  readonly isRefused?: boolean
}

/** A request with a key, as sent to a gateway; {mark} is replaced by its User-Agent. */
export interface Attack {
  /** Begins with the number of the threat. */
  readonly name: string
  readonly method?: string
  /** Called with the address of the attacker's own server. */
  readonly target: (evil: string) => string
  readonly headers?: readonly string[]
  readonly body?: string
  /** The owner of the key; ada when absent, null = no key. */
  readonly caller?: Caller | null
  /** A header that is no harm on this request, as it is served. */
  readonly isServed?: 'upgrade'
  /** The caller has no right to it, so no request may reach the API server. */
  readonly isForbidden?: true
}

/** The owner of the key unless an attack says otherwise. */
export const ADA: Caller = { user: 'ada' }

/** The effects of a request, on every side of the gateway. */
export interface Consequences {
  readonly audited: readonly Audited[]
  /** The attributes that the gateway authorized; null = refused. Absent ones are not compared. */
  readonly decided: Readonly<Record<string, string>> | null
  /** Names of the forwarded headers, in lower case. */
  readonly headers: readonly string[]
  /** Whether the attacker's server was called. */
  readonly wentElsewhere: boolean
}

const PODS = '/kubernetes/management/api/v1/namespaces/a/pods'
const to = (target: string) => () => target
const below = (path: string) => to(`/kubernetes/management${path}`)

const withHeaders = (threat: string, ...rows: readonly (readonly string[])[]): readonly Attack[] =>
  rows.map((headers) => ({ name: `${threat}: ${headers.join(' + ')}`, target: to(PODS), headers }))
const withPath = (threat: string, ...paths: readonly string[]): readonly Attack[] =>
  paths.map((path) => ({ name: `${threat}: ${path}`, target: below(path) }))
const withCaller = (threat: string, ...callers: readonly Caller[]): readonly Attack[] =>
  callers.map((caller) => ({
    name: `${threat}: a key of ${JSON.stringify(caller)}`,
    target: to(PODS),
    caller,
    isForbidden: true,
  }))
const isRefused = true

const UPGRADES = ['websocket', 'SPDY/3.1', 'h2c', 'TLS/1.0', 'anything']
const asUpgrade = (protocol: string): readonly string[] => [
  'Connection: Upgrade',
  `Upgrade: ${protocol}`,
]
const EXEC = below('/api/v1/namespaces/a/pods/x/exec?command=id&stdout=1')
const ANOTHER_KEY = Buffer.from('the key of another user').toString('base64url')
/** A second request, after one that fails. */
const BEHIND = ['', 'GET /api/v1/secrets HTTP/1.1', 'Host: api', 'User-Agent: {mark}']
const SMUGGLED = '0\r\n\r\nGET /api/v1/secrets HTTP/1.1\r\nHost: api\r\nUser-Agent: {mark}\r\n\r\n'
const MALFORMED = [
  ['Transfer-Encoding: chunked'],
  ['Transfer-Encoding: identity, chunked'],
  ['X-A: b', ' c'],
  ['X-A: b\n X-B: c'],
]

/** All of them work on a naive gateway. */
// biome-ignore format: a table
export const ATTACKS: readonly Attack[] = [
  ...withHeaders('A1',
    ['Impersonate-User: root'], ['impersonate-user: root'], ['IMPERSONATE-USER: root'], ['Impersonate-User:   root  '], ['Impersonate-User: '], ['Impersonate-User: \t'], ['Impersonate-User: a', 'Impersonate-User: b'],
    ['Impersonate-Group: system:masters'], ['impersonate-group: a', 'impersonate-group: system:masters'], ['Impersonate-Group: '], ['Impersonate-Uid: 1'], ['Impersonate-Extra-Foo: x'], ['Impersonate-Extra-%46oo: x'],
    ['Impersonate-Extra-platform.sh%2faccess-key: other'], ['Impersonate-Extra-Scopes: a'],
  ),
  ...withHeaders('A2',
    ['Connection: Impersonate-User'], ['Connection: close, Impersonate-User, Impersonate-Group'], ['Connection: keep-alive, impersonate-user'], ['Connection:  impersonate-user '], ['Connection: keep-alive', 'Connection: Impersonate-User'],
    ['Connection: keep-alive,\tImpersonate-User'], ['Connection: ,,Impersonate-User,'],
  ),
  ...withCaller('A3', { user: '' }, ...['  ', '\t', '\u00a0'].map((user) => ({ user, isRefused }))),
  ...withCaller('A4',
    ...['system:admin', 'system:node:a', 'system:serviceaccount:kube-system:default', 'system:anonymous', 'platform:a', 'SYSTEM:admin'].map((user) => ({ user, isRefused })),
    ...['system:masters', 'system:nodes', 'system:unauthenticated', 'platform:authenticated', 'System:Masters'].map((group) => ({ user: 'ada', groups: [group], isRefused })),
  ),
  ...withCaller('A5', { user: 'é', isRefused }, { user: 'adä', isRefused }),
  ...withHeaders('A6',
    ['X-Remote-User: root'], ['x-remote-group: system:masters'], ['X-Remote-Extra-Scopes: a'], ['X-Remote-Uid: 1'], ['X-Forwarded-User: root'], ['X-Forwarded-Host: evil.example'], ['X-Forwarded-Client-Cert: a'], ['Forwarded: for=127.0.0.1'], ['X-Real-Ip: 127.0.0.1'],
    ['X-Original-URL: /api/v1/secrets'], ['X-Rewrite-URL: /api/v1/secrets'], ['X-HTTP-Method-Override: DELETE'], ['X-Method-Override: DELETE'], ['Cookie: session=a'], ['Proxy-Authorization: Basic YTpi'], ['Proxy-Connection: keep-alive'],
  ),
  ...['websocket', 'SPDY/3.1'].map((protocol): Attack => ({
    name: `A7: a second key, in a subprotocol of ${protocol}`, target: EXEC, isForbidden: true,
    headers: [...asUpgrade(protocol), `Sec-WebSocket-Protocol: base64url.bearer.authorization.k8s.io.${ANOTHER_KEY}, v4.channel.k8s.io`],
  })),
  ...UPGRADES.map((protocol): Attack => ({ name: `A8: an upgrade to ${protocol} without a key`, target: to(PODS), headers: asUpgrade(protocol), caller: null, isForbidden: true })),
  { name: 'A8: an upgrade that the scope does not grant', target: EXEC, headers: asUpgrade('websocket'), caller: { user: 'ada', scope: { rules: [{ resources: [{ resources: ['pods'] }] }] } }, isForbidden: true },
  ...['websocket', 'SPDY/3.1'].map((protocol): Attack => ({ name: `A9: what follows an upgrade to ${protocol} that failed`, target: EXEC, headers: [...asUpgrade(protocol), ...BEHIND], isServed: 'upgrade' })),
  { name: 'A9: a redirect', target: below('/api/v1/namespaces/a/pods/elsewhere') },
  { name: 'A10: h2c', target: to(PODS), headers: ['Connection: Upgrade, HTTP2-Settings', 'Upgrade: h2c', 'HTTP2-Settings: AAMAAABkAAQCAAAAAAIAAAAA'] },
  ...MALFORMED.map((headers): Attack => ({ name: `A11: ${headers.join(' + ')}`, method: 'POST', target: to(PODS), headers, body: SMUGGLED, isForbidden: true })),
  ...withPath('B1',
    '/api/v1/namespaces/a/%2e%2e/kube-system/secrets', '/api/v1/namespaces/a/../kube-system/secrets', '/api/v1/namespaces/a/.%2E/kube-system/secrets', '/api/v1/namespaces/a/./secrets', '/api/v1/namespaces/a/pods/%2e%2e/secrets',
    '/api/v1/namespaces/a\\..\\kube-system/secrets', '/api/v1/namespaces/a\\secrets', '/api/v1/namespaces/a%2fsecrets', '/api/v1/namespaces/a%2fsecrets/pods', '/api/v1/namespaces/a/secrets%2fx', '/api/v1//namespaces/a/secrets',
  ),
  { name: 'B2: //host', target: (evil) => `/kubernetes/management//${evil}/api/v1/namespaces/a/pods` },
  { name: 'B2: /\\host', target: (evil) => `/kubernetes/management/\\${evil}/api/v1/namespaces/a/pods` },
  { name: 'B2: \\\\host', target: (evil) => `/kubernetes/management\\\\${evil}/api/v1/namespaces/a/pods` },
  { name: 'B2: //user@host', target: (evil) => `/kubernetes/management//api@${evil}/api/v1/namespaces/a/pods` },
  { name: 'B2: the absolute form', target: (evil) => `https://${evil}/kubernetes/management/api/v1/namespaces/a/pods` },
  { name: 'B2: the absolute form behind the route', target: (evil) => `/kubernetes/managementhttps://${evil}/api/v1/namespaces/a/pods` },
  ...withPath('B3', '/api/v1/namespaces/a/%73ecrets', '/api/v1/n%61mespaces/a/%70ods', '/%61pi/v1/namespaces/%61/pods', '/api/v1/namespaces/a/pods/%78'),
  ...['watch', 'watch=', 'watch=1', 'watch=True', 'watch=yes', 'watch=no', 'watch=00', '%77atch=1', 'watch=1&watch=0', 'watch=false&watch=true', 'watch=0&watch=true', 'watch=%20false'].map((query) => ({ name: `B4: ${query}`, target: to(`${PODS}?${query}`) })),
  ...withPath('B4', '/api/v1/watch/namespaces/a/pods', '/api/v1/watch/secrets', '/api/v1/proxy/namespaces/a/pods/x'),
  ...['/metrics', '/version', '/api', '/apis', '/openapi/v3', '/debug/pprof/profile?seconds=1', '/logs/', '/healthz/etcd'].map((path): Attack => ({ name: `B11: ${path} without a key`, target: below(path), caller: null, isForbidden: true })),
]

/** Headers that a gateway may forward. */
const HARMLESS = [
  'user-agent',
  'accept',
  'accept-encoding',
  'content-type',
  'content-length',
  'host',
  'connection',
  'keep-alive',
  'transfer-encoding',
  'authorization',
  'x-forwarded-for',
  'audit-id',
  'impersonate-user',
  'impersonate-group',
  'impersonate-extra-platform.sh%2faccess-key',
]

/** The faults in words; none for a gateway that withstands the attack. */
export function wrongs(
  attack: Attack,
  consequences: Consequences,
  caller: AuditedUser,
): readonly string[] {
  const { audited, decided, headers, wentElsewhere } = consequences
  return [
    ...(attack.isForbidden ? audited : []).map((one) => `asked to ${one.verb} ${one.requestURI}`),
    ...audited.flatMap((event) => [...wrongUser(event, caller), ...wrongDecision(event, decided)]),
    ...headers
      .filter((name) => !HARMLESS.includes(name) && name !== attack.isServed)
      .map((name) => `passed ${name} on`),
    ...(wentElsewhere ? ['went elsewhere'] : []),
  ].map((wrong) => `${attack.name}: ${wrong}`)
}

function wrongUser({ user, impersonatedUser }: Audited, caller: AuditedUser): readonly string[] {
  if (!impersonatedUser) return [`ran as ${user.username}`]
  const { username, groups = [], extra = {}, uid = '' } = impersonatedUser
  const is = JSON.stringify([username, uid, [...groups].toSorted(), extra])
  const wanted = JSON.stringify([
    caller.username,
    '',
    [...(caller.groups ?? [])].toSorted(),
    caller.extra ?? {},
  ])
  return is === wanted ? [] : [`ran as ${is}`]
}

function wrongDecision(event: Audited, decided: Consequences['decided']): readonly string[] {
  if (decided === null) return ['was refused and asked all the same']
  const ref: Readonly<Record<string, string>> = {
    path: event.requestURI,
    ...event.objectRef,
    verb: event.verb,
  }
  return Object.entries(decided)
    .filter(([name, value]) => value !== (ref[name] ?? ''))
    .map(([name, value]) => `decided on ${name} ${value}, which was ${ref[name] ?? ''}`)
}

// Requests that the scope of their key does not grant, but that a naive gateway takes for one that it does
// grant (threats B3, B5 to B10). Each scope also has a request that it grants.

/** A scope, a request that it grants, and requests that it does not. */
export interface ScopeUnderAttack {
  readonly caller: Caller
  /** Absent where it grants nothing in the management cluster. */
  readonly granted?: Attack
  readonly attacks: readonly Attack[]
}

type Asked = Omit<Attack, 'name' | 'target' | 'caller' | 'isForbidden'>
type Row = readonly [name: string, method: string, path: string, more?: Asked]

const POD = '/api/v1/namespaces/a/pods/x'
const LEASE = '/apis/coordination.k8s.io/v1/namespaces/a/leases/x'
const GROUP = 'management.platform.sh'

function under(
  scope: Scope,
  granted: readonly [method: string, path: string, more?: Asked] | null,
  rows: readonly Row[],
): ScopeUnderAttack {
  const caller = { user: 'ada', scope }
  const attackOf = (...[name, method, path, more]: Row): Attack => ({
    ...more,
    name: `${name}: ${method} ${path}`,
    method,
    target: () => `/kubernetes/management${path}`,
    caller,
  })
  const attacks = rows.map((row): Attack => ({ ...attackOf(...row), isForbidden: true }))
  return { caller, attacks, ...(granted && { granted: attackOf('granted', ...granted) }) }
}

const pods = (...verbs: readonly string[]): Scope => ({
  rules: [{ verbs, resources: [{ resources: ['pods'] }] }],
})
const EVERYTHING: Scope = {
  rules: [
    { resources: ['', 'certificates.k8s.io', GROUP].map((group) => ({ group, resources: ['*'] })) },
  ],
}
const json = (value: unknown): Asked => ({
  headers: ['Content-Type: application/json'],
  body: JSON.stringify(value),
})
const ours = (kind: string, spec: unknown): Asked =>
  json({ apiVersion: `${GROUP}/v1`, kind, metadata: { name: '{mark}' }, spec })
const APPLY: Asked = {
  headers: ['Content-Type: application/apply-patch+yaml'],
  body: '{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"}}',
}
const SUBRESOURCES = [
  'log',
  'exec',
  'attach',
  'portforward',
  'proxy',
  'proxy/x',
  'status',
  'ephemeralcontainers',
  'resize',
]
const WIDER: Scope = { rules: [{ resources: [{ group: 'apps', resources: ['*'] }] }] }

/** All of them work on a naive gateway. */
// biome-ignore format: a table
export const SCOPES_UNDER_ATTACK: readonly ScopeUnderAttack[] = [
  under(pods('get', 'list'), ['GET', POD], [
    ['B3', 'GET', '/apis/metrics.k8s.io/v1beta1/namespaces/a/pods/x'], ['B3', 'GET', '/apis/apps/v1/namespaces/a/pods'],
    ['B5', 'OPTIONS', POD], ['B5', 'TRACE', POD], ['B5', 'QUERY', POD],
    ...SUBRESOURCES.map((sub): Row => ['B6', 'GET', `${POD}/${sub}`]),
  ]),
  under({ rules: [{ verbs: ['get', 'update'], resources: [{ group: 'coordination.k8s.io', resources: ['leases'] }] }] }, ['GET', LEASE], [['B5', 'PUT', LEASE, json({})]]),
  under(pods('patch'), ['PATCH', POD, { headers: ['Content-Type: application/merge-patch+json'], body: '{}' }], [
    ['B5', 'PATCH', `${POD}?fieldManager=a`, APPLY],
    ['B6', 'PATCH', `${POD}/status`, { headers: ['Content-Type: application/merge-patch+json'], body: '{}' }],
  ]),
  under(pods('delete'), ['DELETE', POD], [['B5', 'DELETE', '/api/v1/namespaces/a/pods'], ['B5', 'DELETE', '/api/v1/pods?labelSelector=a']]),
  under(pods('create'), ['POST', '/api/v1/namespaces/a/pods', json({})], [
    ['B6', 'POST', `${POD}/eviction`, json({})], ['B6', 'POST', `${POD}/binding`, json({})], ['B6', 'POST', `${POD}/exec?command=id`],
  ]),
  under({ rules: [{ resources: [{ resources: ['*'] }] }] }, ['GET', POD], [
    ['B6', 'POST', `${POD}/exec?command=id`], ['B6', 'GET', `${POD}/attach`], ['B6', 'GET', `${POD}/portforward`],
    ['B7', 'GET', '/api/v1/nodes/x/proxy'], ['B7', 'GET', '/api/v1/nodes/x/proxy/exec/a/b/c?command=id'], ['B7', 'GET', '/api/v1/namespaces/a/services/https:x:443/proxy/'], ['B7', 'GET', `${POD}/proxy/x`],
  ]),
  under({ rules: [{ resources: [{ group: '*' }, { group: '*', resources: ['pods/exec', 'nodes/proxy', 'serviceaccounts/token'] }] }] }, ['GET', LEASE], [
    ['B6: in every group', 'POST', `${POD}/exec?command=id`], ['B7: in every group', 'GET', '/api/v1/nodes/x/proxy'], ['B8: in every group', 'POST', '/api/v1/namespaces/a/serviceaccounts/x/token', json({})],
  ]),
  under(EVERYTHING, ['POST', `/apis/${GROUP}/v1/ownedaccesskeys`, ours('OwnedAccessKey', { scope: EVERYTHING })], [
    ['B8: a token of a service account', 'POST', '/api/v1/namespaces/a/serviceaccounts/x/token', json({})],
    ['B8: an approval', 'PUT', '/apis/certificates.k8s.io/v1/certificatesigningrequests/x/approval', json({})],
    ['B8: a wider key', 'POST', `/apis/${GROUP}/v1/ownedaccesskeys`, ours('OwnedAccessKey', { scope: WIDER })],
    ['B8: a key of another user', 'POST', `/apis/${GROUP}/v1/ownedaccesskeys`, ours('OwnedAccessKey', { user: 'root' })],
    ['B8: a wider token', 'POST', `/apis/${GROUP}/v1/directclusterendpointtokens`, ours('DirectClusterEndpointToken', { cluster: 'c', scope: WIDER })],
  ]),
  ...([{ roles: [{ role: 'no-such-role' }] }, { roles: [{ role: 'agent', projects: ['p'] }] }, { clusters: [{ cluster: 'x' }] }, { spaces: [{ project: 'p', space: 's' }] }, { virtualClusters: [{ project: 'p', virtualCluster: 'v' }] }] satisfies readonly Scope[]).map((scope) =>
    under(scope, null, [['B9', 'GET', POD], ['B9', 'DELETE', POD], ['B9', 'GET', '/api/v1/secrets']]),
  ),
  under({ rules: [{ verbs: ['list', 'watch'], resources: [{ resources: ['pods'], resourceNames: ['mine'] }] }] }, ['GET', '/api/v1/namespaces/a/pods?fieldSelector=metadata.name=mine'], ['fieldSelector=metadata.name=theirs&fieldSelector=metadata.name=mine', 'fieldSelector=&fieldSelector=metadata.name=mine', 'fieldSelector=metadata.name!=mine', 'fieldSelector=spec.metadata.name=mine', 'field%53elector=metadata.name%21%3Dmine'].map((query): Row => ['B10', 'GET', `/api/v1/namespaces/a/pods?${query}`]),
  ),
]
