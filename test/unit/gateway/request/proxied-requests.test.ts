// Requests to whatever is behind `proxy`: the tail passes byte by byte (contract 11.6).
import { describe, expect, test } from 'vitest'
import { parseRequest } from '../../../../src/gateway/request/parse.ts'

const TARGET = { kind: 'Management' } as const
const SERVICE = '/api/v1/namespaces/a/services/https:web:443/proxy'
const SENT_SERVICE = '/api/v1/namespaces/a/services/https%3Aweb%3A443/proxy'

const parsed = (method: string, rest: string) => {
  const result = parseRequest(method, TARGET, rest)
  if (!result.ok) return result.answer.refusal
  const { attributes, path, search, query } = result.request
  return { attributes, sent: search === '' ? path : `${path}?${search}`, query }
}

describe('the tail behind proxy', () => {
  test.each([
    '',
    '/',
    '/x/y/',
    '//x',
    '/../../secrets',
    '/%2e%2e/x',
    '/a%2fb%00',
    '/%ff%5A',
    '/proxy/x',
    '?a=1&a=2;b',
    '/x?%zz&watch=1',
    '/;x?fieldSelector=metadata.name%3Dx',
  ])('%s is sent as it came (11.6)', (tail) => {
    expect(parsed('GET', `${SERVICE}${tail}`)).toEqual({
      attributes: {
        target: TARGET,
        verb: 'get',
        group: '',
        version: 'v1',
        namespace: 'a',
        resource: 'services',
        name: 'https:web:443',
        subresource: 'proxy',
      },
      sent: `${SENT_SERVICE}${tail}`,
      query: [],
    })
  })

  test.each([
    { method: 'POST', verb: 'create' },
    { method: 'HEAD', verb: 'get' },
    { method: 'DELETE', verb: 'delete' },
    { method: 'OPTIONS', verb: '' },
    { method: 'PROPFIND', verb: '' },
  ])('$method is verb "$verb" (11.6)', ({ method, verb }) => {
    expect(parsed(method, `${SERVICE}/x`)).toMatchObject({ attributes: { verb } })
  })

  test.each([
    { path: '/api/v1/nodes/n/proxy/metrics', resource: 'nodes', name: 'n', namespace: '' },
    {
      path: '/apis/x.io/v1/namespaces/a/things/t/proxy/..',
      resource: 'things',
      name: 't',
      namespace: 'a',
    },
  ])('the tail of $path belongs to $resource (11.6)', ({ path, ...attributes }) => {
    expect(parsed('GET', path)).toMatchObject({
      attributes: { ...attributes, subresource: 'proxy' },
    })
  })
})

test.each([
  { name: 'an escape before proxy', rest: '/api/v1/namespaces/a/services/%62/proxy/..' },
  { name: 'an escaped proxy', rest: '/api/v1/namespaces/a/services/b/pro%78y/..' },
  { name: 'a dot segment before proxy', rest: '/api/v1/namespaces/../services/b/proxy/..' },
  { name: 'a resource named proxy', rest: '/api/v1/namespaces/a/proxy/..' },
  { name: 'a namespace named proxy', rest: '/api/v1/namespaces/proxy/..' },
  { name: 'the status of a namespace', rest: '/api/v1/namespaces/a/status/proxy/..' },
  { name: 'a deeper proxy', rest: '/api/v1/namespaces/a/pods/b/log/proxy/..' },
  { name: 'a broken escape behind proxy', rest: '/api/v1/namespaces/a/services/b/proxy/../%4' },
  { name: 'the legacy verb', rest: '/api/v1/proxy/nodes/n/..' },
])('the whole path with $name follows the usual rules (11.6)', ({ rest }) => {
  expect(['dotSegment', 'legacyVerb']).toContain(parsed('GET', rest))
})

test.each(['%', '%4', '/a%zz', '/%4/x', '/%0g?x=%zz'])(
  'the tail %j has an escape that the API server does not read either (11.6)',
  (tail) => {
    expect(parsed('GET', `${SERVICE}/x${tail}`)).toBe('pathEncoding')
  },
)

test('elsewhere other methods are refused (11.6)', () => {
  expect(parsed('OPTIONS', '/api/v1/pods')).toBe('method')
})
