/** @module-tag no-retry */
import { describe, expect, test } from 'vitest'
import type { AccessKey } from '../../../../src/domain/accesskey/access-key.ts'
import { lifetimeOf } from '../../../../src/domain/accesskey/lifetime.ts'
import {
  withExpiryHeaders,
  withTokenExpiryHeaders,
} from '../../../../src/gateway/stages/expiry-headers.ts'
import { accessKey, after, textAfter } from '../../../support/key-builder.ts'
import { UNCAPPED, callerWith } from '../activity/recorder-builder.ts'
import { verifiedToken } from '../token-caller.ts'

const DAY = 86_400

interface Row {
  readonly name: string
  readonly key: Partial<AccessKey>
  readonly cap?: number
  /** Expiry of the owning key, in seconds after creation. */
  readonly ownerEnds?: number
  /** Seconds after creation. */
  readonly at: number
  /** Absent: it is one. */
  readonly isUse?: false
  /** null = never. */
  readonly expires: number | null
  readonly warns: boolean
}

const owned: Partial<AccessKey> = { ownerRef: { name: 'elder', uid: 'elder-uid' } }

describe('the expiry headers of a response (13.5)', () => {
  test.each<Row>([
    { name: 'never', key: {}, at: 5, expires: null, warns: false },
    { name: 'a day left: no warning', key: { ttl: DAY }, at: 0, expires: DAY, warns: false },
    { name: 'a tenth left: no warning', key: { ttl: 100 }, at: 90, expires: 100, warns: false },
    {
      name: 'less than a tenth left: a warning',
      key: { ttl: 100 },
      at: 90.001,
      expires: 100,
      warns: true,
    },
    {
      name: 'the capped lifetime counts',
      key: { ttl: DAY },
      cap: 100,
      at: 91,
      expires: 100,
      warns: true,
    },
    {
      name: 'sliding: the expiry after this use',
      key: { ttl: 100, slides: true },
      at: 99,
      expires: 199,
      warns: false,
    },
    {
      name: 'sliding, used before',
      key: { ttl: 100, slides: true, lastActivityMs: after(150) },
      at: 160,
      expires: 260,
      warns: false,
    },
    {
      name: 'sliding, recorded by a clock slightly ahead',
      key: { ttl: 100, slides: true, lastActivityMs: after(165) },
      at: 160,
      expires: 265,
      warns: false,
    },
    {
      name: 'sliding towards the cap',
      key: { ttl: 100, slides: true, lastActivityMs: after(100) },
      cap: 150,
      at: 139,
      expires: 150,
      warns: false,
    },
    {
      name: 'sliding, the cap is near',
      key: { ttl: 100, slides: true, lastActivityMs: after(140) },
      cap: 150,
      at: 141,
      expires: 150,
      warns: true,
    },
    {
      name: 'the owning key ends earlier',
      key: { ...owned, ttl: DAY },
      ownerEnds: 100,
      at: 50,
      expires: 100,
      warns: true,
    },
    {
      name: 'the owning key ends, the key itself never',
      key: owned,
      ownerEnds: 100,
      at: 89,
      expires: 100,
      warns: false,
    },
    {
      name: 'the owning key ends soon, the key itself never',
      key: owned,
      ownerEnds: 100,
      at: 91,
      expires: 100,
      warns: true,
    },
    {
      name: 'sliding, owned: only the current end',
      key: { ...owned, ttl: 100, slides: true },
      at: 60,
      expires: 100,
      warns: false,
    },
    {
      name: 'sliding, with a recorded use that does not count (2.9): from this use on',
      key: { ttl: 100, slides: true, lastActivityMs: after(1e6) },
      at: 60,
      expires: 160,
      warns: false,
    },
    {
      name: 'sliding, refused: the expiry without this use',
      key: { ttl: 100, slides: true, lastActivityMs: after(50) },
      at: 60,
      isUse: false,
      expires: 150,
      warns: false,
    },
    {
      name: 'sliding, refused, ends soon without a use',
      key: { ttl: 100, slides: true, lastActivityMs: after(50) },
      at: 141,
      isUse: false,
      expires: 150,
      warns: true,
    },
    {
      name: 'refused, not sliding: the same expiry',
      key: { ttl: 100 },
      at: 91,
      isUse: false,
      expires: 100,
      warns: true,
    },
  ])('$name', ({ key: parts, cap = null, ownerEnds, at, isUse = true, expires, warns }) => {
    const key = accessKey(parts)
    const caps = { ...UNCAPPED, maxTtlSeconds: cap }
    const own = lifetimeOf(key, caps, after(at)).expiresMs
    const caller = callerWith(key, ownerEnds === undefined ? own : after(ownerEnds))
    const given = { 'content-type': 'text/plain' }
    const headers = withExpiryHeaders(given, { caller, isUse }, caps, after(at))
    expect(headers).toEqual({
      'content-type': 'text/plain',
      ...(expires === null ? {} : { 'x-platform-key-expires': textAfter(expires) }),
      ...(warns
        ? {
            warning: `299 - "this platform access key expires at ${textAfter(expires ?? 0)}: get a new one before then"`,
          }
        : {}),
    })
  })

  const ending = { caller: callerWith(accessKey({ ttl: 100 }), after(100)), isUse: true }
  const OURS = /^299 - "this platform access key expires at 2026-11-21T10:01:40Z: [^"\\]+"/

  test.each<{ name: string; warning: string | string[] }>([
    { name: 'one', warning: '299 - "old API"' },
    { name: 'several', warning: ['299 - "old API"', '299 - "older \\"API\\""'] },
  ])("keep the API server's warnings after the gateway's: $name", ({ warning }) => {
    const given = { warning } as { warning: string }
    const all = withExpiryHeaders(given, ending, UNCAPPED, after(95))['warning'] ?? ''
    expect(all).toMatch(OURS)
    expect(all.replace(OURS, '')).toBe(`, ${[warning].flat().join(', ')}`)
    expect(withExpiryHeaders(given, ending, UNCAPPED, after(5))['warning']).toEqual(warning)
  })

  test('have the same text as time passes, so that kubectl shows it once', () => {
    const warnings = [91, 92.5, 99.999].map(
      (at) => withExpiryHeaders({}, ending, UNCAPPED, after(at))['warning'],
    )
    expect(new Set(warnings).size).toBe(1)
  })

  test('drop expiry headers of upstream', () => {
    const given = { 'x-platform-key-expires': textAfter(DAY) }
    const endless = { caller: callerWith(accessKey()), isUse: true }
    expect(withExpiryHeaders(given, endless, UNCAPPED, after(5))).toEqual({})
    expect(withExpiryHeaders(given, ending, UNCAPPED, after(5))).toEqual({
      'x-platform-key-expires': textAfter(100),
    })
  })
})

