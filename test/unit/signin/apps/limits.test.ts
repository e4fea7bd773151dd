import { describe, expect, it } from 'vitest'
import { AppLimits } from '../../../../src/signin/apps/limits.ts'

const ADDRESS = '192.0.2.7'
const MINUTE_MS = 60_000

/** Limits after so many wrong secrets, each of another client or of one. */
function after(failures: number, clientOf: (at: number) => string): AppLimits {
  const limits = new AppLimits()
  for (let at = 0; at < failures; at += 1) limits.failed(clientOf(at), ADDRESS, 0)
  return limits
}

describe('wrong secrets (26.2)', () => {
  it.each([
    ['the same client there', 'app', ADDRESS, MINUTE_MS],
    ['another client there', 'other', ADDRESS, 0],
    ['the same client from elsewhere', 'app', '192.0.2.8', 0],
  ])('of one client are ten a minute from one address: %s', (_, client, address, waitMs) => {
    expect(after(10, () => 'app').waitMs(client, address, 0)).toBe(waitMs)
  })

  it('of all clients are 60 a minute from one address', () => {
    const many = (at: number): string => `app-${at}`
    expect(after(59, many).waitMs('other', ADDRESS, 0)).toBe(0)
    expect(after(60, many).waitMs('other', ADDRESS, 0)).toBe(MINUTE_MS)
    expect(after(60, many).waitMs('other', '192.0.2.8', 0)).toBe(0)
  })

  it('come from one address for all of an IPv6 network', () => {
    const limits = new AppLimits()
    for (let at = 0; at < 10; at += 1) limits.failed('app', `2001:db8::${at}`, 0)
    expect(limits.waitMs('app', '2001:db8::ffff', 0)).toBe(MINUTE_MS)
    expect(limits.waitMs('app', '2001:db8:0:1::1', 0)).toBe(0)
  })
})

describe('what is counted for each by itself (26.3)', () => {
  it('is codes of a person for one client', () => {
    const limits = new AppLimits()
    for (let at = 0; at < 60; at += 1) limits.admitsCode('uid-ada', 'app', 0)
    expect(limits.admitsCode('uid-ada', 'app', 0)).toBe(false)
    expect(limits.admitsCode('uid-ada', 'other', 0)).toBe(true)
    expect(limits.admitsCode('uid-grace', 'app', 0)).toBe(true)
  })

  it('is refresh tokens of unknown grants of one client from one address', () => {
    const limits = new AppLimits()
    for (let at = 0; at < 60; at += 1) limits.admitsUnknown('app', ADDRESS, 0)
    expect(limits.admitsUnknown('app', ADDRESS, 0)).toBe(false)
    expect(limits.admitsUnknown('other', ADDRESS, 0)).toBe(true)
    expect(limits.admitsUnknown('app', '192.0.2.8', 0)).toBe(true)
  })
})
