// Manifests of Config and DirectClusterEndpointToken, and changes of stored objects (contract 1.4). The schema of
// Config checks types only: the operator reports all other faults at once (contract 6.5).

import { type Accepted, type Change, KEY, type Refused, type RefusedChange } from './case-runner.ts'
import { largestScope } from './scope-cases.ts'

// biome-ignore format: a table
export const acceptedConfigs: readonly Accepted[] = [
  { name: 'an empty spec', spec: {} },
  { name: 'a cap of 30 days', spec: { auth: { accessKeyMaxTTLSeconds: 2_592_000, loginAccessKeyTTLSeconds: 0 } } },
  {
    name: 'negative numbers',
    spec: { auth: { accessKeyMaxTTLSeconds: -1 }, audit: { maxSize: -5, dataStoreTTL: -1 } },
  },
  { name: 'an unknown audit level', spec: { audit: { level: 9, policy: { rules: [{ level: 'Everything' }] } } } },
  {
    name: 'an unknown position',
    spec: { uiSettings: { primaryColor: 'red', navBarButtons: [{ position: 'Left' }] } },
  },
  { name: 'a namespace prefix without its dash', spec: { projectNamespacePrefix: 'p' } },
  {
    name: 'an invalid duration and regular expression',
    spec: { secretStore: { syncInterval: 'soon' }, auth: { groupsFilters: ['('] } },
  },
  {
    name: 'two connectors with the same id',
    spec: { auth: { connectors: [{ id: 'a', saml: {} }, { id: 'a', oidc: { clientSecret: '$PLATFORM_CONFIG_A' } }] } },
  },
  {
    name: 'maps with any names: headers, prices and quantities',
    spec: {
      auth: { customHttpHeaders: { 'X-Frame-Options': 'DENY' } },
      imageBuilder: { resources: { limits: { cpu: 2, memory: '1Gi' }, requests: { cpu: '500m' } } },
      costControl: { settings: { averageCPUPricePerNode: { price: 3.5, of: { any: ['shape'] } } } },
    },
  },
]

// biome-ignore format: a table
export const refusedConfigs: readonly Refused[] = [
  { name: 'no spec', field: 'spec', says: /Required value/ },
  {
    name: 'a number in quotes', spec: { auth: { accessKeyMaxTTLSeconds: '60' } },
    field: 'spec.auth.accessKeyMaxTTLSeconds', says: /must be of type integer/,
  },
  {
    name: 'a number that is not whole', spec: { audit: { maxAge: 1.5 } },
    field: 'spec.audit.maxAge', says: /must be of type int64/,
  },
  {
    name: 'a string for a list', spec: { auth: { groupsFilters: 'a' } },
    field: 'spec.auth.groupsFilters', says: /must be of type array/,
  },
  {
    name: 'a quantity that is neither a number nor a string', spec: { imageBuilder: { resources: { limits: { cpu: true } } } },
    field: 'spec.imageBuilder.resources.limits.cpu', says: /must be of type integer,string|int-or-string|type/,
  },
  {
    name: 'an unknown field',
    spec: { auth: { accessKeyMaxTtlSeconds: 60 } }, code: 400,
    says: /unknown field "spec.auth.accessKeyMaxTtlSeconds"/,
  },
]

// biome-ignore format: a table
export const acceptedTokens: readonly Accepted[] = [
  { name: 'an empty spec', spec: {} },
  { name: 'ttl 0', spec: { ttl: 0 } },
  { name: 'the longest ttl', spec: { ttl: 2_147_483_647 } },
  { name: 'ttl 1e3', spec: '{"ttl":1e3}', stored: { ttl: 1000 } },
]

// biome-ignore format: a table
export const refusedTokens: readonly Refused[] = [
  { name: 'no spec', field: 'spec', says: /Required value/ },
  { name: 'spec null', spec: 'null', field: 'spec', says: /Required value/ },
  { name: 'ttl -1', spec: { ttl: -1 }, field: 'spec.ttl', says: /greater than or equal to 0/ },
  {
    name: 'ttl 2147483648', spec: { ttl: 2_147_483_648 },
    field: 'spec.ttl', says: /less than or equal to 2147483647/,
  },
  { name: 'ttl "60"', spec: { ttl: '60' }, field: 'spec.ttl', says: /must be of type integer/ },
  { name: 'a field of access keys', spec: { user: 'jane' }, code: 400, says: /unknown field "spec.user"/ },
]

const OTHER_KEY = 'another-key-of-32-characters-or-more'
const keyFixed = /key is immutable once it is set; keep it, or create another object/
const typeFixed = /type is immutable; keep it, or create another key/
const specFixed = /spec is immutable; keep it, or delete this token and create another/

