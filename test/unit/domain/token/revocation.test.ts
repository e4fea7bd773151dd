/** @module-tag no-retry */
import { describe, expect, test } from 'vitest'
import {
  revocationHourEndMs,
  isPastRetention,
  isTooLateToRecord,
  isRecordable,
  revokedTokensIn,
  revokedTokensJson,
  revokedTokensName,
} from '../../../../src/domain/token/revocation.ts'
import { HOUR, asked, at, configMap, entries } from './revocations.ts'

describe('the name of a ConfigMap with revoked tokens (7.4)', () => {
  test.each([
    { name: 'first moment of an hour', exp: '2026-11-21T10:00:00Z', ordinal: 0, is: HOUR },
    { name: 'last moment of an hour', exp: '2026-11-21T10:59:59.999Z', ordinal: 0, is: HOUR },
    { name: 'hour in UTC', exp: '2026-11-21T01:30:00-09:00', ordinal: 0, is: HOUR },
    {
      name: 'the second ConfigMap of an hour',
      exp: '2026-11-21T10:00:00Z',
      ordinal: 1,
      is: `${HOUR}-1`,
    },
    {
      name: 'the tenth ConfigMap of an hour',
      exp: '2026-11-21T10:00:00Z',
      ordinal: 12,
      is: `${HOUR}-12`,
    },
    {
      name: 'midnight of a new year',
      exp: '2027-01-01T00:00:00Z',
      ordinal: 0,
      is: 'platform-revoked-tokens-2027010100',
    },
    {
      name: 'a leap day',
      exp: '2028-02-29T23:59:59Z',
      ordinal: 0,
      is: 'platform-revoked-tokens-2028022923',
    },
    {
      name: 'an hour that daylight saving time skips elsewhere',
      exp: '2026-03-29T01:30:00Z',
      ordinal: 0,
      is: 'platform-revoked-tokens-2026032901',
    },
  ])('$name', ({ exp, ordinal, is }) => {
    expect(revokedTokensName(at(exp), ordinal)).toBe(is)
    expect(revocationHourEndMs(is)).toBe((Math.floor(at(exp) / 3_600_000) + 1) * 3_600_000)
  })

  test.each([
    'platform-revoked-tokens-2026112110-0',
    'platform-revoked-tokens-2026112110-01',
    'platform-revoked-tokens-2026112110-',
    'platform-revoked-tokens-2026112110-1-1',
    'platform-revoked-tokens-2026112110-a',
    'platform-revoked-tokens-2026112110x',
    'platform-revoked-tokens-20261121',
    'platform-revoked-tokens-202611211',
    'platform-revoked-tokens-20261121100',
    'platform-revoked-tokens-2026112124',
    'platform-revoked-tokens-2026022910',
    'platform-revoked-tokens-2026130110',
    'platform-revoked-tokens-',
    'my-platform-revoked-tokens-2026112110',
    'platform-revoked-tokens-2026112110\n',
    'Platform-revoked-tokens-2026112110',
    'platform-config-in-force',
    'kube-root-ca.crt',
    '',
  ])('is not %j', (name) => {
    expect(revocationHourEndMs(name)).toBeNull()
    expect(isPastRetention(name, Number.MAX_SAFE_INTEGER)).toBe(false)
    expect(revokedTokensIn(configMap(name, entries(['a'])))).toEqual(new Map())
  })
})

describe('isPastRetention is true from a minute after the hour (7.4)', () => {
  test.each([
    { now: '2026-11-21T09:00:00Z', over: false },
    { now: '2026-11-21T10:59:59.999Z', over: false },
    { now: '2026-11-21T11:00:00Z', over: false },
    { now: '2026-11-21T11:00:10Z', over: false },
    { now: '2026-11-21T11:00:59.999Z', over: false },
    { now: '2026-11-21T11:01:00Z', over: true },
    { now: '2027-11-21T11:01:00Z', over: true },
  ])('at $now it is $over', ({ now, over }) => {
    expect(isPastRetention(HOUR, at(now))).toBe(over)
    expect(isPastRetention(`${HOUR}-10`, at(now))).toBe(over)
    expect(isTooLateToRecord(at('2026-11-21T10:00:00Z'), at(now))).toBe(over)
    expect(isTooLateToRecord(at('2026-11-21T10:59:59.999Z'), at(now))).toBe(over)
  })
})

