// What the log contains of a request, and what never (contract 8.5, 3.5).
import { crc32 } from 'node:zlib'
import { expect, test } from 'vitest'
import { formatAccessKey } from '../../../src/domain/accesskey/access-key.ts'
import type { RequestInfo } from '../../../src/domain/scope/request-info.ts'
import { logRefusal, logWrite, requestLogFields } from '../../../src/gateway/request-log-fields.ts'
import { ERRORS } from '../../../src/gateway/errors.ts'
import { parseRequest } from '../../../src/gateway/request/parse.ts'
import { refuse } from '../../../src/serving/http/answer.ts'
import { accessKey, viewOf } from '../../support/key-builder.ts'
import { memoryLog } from '../../support/memory-log.ts'

const KEY = formatAccessKey(new Uint8Array(32).fill(7), crc32)
const PLACE = '/api/v1/namespaces/shop/pods'

/** The log fields of a GET behind the route of the management cluster. */
function fieldsOfGet(rest: string) {
  const reading = parseRequest('GET', { kind: 'Management' }, rest)
  const asked: RequestInfo | null = reading.ok ? reading.request.attributes : null
  return requestLogFields({ method: 'GET', target: 'Management', caller: null, asked })
}

test.each([
  { name: 'a request that is not parsed', rest: '/api//v1', fields: {} },
  { name: 'a non-resource path', rest: `/openapi/${KEY}`, fields: { verb: 'get' } },
  {
    name: 'a list of all namespaces',
    rest: '/api/v1/pods',
    fields: { verb: 'list', resource: 'pods' },
  },
  {
    name: 'a watch',
    rest: `${PLACE}?watch=1`,
    fields: { verb: 'watch', resource: 'pods', namespace: 'shop' },
  },
  {
    name: 'a subresource',
    rest: `${PLACE}/web-0/log`,
    fields: { verb: 'get', resource: 'pods/log', namespace: 'shop', name: 'web-0' },
  },
  {
    name: 'an object of a group, with a colon in its name',
    rest: '/apis/rbac.authorization.k8s.io/v1/clusterroles/system:node',
    fields: {
      verb: 'get',
      group: 'rbac.authorization.k8s.io',
      resource: 'clusterroles',
      name: 'system:node',
    },
  },
])('the log fields of $name are exactly those that the RequestInfo has', ({ rest, fields }) => {
  expect(fieldsOfGet(rest)).toEqual({ method: 'GET', target: 'Management', ...fields })
})

test.each([KEY, 'f'.repeat(32), 'correct-horse-battery-staple_too', `sha256:${'0a'.repeat(32)}`])(
  'the log fields never contain what may be a key, anywhere in the path: %s (3.5)',
  (secret) => {
    const places = [
      `/apis/${secret}/v1/things`,
      `/api/v1/${secret}`,
      `/api/v1/namespaces/${secret}/pods`,
      `${PLACE}/${secret}`,
      `${PLACE}/web-0/${secret}`,
      `${PLACE}?fieldSelector=metadata.name%3D${secret}`,
      `${PLACE}?labelSelector=key%3D${secret}`,
    ]
    const texts = places.map((rest) => JSON.stringify(fieldsOfGet(rest)))
    expect(texts.filter((text) => text.includes(secret) || !text.includes('"verb"'))).toEqual([])
  },
)

test('the log fields name the caller by the name and ID of the key', () => {
  const key = viewOf({ metadata: { name: 'ci' }, spec: { key: KEY } })
  const caller = { key, identity: { user: 'ada', groups: [] }, scope: null, expiresMs: null }
  const fields = requestLogFields({ method: 'PUT', target: 'Other', caller, asked: null })
  expect(fields).toEqual({
    method: 'PUT',
    target: 'Other',
    keyName: 'ci',
    keyID: key.digest?.slice(0, 16),
  })
})

