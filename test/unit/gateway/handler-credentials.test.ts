// Requests with a credential: routes, expiry headers, request IDs (contract 9.1, 13.1, 13.2; threats A1, A8, B2, B11).
import { describe, expect, test } from 'vitest'
import { keyIdOf } from '../../../src/domain/accesskey/access-key.ts'
import { BROKEN, CALLER, ENDING, EXPIRES, asked, gateway, withoutIds } from './handler-builder.ts'
import { answersIn } from './listening-server.ts'

describe('a request with a credential', () => {
  const GOOD = 'Authorization: Bearer good\r\n'

  test.each([
    { path: '/kubernetes/management/api/v1/pods', rest: '/api/v1/pods', verb: 'list' },
    { path: '/kubernetes/management', rest: '/', verb: 'get' },
    { path: '/kubernetes/management?a', rest: '/?a=', verb: 'get' },
  ])('to $path reaches the API (9.1)', async ({ path, rest, verb }) => {
    const { text, counted } = await asked(`GET ${path}`, GOOD)
    expect(text).toMatch(/^HTTP\/1\.1 403 /)
    expect(text).toContain(`ada asks for ${rest}\r\n`)
    expect(counted).toEqual([`Management ${verb} 403`])
  })

  test('keeps its path to the API as it was sent (9.1, 11.6)', async () => {
    const { answers, counted } = await asked('GET /kubernetes/management/%2e%2e//x', GOOD)
    expect(answers).toMatchObject([{ code: 400 }])
    expect(answers[0]?.body).toContain('the path must have no dot segment')
    expect(counted).toEqual(['Management GET 400'])
  })

  test.each([
    '/',
    '/api',
    '/kubernetes',
    '/kubernetes/managementx/api',
    '/kubernetes/Management/api',
    '/kubernetes/%6danagement/api',
    '//kubernetes/management/api',
    '/kubernetes//management/api',
    '/x/../kubernetes/management/api',
    'https://127.0.0.1/kubernetes/management/api',
    '/kubernetes/cluster',
    '/kubernetes/project/p/spaces/s/api',
    '/metrics',
    '/version/',
    '/constructor',
  ])('to %s reaches no API (9.1; threats B2, B11)', async (path) => {
    const { answers, counted } = await asked(`GET ${path}`, GOOD)
    expect(answers).toMatchObject([{ code: 404 }])
    expect(counted).toEqual(['Other GET 404'])
  })

  test.each([
    { path: '/kubernetes/cluster/c/api', counts: 'Cluster get 404' },
    { path: '/kubernetes/cluster//api', counts: 'Cluster get 404' },
    { path: '/kubernetes/project/p/space/s/api', counts: 'ProjectSpace get 404' },
    {
      path: '/kubernetes/project/p/virtualcluster/v/api',
      counts: 'ProjectVirtualCluster get 404',
    },
  ])('to $path leads to an unknown target (9.1, 9.5; threats B2)', async ({ path, counts }) => {
    const { answers, counted } = await asked(`GET ${path}`, GOOD)
    expect(answers).toMatchObject([{ code: 404 }])
    expect(answers[0]?.body).toContain('is unknown here')
    expect(counted).toEqual([counts])
  })

  test.each([
    { name: 'a WebSocket', headers: 'Connection: upgrade\r\nUpgrade: websocket\r\n' },
    { name: 'SPDY', headers: 'Connection: Upgrade\r\nUpgrade: SPDY/3.1\r\n' },
    { name: 'HTTP/2 in the clear', headers: 'Connection: Upgrade\r\nUpgrade: h2c\r\n' },
  ])(
    'for $name of an object is refused, and the server reads no more of its connection (13.2; threats A8)',
    async ({ headers }) => {
      const { say, counted } = await gateway()
      const path = '/kubernetes/management/api/v1/namespaces/a/secrets/b'
      const text = await say(
        `GET ${path} HTTP/1.1\r\nHost: h\r\n${GOOD}${headers}\r\nGET /healthz HTTP/1.1\r\nHost: h\r\n\r\n`,
      )
      expect(answersIn(text).map(({ code }) => code)).toEqual([501])
      expect(counted).toHaveLength(1)
    },
  )

  test('by CONNECT is refused too (threats A8)', async () => {
    const { answers } = await asked('CONNECT 169.254.169.254:80', GOOD)
    expect(answers).toMatchObject([{ code: 501 }])
  })

  test('with an impersonation header is refused before it reaches the API server (13.1; threats A1)', async () => {
    const { answers, counted } = await asked(
      'GET /kubernetes/management/api',
      `${GOOD}Impersonate-User: root\r\n`,
    )
    expect(answers).toMatchObject([{ code: 400 }])
    expect(counted).toEqual(['Other GET 400'])
  })
})