test.each([
  { jti: '6f2f5c9e-8b1e-4c5a-9d43-0f6a4f1d2b77', good: true },
  { jti: 'Aa0-._', good: true },
  { jti: '__proto__', good: true },
  { jti: 'x'.repeat(253), good: true },
  { jti: 'x'.repeat(254), good: false },
  { jti: '', good: false },
  { jti: '.', good: false },
  { jti: '..', good: false },
  { jti: '..x', good: false },
  { jti: '.x', good: true },
  { jti: 'a b', good: false },
  { jti: 'a/b', good: false },
  { jti: 'é', good: false },
  { jti: 'a\n', good: false },
])('isRecordable of $jti as a key of a ConfigMap is $good (7.4)', ({ jti, good }) => {
  expect(isRecordable(jti)).toBe(good)
})

describe('revokedTokensIn reads a ConfigMap (7.4)', () => {
  test.each([
    { name: 'in our format', exp: '2026-11-21T10:30:00Z', until: '2026-11-21T10:30:00Z' },
    {
      name: 'in another time zone',
      exp: '2026-11-21T11:30:00+01:00',
      until: '2026-11-21T10:30:00Z',
    },
    {
      name: 'the first moment of the hour',
      exp: '2026-11-21T10:00:00Z',
      until: '2026-11-21T10:00:00Z',
    },
    { name: 'not a time', exp: 'soon', until: '2026-11-21T10:59:59.999Z' },
    { name: 'empty', exp: '', until: '2026-11-21T10:59:59.999Z' },
    { name: 'on an invalid date', exp: '2026-02-30T10:30:00Z', until: '2026-11-21T10:59:59.999Z' },
    { name: 'seconds', exp: '1795257000', until: '2026-11-21T10:59:59.999Z' },
    { name: 'before its hour', exp: '2020-01-01T00:00:00Z', until: '2026-11-21T10:59:59.999Z' },
    { name: 'the hour after', exp: '2026-11-21T11:00:00Z', until: '2026-11-21T10:59:59.999Z' },
    { name: 'long after its hour', exp: '2036-01-01T00:00:00Z', until: '2026-11-21T10:59:59.999Z' },
  ])('with an exp that is $name the token stays revoked', ({ exp, until }) => {
    expect(revokedTokensIn(configMap(HOUR, { a: exp }))).toEqual(new Map([['a', at(until)]]))
  })

  test('without data it is empty', () => {
    expect(revokedTokensIn(configMap(HOUR))).toEqual(new Map())
  })

  test('names of object properties are keys like any other', () => {
    const data = JSON.parse('{"__proto__":"2026-11-21T10:30:00Z","constructor":"x"}') as Record<
      string,
      string
    >
    expect([...revokedTokensIn(configMap(HOUR, data)).keys()]).toEqual(['__proto__', 'constructor'])
  })

  test('leaves out unchanged entries', () => {
    const before = configMap(HOUR, { a: '2026-11-21T10:30:00Z', b: 'damaged', c: 'x' })
    const after = configMap(HOUR, { a: '2026-11-21T10:30:00Z', b: '2026-11-21T10:10:00Z', d: 'x' })
    expect([...revokedTokensIn(after, before).keys()]).toEqual(['b', 'd'])
    expect(revokedTokensIn(after, configMap(HOUR)).size).toBe(3)
  })
})

describe('revokedTokensJson writes members of the served object (7.4)', () => {
  test.each<{ name: string; tokens: Readonly<Record<string, string>>; is: string }>([
    { name: 'none', tokens: {}, is: '' },
    { name: 'one', tokens: { a: '2026-11-21T10:30:00Z' }, is: '"a":"2026-11-21T10:30:00Z"' },
    {
      name: 'several, with a fraction where there is one',
      tokens: { b: '2026-11-21T10:59:59.999Z', a: '2026-11-21T10:30:00.000Z' },
      is: '"b":"2026-11-21T10:59:59.999Z","a":"2026-11-21T10:30:00Z"',
    },
  ])('$name', ({ tokens, is }) => {
    expect(revokedTokensJson(Object.entries(tokens).map(([jti, exp]) => [jti, at(exp)]))).toBe(is)
  })

  test('is JSON for every name', () => {
    const members = revokedTokensJson([...asked(['__proto__', 'a"b\\'])])
    expect(members).toContain('"__proto__":"2026-11-21T10:30:00Z"')
    expect(Object.keys(JSON.parse(`{${members}}`))).toEqual(['__proto__', 'a"b\\'])
  })
})