test.each([
  { name: 'an authenticated caller', isKnown: true, least: 'info', levels: ['info'] },
  { name: 'an unknown caller', isKnown: false, least: 'info', levels: [] },
  { name: 'an unknown caller, at level debug', isKnown: false, least: 'debug', levels: ['debug'] },
] as const)('the refusal of $name is logged at $levels', ({ isKnown, least, levels }) => {
  const { log, lines } = memoryLog(least)
  const key = viewOf({ metadata: { name: 'ci' }, spec: { key: KEY } })
  const caller = { key, identity: { user: 'ada', groups: [] }, scope: null, expiresMs: null }
  const known = isKnown ? caller : null
  const request = { method: 'GET', target: 'Other', caller: known, asked: null }
  logRefusal(log, request, refuse(ERRORS.noSuchApi))
  expect(lines.map(({ level }) => level)).toEqual(levels)
  for (const { fields } of lines)
    expect(fields).toMatchObject({ status: 404, refusal: 'noSuchApi' })
})

const KEYS = '/apis/management.platform.sh/v1/ownedaccesskeys'
const PASTED = `pak_${'0'.repeat(43)}_abcdef`
const CALLER = {
  key: accessKey({ name: 'ci', digest: '0123456789abcdef'.repeat(4) }),
  identity: { user: 'ada', groups: [] },
  scope: null,
  expiresMs: null,
}
const named = (...names: readonly string[]) =>
  names.map((name) => ({ metadata: { name }, spec: { key: 'secret' } }))

interface Row {
  readonly name: string
  readonly method: string
  readonly path: string
  readonly status?: number
  readonly body?: object
  readonly refusal?: string
  readonly says: object
}

// biome-ignore format: a table
const ROWS: readonly Row[] = [
  { name: 'a change', method: 'PATCH', path: `${KEYS}/a`, says: { verb: 'patch', name: 'a', status: 200 } },
  { name: 'a key with a generated name', method: 'POST', path: KEYS, status: 201, body: named('key-x7k2p')[0] ?? {}, says: { verb: 'create', names: ['key-x7k2p'], status: 201 } },
  { name: 'a deletion of a collection', method: 'DELETE', path: KEYS, body: { items: named('a', 'b') }, says: { verb: 'deletecollection', names: ['a', 'b'], status: 200 } },
  { name: 'a dry run', method: 'DELETE', path: `${KEYS}/a?dryRun=All`, says: { verb: 'delete', name: 'a', dryRun: true, status: 200 } },
  { name: 'a refusal of the API server', method: 'POST', path: KEYS, status: 403, body: { kind: 'Status', metadata: {} }, says: { verb: 'create', status: 403 } },
  { name: 'a refusal of the gateway, by its name', method: 'POST', path: KEYS, status: 403, body: { kind: 'Status', metadata: {} }, refusal: 'fieldRefused', says: { verb: 'create', refusal: 'fieldRefused', status: 403 } },
  { name: 'a secret in place of a name', method: 'DELETE', path: `${KEYS}/${PASTED}`, status: 404, says: { verb: 'delete', name: '<hidden>', status: 404 } },
]

test.each(ROWS)('$name', ({ method, path, status = 200, body = {}, refusal, says }) => {
  const { log, lines } = memoryLog()
  const reading = parseRequest(method, { kind: 'Management' }, path)
  if (!reading.ok) throw new Error(reading.answer.body.toString())
  logWrite(log, reading.request, CALLER, {
    status,
    headers: {},
    body: Buffer.from(JSON.stringify(body)),
    ...(refusal === undefined ? {} : { refusal }),
  })
  expect(lines).toEqual([
    {
      level: 'info',
      sentence: 'self-service write',
      fields: {
        method,
        target: 'Management',
        group: 'management.platform.sh',
        resource: 'ownedaccesskeys',
        keyName: 'ci',
        keyID: '0123456789abcdef',
        user: 'ada',
        ...says,
      },
    },
  ])
})

test.each(['GET', 'HEAD'])('%s is no write', (method) => {
  const { log, lines } = memoryLog()
  const reading = parseRequest(method, { kind: 'Management' }, KEYS)
  if (!reading.ok) throw new Error(reading.answer.body.toString())
  logWrite(log, reading.request, CALLER, { status: 200, headers: {}, body: Buffer.from('{}') })
  expect(lines).toEqual([])
})
