import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { eventually } from '../../../support/eventually.ts'
import {
  type DirectWorld,
  directWorld,
  POLL_MS,
  START_MS,
  type TestDirect,
} from './direct-world.ts'
import { listTextOf, newTestKey } from './test-issuer.ts'

const HOUR_MS = 3_600_000
const LATER_MS = START_MS + HOUR_MS

/** The reasons of logged warnings, without other lines. */
const reasonsIn = ({ lines }: TestDirect): readonly unknown[] =>
  lines.filter(({ level }) => level === 'warn').map(({ fields }) => fields['because'])

describe('a poll (9.2)', () => {
  test('reads the three documents, and the list only when it has changed', async () => {
    const { start, platform, clock } = await directWorld()
    const direct = await start()
    expect(platform.requests).toEqual(['/.well-known/openid-configuration', '/keys', '/revoked'])
    await direct.poll()
    expect(platform.listStatuses).toEqual([200, 304])
    platform.served.revoked = { [randomUUID()]: LATER_MS }
    platform.served.asOfMs = clock.nowMs()
    await direct.poll()
    await direct.poll()
    expect(platform.listStatuses).toEqual([200, 304, 200, 304])
    expect(direct.counts).toEqual({
      'discovery ok': 1,
      'discovery unchanged': 3,
      'keys ok': 1,
      'keys unchanged': 3,
      'revoked ok': 2,
      'revoked unchanged': 2,
    })
    expect(direct.gauges()).toEqual({
      // asOf was of the second poll, and the fourth was two intervals later.
      listAgeMs: 2 * POLL_MS,
      keysAgeMs: 0,
      revokedTokens: 1,
      signingKeys: 1,
      clockSkewMs: 0,
    })
  })

  test('takes the asOf of an unchanged list from its header, and none that is older', async () => {
    const { start, platform, clock } = await directWorld()
    const direct = await start()
    platform.served.asOfMs = clock.nowMs() + POLL_MS
    await direct.poll()
    expect(platform.listStatuses).toEqual([200, 304])
    expect(direct.gauges().listAgeMs).toBe(0)
    platform.served.asOfMs -= 1000
    await direct.poll()
    expect(direct.gauges().listAgeMs).toBe(POLL_MS)
    expect(reasonsIn(direct)).toEqual(['it is older than the last one'])
    platform.served.hasAsOfHeader = false
    await direct.poll()
    expect(direct.gauges().listAgeMs).toBe(2 * POLL_MS)
  })

  test('keeps its connection, and asks caches for fresh documents', async () => {
    const { start, platform } = await directWorld()
    const seen = new Set<unknown>()
    platform.served.instead = (_, __, request) => {
      seen.add(request.socket.remotePort)
      seen.add(request.headers['cache-control'])
      return false
    }
    const direct = await start()
    await direct.poll()
    expect(seen.size).toBe(2)
    expect(seen).toContain('no-cache')
  })

  test('tells each token that became revoked, and of very many that all callers must be checked', async () => {
    const { start, platform } = await directWorld()
    const direct = await start()
    const before = direct.notified.length
    platform.served.revoked = { a: LATER_MS, b: LATER_MS }
    await direct.poll()
    expect(direct.notified.slice(before)).toEqual(['a', 'b'])
    const many = Array.from({ length: 1001 }, (_, at) => [`many-${at}`, LATER_MS] as const)
    platform.served.revoked = { ...platform.served.revoked, ...Object.fromEntries(many) }
    await direct.poll()
    expect(direct.notified.slice(before)).toEqual(['a', 'b', null])
    expect(direct.revocation.isRevoked('many-1000')).toBe(true)
  })
})

