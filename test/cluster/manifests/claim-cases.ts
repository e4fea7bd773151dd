// Manifests of AccessKeyClaim, and changes of stored ones (contract 28.1, 28.4).
import {
  type Accepted,
  type Change,
  KEY,
  type Refused,
  type RefusedChange,
  times,
} from './case-runner.ts'

const reservedName =
  /begin with system:, platform: or claim: are reserved, in any case of letters; write the name without the prefix/
const reserved =
  /begin with system: or platform: are reserved, in any case of letters; write the name without the prefix/
const ascii = /only visible ASCII characters without spaces may be used/
const oneIdentity =
  /at most one of user, team and subject may be set; keep one and leave the others out/
const keyTtl = /ttl must be at least 600 s, or 0 or left out for 30 days/
const tokenTtl = /ttl must be at least 120 s, or 0 or left out for a day/
const ofKey =
  /\$ begins one of \$\(KEY\), \$\(KEY_ID\).*; write \$\$ for a \$ of your own; \$\(TOKEN\) needs spec.token/
const ofToken =
  /\$ begins one of \$\(TOKEN\), \$\(KEY_ID\).*; \$\(KEY\) is not delivered beside a token/
const noCredential =
  /no entry has the credential; write \$\(KEY\), with spec.token \$\(TOKEN\), or \$\(KUBECONFIG\) where it is to stand/
const noEntry = /write at least one entry, or leave data out for one with the credential/
const entryNames = /names of entries have 1 to 253 characters of A-Z, a-z, 0-9, -, _ and \./
const secretName =
  /this is no name of a Secret; write small letters, digits, - and \., for example deploy-key/
const basicAuth = /has the entry username or password; write one of them/
const dockerConfig = /has the entry \.dockerconfigjson; write it/
const ourLabels =
  /labels with kubernetes.io, k8s.io or management.platform.sh in their name are not/
const ourAnnotations =
  /annotations with kubernetes.io, k8s.io or management.platform.sh in their name are not/
const labelName = /this is no name of a label; write, for example, example.com\/team/
const annotationName = /this is no name of an annotation; write, for example, example.com\/team/
const labelValue =
  /this is no value of a label; use letters, digits, -, _ and \., with a letter or digit at both ends/
const targets =
  /write management, cluster\/<cluster>, project\/<project>\/space\/<space> or project\/<project>\/virtualcluster\/<virtual cluster>/
const emptyScope = /this scope sets nothing; .* or leave scope out for the owner's full rights/

const data = (entries: Readonly<Record<string, string>>) => ({ secret: { data: entries } })
const ANY_TOKEN = { token: {} }
const DOCKER = 'kubernetes.io/dockerconfigjson'
const BASIC = 'kubernetes.io/basic-auth'

/** Every field that a claim can set. */
// biome-ignore format: as in a manifest
const WHOLE = {
  key: {
    displayName: 'Deploy', description: 'Deploys the shop.', subject: 'pipeline:shop', groups: ['deployers'], ttl: 86_400,
    scope: { projects: [{ project: 'shop' }] },
  },
  token: { ttl: 3600, scope: { clusters: [{ cluster: 'eu-1' }] } },
  rotateAfter: 3000,
  overlap: 600,
  suspend: true,
  secret: {
    name: 'deploy-token',
    type: 'Opaque',
    labels: { 'example.com/team': 'shop', 'management.platform.sh/secret-store': 'Push' },
    annotations: { 'management.platform.sh/secret-store-path': 'deploy', note: 'x y' },
    data: { token: '$(TOKEN)', '.env': 'ID=$(KEY_ID)\nUNTIL=$(EXPIRES)\nCOST=5$$\n', url: '$(SERVER) $(CA_DATA)' },
    target: 'project/shop/space/web',
  },
}

