import { describe, expect, it } from 'vitest'
import type { HttpClient } from '../../../src/runtime/http-client.ts'
import { createGatewayClient } from '../../../src/signin/gateway-client.ts'
import { manualClock } from '../../support/manual-clock.ts'

type Get = HttpClient['get']
const answer = (status: number, headers = {}) =>
  Promise.resolve({ status, headers, body: Buffer.alloc(0) } as unknown as Awaited<ReturnType<Get>>)

function client(get: (count: number) => ReturnType<Get>) {
  const clock = manualClock(0)
  const asked: Parameters<Get>[0][] = []
  const stop = new AbortController()
  const gateway = createGatewayClient({
    url: 'https://gateway.example/',
    http: {
      get: (request) => {
        asked.push(request)
        return get(asked.length)
      },
    },
    clock,
    signal: stop.signal,
  })
  return { gateway, clock, asked, stop }
}

const ENDS = { 'x-platform-key-expires': '2026-11-21T10:00:00Z' }

describe('the gateway, asked about a key (25.4)', () => {
  it('is asked with that key for the object of its name', async () => {
    const { gateway, asked } = client(() => answer(200, ENDS))
    expect(await gateway.askAbout('login-a', 'secret')).toEqual({
      endsMs: Date.UTC(2026, 10, 21, 10),
    })
    expect(asked).toMatchObject([
      {
        url: 'https://gateway.example/kubernetes/management/apis/management.platform.sh/v1/ownedaccesskeys/login-a',
        headers: { authorization: 'Bearer secret' },
        maxBytes: 262_144,
        withinMs: 2000,
      },
    ])
  })

  it.each([
    ['a key without an end', () => answer(200), { endsMs: null }],
    ['401', () => answer(401), null],
    ['another code', () => answer(302), null],
    ['no answer', () => Promise.reject(new Error('cut')), null],
  ])('says whether it takes it: %s', async (_, get, accepted) => {
    expect(await client(get).gateway.askAbout('login-a', 'secret')).toEqual(accepted)
  })

  it('is asked again until it knows a new key', async () => {
    const { gateway, clock, asked } = client((count) => answer(count < 4 ? 401 : 200, ENDS))
    const accepted = gateway.awaitKey('login-a', 'secret')
    await clock.advance(150)
    expect(await accepted).toEqual({ endsMs: Date.UTC(2026, 10, 21, 10) })
    expect(asked).toHaveLength(4)
    expect(asked.at(-1)?.withinMs).toBe(1850)
  })

  it('is given up after two seconds', async () => {
    const { gateway, clock, asked } = client(() => answer(401))
    const accepted = gateway.awaitKey('login-a', 'secret')
    await clock.advance(1999)
    expect(asked).toHaveLength(40)
    await clock.advance(1)
    expect(await accepted).toBeNull()
    expect(asked).toHaveLength(40)
  })

  it('is not asked by a process that stops', async () => {
    const { gateway, asked, stop } = client(() => answer(401))
    stop.abort()
    expect(await gateway.awaitKey('login-a', 'secret')).toBeNull()
    expect(asked).toEqual([])
  })
})
