// The doors through which what is hidden might come out (contract 12.4, threats C8).
import { API_VERSION } from '../../../../src/api/names.ts'
import { plantCanary } from '../../../support/canary.ts'
import { LAST_APPLIED } from '../../../support/installed-control-plane.ts'
import {
  APPLY_PATCH,
  JSON_PATCH,
  METADATA,
  METADATA_LIST,
  type Sending,
  TABLE,
} from './self-service-clients.ts'

/** What is looked for in every answer. */
export const secrets = {
  key: plantCanary('key'),
  connectorData: plantCanary('connectorData'),
  idToken: plantCanary('idToken'),
  accessToken: plantCanary('accessToken'),
  refreshToken: plantCanary('refreshToken'),
  clientSecret: plantCanary('clientSecret'),
}
/** One key and one token of that name. */
export const NAME = 'guarded'
/** The Config in force. */
export const SETTINGS = 'platform-manager-config'
/** Everything that a key may have and nobody is shown. */
export const SECRET_SPEC = {
  user: 'ada',
  key: secrets.key.secret,
  identity: { username: 'ada', connectorData: secrets.connectorData.secret },
  oidcLogin: {
    idToken: secrets.idToken.secret,
    accessToken: secrets.accessToken.secret,
    refreshToken: secrets.refreshToken.secret,
  },
}
/** As client-side apply would have left it; the policy on it looks for the key alone. */
export const APPLIED = JSON.stringify({
  metadata: { annotations: { note: `of ${secrets.idToken.secret}` } },
  spec: { ...SECRET_SPEC, key: undefined },
})

/** What is done, and the code for who may. */
export interface Door extends Sending {
  readonly name: string
  readonly method?: string
  readonly path: string
  readonly code?: number
}

const INCLUDES = ['None', 'Metadata', 'Object'] as const
const YAML = 'application/yaml'

/** Every way to read objects of a kind. */
export const readsOf = (plural: string): readonly Door[] => {
  const one = `${plural}/${plural.startsWith('config') ? SETTINGS : NAME}`
  const watch = `${plural}?watch=true&timeoutSeconds=1`
  const initial =
    'sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan'
  return [
    { name: 'get', path: one },
    { name: 'get of status', path: `${one}/status` },
    { name: 'get as YAML', path: one, accept: YAML },
    { name: 'get of metadata', path: one, accept: METADATA },
    { name: 'list', path: plural },
    { name: 'list by pages', path: `${plural}?limit=1` },
    { name: 'list from the cache', path: `${plural}?resourceVersion=0` },
    { name: 'list as YAML', path: plural, accept: YAML },
    { name: 'list of metadata', path: plural, accept: METADATA_LIST },
    { name: 'watch', path: watch },
    { name: 'watch from the beginning', path: `${watch}&${initial}` },
    { name: 'watch of metadata', path: watch, accept: METADATA },
    ...INCLUDES.flatMap((include): readonly Door[] => [
      { name: `Table of one, ${include}`, path: `${one}?includeObject=${include}`, accept: TABLE },
      {
        name: `Table of all, ${include}`,
        path: `${plural}?includeObject=${include}`,
        accept: TABLE,
      },
      {
        name: `watch of a Table, ${include}`,
        path: `${watch}&includeObject=${include}`,
        accept: TABLE,
      },
    ]),
  ]
}

/** The path of the key. */
export const KEY = `ownedaccesskeys/${NAME}`
const apply = `${KEY}?fieldManager=hand&force=true`
/** A change that matters to nobody. */
export const labels = { labels: { hand: 'x' } }
const applied = {
  apiVersion: API_VERSION,
  kind: 'OwnedAccessKey',
  metadata: { name: NAME, ...labels },
}
const patch = (name: string, operations: readonly object[], code = 422): Door => ({
  name,
  method: 'PATCH',
  path: KEY,
  type: JSON_PATCH,
  body: operations,
  code,
})
const merge = (name: string, body: object, code = 200, query = ''): Door => ({
  name,
  method: 'PATCH',
  path: KEY + query,
  body,
  code,
})
const SAME = { op: 'test', path: '/spec/key', value: secrets.key.secret }