describe('a server that does not answer as an issuer (9.2)', () => {
  type Fault = (world: DirectWorld) => void
  const instead =
    (path: string, status: number, headers: Readonly<Record<string, string>>, body = ''): Fault =>
    ({ platform }) => {
      platform.served.instead = (asked, response) => {
        if (asked === path) response.writeHead(status, headers).end(body)
        return asked === path
      }
    }
  test.each<{ readonly name: string; readonly fault: Fault; readonly counted: string }>([
    {
      name: 'redirects the list',
      fault: instead('/revoked', 302, { location: '/oidc/keys' }),
      counted: 'revoked failed',
    },
    {
      name: 'redirects the keys',
      fault: instead('/keys', 301, { location: '/oidc/other' }),
      counted: 'keys failed',
    },
    { name: 'has no keys', fault: instead('/keys', 503, {}), counted: 'keys failed' },
    {
      name: 'answers 304 to no ETag',
      fault: instead('/keys', 304, {}),
      counted: 'keys failed',
    },
    {
      name: 'sends more than a mebibyte of keys',
      fault: instead('/keys', 200, {}, ' '.repeat(1024 * 1024 + 1)),
      counted: 'keys failed',
    },
    {
      name: 'sends keys that are not JSON',
      fault: instead('/keys', 200, {}, '<html>'),
      counted: 'keys refused',
    },
    {
      name: 'sends no key',
      fault: instead('/keys', 200, {}, '{"keys":[]}'),
      counted: 'keys refused',
    },
    {
      name: 'sends no sound key',
      fault: instead('/keys', 200, {}, '{"keys":[{"kty":"oct"}]}'),
      counted: 'keys refused',
    },
    {
      name: 'sends another page for the list',
      fault: instead('/revoked', 200, {}, '<html>'),
      counted: 'revoked refused',
    },
    {
      name: 'sends no Date',
      fault: ({ platform }) => {
        platform.served.dateMs = () => null
      },
      counted: 'revoked refused',
    },
  ])('$name: the accepted documents stay', async ({ fault, counted }) => {
    const world = await directWorld()
    const direct = await world.start()
    const { token, jti } = world.token()
    world.platform.served.revoked = { [jti]: LATER_MS }
    world.platform.served.asOfMs += 1000
    await direct.poll()
    fault(world)
    await direct.poll()
    expect(direct.counts[counted]).toBe(1)
    expect(await direct.because(token)).toBe('revoked')
    expect(await direct.because(world.token().token)).toBe(null)
    expect(direct.gauges()).toMatchObject({ revokedTokens: 1, signingKeys: 1 })
  })

  test('takes too long: the answer is not waited for', async () => {
    const { start, platform, clock, token } = await directWorld()
    const direct = await start()
    let asked = false
    platform.served.instead = (path) => {
      asked ||= path === '/keys'
      return path === '/keys'
    }
    await clock.advance(POLL_MS)
    await eventually('the keys are asked for', () => asked || undefined, { withinMs: 5000 })
    await clock.advance(4999)
    expect(direct.counts['keys failed']).toBe(undefined)
    await clock.advance(1)
    await direct.idle()
    expect(direct.counts['keys failed']).toBe(1)
    expect(direct.counts['revoked unchanged']).toBe(1)
    expect(await direct.because(token().token)).toBe(null)
  })

  test('is not trusted: no document is read', async () => {
    const { start, token } = await directWorld()
    const direct = await start({ ca: null })
    expect(direct.counts).toEqual({ 'discovery failed': 1, 'keys failed': 1, 'revoked failed': 1 })
    expect(await direct.because(token().token)).toBe('stale')
    expect(Object.values(direct.readiness).map((check) => check())).toEqual([
      'no public signing keys are known',
      'no list of revoked tokens is known',
      'the prefix of the namespaces of projects is not known',
    ])
  })

  test('names another issuer: its keys and its list are not asked for', async () => {
    const { start, platform } = await directWorld()
    platform.served.instead = (path, response) => {
      if (path.startsWith('/.well-known')) response.end('{"issuer":"https://other.example.com"}')
      return path.startsWith('/.well-known')
    }
    const direct = await start()
    expect(platform.requests).toEqual(['/.well-known/openid-configuration'])
    expect(reasonsIn(direct)).toEqual(['it names another issuer'])
  })

  test('is an older gateway: the log says to upgrade it, keys and list are accepted', async () => {
    const { start, platform, token } = await directWorld()
    platform.served.prefix = null
    const direct = await start()
    expect(reasonsIn(direct)).toEqual([
      'it has no project_namespace_prefix: upgrade the gateway of the platform',
    ])
    expect(await direct.because(token().token)).toBe(null)
    expect(direct.readiness['project-prefix-known']?.()).toMatch(/not known/)
  })

  test('has a prefix that is none', async () => {
    const { start, platform } = await directWorld()
    platform.served.prefix = ''
    expect((await start()).projectNamespacePrefix()).toBe(null)
  })

  test('fails poll after poll: the log says so once a minute', async () => {
    const { start, platform } = await directWorld()
    const direct = await start()
    platform.served.asOfMs -= 1000
    for (let polls = 0; polls < 15; polls += 1) await direct.poll()
    expect(reasonsIn(direct)).toEqual(['it is older than the last one'])
    expect(direct.counts['revocations refused']).toBe(15)
    await direct.poll()
    expect(reasonsIn(direct)).toHaveLength(2)
  })
})

describe('a rejected list (9.2)', () => {
  const other = newTestKey()
  test.each<{
    readonly name: string
    readonly change: (served: DirectWorld['platform']['served']) => void
  }>([
    {
      name: 'an older one, by a replica that lags',
      change: (served) => {
        served.asOfMs -= 1000
      },
    },
    {
      name: 'one without a token, by a restored backup',
      change: (served) => {
        served.asOfMs += 1000
        served.revoked = {}
      },
    },
    {
      name: 'one with an earlier end',
      change: (served) => {
        served.revoked = { a: LATER_MS - 1000 }
      },
    },
    {
      name: 'one of the future',
      change: (served) => {
        served.asOfMs += POLL_MS + 61_000
      },
    },
  ])('$name: keys and prefix are rejected, too', async ({ change }) => {
    const { start, platform, token, key } = await directWorld()
    platform.served.revoked = { a: LATER_MS }
    const direct = await start()
    platform.served.keys = [other.jwk]
    platform.served.prefix = 'other-'
    change(platform.served)
    await direct.poll()
    expect(direct.counts).toMatchObject({
      'revocations refused': 1,
      'discovery refused': 1,
      'keys refused': 1,
      'revoked refused': 1,
    })
    expect(direct.revocation.isRevoked('a')).toBe(true)
    expect(direct.projectNamespacePrefix()).toBe('p-')
    expect(await direct.because(token().token)).toBe(null)
    // The list that stays grows old.
    expect(direct.gauges().listAgeMs).toBe(POLL_MS)
    expect(platform.served.keys).not.toContain(key.jwk)
  })

  test('has the end of a token that has ended left out: that list is accepted', async () => {
    const { start, platform, clock } = await directWorld()
    platform.served.revoked = { a: START_MS + 3000 }
    const direct = await start()
    await clock.advance(1)
    platform.served.revoked = {}
    platform.served.asOfMs = START_MS + 3000
    await direct.poll()
    expect(direct.counts['revoked ok']).toBe(2)
    expect(direct.gauges().revokedTokens).toBe(0)
    expect(listTextOf(platform.served)).toContain('"tokens":{}')
  })
})
