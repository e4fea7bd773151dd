import { describe, expect, test } from 'vitest'
import {
  ADMISSION_KINDS,
  type Admission,
  type AdmissionKind,
  createMaxInFlight,
  type inFlightOwnerOf,
  MAX_IN_TOTAL,
  MAX_PER_KEY,
  MAX_PER_USER,
  type MaxInFlight,
} from '../../../../src/gateway/streams/max-in-flight.ts'

type InFlightOwner = ReturnType<typeof inFlightOwnerOf>

/** A request of that credential; each is of a user of its own unless it is named. */
const by = (credential: string, user = `user of ${credential}`): InFlightOwner => ({
  credential,
  user,
})

/** A full limit, and the reported refusals. */
type Full = MaxInFlight & {
  readonly releases: readonly (() => void)[]
  readonly limited: readonly AdmissionKind[]
}

/** As many as one key may have. */
function filled(kind: AdmissionKind): Full {
  const limited: AdmissionKind[] = []
  const { admit } = createMaxInFlight((refused) => void limited.push(refused))
  const releases = Array.from({ length: MAX_PER_KEY[kind] }, () => released(admit(by('a'), kind)))
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
    const message = messageOf(filled(kind).admit(by('a'), kind))
    expect(message).toBe(
      `too many ${NAMES[kind]} in progress for this credential (limit ${MAX_PER_KEY[kind]}); try again in 1 s`,
    )
  })

  test('reports each refusal, and nothing else', () => {
    const { admit, limited } = filled(kind)
    expect(limited).toEqual([])
    admit(by('a'), kind)
    admit(by('b'), kind)
    admit(by('a'), kind)
    expect(limited).toEqual([kind, kind])
  })

  test('does not affect other keys and other kinds', () => {
    const { admit } = filled(kind)
    expect(admit(by('b'), kind).ok).toBe(true)
    for (const other of ADMISSION_KINDS) expect(admit(by('a'), other).ok).toBe(other !== kind)
  })

  test('frees one place for each finished request, however often it reports its end', () => {
    const { admit, releases } = filled(kind)
    for (const _ of [1, 2, 3]) releases[0]?.()
    expect(admit(by('a'), kind).ok).toBe(true)
    expect(admit(by('a'), kind).ok).toBe(false)
  })

  test('admits as many again when all have finished', () => {
    const { admit, releases } = filled(kind)
    for (const release of releases) release()
    const again = releases.map(() => admit(by('a'), kind).ok)
    expect(new Set(again)).toEqual(new Set([true]))
    expect(admit(by('a'), kind).ok).toBe(false)
  })
})

describe.each(ADMISSION_KINDS)('the limit of requests in flight per user: %s (13.3)', (kind) => {
  /** As many as one user may have, by as many keys as that takes. */
  function filledByKeys() {
    const { admit } = createMaxInFlight(() => undefined)
    const perKey = MAX_PER_KEY[kind]
    const releases = Array.from({ length: MAX_PER_USER[kind] }, (_, at) =>
      released(admit(by(`key-${Math.floor(at / perKey)}`, 'ada'), kind)),
    )
    return { admit, releases }
  }

  test('refuses one more by another key of the user, with a 429 that names the kind and the number', () => {
    const message = messageOf(filledByKeys().admit(by('another', 'ada'), kind))
    expect(message).toBe(
      `too many ${NAMES[kind]} in progress for all credentials of this user, team or subject together (limit ${MAX_PER_USER[kind]}); try again in 1 s`,
    )
  })

  test('does not affect other users and other kinds', () => {
    const { admit } = filledByKeys()
    expect(admit(by('b', 'grace'), kind).ok).toBe(MAX_PER_USER[kind] < MAX_IN_TOTAL[kind])
    for (const other of ADMISSION_KINDS)
      expect(admit(by('c', 'ada'), other).ok).toBe(other !== kind)
  })

  test('frees a place for each finished request of any of the keys', () => {
    const { admit, releases } = filledByKeys()
    releases[0]?.()
    expect(admit(by('another', 'ada'), kind).ok).toBe(true)
    expect(admit(by('another', 'ada'), kind).ok).toBe(false)
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
        released(admit(by(`crowd-${at}`), kind)),
      )
      return { admit, releases, limited }
    }

    test('refuses one more, of another key, with a 429 that names the limit of all keys', () => {
      const { admit, limited } = crowded()
      const message = messageOf(admit(by('a'), kind))
      expect(limited).toEqual([kind])
      expect(message).toBe(
        `too many ${NAMES[kind]} in progress at this gateway for all credentials together (limit ${MAX_IN_TOTAL[kind]}); try again in 1 s`,
      )
    })

    test('does not affect the other kinds', () => {
      const { admit } = crowded()
      for (const other of ADMISSION_KINDS) expect(admit(by('a'), other).ok).toBe(other !== kind)
    })

    test('frees one place for each finished request, however often it reports its end', () => {
      const { admit, releases } = crowded()
      for (const _ of [1, 2, 3]) releases[0]?.()
      expect(admit(by('a'), kind).ok).toBe(true)
      expect(admit(by('b'), kind).ok).toBe(false)
    })

    test('a refused request takes no place', () => {
      const { admit, releases } = crowded()
      for (const _ of releases) messageOf(admit(by('a'), kind))
      for (const release of releases) release()
      expect(releases.map((_, at) => admit(by(`crowd-${at}`), kind).ok)).not.toContain(false)
    })
  },
)

test('the observer gets each refusal with its kind, and nothing else (15)', () => {
  const refusals: AdmissionKind[] = []
  const { admit } = createMaxInFlight((kind) => refusals.push(kind))
  const { ok: isFirst } = admit(by('a'), 'filteredList')
  for (const _ of [1, 2]) admit(by('a'), 'filteredList')
  for (let at = 1; at <= MAX_IN_TOTAL.filteredWatch; at += 1)
    admit(by(`crowd-${at}`), 'filteredWatch')
  admit(by('a'), 'filteredWatch')
  expect({ isFirst, refusals }).toEqual({
    isFirst: true,
    refusals: ['filteredList', 'filteredList', 'filteredWatch'],
  })
})