const key = { key: KEY.secret, user: 'jane' }
const label = { metadata: { labels: { a: 'b' } } }
const largest = { scope: largestScope }
const scope = { projects: [{ project: 'web' }] }

// biome-ignore format: a table
export const keyChanges: readonly Change[] = [
  { name: 'a first key', from: { user: 'jane' }, patch: { spec: { key: KEY.secret } }, to: key },
  {
    name: 'a key in place of an empty one', from: { user: 'jane', key: '' },
    patch: { spec: { key: KEY.secret } }, to: key,
  },
  { name: 'the same key', from: key, patch: { spec: { key: KEY.secret, ttl: 5 } }, to: { ...key, ttl: 5 } },
  {
    name: 'an empty type in place of none', from: { user: 'jane' },
    patch: { spec: { type: '' } }, to: { user: 'jane', type: '' },
  },
  { name: 'another user', from: key, patch: { spec: { user: 'joe' } }, to: { ...key, user: 'joe' } },
  { name: 'a label, with the largest scope', from: largest, patch: label, to: largest },
  { name: 'a scope', from: key, patch: { spec: { scope } }, to: { ...key, scope } },
  {
    name: 'ttl and disabled', from: key,
    patch: { spec: { ttl: 0, disabled: true } }, to: { ...key, ttl: 0, disabled: true },
  },
]

// biome-ignore format: a table
export const refusedKeyChanges: readonly RefusedChange[] = [
  { name: 'another key', from: key, patch: { spec: { key: OTHER_KEY } }, says: keyFixed },
  { name: 'removal of the key', from: key, patch: { spec: { key: null } }, says: keyFixed },
  { name: 'an empty key', from: key, patch: { spec: { key: '' } }, says: keyFixed },
  {
    name: 'a digest in place of the key', from: key,
    patch: { spec: { key: `sha256:${'0'.repeat(64)}` } }, says: keyFixed,
  },
  {
    name: 'another key by JSON patch', from: key,
    patch: [{ op: 'replace', path: '/spec/key', value: OTHER_KEY }], says: keyFixed,
  },
  { name: 'removal of the key by JSON patch', from: key, patch: [{ op: 'remove', path: '/spec/key' }], says: keyFixed },
  {
    name: 'a first type', from: { user: 'jane' },
    patch: { spec: { type: 'User' } }, says: typeFixed,
  },
  { name: 'another type', from: { type: 'User' }, patch: { spec: { type: 'Login' } }, says: typeFixed },
  { name: 'removal of the type', from: { type: 'User' }, patch: { spec: { type: null } }, says: typeFixed },
  { name: 'an empty type in place of another', from: { type: 'User' }, patch: { spec: { type: '' } }, says: typeFixed },
  { name: 'spec null', from: key, patch: { spec: null }, says: /Required value/ },
  {
    name: 'removal of spec by JSON patch', from: key,
    patch: [{ op: 'remove', path: '/spec' }], says: /Required value/,
  },
  {
    name: 'an empty spec by JSON patch', from: key,
    patch: [{ op: 'replace', path: '/spec', value: {} }], says: keyFixed,
  },
  { name: 'a team beside the user', from: key, patch: { spec: { team: 'web' } }, says: /keep one/ },
  {
    name: 'an empty scope in place of another', from: { ...key, scope },
    patch: { spec: { scope: { projects: null } } }, says: /leave scope out for the owner's full rights/,
  },
]

// biome-ignore format: a table
export const tokenChanges: readonly Change[] = [
  { name: 'a label', from: { scope }, patch: label, to: { scope } },
  { name: 'a label, with the largest scope', from: largest, patch: label, to: largest },
]

// biome-ignore format: a table
export const refusedTokenChanges: readonly RefusedChange[] = [
  { name: 'another ttl', from: { ttl: 60 }, patch: { spec: { ttl: 61 } }, says: specFixed },
  { name: 'a first ttl', from: {}, patch: { spec: { ttl: 60 } }, says: specFixed },
  { name: 'removal of the ttl', from: { ttl: 60 }, patch: { spec: { ttl: null } }, says: specFixed },
  {
    name: 'another scope', from: { scope },
    patch: { spec: { scope: { clusters: [{ cluster: '*' }] } } }, says: specFixed,
  },
  { name: 'removal of the scope', from: { scope }, patch: { spec: { scope: null } }, says: specFixed },
  { name: 'spec null', from: { scope }, patch: { spec: null }, says: /Required value/ },
]