// biome-ignore format: a table
export const acceptedClaims: readonly Accepted[] = [
  { name: 'an empty spec', spec: {} },
  { name: 'every field', spec: WHOLE },
  { name: 'empty objects', spec: { key: {}, token: {}, secret: {} } },
  { name: 'empty strings, zeros and false, which mean absent', spec: { key: { user: '', team: '', subject: '', groups: [], displayName: '', description: '', ttl: 0 }, token: { ttl: 0 }, suspend: false, overlap: 0, secret: { name: '', type: '', target: '', labels: {}, annotations: {} } } },
  { name: 'null values, which are dropped', spec: { key: { user: null, ttl: null }, token: null, secret: null }, stored: { key: {} } },
  { name: 'a user beside an empty team', spec: { key: { user: 'jane.doe@example.com', team: '', subject: '' } } },
  { name: 'a team', spec: { key: { team: 'web' } } },
  { name: 'the subject of a claim', spec: { key: { subject: 'claim:shop:deploy' } } },
  { name: 'system: inside a name', spec: { key: { user: 'the-system:admin', groups: ['systems'] } } },
  { name: 'the longest names', spec: { key: { user: 'u'.repeat(253), groups: times(128, (n) => `${n}`.padEnd(253, 'g')) } } },
  { name: 'the shortest lifetimes', spec: { key: { ttl: 600 }, token: { ttl: 120 }, rotateAfter: 300 } },
  { name: 'the longest lifetimes', spec: { key: { ttl: 2_147_483_647 }, token: { ttl: 2_147_483_647 }, rotateAfter: 2_147_483_647, overlap: 2_147_483_647 } },
  { name: 'a dollar alone, doubled', spec: data({ a: '$$', key: '$$$(KEY)$$(KEY)' }) },
  { name: 'a kubeconfig alone', spec: data({ config: '$(KUBECONFIG)' }) },
  { name: 'a kubeconfig of a token', spec: { ...ANY_TOKEN, ...data({ config: '$(KUBECONFIG)' }) } },
  { name: 'lines', spec: data({ '.netrc': 'machine oak.example.com\nlogin x\npassword $(KEY)\n' }) },
  { name: '16 entries of 8 KiB', spec: data(Object.fromEntries(times(16, (n) => [`e${n}`, '$(KEY)'.padEnd(8192, 'x')]))) },
  { name: '16 entries of dollars', spec: data(Object.fromEntries(times(16, (n) => [`e${n}`, `$(KEY)${'$$'.repeat(4000)}`]))) },
  { name: 'an entry with the longest name', spec: data({ ['e'.repeat(253)]: '$(KEY)' }) },
  { name: 'a Secret for registries', spec: { secret: { type: DOCKER, data: { '.dockerconfigjson': '{"auths":{"r":{"password":"$(KEY)"}}}' } } } },
  { name: 'a Secret with a password', spec: { secret: { type: BASIC, data: { username: 'x', password: '$(KEY)' } } } },
  { name: 'a Secret with the longest name', spec: { secret: { name: 's'.repeat(253) } } },
  { name: 'a Secret whose name has dots', spec: { secret: { name: 'a.b-c.d1' } } },
  ...['management', 'cluster/eu-1', 'cluster/eu.west-1', 'project/shop/space/web', 'project/shop/virtualcluster/dev'].map((target) => ({ name: `target ${target}`, spec: { secret: { target } } })),
  { name: 'the longest labels and annotations', spec: { secret: { labels: Object.fromEntries(times(16, (n) => [`${'a'.repeat(253)}/l${n}`, 'v'.repeat(63)])), annotations: Object.fromEntries(times(16, (n) => [`${'a'.repeat(253)}/a${n}`, 'v'.repeat(4096)])) } } },
]

/** Names that nobody can act as. */
// biome-ignore format: a table
const BAD_NAMES = [
  { name: 'a space in it', value: 'jane doe', says: ascii },
  { name: 'a letter beyond ASCII', value: 'jané', says: ascii },
  { name: 'system: before it', value: 'system:admin', says: reserved },
  { name: 'a reserved prefix in other letters', value: 'PlatForm:team:ops', says: reserved },
  { name: '254 characters', value: 'u'.repeat(254), says: /may not be more than 253|Too long/ },
] as const

const inIdentities = (['user', 'team', 'subject'] as const).flatMap((field): readonly Refused[] =>
  BAD_NAMES.map(({ name, value, says }) => ({
    name: `a ${field} with ${name}`,
    spec: { key: { [field]: value } },
    field: `spec.key.${field}`,
    says: says === reserved && field !== 'subject' ? reservedName : says,
  })),
)

const labels = (one: Readonly<Record<string, string>>) => ({ secret: { labels: one } })
const annotations = (one: Readonly<Record<string, string>>) => ({ secret: { annotations: one } })
const named = (name: string) => ({ secret: { name } })
const target = (path: string) => ({ secret: { target: path } })
const typed = (type: string, entries: object) => ({ secret: { type, data: entries } })
const CONFIDENTIAL = KEY.secret

