// The forwarded request is rebuilt from the parsed one, and means the same (contract 11.6).
import { isProxied } from '../../../../src/gateway/proxy/forward.ts'
import { describe, expect, test } from 'vitest'
import { TARGET_KINDS, type RequestTarget } from '../../../../src/domain/scope/request-info.ts'
import { parseRequest } from '../../../../src/gateway/request/parse.ts'
import { randomFrom } from '../../../support/random.ts'
import { requestSent } from '../../../support/request-fuzzer.ts'
import { parsedRequest, parsing, requestInfoLine } from './request-reader.ts'

function rebuilt(sent: string): string {
  const { path, search } = parsedRequest(sent)
  return search === '' ? path : `${path}?${search}`
}

// biome-ignore format: a table
describe('rebuilt paths and queries (11.6)', () => {
  test.each([
    { sent: '',                                    is: '/' },
    { sent: '/',                                   is: '/' },
    { sent: '?watch=1',                            is: '/?watch=1' },
    { sent: '/api/v1/pods',                        is: '/api/v1/pods' },
    { sent: '/api/v1/pods/',                       is: '/api/v1/pods/' },
    { sent: '/api/v1/pods?',                       is: '/api/v1/pods' },
    { sent: '/%61pi/v1/%70ods',                    is: '/api/v1/pods' },
    { sent: '/api/v1/pods/system:node',            is: '/api/v1/pods/system%3Anode' },
    { sent: "/api/v1/pods/it's(!)*",               is: '/api/v1/pods/it%27s%28%21%29%2a' },
    { sent: '/api/v1/pods/a;b=c,d@e$f+g&h',        is: '/api/v1/pods/a%3Bb%3Dc%2Cd%40e%24f%2Bg%26h' },
    { sent: '/api/v1/pods/a%3fb%23c%20d',          is: '/api/v1/pods/a%3Fb%23c%20d' },
    { sent: '/api/v1/pods/a"<>{}|^`',              is: '/api/v1/pods/a%22%3C%3E%7B%7D%7C%5E%60' },
    { sent: '/api/v1/pods/%c3%a9',                 is: '/api/v1/pods/%C3%A9' },
    { sent: '/api/v1/pods/-_.~',                   is: '/api/v1/pods/-_.~' },
    { sent: '/api/v1/pods?%77atch=%31',            is: '/api/v1/pods?watch=1' },
    { sent: '/api/v1/pods?watch',                  is: '/api/v1/pods?watch=' },
    { sent: '/api/v1/pods?&&a=b&&c&',              is: '/api/v1/pods?a=b&c=' },
    { sent: '/api/v1/pods?=a',                     is: '/api/v1/pods?=a' },
    { sent: '/api/v1/pods?a=b=c',                  is: '/api/v1/pods?a=b%3Dc' },
    { sent: '/api/v1/pods?a=b?c',                  is: '/api/v1/pods?a=b%3Fc' },
    { sent: '/api/v1/pods?labelSelector=a+in+(b)', is: '/api/v1/pods?labelSelector=a%20in%20%28b%29' },
    { sent: '/api/v1/pods?a=%2b+%20',              is: '/api/v1/pods?a=%2B%20%20' },
    { sent: '/api/v1/pods?a=%0d%0a%00',            is: '/api/v1/pods?a=%0D%0A%00' },
    { sent: '/api/v1/pods?a=%3b%26%3d%23',         is: '/api/v1/pods?a=%3B%26%3D%23' },
    { sent: '/api/v1/pods?a\\b=[1]',               is: '/api/v1/pods?a%5Cb=%5B1%5D' },
    { sent: 'POST /api/v1/namespaces/a/pods/x/exec?command=sh&command=-c&command=ls+%26', is: '/api/v1/namespaces/a/pods/x/exec?command=sh&command=-c&command=ls%20%26' },
    { sent: 'POST /api/v1/pods?dryRun=All&dryRun=All', is: '/api/v1/pods?dryRun=All&dryRun=All' },
    { sent: '/readyz?exclude=etcd&exclude=ping',   is: '/readyz?exclude=etcd&exclude=ping' },
    { sent: '/api/v1/namespaces/a/services/b/proxy/x/y/', is: '/api/v1/namespaces/a/services/b/proxy/x/y/' },
  ])('$sent is rebuilt as $is', ({ sent, is }) => expect(rebuilt(sent)).toBe(is))

  test('are also available decoded', () => {
    const { method, segments, query } = parsedRequest('DELETE /api/v1/p%6fds/?a+b=%26&dryRun=All&c')
    expect({ method, segments, query }).toEqual({
      method: 'DELETE',
      segments: ['api', 'v1', 'pods', ''],
      query: [['a b', '&'], ['dryRun', 'All'], ['c', '']],
    })
  })

  test('keep as many parameters as a request may have', () => {
    const sent = Array.from({ length: 1000 }, (_, at) => `a${at}=`).join('&')
    expect(rebuilt(`/api/v1/pods?${sent}`)).toBe(`/api/v1/pods?${sent}`)
  })
})

const ALIAS = '/apis/management.platform.sh/v1/config'
const CONFIGS = 'configs.management.platform.sh/v1'

