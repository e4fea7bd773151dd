// Changes of stored objects (contract 1.4).

import type { Change, RefusedChange } from './manifest.ts'
import { largestScope } from './scopes.ts'
import { KEY } from './secrets.ts'

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
