// Which headers pass from a client to the API server and back (contract 13.1).
import { describe, expect, test } from 'vitest'
import { clientHeaders } from '../../../../src/gateway/proxy/response-headers.ts'
import { headersRefusal, upstreamHeaders } from '../../../../src/gateway/proxy/request-headers.ts'
import { callTo } from '../request-builder.ts'

const messageOfRefusal = (rawHeaders: readonly string[]): string | null => {
  const answer = headersRefusal(rawHeaders)
  return answer && (JSON.parse(answer.body.toString()) as { readonly message: string }).message
}

const ID = callTo('/').id

const sent = (headers: Readonly<Record<string, string>>) =>
  upstreamHeaders(callTo('/', { headers, remoteAddress: '192.0.2.7' }))

describe('the headers of a request to the API server', () => {
  const PASSING = {
    accept: 'application/json;as=Table',
    'accept-encoding': 'gzip',
    'content-type': 'application/json',
    'if-match': '"x"',
    'if-none-match': '"x"',
    'if-modified-since': 'Sat, 21 Nov 2026 10:00:00 GMT',
    'user-agent': 'kubectl/v1.36.3',
    'kubectl-command': 'kubectl get',
    'kubectl-session': 'a-b-c',
    origin: 'https://console.example',
  }
  test('include these unchanged, with the address of the client', () => {
    expect(sent(PASSING)).toEqual({ ...PASSING, 'x-forwarded-for': '192.0.2.7', 'audit-id': ID })
  })

  // biome-ignore format: a table
  test.each([
    'authorization', 'cookie', 'proxy-authorization', 'connection', 'keep-alive', 'proxy-connection', 'te', 'trailer',
    'transfer-encoding', 'upgrade', 'http2-settings', 'content-length', 'host', 'expect', 'via', 'forwarded',
    'x-forwarded-for', 'x-forwarded-host', 'x-forwarded-proto', 'x-forwarded-uri', 'x-real-ip', 'x-original-url', 'x-rewrite-url',
    'x-http-method-override', 'x-http-method', 'x-method-override', 'x-remote-user', 'x-remote-group', 'x-remote-uid',
    'x-remote-extra-scopes', 'x-remote_user', 'impersonate-user', 'audit-id', 'x-request-id', 'content-encoding', 'range',
    'sec-websocket-protocol', 'baggage', 'b3', 'x-b3-traceid', 'x-cloud-trace-context', 'traceresponse', 'x-anything',
  ])('do not include %s (A2, A6)', (name) => {
    expect(sent({ [name]: 'x' })).toEqual({ 'x-forwarded-for': '192.0.2.7', 'audit-id': ID })
  })

  test.each(['accept', 'Accept', ' accept ', 'close, Accept ,te', 'ACCEPT,origin'])(
    'do not include headers named in Connection: %j (A2)',
    (connection) => {
      expect(sent({ connection, accept: 'a', 'user-agent': 'b' })).toEqual({
        'audit-id': ID,
        'user-agent': 'b',
        'x-forwarded-for': '192.0.2.7',
      })
    },
  )

  test('have no address of a client that has disconnected', () => {
    expect(upstreamHeaders(callTo('/', { remoteAddress: '' }))).toEqual({ 'audit-id': ID })
  })
})

describe('a request that is refused for its headers', () => {
  // biome-ignore format: a table
  const SPELLINGS = [
    'Impersonate-User', 'impersonate-user', 'IMPERSONATE-USER', 'iMpErSoNaTe-UsEr', 'Impersonate-Group', 'Impersonate-Uid',
    'Impersonate-Extra-scopes', 'Impersonate-Extra-platform.sh%2faccess-key', 'Impersonate-Extra-%46oo', 'Impersonate_User',
    'impersonate_user', 'Impersonate_Group', 'Impersonate-', 'Impersonate', 'X-Impersonate-User', ' Impersonate-User',
    'Impersonate-User ', '\tImpersonate-User', 'Impersonate.User', 'Impersonate%2dUser', '%49mpersonate-User',
    'Imperson%61te-User', '%69%6d%70%65%72%73%6f%6e%61%74%65-user', 'impersonate%zzuser', 'Impersonate-Anything',
  ]
  test.each(SPELLINGS)('%j (A1)', (name) => {
    for (const value of ['root', '', ' ']) {
      const raw = ['Accept', 'a', name, value, 'User-Agent', 'b']
      expect(messageOfRefusal(raw)).toBe('headers that impersonate are not accepted here')
    }
  })

  test.each(['Authorization', 'Content-Type', 'Content-Length', 'Host', 'Origin'])(
    '%s twice (A6, A11)',
    (name) => {
      expect(messageOfRefusal([name, 'a', 'Accept', 'b'])).toBeNull()
      expect(messageOfRefusal([name, 'a', 'Accept', 'b', name.toUpperCase(), 'a'])).toBe(
        `header ${name.toLowerCase()} may be given once`,
      )
    },
  )

  // biome-ignore format: a table
  test.each([
    [['chunked'], true], [['Chunked'], true], [[' chunked\t'], true],
    [['chunked\u00a0'], false], [['\u00a0chunked'], false], [['chunked\u0085'], false], [['chunked\v'], false], [['chunked\n'], false],
    [['xchunked'], false], [['"chunked"'], false], [['chunked;q=1'], false], [['gzip'], false], [['identity'], false], [[''], false],
    [['gzip, chunked'], false], [['chunked, chunked'], false], [['chunked', 'chunked'], false], [['chunked', 'identity'], false],
  ] as const)('a body in transfer-encodings %j: %s (A11, X3)', (values, isTaken) => {
    const raw = values.flatMap((value) => ['Transfer-Encoding', value])
    expect(messageOfRefusal(raw)).toBe(isTaken ? null : 'header transfer-encoding may be chunked, once')
  })

  test('is refused by header names, not by values', () => {
    expect(
      messageOfRefusal(['User-Agent', 'Impersonate-User', 'Accept', 'authorization']),
    ).toBeNull()
  })
})

describe('the headers of an answer to the client', () => {
  const PASSING = {
    'content-type': 'application/json',
    'content-encoding': 'gzip',
    'cache-control': 'no-cache, private',
    etag: '"x"',
    'last-modified': 'Sat, 21 Nov 2026 10:00:00 GMT',
    vary: 'Accept',
    location: '/api/v1/x',
    'retry-after': '1',
    date: 'Sat, 21 Nov 2026 10:00:00 GMT',
    warning: ['299 - "a"', '299 - "b"'],
    'x-kubernetes-pf-flowschema-uid': 'u',
    'x-kubernetes-pf-prioritylevel-uid': 'v',
  }
  test('include these unchanged', () => {
    expect(clientHeaders(PASSING)).toEqual(PASSING)
  })

  // biome-ignore format: a table
  test.each([
    'www-authenticate', 'set-cookie', 'connection', 'keep-alive', 'transfer-encoding', 'upgrade', 'trailer', 'proxy-authenticate',
    'content-length', 'server', 'access-control-allow-origin', 'strict-transport-security', 'alt-svc', 'x-remote-user', 'audit-id', 'x-request-id', 'x-anything',
  ])('do not include %s', (name) => {
    expect(clientHeaders({ [name]: 'x' })).toEqual({})
  })
})
