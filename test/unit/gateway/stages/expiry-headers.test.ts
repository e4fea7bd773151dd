/** @module-tag no-retry */
import { describe, expect, test } from 'vitest'
import type { AccessKey } from '../../../../src/domain/accesskey/access-key.ts'
import { lifetimeOf } from '../../../../src/domain/accesskey/lifetime.ts'
import { withExpiryHeaders } from '../../../../src/gateway/stages/expiry-headers.ts'
import { accessKey, after, textAfter } from '../../../support/key-builder.ts'
import { UNCAPPED, callerWith } from '../activity/simulated-api.ts'

const DAY = 86_400

interface Row {
  readonly name: string
  readonly key: Partial<AccessKey>
  readonly cap?: number
  /** End of the key that owns it, in seconds after creation. */
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

describe('the end of a key in the headers of an answer (13.5)', () => {
  test.each<Row>([
    { name: 'never', key: {}, at: 5, expires: null, warns: false },
    { name: 'a day left', key: { ttl: DAY }, at: 0, expires: DAY, warns: false },
    { name: 'a tenth left', key: { ttl: 100 }, at: 90, expires: 100, warns: false },
    { name: 'less', key: { ttl: 100 }, at: 90.001, expires: 100, warns: true },
    {
      name: 'of the lifetime in force',
      key: { ttl: DAY },
      cap: 100,
      at: 91,
      expires: 100,
      warns: true,
    },
    {
      name: 'sliding: the end that this use gives',
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
      name: 'sliding, recorded by a clock a little ahead',
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
      name: 'the key that owns it ends earlier',
      key: { ...owned, ttl: DAY },
      ownerEnds: 100,
      at: 50,
      expires: 100,
      warns: true,
    },
    {
      name: 'the key that owns it ends, it would not',
      key: owned,
      ownerEnds: 100,
      at: 89,
      expires: 100,
      warns: false,
    },
    {
      name: 'the key that owns it ends soon, it would not',
      key: owned,
      ownerEnds: 100,
      at: 91,
      expires: 100,
      warns: true,
    },
    {
      name: 'sliding, owned: no more than is known',
      key: { ...owned, ttl: 100, slides: true },
      at: 60,
      expires: 100,
      warns: false,
    },
    {
      name: 'sliding, refused: the end before that',
      key: { ttl: 100, slides: true, lastActivityMs: after(50) },
      at: 60,
      isUse: false,
      expires: 150,
      warns: false,
    },
    {
      name: 'sliding, refused, and soon over without a use',
      key: { ttl: 100, slides: true, lastActivityMs: after(50) },
      at: 141,
      isUse: false,
      expires: 150,
      warns: true,
    },
    {
      name: 'refused, which changes no other end',
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
  ])('hold the warnings of the API server behind those of the gateway: $name', ({ warning }) => {
    const given = { warning } as { warning: string }
    const all = withExpiryHeaders(given, ending, UNCAPPED, after(95))['warning'] ?? ''
    expect(all).toMatch(OURS)
    expect(all.replace(OURS, '')).toBe(`, ${[warning].flat().join(', ')}`)
    expect(withExpiryHeaders(given, ending, UNCAPPED, after(5))['warning']).toEqual(warning)
  })

  test('keep the same text as time passes, so that kubectl shows it once', () => {
    const warnings = [91, 92.5, 99.999].map(
      (at) => withExpiryHeaders({}, ending, UNCAPPED, after(at))['warning'],
    )
    expect(new Set(warnings).size).toBe(1)
  })

  test('do not pass on an end that upstream claims', () => {
    const given = { 'x-platform-key-expires': textAfter(DAY) }
    const endless = { caller: callerWith(accessKey()), isUse: true }
    expect(withExpiryHeaders(given, endless, UNCAPPED, after(5))).toEqual({})
    expect(withExpiryHeaders(given, ending, UNCAPPED, after(5))).toEqual({
      'x-platform-key-expires': textAfter(100),
    })
  })
})
