// Config: the schema lets faults in, for the operator reports them all at once (contract 6.5). It
// refuses what is of another type, and unknown fields under strict validation.

import type { Accepted, Change, Refused, RefusedChange } from './case-runner.ts'
import { KEY } from './planted-secrets.ts'
import { largestScope } from './scope-cases.ts'

// biome-ignore format: a table
export const acceptedConfigs: readonly Accepted[] = [
  { name: 'nothing at all', spec: {} },
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
  { name: 'a prefix without its end', spec: { projectNamespacePrefix: 'p' } },
  {
    name: 'a duration and a regular expression that are none',
    spec: { secretStore: { syncInterval: 'soon' }, auth: { groupsFilters: ['('] } },
  },
  {
    name: 'connectors with one id',
    spec: { auth: { connectors: [{ id: 'a', saml: {} }, { id: 'a', oidc: { clientSecret: '$PLATFORM_CONFIG_A' } }] } },
  },
  {
    name: 'headers, prices and quantities of any name',
    spec: {
      auth: { customHttpHeaders: { 'X-Frame-Options': '$PLATFORM_CONFIG_FRAME' } },
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
    name: 'a quantity that is neither', spec: { imageBuilder: { resources: { limits: { cpu: true } } } },
    field: 'spec.imageBuilder.resources.limits.cpu', says: /must be of type integer,string|int-or-string|type/,
  },
  {
    name: 'an unknown field',
    spec: { auth: { accessKeyMaxTtlSeconds: 60 } }, code: 400,
    says: /unknown field "spec.auth.accessKeyMaxTtlSeconds"/,
  },
]

// DirectClusterEndpointToken beside its scope: what is taken and what is refused (contract 1.4).

// biome-ignore format: a table
export const acceptedTokens: readonly Accepted[] = [
  { name: 'nothing at all', spec: {} },
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

// Changes of stored objects (contract 1.4).

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
  { name: 'a key where none was', from: { user: 'jane' }, patch: { spec: { key: KEY.secret } }, to: key },
  {
    name: 'a key where it was empty', from: { user: 'jane', key: '' },
    patch: { spec: { key: KEY.secret } }, to: key,
  },
  { name: 'the same key', from: key, patch: { spec: { key: KEY.secret, ttl: 5 } }, to: { ...key, ttl: 5 } },
  {
    name: 'an empty type where none was', from: { user: 'jane' },
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
  { name: 'no key any more', from: key, patch: { spec: { key: null } }, says: keyFixed },
  { name: 'an empty key', from: key, patch: { spec: { key: '' } }, says: keyFixed },
  {
    name: 'a digest instead', from: key,
    patch: { spec: { key: `sha256:${'0'.repeat(64)}` } }, says: keyFixed,
  },
  {
    name: 'another key by JSON patch', from: key,
    patch: [{ op: 'replace', path: '/spec/key', value: OTHER_KEY }], says: keyFixed,
  },
  { name: 'no key by JSON patch', from: key, patch: [{ op: 'remove', path: '/spec/key' }], says: keyFixed },
  {
    name: 'a type where none was', from: { user: 'jane' },
    patch: { spec: { type: 'User' } }, says: typeFixed,
  },
  { name: 'another type', from: { type: 'User' }, patch: { spec: { type: 'Login' } }, says: typeFixed },
  { name: 'no type any more', from: { type: 'User' }, patch: { spec: { type: null } }, says: typeFixed },
  { name: 'an empty type instead', from: { type: 'User' }, patch: { spec: { type: '' } }, says: typeFixed },
  { name: 'spec null', from: key, patch: { spec: null }, says: /Required value/ },
  {
    name: 'spec removed by JSON patch', from: key,
    patch: [{ op: 'remove', path: '/spec' }], says: /Required value/,
  },
  {
    name: 'an empty spec by JSON patch', from: key,
    patch: [{ op: 'replace', path: '/spec', value: {} }], says: keyFixed,
  },
  { name: 'a team beside the user', from: key, patch: { spec: { team: 'web' } }, says: /keep one/ },
  {
    name: 'a scope that is emptied', from: { ...key, scope },
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
  { name: 'a ttl where none was', from: {}, patch: { spec: { ttl: 60 } }, says: specFixed },
  { name: 'no ttl any more', from: { ttl: 60 }, patch: { spec: { ttl: null } }, says: specFixed },
  {
    name: 'another scope', from: { scope },
    patch: { spec: { scope: { clusters: [{ cluster: '*' }] } } }, says: specFixed,
  },
  { name: 'no scope any more', from: { scope }, patch: { spec: { scope: null } }, says: specFixed },
  { name: 'spec null', from: { scope }, patch: { spec: null }, says: /Required value/ },
]