describe('the expiry headers of a response to a token (9.2, 13.5)', () => {
  const WARNING = `299 - "this token expires at ${textAfter(100)}: get a new one before then"`

  test.each([
    { name: 'much is left', at: 0, warns: false },
    { name: 'a tenth is left', at: 90, warns: false },
    { name: 'less is left', at: 90.001, warns: true },
    { name: 'it has ended', at: 101, warns: true },
  ])('$name: a warning is $warns', ({ at, warns }) => {
    const headers = withTokenExpiryHeaders({ vary: 'accept' }, verifiedToken(), after(at))
    expect(headers).toEqual({
      vary: 'accept',
      'x-platform-key-expires': textAfter(100),
      ...(warns ? { warning: WARNING } : {}),
    })
  })

  test('count from the issue of the token, not from its first use', () => {
    const later = verifiedToken({ issuedMs: after(50) })
    expect(withTokenExpiryHeaders({}, later, after(95))).not.toHaveProperty('warning')
    expect(withTokenExpiryHeaders({}, later, after(96))).toHaveProperty('warning', WARNING)
  })

  test("replace the upstream's, and keep the API server's warnings behind ours", () => {
    const given = { 'x-platform-key-expires': textAfter(DAY), warning: '299 - "old API"' }
    expect(withTokenExpiryHeaders(given, verifiedToken(), after(95))).toEqual({
      'x-platform-key-expires': textAfter(100),
      warning: `${WARNING}, 299 - "old API"`,
    })
  })
})
