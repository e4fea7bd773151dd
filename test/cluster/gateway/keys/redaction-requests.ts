// Requests whose answers could show hidden fields: reads in every form, and writes that return the object or an error
// about it (contract 12.4, threats C8).
import { expect } from 'vitest'
import { API_VERSION } from '../../../../src/api/names.ts'
import { plantCanary } from '../../../support/canary.ts'
import { LAST_APPLIED } from '../../../support/installed-control-plane.ts'
import {
  APPLY_PATCH,
  JSON_PATCH,
  METADATA,
  METADATA_LIST,
  type KeyCaller,
  type ParsedAnswer,
  type RequestParts,
  type ResponseObject,
  TABLE,
} from './self-service-gateway.ts'

/** The planted secrets, which no answer may contain. */
export const secrets = {
  key: plantCanary('key'),
  connectorData: plantCanary('connectorData'),
  idToken: plantCanary('idToken'),
  accessToken: plantCanary('accessToken'),
  refreshToken: plantCanary('refreshToken'),
  clientSecret: plantCanary('clientSecret'),
}
/** The name of the key and of the token. */
export const NAME = 'guarded'
/** The Config in force. */
export const SETTINGS = 'platform-manager-config'
/** A spec with every hidden field. */
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
/** The last-applied annotation with secrets; without the key, which a policy refuses there. */
export const LAST_APPLIED_VALUE = JSON.stringify({
  metadata: { annotations: { note: `of ${secrets.idToken.secret}` } },
  spec: { ...SECRET_SPEC, key: undefined },
})

/** A request, and the code for a caller with all rights. */
export interface RedactionCase extends RequestParts {
  readonly name: string
  readonly method?: string
  readonly path: string
  readonly code?: number
}

const INCLUDES = ['None', 'Metadata', 'Object'] as const
const YAML = 'application/yaml'