describe('only responses to a valid key have expiry headers (13.5)', () => {
  const GOOD = 'Authorization: Bearer good\r\n'
  const API = 'GET /kubernetes/management'

  test.each([
    { name: 'an API', start: `${API}/api`, code: 403, says: 'ci used' },
    { name: 'the version', start: 'GET /version', code: 200, says: 'ci unused' },
    { name: 'a write to the version', start: 'POST /version', code: 405, says: 'ci unused' },
    { name: 'an unknown path', start: 'GET /x', code: 404, says: 'ci unused' },
    { name: 'CONNECT', start: 'CONNECT a:1', code: 501, says: 'ci unused' },
    { name: 'an internal error', start: `${API}${BROKEN}`, code: 500, says: 'ci unused' },
    {
      name: 'an upgrade',
      start: `${API}/api`,
      more: 'Connection: upgrade\r\nUpgrade: websocket\r\n',
      code: 501,
      says: 'ci unused',
    },
    {
      name: 'an impersonation header',
      start: `${API}/api`,
      more: 'Impersonate-User: root\r\n',
      code: 400,
      says: 'ci unused',
    },
    { name: 'a key that ends during the request (10.2)', start: `${API}${ENDING}`, code: 401 },
  ])('$name: $code', async ({ start, more = '', code, says }) => {
    const { answers, text } = await asked(start, `${GOOD}${more}`)
    expect(text.match(/^HTTP\/1\.1 /gm)).toHaveLength(1)
    expect(answers[0]).toMatchObject({ code })
    expect(answers[0]?.headers[EXPIRES]).toBe(says)
  })

  test.each([
    { name: 'no credential', headers: '' },
    { name: 'an invalid credential', headers: 'Authorization: Bearer bad\r\n' },
    { name: 'two credentials', headers: `${GOOD}${GOOD}` },
  ])('$name: the response is the same for every path (10.2)', async ({ headers }) => {
    const texts: string[] = []
    for (const start of ['GET /x', `${API}/api//v1`, `${API}${BROKEN}`, 'POST /version']) {
      const { answers, text } = await asked(start, headers)
      expect(answers).toMatchObject([{ code: 401 }])
      expect(answers[0]?.headers).not.toHaveProperty(EXPIRES)
      texts.push(withoutIds(text))
    }
    expect(new Set(texts).size).toBe(1)
  })

  test('a public page ignores the credential', async () => {
    const { answers } = await asked('GET /healthz', GOOD)
    expect(answers).toMatchObject([{ code: 200 }])
    expect(answers[0]?.headers).not.toHaveProperty(EXPIRES)
  })
})

test('a request that fails gets a 500 without details, and the log names its caller and the error (8.5)', async () => {
  const { say, counted, lines } = await gateway()
  const target = `/kubernetes/management${BROKEN}`
  const head = `GET ${target} HTTP/1.1\r\nHost: h\r\nConnection: close\r\n`
  const text = await say(`${head}Authorization: Bearer good\r\n\r\n`)
  expect(answersIn(text)).toMatchObject([{ code: 500 }])
  expect(text).not.toMatch(/HUNTER|broken/)
  expect(counted).toEqual(['Management list 500'])
  const fields = {
    requestId: answersIn(text)[0]?.headers['x-request-id'],
    method: 'GET',
    target: 'Management',
    verb: 'list',
    resource: 'pods',
    namespace: 'shop',
    keyName: 'ci',
    keyID: keyIdOf(CALLER.key),
    err: expect.any(Error),
  }
  expect(lines).toEqual([{ level: 'error', sentence: 'request failed', fields }])
})

