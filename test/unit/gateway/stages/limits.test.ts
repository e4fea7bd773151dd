import { describe, expect, test } from 'vitest'
import {
  type Admission,
  type AdmissionKind,
  createLimits,
  MOST_AT_A_TIME,
} from '../../../../src/gateway/stages/limits.ts'

const KINDS = ['request', 'stream'] as const

/** As many as there may be of one key. */
function filled(kind: AdmissionKind): {
  readonly admit: (key: string, kind: AdmissionKind) => Admission
  readonly releases: readonly (() => void)[]
} {
  const { admit } = createLimits()
  const releases = Array.from({ length: MOST_AT_A_TIME[kind] }, () => {
    const admission = admit('a', kind)
    if (!admission.ok) throw new Error('refused below the limit')
    return admission.release
  })
  return { admit, releases }
}

describe.each(KINDS)('what one key has under way at a time: %ss (13.3)', (kind) => {
  test('one more is a 429 that says how many there are, and when to come again', () => {
    const admission = filled(kind).admit('a', kind)
    const answer = admission.ok ? null : admission.answer
    expect(answer?.status).toBe(429)
    expect(answer?.headers).toMatchObject({ 'retry-after': '1' })
    const { message, reason } = JSON.parse(answer?.body.toString() ?? '')
    expect(reason).toBe('TooManyRequests')
    expect(message).toContain(String(MOST_AT_A_TIME[kind]))
  })

  test('leaves others and the other kind alone', () => {
    const { admit } = filled(kind)
    expect(admit('b', kind).ok).toBe(true)
    for (const other of KINDS) expect(admit('a', other).ok).toBe(other !== kind)
  })

  test('what is over makes room for one, however often it says so', () => {
    const { admit, releases } = filled(kind)
    for (const _ of [1, 2, 3]) releases[0]?.()
    expect(admit('a', kind).ok).toBe(true)
    expect(admit('a', kind).ok).toBe(false)
  })

  test('when all are over there is room for as many', () => {
    const { admit, releases } = filled(kind)
    for (const release of releases) release()
    const again = releases.map(() => admit('a', kind).ok)
    expect(new Set(again)).toEqual(new Set([true]))
    expect(admit('a', kind).ok).toBe(false)
  })
})
