import { describe, expect, test } from 'vitest'
import {
  ADMISSION_KINDS,
  type Admission,
  type AdmissionKind,
  type MaxInFlight,
  MAX_PER_KEY,
  MAX_IN_TOTAL,
  createMaxInFlight,
} from '../../../../src/gateway/stages/max-in-flight.ts'

/** A full limit, and the reported refusals. */
type Full = MaxInFlight & {
  readonly releases: readonly (() => void)[]
  readonly limited: readonly AdmissionKind[]
}

/** As many as one key may have. */
function filled(kind: AdmissionKind): Full {
  const limited: AdmissionKind[] = []
  const { admit } = createMaxInFlight((refused) => void limited.push(refused))
  const releases = Array.from({ length: MAX_PER_KEY[kind] }, () => released(admit('a', kind)))
  return { admit, releases, limited }
}

function released(admission: Admission): () => void {
  if (!admission.ok) throw new Error('refused below the limit')
  return admission.release
}

const NAMES: Readonly<Record<AdmissionKind, string>> = {
  request: 'requests',
  stream: 'streams (watches, logs, exec, attach, port-forward, proxied requests)',
  filteredList: 'filtered lists',
  filteredWatch: 'filtered watches',
}

/** The refusal; fails when there is none. */
function messageOf(admission: Admission): string {
  if (admission.ok) throw new Error('let pass above the limit')
  const { status, headers, body } = admission.answer
  expect(status).toBe(429)
  expect(headers).toMatchObject({ 'retry-after': '1' })
  const { message, reason } = JSON.parse(body.toString()) as { message: string; reason: string }
  expect(reason).toBe('TooManyRequests')
  return message
}

describe.each(ADMISSION_KINDS)('the limit of requests in flight per key: %s (13.3)', (kind) => {
  test('refuses one more with a 429 that has the limit and Retry-After', () => {
    const message = messageOf(filled(kind).admit('a', kind))
    expect(message).toBe(
      `too many ${NAMES[kind]} in progress for this credential (limit ${MAX_PER_KEY[kind]}); try again in 1 s`,
    )
  })

  test('reports each refusal, and nothing else', () => {
    const { admit, limited } = filled(kind)
    expect(limited).toEqual([])
    admit('a', kind)
    admit('b', kind)
    admit('a', kind)
    expect(limited).toEqual([kind, kind])
  })

  test('does not affect other keys and other kinds', () => {
    const { admit } = filled(kind)
    expect(admit('b', kind).ok).toBe(true)
    for (const other of ADMISSION_KINDS) expect(admit('a', other).ok).toBe(other !== kind)
  })

  test('frees one place for each finished request, however often it reports its end', () => {
    const { admit, releases } = filled(kind)
    for (const _ of [1, 2, 3]) releases[0]?.()
    expect(admit('a', kind).ok).toBe(true)
    expect(admit('a', kind).ok).toBe(false)
  })

  test('admits as many again when all have finished', () => {
    const { admit, releases } = filled(kind)
    for (const release of releases) release()
    const again = releases.map(() => admit('a', kind).ok)
    expect(new Set(again)).toEqual(new Set([true]))
    expect(admit('a', kind).ok).toBe(false)
  })
})

describe.each(['filteredList', 'filteredWatch'] as const)(
  'the limit of requests in flight of all keys: %s (13.3)',
  (kind) => {
    /** Each has one. */
    function crowded(): Full {
      const limited: AdmissionKind[] = []
      const { admit } = createMaxInFlight((refused) => void limited.push(refused))
      const releases = Array.from({ length: MAX_IN_TOTAL[kind] }, (_, at) =>
        released(admit(`crowd-${at}`, kind)),
      )
      return { admit, releases, limited }
    }

    test('refuses one more, of another key, with a 429 that names the limit of all keys', () => {
      const { admit, limited } = crowded()
      const message = messageOf(admit('a', kind))
      expect(limited).toEqual([kind])
      expect(message).toBe(
        `too many ${NAMES[kind]} in progress at this gateway for all credentials together (limit ${MAX_IN_TOTAL[kind]}); try again in 1 s`,
      )
    })

    test('does not affect the other kinds', () => {
      const { admit } = crowded()
      for (const other of ADMISSION_KINDS) expect(admit('a', other).ok).toBe(other !== kind)
    })

    test('frees one place for each finished request, however often it reports its end', () => {
      const { admit, releases } = crowded()
      for (const _ of [1, 2, 3]) releases[0]?.()
      expect(admit('a', kind).ok).toBe(true)
      expect(admit('b', kind).ok).toBe(false)
    })

    test('a refused request takes no place', () => {
      const { admit, releases } = crowded()
      for (const _ of releases) messageOf(admit('a', kind))
      for (const release of releases) release()
      expect(releases.map((_, at) => admit(`crowd-${at}`, kind).ok)).not.toContain(false)
    })
  },
)

test('the observer gets each refusal with its kind, and nothing else (15)', () => {
  const refusals: AdmissionKind[] = []
  const { admit } = createMaxInFlight((kind) => refusals.push(kind))
  const { ok: isFirst } = admit('a', 'filteredList')
  for (const _ of [1, 2]) admit('a', 'filteredList')
  for (let at = 1; at <= MAX_IN_TOTAL.filteredWatch; at += 1) admit(`crowd-${at}`, 'filteredWatch')
  admit('a', 'filteredWatch')
  expect({ isFirst, refusals }).toEqual({
    isFirst: true,
    refusals: ['filteredList', 'filteredList', 'filteredWatch'],
  })
})