// biome-ignore format: a table
export const refusedClaims: readonly Refused[] = [
  ...inIdentities,
  { name: 'no spec', field: 'spec', says: /Required value/ },
  { name: 'spec null', spec: 'null', field: 'spec', says: /Required value/ },
  { name: 'a user that begins with claim:', spec: { key: { user: 'claim:shop:deploy' } }, field: 'spec.key.user', says: reservedName },
  { name: 'a team that begins with Claim:', spec: { key: { team: 'Claim:ops' } }, field: 'spec.key.team', says: reservedName },
  { name: 'a group with a space', spec: { key: { groups: ['dev', 'o ps'] } }, field: 'spec.key.groups[1]', says: ascii },
  { name: 'an empty group', spec: { key: { groups: [''] } }, field: 'spec.key.groups[0]', says: /and at least one; write the group's name, or leave the entry out/ },
  { name: 'a group that begins with system:', spec: { key: { groups: ['system:masters'] } }, field: 'spec.key.groups[0]', says: reserved },
  { name: '129 groups', spec: { key: { groups: times(129, (n) => `g${n}`) } }, field: 'spec.key.groups', says: /must have at most 128 items/ },
  { name: 'a user and a team', spec: { key: { user: 'jane', team: 'web' } }, field: 'spec.key', says: oneIdentity },
  { name: 'a team and a subject', spec: { key: { team: 'web', subject: 'ci' } }, field: 'spec.key', says: oneIdentity },
  { name: 'a lifetime of 599 s', spec: { key: { ttl: 599 } }, field: 'spec.key.ttl', says: keyTtl },
  { name: 'a lifetime of -1 s', spec: { key: { ttl: -1 } }, field: 'spec.key.ttl', says: /greater than or equal to 0/ },
  { name: 'a lifetime beyond 32 bits', spec: { key: { ttl: 2_147_483_648 } }, field: 'spec.key.ttl', says: /less than or equal to 2147483647/ },
  { name: 'a lifetime in quotes', spec: { key: { ttl: '600' } }, field: 'spec.key.ttl', says: /of type integer/ },
  { name: 'a displayName of 254 characters', spec: { key: { displayName: 'd'.repeat(254) } }, field: 'spec.key.displayName', says: /may not be more than 253/ },
  { name: 'an empty scope', spec: { key: { scope: {} } }, field: 'spec.key.scope', says: emptyScope },
  { name: 'an empty list of projects', spec: { key: { scope: { projects: [] } } }, field: 'spec.key.scope.projects', says: /name at least one project or leave projects out/ },
  { name: 'a token with an empty scope', spec: { token: { scope: {} } }, field: 'spec.token.scope', says: emptyScope },
  { name: 'a token of 119 s', spec: { token: { ttl: 119 } }, field: 'spec.token.ttl', says: tokenTtl },
  { name: 'a token that is true', spec: { token: true }, field: 'spec.token', says: /of type object/ },
  { name: 'the field key of a key', spec: { key: { key: 'x' } }, code: 400, says: /unknown field "spec.key.key"/ },
  { name: 'a type of the key', spec: { key: { type: 'Login' } }, code: 400, says: /unknown field "spec.key.type"/ },
  { name: 'a mistyped field', spec: { rotateafter: 600 }, code: 400, says: /unknown field "spec.rotateafter"/ },
  { name: 'a rotation after 299 s', spec: { rotateAfter: 299 }, field: 'spec.rotateAfter', says: /greater than or equal to 300/ },
  { name: 'a rotation after 0 s', spec: { rotateAfter: 0 }, field: 'spec.rotateAfter', says: /greater than or equal to 300/ },
  { name: 'an overlap of -1 s', spec: { overlap: -1 }, field: 'spec.overlap', says: /greater than or equal to 0/ },
  { name: 'suspend "true"', spec: { suspend: 'true' }, field: 'spec.suspend', says: /of type boolean/ },
  { name: 'an exchange', spec: { exchange: { issuer: 'github' } }, field: 'spec.exchange', says: /exchange is not served by this version; leave it out/ },
  { name: 'a Secret name in capitals', spec: named('Deploy'), field: 'spec.secret.name', says: secretName },
  { name: 'a Secret name that ends in a dot', spec: named('deploy.'), field: 'spec.secret.name', says: secretName },
  { name: 'a path as a Secret name', spec: named('../other'), field: 'spec.secret.name', says: secretName },
  { name: 'a Secret name of 254 characters', spec: named('s'.repeat(254)), field: 'spec.secret.name', says: /may not be more than 253/ },
  ...['kubernetes.io/service-account-token', 'helm.sh/release.v1', 'management.platform.sh/signing-key', 'kubernetes.io/tls', 'bootstrap.kubernetes.io/token', 'opaque'].map((type) => ({ name: `type ${type}`, spec: { secret: { type } }, field: 'spec.secret.type', says: /supported values: .*"Opaque", "kubernetes.io\/basic-auth", "kubernetes.io\/dockerconfigjson"/ })),
  { name: 'basic-auth without data', spec: { secret: { type: BASIC } }, field: 'spec.secret.data', says: basicAuth },
  { name: 'basic-auth without its entries', spec: typed(BASIC, { token: '$(KEY)' }), field: 'spec.secret.data', says: basicAuth },
  { name: 'dockerconfigjson without its entry', spec: typed(DOCKER, { 'config.json': '$(KEY)' }), field: 'spec.secret.data', says: dockerConfig },
  { name: 'data without an entry', spec: data({}), field: 'spec.secret.data', says: noEntry },
  { name: 'data without the credential', spec: data({ user: CONFIDENTIAL, id: '$(KEY_ID)' }), field: 'spec.secret.data', says: noCredential },
  { name: 'data with the credential in doubled dollars alone', spec: data({ key: '$$(KEY)' }), field: 'spec.secret.data', says: noCredential },
  { name: '17 entries', spec: data(Object.fromEntries(times(17, (n) => [`e${n}`, '$(KEY)']))), field: 'spec.secret.data', says: /must have at most 16 items|Too many/ },
  { name: 'an entry above 8 KiB', spec: data({ key: `$(KEY)${CONFIDENTIAL}`.padEnd(8193, 'x') }), field: 'spec.secret.data.key', says: /may not be more than 8192|Too long/ },
  { name: 'an entry with a slash in its name', spec: data({ 'a/b': '$(KEY)' }), field: 'spec.secret.data', says: entryNames },
  { name: 'an entry without a name', spec: data({ '': '$(KEY)' }), field: 'spec.secret.data', says: entryNames },
  { name: 'an entry whose name has 254 characters', spec: data({ ['e'.repeat(254)]: '$(KEY)' }), field: 'spec.secret.data', says: entryNames },
  { name: 'a shell variable', spec: data({ key: '$(KEY)', a: `${CONFIDENTIAL} $HOME` }), field: 'spec.secret', says: ofKey },
  { name: 'a variable that is not known', spec: data({ key: '$(KEY)', a: '$(PASSWORD)' }), field: 'spec.secret', says: ofKey },
  { name: 'a variable in small letters', spec: data({ key: '$(KEY)', a: '$(key)' }), field: 'spec.secret', says: ofKey },
  { name: 'a variable in braces', spec: data({ key: '$(KEY)', a: '${KEY}' }), field: 'spec.secret', says: ofKey },
  { name: 'a dollar at the end', spec: data({ key: '$(KEY)$' }), field: 'spec.secret', says: ofKey },
  { name: 'a dollar in a second line', spec: data({ key: '$(KEY)\n$' }), field: 'spec.secret', says: ofKey },
  { name: 'a variable that does not end', spec: data({ key: '$(KEY)', a: '$(KEY' }), field: 'spec.secret', says: ofKey },
  { name: 'the token without spec.token', spec: data({ key: '$(TOKEN)' }), field: 'spec.secret', says: ofKey },
  { name: 'the key beside a token', spec: { ...ANY_TOKEN, ...data({ key: '$(KEY)' }) }, field: 'spec.secret', says: ofToken },
  { name: 'a dollar beside a token', spec: { ...ANY_TOKEN, ...data({ token: '$(TOKEN)', a: '$1' }) }, field: 'spec.secret', says: ofToken },
  { name: 'a number as an entry', spec: { secret: { data: { key: 1 } } }, field: 'spec.secret.data.key', says: /of type string/ },
  ...['management.platform.sh/claim', 'app.kubernetes.io/managed-by', 'kustomize.toolkit.k8s.io/name', 'argocd.kubernetes.io.example.com/x', 'management.platform.sh/secret-store-path'].map((label) => ({ name: `label ${label}`, spec: labels({ [label]: 'x' }), field: 'spec.secret.labels', says: ourLabels })),
  ...['management.platform.sh/key-id', 'kubectl.kubernetes.io/last-applied-configuration', 'management.platform.sh/secret-store'].map((one) => ({ name: `annotation ${one}`, spec: annotations({ [one]: 'x' }), field: 'spec.secret.annotations', says: ourAnnotations })),
  { name: 'a label without a name', spec: labels({ '': 'x' }), field: 'spec.secret.labels', says: labelName },
  { name: 'a label with a space in its name', spec: labels({ 'a b': 'x' }), field: 'spec.secret.labels', says: labelName },
  { name: 'a label with two slashes', spec: labels({ 'a/b/c': 'x' }), field: 'spec.secret.labels', says: labelName },
  { name: 'a label with a space in its value', spec: labels({ a: 'x y' }), field: 'spec.secret.labels[a]', says: labelValue },
  { name: 'a label that ends in a dot', spec: labels({ a: 'x.' }), field: 'spec.secret.labels[a]', says: labelValue },
  { name: '17 labels', spec: labels(Object.fromEntries(times(17, (n) => [`l${n}`, 'x']))), field: 'spec.secret.labels', says: /must have at most 16 items|Too many/ },
  { name: 'an annotation with a space in its name', spec: annotations({ 'a b': 'x' }), field: 'spec.secret.annotations', says: annotationName },
  { name: 'an annotation above 4 KiB', spec: annotations({ a: 'x'.repeat(4097) }), field: 'spec.secret.annotations.a', says: /may not be more than 4096|Too long/ },
  ...['kubernetes', 'cluster', 'cluster/', 'cluster/EU', 'cluster/a/b', 'project/shop', 'project/shop/space', 'project/shop/pod/web', 'management/x', '/management', 'cluster/../x'].map((path) => ({ name: `target ${path}`, spec: target(path), field: 'spec.secret.target', says: targets })),
  { name: 'a target of 801 characters', spec: target(`cluster/${'a'.repeat(793)}`), field: 'spec.secret.target', says: /may not be more than 800|Too long/ },
]

const nameFixed = /secret.name is immutable; keep it, or create another claim for the other Secret/
const typeFixed =
  /secret.type is immutable; keep it, or create another claim with the type that is wanted/
const own = { secret: { name: 'own' } }
const basic = typed(BASIC, { password: '$(KEY)' })

// biome-ignore format: a table
export const claimChanges: readonly Change[] = [
  { name: 'the user', from: { key: { user: 'ada' } }, patch: { spec: { key: { user: 'bob' } } }, to: { key: { user: 'bob' } } },
  { name: 'a user to a team', from: { key: { user: 'ada' } }, patch: { spec: { key: { user: null, team: 'ops' } } }, to: { key: { team: 'ops' } } },
  { name: 'a key to a token', from: {}, patch: { spec: { token: {} } }, to: { token: {} } },
  { name: 'an empty Secret name in place of none', from: {}, patch: { spec: { secret: { name: '' } } }, to: { secret: { name: '' } } },
  { name: 'the whole Secret without a name to none', from: { secret: { data: { a: '$(KEY)' } } }, patch: { spec: { secret: null } }, to: {} },
  { name: 'Opaque in place of none', from: {}, patch: { spec: { secret: { type: 'Opaque' } } }, to: { secret: { type: 'Opaque' } } },
  { name: 'none in place of Opaque', from: { secret: { type: 'Opaque' } }, patch: { spec: { secret: null } }, to: {} },
  { name: 'the data of a named Secret', from: own, patch: { spec: { secret: { data: { a: '$(KEY)' } } } }, to: { secret: { name: 'own', data: { a: '$(KEY)' } } } },
  { name: 'suspend', from: WHOLE, patch: { spec: { suspend: false } }, to: { ...WHOLE, suspend: false } },
  { name: 'the last of the groups', from: { key: { groups: times(128, (n) => `g${n}`) } }, patch: [{ op: 'replace', path: '/spec/key/groups/127', value: 'ops' }], to: { key: { groups: times(128, (n) => `g${n}`).with(127, 'ops') } } },
]

// biome-ignore format: a table
export const refusedClaimChanges: readonly RefusedChange[] = [
  { name: 'another Secret name', from: own, patch: { spec: { secret: { name: 'other' } } }, says: nameFixed },
  { name: 'a first Secret name', from: {}, patch: { spec: own }, says: nameFixed },
  { name: 'removal of the Secret name', from: own, patch: { spec: { secret: { name: null } } }, says: nameFixed },
  { name: 'an empty Secret name', from: own, patch: { spec: { secret: { name: '' } } }, says: nameFixed },
  { name: 'removal of the Secret', from: own, patch: { spec: { secret: null } }, says: nameFixed },
  { name: 'another type', from: {}, patch: { spec: basic }, says: typeFixed },
  { name: 'the type to none', from: basic, patch: { spec: { secret: null } }, says: typeFixed },
  { name: 'an empty spec by JSON patch', from: basic, patch: [{ op: 'replace', path: '/spec', value: {} }], says: typeFixed },
  { name: 'spec null', from: own, patch: { spec: null }, says: /Required value/ },
  { name: 'a second identity', from: { key: { user: 'ada' } }, patch: { spec: { key: { team: 'ops' } } }, says: oneIdentity },
  { name: 'a token under data of a key', from: { secret: { data: { a: '$(KEY)' } } }, patch: { spec: { token: {} } }, says: ofToken },
]
