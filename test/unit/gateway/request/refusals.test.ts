// The parser refuses bytes that two parsers could read in two ways (contract 11.6).
import { describe, expect, test } from 'vitest'
import { requestInfoLine } from './request-reader.ts'

const refusals = (because: string, sent: readonly string[]) =>
  sent.map((one) => ({ sent: one, is: `400 ${because}` }))

const EMPTY = 'the path must have no empty segment'
const DOTS = 'the path must have no dot segment'
const CHARS =
  'a segment of the path must hold no slash, backslash, percent sign or control character'
const ENCODING = 'the path must be percent-encoded UTF-8'
const BEGINNING = 'the path must begin with one slash'
const BYTES = 'the request-target must be visible ASCII without a fragment'
const LEGACY = 'the path must name a resource: a watch is a GET with watch=true'
const QUERY = 'the query must be percent-encoded UTF-8'
const SEMICOLON = 'the query must have no semicolon: write %3B'

// biome-ignore format: a table
describe('paths (11.6, B1, B2)', () => {
  test.each([
    ...refusals(EMPTY, ['//', '//api/v1/pods', '/api//v1/pods', '/api/v1//pods', '/api/v1/namespaces//secrets', '/api/v1/pods//', '/api/v1/pods///', '//evil.example/api', '///', '/version//', '//metrics', '/api/v1/namespaces/a//']),
    ...refusals(DOTS, ['/.', '/..', '/./api/v1/pods', '/../api/v1/pods', '/api/v1/namespaces/a/../b/secrets', '/api/v1/namespaces/a/%2e%2e/b/secrets', '/api/v1/namespaces/a/%2E%2e/b', '/api/v1/namespaces/a/.%2e/b', '/api/v1/pods/.', '/api/v1/pods/./',
      '/api/v1/pods/%2e', '/api/v1/..', '/api/v1/namespaces/a/services/b/%70roxy/..']),
    ...refusals(CHARS, ['/api/v1/namespaces/a%2fsecrets', '/api/v1/secrets%2Fs1', '/%2fapi/v1', '/%2f', '/api/v1/..%2fb', '/api/v1/pods/a%5cb', '/api/v1/pods/a\\b', '/\\evil.example/x', '/api/v1/namespaces/a\\..\\b', '/api/v1/..%5c', '/api/v1/pods/%5c',
      '/api/v1/pods/a%25b', '/api/v1/pods/%252e%252e', '/api/v1/pods/%252f', '/api/v1/pods/%2525', '/api/v1/pods/a%00', '/api/v1/%00', '/api/v1/pods/a%09', '/api/v1/pods/a%0a', '/api/v1/pods/a%0d%0aHost:%20b', '/api/v1/pods/%1b', '/api/v1/pods/%7f',
      '/api/v1/pods/%c2%80', '/api/v1/pods/%c2%9f', '/version%00', '/healthz%2f']),
    ...refusals(ENCODING, ['/api/v1/pods/%', '/api/v1/pods/%4', '/api/v1/pods/%zz', '/api/v1/pods/%u0041', '/api/v1/pods/%ff', '/api/v1/pods/%c3', '/api/v1/pods/%c3%28', '/api/v1/pods/%c0%af', '/api/v1/pods/%c1%9c', '/api/v1/pods/%e0%80%af', '/api/v1/pods/%ed%a0%80',
      '/api/v1/pods/%f4%90%80%80', '/api/v1/pods/%f8%88%80%80%80', '/%', '/api/v1/pods/%c3/%a9']),
    ...refusals(BEGINNING, ['api/v1/pods', 'http://evil.example/api/v1/pods', 'https://evil.example/', '*', ':443/api', '@evil.example/', 'x/api/v1/pods', '.', '\\api', '%2fapi/v1/pods', '-x', '&a=b']),
    ...refusals(BYTES, ['/api/v1/pods/a b', '/api/v1/pods/a\tb', '/api/v1/pods/a\r\nHost: b', '/api/v1/pods/a\nb', '/api/v1/pods/a\0', '/api/v1/pods/\x7f', '/api/v1/pods/é', '/api/v1/pods/\xc3\xa9', '/api/v1/pods/日', '/api/v1/pods#a', '/api/v1/pods/a#', '#', '/#',
      '/api/v1/pods?a#b', '/api/v1/pods?watch=1#', '/api/v1/pods?a=é', '/api/v1/pods?a=b c', '/api/v1/pods?a=\x80']),
    ...refusals(LEGACY, ['/api/v1/watch', '/api/v1/watch/', '/api/v1/watch/pods', '/api/v1/watch/namespaces/a/pods/x', '/api/v1/proxy', '/api/v1/proxy/nodes/n', '/api/v1/%77atch/pods', '/api/v1/pro%78y/namespaces/a/pods/x', '/apis/apps/v1/watch/deployments',
      '/apis/apps/v1/proxy/x', '/apis/apps/v1/watch', '/apis/management.platform.sh/v1/watch/ownedaccesskeys']),
  ])('$sent: $is', ({ sent, is }) => expect(requestInfoLine(`GET ${sent}`)).toBe(is))
})