// biome-ignore format: a table
describe('the specified path of Configs (9.3)', () => {
  test.each([
    { sent: ALIAS,                        is: `list ${CONFIGS} - -`,          path: `${ALIAS}s` },
    { sent: `${ALIAS}/`,                  is: `list ${CONFIGS} - -`,          path: `${ALIAS}s/` },
    { sent: `${ALIAS}?watch=1`,           is: `watch ${CONFIGS} - -`,         path: `${ALIAS}s` },
    { sent: `${ALIAS}/platform`,          is: `get ${CONFIGS} - platform`,    path: `${ALIAS}s/platform` },
    { sent: `PUT ${ALIAS}/platform`,      is: `update ${CONFIGS} - platform`, path: `${ALIAS}s/platform` },
    { sent: `POST ${ALIAS}`,              is: `create ${CONFIGS} - -`,        path: `${ALIAS}s` },
    { sent: `DELETE ${ALIAS}`,            is: `deletecollection ${CONFIGS} - -`, path: `${ALIAS}s` },
    { sent: `PATCH ${ALIAS}/a/status`,    is: 'patch configs/status.management.platform.sh/v1 - a', path: `${ALIAS}s/a/status` },
    { sent: '/%61pis/management.platform.sh/v1/c%6fnfig', is: `list ${CONFIGS} - -`, path: `${ALIAS}s` },
    { sent: `${ALIAS}s`,                  is: `list ${CONFIGS} - -`,          path: `${ALIAS}s` },
    { sent: `${ALIAS}/config`,            is: `get ${CONFIGS} - config`,      path: `${ALIAS}s/config` },
    { sent: '/apis/management.platform.sh/v1/Config', is: 'list Config.management.platform.sh/v1 - -', path: '/apis/management.platform.sh/v1/Config' },
    { sent: '/apis/management.platform.sh/v2/config', is: 'list config.management.platform.sh/v2 - -', path: '/apis/management.platform.sh/v2/config' },
    { sent: '/apis/example.com/v1/config', is: 'list config.example.com/v1 - -', path: '/apis/example.com/v1/config' },
    { sent: '/api/v1/config',             is: 'list config./v1 - -',          path: '/api/v1/config' },
    { sent: '/apis/management.platform.sh/v1/namespaces/a/config', is: 'list config.management.platform.sh/v1 a -', path: '/apis/management.platform.sh/v1/namespaces/a/config' },
  ])('$sent is $is', ({ sent, is, path }) => {
    expect(requestInfoLine(sent)).toBe(is)
    expect(parsedRequest(sent).path).toBe(path)
  })

  test.each(TARGET_KINDS.filter((kind) => kind !== 'Management'))('means nothing on a %s', (kind) => {
    const target = { kind, cluster: 'c', project: 'p', virtualCluster: 'v', space: 's' } as RequestTarget
    expect(requestInfoLine(ALIAS, target)).toBe('list config.management.platform.sh/v1 - -')
    expect(parsedRequest(ALIAS, target).attributes.target).toBe(target)
  })
})

describe('for random requests (11.6)', () => {
  const target: RequestTarget = { kind: 'Management' }
  const random = randomFrom(20_260)
  const sent = Array.from({ length: 20_000 }, () => requestSent(random))
  const accepted = sent.flatMap(({ method, rest }) => {
    const result = parseRequest(method, target, rest)
    // What follows `proxy` is sent as it came.
    const isRebuilt = result.ok && !isProxied(result.request.attributes)
    return isRebuilt ? [{ method, rest, request: result.request }] : []
  })

  test('the parser accepts and refuses a good share', () => {
    expect(accepted.length).toBeGreaterThan(8000)
    expect(sent.length - accepted.length).toBeGreaterThan(5000)
  })

  test('the parser reads a rebuilt request as the same request', () => {
    for (const { method, rest, request } of accepted) {
      const again = parseRequest(method, target, `${request.path}?${request.search}`)
      expect({ rest, again }).toEqual({ rest, again: { ok: true, request } })
    }
  })

  test('a rebuilt path is unchanged by a server that normalizes paths (B1)', () => {
    for (const { rest, request } of accepted) {
      const cleaned = new URL(`http://server${request.path}`)
      expect({ rest, path: cleaned.pathname, host: cleaned.host }).toEqual({
        rest,
        path: request.path,
        host: 'server',
      })
    }
  })

  test('a rebuilt request has only characters without a second meaning', () => {
    for (const { rest, request } of accepted) {
      const isPlain = /^\/[\w.~%/-]*\?[\w.~%=&-]*$/.test(`${request.path}?${request.search}`)
      expect({ rest, isPlain }).toEqual({ rest, isPlain: true })
    }
  })

  test('no segment of a rebuilt path changes the position of another (B1, B2)', () => {
    for (const { rest, request } of accepted) {
      const [last = '', ...before] = request.segments.toReversed()
      const wrong = [...before, last || 'x'].find((one) => /^\.{0,2}$|[/\\%\p{Cc}]/u.test(one))
      expect({ rest, wrong }).toEqual({ rest, wrong: undefined })
    }
  })
})

test('the parser takes linear time', () => {
  const long = 'a,'.repeat(8000)
  const all = [
    `labelSelector=${long}(`,
    `fieldSelector=${long}metadata.name`,
    `fieldSelector=${'\\'.repeat(16_000)}`,
  ]
  for (const query of all) expect(parsing(`/api/v1/pods?fieldSelector=a&${query}`).ok).toBe(false)
  const spaces = `labelSelector=a+in+(${'+'.repeat(16_000)}&fieldSelector=metadata.name%3Dx`
  expect(requestInfoLine(`/api/v1/pods?${spaces}`)).toBe(
    '400 parameter labelSelector cannot be read',
  )
})
