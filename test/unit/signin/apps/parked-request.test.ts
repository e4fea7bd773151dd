import { describe, expect, it } from 'vitest'
import {
  parkRequest,
  parkedRequest,
  surplusRequests,
} from '../../../../src/signin/apps/parked-request.ts'
import { sealingKeys } from '../../../support/signin/world.ts'

const START_MS = Date.UTC(2026, 10, 21)
const KEYS = sealingKeys()

/** Cookies of requests, each a second after the one before. */
function cookiesOf(...states: readonly string[]): ReadonlyMap<string, string> {
  let fill = 0
  return new Map(
    states.map((state, at) => {
      const parameters = new URLSearchParams({ client_id: 'app', state })
      const begunMs = START_MS + at * 1000
      const random = (bytes: number) => Buffer.alloc(bytes, (fill += 1))
      const parking = parkRequest({ parameters, subject: null, begunMs }, KEYS, random)
      if (parking === null) throw new Error('too long')
      return [parking.cookie.name, parking.cookie.value]
    }),
  )
}

const surplusOf = (cookies: ReadonlyMap<string, string>, nextLength = 100, afterMs = 10_000) =>
  surplusRequests(cookies, nextLength, KEYS, START_MS + afterMs)

describe('requests that wait in a browser (26.3)', () => {
  it('are five at most: the oldest goes', () => {
    const cookies = cookiesOf('a', 'b', 'c', 'd', 'e')
    expect(surplusOf(cookies)).toEqual([[...cookies.keys()][0]])
    expect(surplusOf(cookiesOf('a', 'b', 'c', 'd'))).toEqual([])
  })

  it('have 4 KiB together, so that no server refuses what the browser sends', () => {
    const cookies = cookiesOf('a'.repeat(1000), 'b'.repeat(1000), 'c'.repeat(1000))
    expect(surplusOf(cookies, 1200)).toEqual([[...cookies.keys()][1], [...cookies.keys()][0]])
  })

  it('go when they are over, or unreadable', () => {
    const cookies = new Map([...cookiesOf('a'), ['__Host-platform_app_00000000', 'x']])
    expect(surplusOf(cookies)).toEqual(['__Host-platform_app_00000000'])
    expect(surplusOf(cookies, 100, 600_001)).toHaveLength(2)
  })

  it('are over, too, when they come from another time', () => {
    expect(surplusOf(cookiesOf('a'), 100, -600_000)).toEqual([])
    expect(surplusOf(cookiesOf('a'), 100, -600_001)).toHaveLength(1)
  })

  it('are too long beyond what a browser keeps', () => {
    const parameters = new URLSearchParams({ state: 'a'.repeat(4000) })
    expect(
      parkRequest({ parameters, subject: null, begunMs: 0 }, KEYS, (bytes) => Buffer.alloc(bytes)),
    ).toBeNull()
  })

  it('keep what means something here, and are read by their own name alone', () => {
    const random = (bytes: number) => Buffer.alloc(bytes, 1)
    const parameters = new URLSearchParams({ client_id: 'app', login_hint: 'ada' })
    const parking = parkRequest({ parameters, subject: 'uid-ada', begunMs: START_MS }, KEYS, random)
    const { name = '', value = '' } = parking?.cookie ?? {}
    const read = (by: string) => parkedRequest(by, new Map([[by, value]]), KEYS, START_MS)
    expect([...(read(name)?.parameters ?? [])]).toEqual([['client_id', 'app']])
    expect(read(name)).toMatchObject({ subject: 'uid-ada', begunMs: START_MS })
    expect(read('__Host-platform_app_ffffffff')).toBeNull()
  })
})