describe('the request ID (13.1)', () => {
  const GOOD = 'Authorization: Bearer good\r\n'
  const FOREIGN = 'Audit-ID: foreign\r\nX-Request-Id: foreign\r\n'
  const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/
  const upgrade = 'Connection: upgrade\r\nUpgrade: websocket\r\n'

  test.each([
    { name: 'a public page', start: 'GET /healthz', headers: '', code: 200 },
    { name: 'a refused method', start: 'POST /healthz', headers: '', code: 405 },
    { name: 'no credential', start: 'GET /x', headers: '', code: 401 },
    { name: 'the version', start: 'GET /version', headers: GOOD, code: 200 },
    { name: 'an unknown path', start: 'GET /x', headers: GOOD, code: 404 },
    {
      name: 'an upgrade',
      start: 'GET /kubernetes/management/api',
      headers: `${GOOD}${upgrade}`,
      code: 501,
    },
    { name: 'CONNECT', start: 'CONNECT a:1', headers: GOOD, code: 501 },
    { name: 'a failure', start: `GET /kubernetes/management${BROKEN}`, headers: GOOD, code: 500 },
    { name: 'the API', start: 'GET /kubernetes/management/api', headers: GOOD, code: 403 },
  ])('is in two response headers and never taken from the caller: $name', async (row) => {
    const { text } = await asked(row.start, `${row.headers}${FOREIGN}`)
    const headers = answersIn(text)[0]?.headers ?? {}
    expect(answersIn(text)[0]?.code).toBe(row.code)
    expect(headers['x-request-id']).toMatch(UUID)
    expect(headers['audit-id']).toBe(headers['x-request-id'])
    expect(text.match(/^(?:audit-id|x-request-id):/gim)).toHaveLength(2)
    expect(text).not.toContain('foreign')
  })

  test('is sent to the API server, whose own ID does not reach the client', async () => {
    const { answers, forwarded, text } = await asked('GET /kubernetes/management/api', GOOD)
    expect(forwarded).toEqual([`GET /api ${answers[0]?.headers['audit-id']}`])
    expect(text).not.toContain('of-the-api-server')
  })

  test('differs for each request on a connection', async () => {
    const { say } = await gateway()
    const one = 'GET /healthz HTTP/1.1\r\nHost: h\r\n'
    const ids = answersIn(await say(`${one}\r\n${one}Connection: close\r\n\r\n`)).map(
      ({ headers }) => headers['audit-id'],
    )
    expect(new Set(ids).size).toBe(2)
  })

  test('identifies the refusal in the log, which has the reason and no bytes of the request (8.5)', async () => {
    const { answers, lines } = await asked(
      'GET /kubernetes/management/api//HUNTER2?a=HUNTER3',
      GOOD,
    )
    expect(lines).toEqual([
      {
        level: 'info',
        sentence: 'request refused',
        fields: {
          requestId: answers[0]?.headers['x-request-id'],
          method: 'GET',
          target: 'Management',
          keyName: 'ci',
          keyID: keyIdOf(CALLER.key),
          status: 400,
          refusal: 'emptySegment',
        },
      },
    ])
    expect(JSON.stringify(lines)).not.toContain('HUNTER')
  })

  test('is not logged when the API server refuses the request', async () => {
    const { lines } = await asked('GET /kubernetes/management/api', GOOD)
    expect(lines).toEqual([])
  })
})

describe('/version (9.1, 6.7)', () => {
  const GET = 'GET /version HTTP/1.1\r\nHost: h\r\nConnection: close\r\n'

  test.each([
    {
      name: 'guarded, without a credential',
      isGuarded: true,
      headers: '',
      code: 401,
      counted: 'Other GET 401',
    },
    {
      name: 'guarded, with a credential',
      isGuarded: true,
      headers: 'Authorization: Bearer good\r\n',
      code: 200,
      counted: 'Public GET 200',
    },
    {
      name: 'open, without a credential',
      isGuarded: false,
      headers: '',
      code: 200,
      counted: 'Public GET 200',
    },
    {
      name: 'open, with an invalid credential',
      isGuarded: false,
      headers: 'Authorization: Bearer bad\r\n',
      code: 200,
      counted: 'Public GET 200',
    },
  ])('$name: $code', async ({ isGuarded, headers, code, counted: expected }) => {
    const { say, counted } = await gateway({}, isGuarded)
    expect(answersIn(await say(`${GET}${headers}\r\n`))).toMatchObject([{ code }])
    expect(counted).toEqual([expected])
  })
})