// biome-ignore format: a table
describe('queries (11.6, B4, B10)', () => {
  const once = (name: string) => `parameter ${JSON.stringify(name)} must be given once`
  test.each([
    ...refusals(QUERY, ['%', 'a=%', 'a=%4', 'a=%zz', 'watch=%zz', '%zz=1', 'a=%ff', 'a=%c3%28', 'a=%c0%af', 'a=%ed%a0%80', 'watch=1&%', '%=', 'a=b&c=%u0041']),
    ...refusals(SEMICOLON, [';', 'a;b', 'a=b;c=d', 'watch=0;watch=1', 'a=b&;', 'watch=1;', 'a=b&watch;=1']),
    ...['watch=0&watch=1', 'watch&watch', 'watch=1&watch=1', 'watch=1&%77atch=1', 'watch=1&a=b&watch=', 'w%61tch=&watc%68'].flatMap((sent) => refusals(once('watch'), [sent])),
    ...['fieldSelector', 'labelSelector', 'limit', 'continue', 'resourceVersion', 'resourceVersionMatch', 'timeoutSeconds', 'allowWatchBookmarks', 'sendInitialEvents', 'fieldManager', 'fieldValidation', 'force', 'propagationPolicy', 'gracePeriodSeconds',
      'orphanDependents', 'pretty', 'timeout', 'container', 'follow', 'shardSelector', 'uid', 'unknown', '__proto__', '']
      .flatMap((name) => refusals(once(name), [`${name}=a&${name}=b`])),
    ...refusals('the query must have at most 1000 parameters', [Array.from({ length: 1001 }, (_, at) => `a${at}`).join('&')]),
  ])('$sent: $is', ({ sent, is }) => expect(requestInfoLine(`GET /api/v1/pods?${sent}`)).toBe(is))
})

// biome-ignore format: a table
test.each([
  { sent: '/audit/events?user=a&user=b', is: 'get /audit/events' },
  { sent: '/audit/events?%75ser=a&user=b', is: 'get /audit/events' },
  ...refusals('parameter "user" must be given once', ['/audit/events/?user=a&user=b', '/audit/event?user=a&user=b', '/api/v1/namespaces/audit/events?user=a&user=b']),
  ...refusals(SEMICOLON, ['/audit/events?a;b']),
])('the gateway alone reads the filters of the audit log, and says itself which is repeated: $sent: $is (22.4)', ({ sent, is }) => {
  expect(requestInfoLine(`GET ${sent}`)).toBe(is)
})

test('a parameter of that path in a connected cluster is not repeated (11.6)', () => {
  const east = { kind: 'Cluster', cluster: 'east' } as const
  expect(requestInfoLine('GET /audit/events?user=a&user=b', east)).toMatch(/must be given once$/)
})

// biome-ignore format: a table
describe('methods (B5)', () => {
  test.each([
    'OPTIONS', 'TRACE', 'CONNECT', 'QUERY', 'PROPFIND', 'LIST', 'WATCH', 'PROXY', 'APPLY', 'CREATE', 'UPDATE', 'DELETECOLLECTION', 'get', 'Get', 'post', 'GET2', 'PATCH,GET', 'constructor', '__proto__',
  ])('%s', (method) => {
    expect(requestInfoLine(`${method} /api/v1/pods`)).toBe('405 the method must be one of GET, HEAD, POST, PUT, PATCH, DELETE')
  })
})