/** Every way to get an echo of the key, or an error about it. */
export const WRITES: readonly Door[] = [
  merge('merge patch', { metadata: labels }),
  merge('merge patch, tried', { metadata: labels }, 200, '?dryRun=All'),
  merge('merge patch of what is unknown', { spec: { unknown: 1 } }, 422),
  merge('merge patch of a wrong type', { spec: { ttl: 'x' } }, 422),
  merge('merge patch of another key', { spec: { key: `x${secrets.key.secret}` } }, 422),
  {
    ...merge('merge patch, as a Table', { metadata: labels }, 200, '?includeObject=Object'),
    accept: TABLE,
  },
  { ...merge('merge patch, as YAML', { metadata: labels }), accept: YAML },
  patch('JSON patch', [{ op: 'add', path: '/metadata/annotations/a', value: 'b' }], 200),
  patch('JSON patch of what is unknown', [{ op: 'add', path: '/spec/unknown', value: 1 }]),
  patch('copy', [{ op: 'copy', from: '/spec/key', path: '/spec/displayName' }]),
  patch('copy of all', [{ op: 'copy', from: '/spec', path: '/metadata/annotations/a' }]),
  patch('copy after another', [SAME, { op: 'copy', from: '/spec/key', path: '/spec/description' }]),
  patch('move', [{ op: 'move', from: '/spec/key', path: '/spec/displayName' }]),
  patch('move of sign-on data', [
    { op: 'move', from: '/spec/oidcLogin', path: '/spec/identity/x' },
  ]),
  patch('test', [SAME]),
  patch('test of another value', [{ ...SAME, value: 'x' }]),
  patch('test above', [{ op: 'test', path: '/spec', value: SECRET_SPEC }]),
  patch('test of all', [{ op: 'test', path: '', value: {} }]),
  patch('test below', [{ op: 'test', path: '/spec/oidcLogin/idToken', value: 'x' }]),
  patch('test in other letters', [{ op: 'test', path: '/spec/identity', value: {} }]),
  patch('test of an annotation with secrets', [
    {
      op: 'test',
      path: `/metadata/annotations/${LAST_APPLIED.replace('/', '~1')}`,
      value: APPLIED,
    },
  ]),
  patch('a test that fails', [{ op: 'test', path: '/spec/user', value: 'x' }]),
  { name: 'apply', method: 'PATCH', path: apply, type: APPLY_PATCH, body: applied },
  {
    name: 'apply, tried',
    method: 'PATCH',
    path: `${apply}&dryRun=All`,
    type: APPLY_PATCH,
    body: applied,
  },
  {
    name: 'apply of what is unknown',
    method: 'PATCH',
    path: apply,
    type: APPLY_PATCH,
    body: { ...applied, spec: { unknown: 1 } },
    code: 500,
  },
  { name: 'create of the same', method: 'POST', path: 'ownedaccesskeys', body: applied, code: 409 },
  {
    name: 'create, tried',
    method: 'POST',
    path: 'ownedaccesskeys?dryRun=All',
    body: { spec: { key: secrets.key.secret } },
    code: 201,
  },
  {
    name: 'create with what is no key',
    method: 'POST',
    path: 'ownedaccesskeys',
    body: { spec: { key: `${secrets.key.secret}!` } },
    code: 422,
  },
  {
    name: 'create with what is unknown',
    method: 'POST',
    path: 'ownedaccesskeys',
    body: { spec: { key: secrets.key.secret, unknown: 1 } },
    code: 400,
  },
  { name: 'deletion, tried', method: 'DELETE', path: `${KEY}?dryRun=All` },
  { name: 'deletion of all, tried', method: 'DELETE', path: 'ownedaccesskeys?dryRun=All' },
  {
    name: 'deletion of a version that was',
    method: 'DELETE',
    path: KEY,
    body: { preconditions: { resourceVersion: '1' } },
    code: 409,
  },
]