/** Every way to read objects of a resource. */
export const readsOf = (plural: string): readonly RedactionCase[] => {
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
    ...INCLUDES.flatMap((include): readonly RedactionCase[] => [
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
const apply = `${KEY}?fieldManager=caller&force=true`
/** Metadata for a change without effect. */
export const LABELS = { labels: { caller: 'x' } }
const applied = {
  apiVersion: API_VERSION,
  kind: 'OwnedAccessKey',
  metadata: { name: NAME, ...LABELS },
}
const patch = (name: string, operations: readonly object[], code = 422): RedactionCase => ({
  name,
  method: 'PATCH',
  path: KEY,
  type: JSON_PATCH,
  body: operations,
  code,
})
const merge = (name: string, body: object, code = 200, query = ''): RedactionCase => ({
  name,
  method: 'PATCH',
  path: KEY + query,
  body,
  code,
})
const TEST_KEY = { op: 'test', path: '/spec/key', value: secrets.key.secret }

/** Every write whose answer has the key, or an error about it. */
export const WRITES: readonly RedactionCase[] = [
  merge('merge patch', { metadata: LABELS }),
  merge('merge patch, dry run', { metadata: LABELS }, 200, '?dryRun=All'),
  merge('merge patch of an unknown field', { spec: { unknown: 1 } }, 422),
  merge('merge patch of a wrong type', { spec: { ttl: 'x' } }, 422),
  merge('merge patch of another secret', { spec: { key: `x${secrets.key.secret}` } }, 422),
  {
    ...merge('merge patch, as a Table', { metadata: LABELS }, 200, '?includeObject=Object'),
    accept: TABLE,
  },
  { ...merge('merge patch, as YAML', { metadata: LABELS }), accept: YAML },
  patch('JSON patch', [{ op: 'add', path: '/metadata/annotations/a', value: 'b' }], 200),
  patch('JSON patch of an unknown field', [{ op: 'add', path: '/spec/unknown', value: 1 }]),
  patch('JSON patch: copy', [{ op: 'copy', from: '/spec/key', path: '/spec/displayName' }]),
  patch('JSON patch: copy of the spec', [
    { op: 'copy', from: '/spec', path: '/metadata/annotations/a' },
  ]),
  patch('JSON patch: copy after a test', [
    TEST_KEY,
    { op: 'copy', from: '/spec/key', path: '/spec/description' },
  ]),
  patch('JSON patch: move', [{ op: 'move', from: '/spec/key', path: '/spec/displayName' }]),
  patch('JSON patch: move of login data', [
    { op: 'move', from: '/spec/oidcLogin', path: '/spec/identity/x' },
  ]),
  patch('JSON patch: test', [TEST_KEY]),
  patch('JSON patch: test of a wrong value', [{ ...TEST_KEY, value: 'x' }]),
  patch('JSON patch: test of the parent', [{ op: 'test', path: '/spec', value: SECRET_SPEC }]),
  patch('JSON patch: test of the object', [{ op: 'test', path: '', value: {} }]),
  patch('JSON patch: test of a nested field', [
    { op: 'test', path: '/spec/oidcLogin/idToken', value: 'x' },
  ]),
  patch('JSON patch: test of a part of the identity', [
    { op: 'test', path: '/spec/identity', value: {} },
  ]),
  patch('JSON patch: test of an annotation with secrets', [
    {
      op: 'test',
      path: `/metadata/annotations/${LAST_APPLIED.replace('/', '~1')}`,
      value: LAST_APPLIED_VALUE,
    },
  ]),
  patch('JSON patch: failing test of a visible field', [
    { op: 'test', path: '/spec/user', value: 'x' },
  ]),
  { name: 'apply', method: 'PATCH', path: apply, type: APPLY_PATCH, body: applied },
  {
    name: 'apply, dry run',
    method: 'PATCH',
    path: `${apply}&dryRun=All`,
    type: APPLY_PATCH,
    body: applied,
  },
  {
    name: 'apply of an unknown field',
    method: 'PATCH',
    path: apply,
    type: APPLY_PATCH,
    body: { ...applied, spec: { unknown: 1 } },
    code: 500,
  },
  {
    name: 'create of the same name',
    method: 'POST',
    path: 'ownedaccesskeys',
    body: applied,
    code: 409,
  },
  {
    name: 'create, dry run',
    method: 'POST',
    path: 'ownedaccesskeys?dryRun=All',
    body: { spec: { key: secrets.key.secret } },
    code: 201,
  },
  {
    name: 'create with an invalid secret',
    method: 'POST',
    path: 'ownedaccesskeys',
    body: { spec: { key: `${secrets.key.secret}!` } },
    code: 422,
  },
  {
    name: 'create with an unknown field',
    method: 'POST',
    path: 'ownedaccesskeys',
    body: { spec: { key: secrets.key.secret, unknown: 1 } },
    code: 400,
  },
  { name: 'delete, dry run', method: 'DELETE', path: `${KEY}?dryRun=All` },
  { name: 'deletecollection, dry run', method: 'DELETE', path: 'ownedaccesskeys?dryRun=All' },
  {
    name: 'delete of an old resourceVersion',
    method: 'DELETE',
    path: KEY,
    body: { preconditions: { resourceVersion: '1' } },
    code: 409,
  },
]

/** Every way to read the token, and writes whose answer has it. */
export const TOKEN_REQUESTS: readonly RedactionCase[] = [
  ...readsOf('directclusterendpointtokens'),
  {
    name: 'merge patch',
    method: 'PATCH',
    path: `directclusterendpointtokens/${NAME}`,
    body: { metadata: LABELS },
  },
  {
    name: 'delete, dry run',
    method: 'DELETE',
    path: `directclusterendpointtokens/${NAME}?dryRun=All`,
  },
  {
    name: 'deletecollection, dry run',
    method: 'DELETE',
    path: 'directclusterendpointtokens?dryRun=All',
  },
]

/** Writes to the Config, and their codes for a user who may write it. */
export const CONFIG_WRITES = [
  { name: 'merge patch', method: 'PATCH', body: { metadata: LABELS }, code: 200 },
  {
    name: 'merge patch of an unknown field',
    method: 'PATCH',
    body: { spec: { x: 1 } },
    code: 422,
  },
  {
    name: 'JSON patch: test',
    method: 'PATCH',
    type: JSON_PATCH,
    body: [{ op: 'test', path: '/spec/auth', value: {} }],
    code: 422,
  },
  {
    name: 'JSON patch: copy',
    method: 'PATCH',
    type: JSON_PATCH,
    body: [{ op: 'copy', from: '/spec/auth', path: '/metadata/annotations/a' }],
    code: 422,
  },
  { name: 'delete, dry run', method: 'DELETE', body: { dryRun: ['All'] }, code: 200 },
]

/** Whether an answer reveals to a caller without rights that the object exists. */
export function revealsObject(
  { path, type }: RedactionCase,
  { code, text }: ParsedAnswer,
): boolean {
  const isOne = /^[a-z]+\/[a-z]/.test(path)
  // An apply of a hidden object is a 409: it would create the object if there were none.
  const isApply = type === APPLY_PATCH && !path.includes('/status')
  return isOne ? code !== (isApply ? 409 : 404) : code !== 200 || text.includes(NAME)
}

/** The callers, and access to the Config past the gateway. */
export interface ConfigAccess {
  /** A cluster admin, and a user who may not change the Config. */
  readonly callers: Readonly<Record<'admin' | 'other', KeyCaller>>
  readonly config: (method: 'GET' | 'PATCH', body?: object) => Promise<ResponseObject>
  /** @throws Error when an answer holds a secret */
  readonly expectNoSecret: (answer: ParsedAnswer) => void
}

/** The stored Config at the end, and a part that it must have. */
export interface MovedConfig {
  readonly found: object
  readonly wanted: object
}

/**
 * JSON patches that move entries of a list and test hidden fields in them (12.4, X4): right and wrong guesses are
 * refused alike, and a redacted value that is written back restores the secret.
 */
export async function moveConfigEntries({
  callers,
  config,
  expectNoSecret,
}: ConfigAccess): Promise<MovedConfig> {
  const { secret } = secrets.clientSecret
  const connector = (id: string, clientSecret: string): object => ({
    id,
    oidc: { clientId: id, clientSecret },
  })
  const list = '/spec/auth/connectors'
  const connectors = [connector('one', `${secret}-1`), connector('two', `${secret}-2`)]
  await config('PATCH', { spec: { auth: { connectors } } })
  const patched = (by: 'admin' | 'other', ...body: readonly object[]): Promise<ParsedAnswer> =>
    callers[by].ask('PATCH', `configs/${SETTINGS}`, { type: JSON_PATCH, body })
  const guess = (place: string, value: string): object => ({
    op: 'test',
    path: `${list}/${place}/oidc/clientSecret`,
    value,
  })
  const remove = { op: 'remove', path: `${list}/0` }
  const add = { op: 'add', path: `${list}/0`, value: connector('new', 'x') }
  for (const value of [`${secret}-2`, 'wrong'])
    for (const operations of [
      [remove, guess('0', value)],
      [add, guess('2', value)],
      [guess('-1', value)],
      [guess('01', value)],
      [remove, add, guess('0', value)],
    ]) {
      const answers = await Promise.all(
        (['admin', 'other'] as const).map((by) => patched(by, ...operations)),
      )
      expect({ operations, codes: answers.map(({ code }) => code) }).toEqual({
        operations,
        codes: [422, 403],
      })
      answers.forEach(expectNoSecret)
    }
  const { json } = await callers.admin.ask('GET', `configs/${SETTINGS}`)
  const shown = (json.spec as { auth: { connectors: readonly object[] } }).auth.connectors
  const back = { op: 'replace', path: `${list}/0`, value: { ...shown[1], id: 'back' } }
  expect((await patched('admin', add)).code).toBe(200)
  expect((await patched('admin', remove, remove, back)).code).toBe(200)
  expect((await patched('admin', { ...back, op: 'add' })).code).toBe(422)
  const { spec } = await config('GET')
  await config('PATCH', { spec: { auth: { connectors: null } } })
  return { found: spec, wanted: { auth: { connectors: [{ ...connectors[1], id: 'back' }] } } }
}
