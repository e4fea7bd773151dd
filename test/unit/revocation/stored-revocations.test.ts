/** @module-tag no-retry */
// The union of the ConfigMaps of revoked tokens, change by change (contract 7.4).
import { expect, test } from 'vitest'
import type { ConfigMap } from '../../../src/api/objects.ts'
import { StoredRevocations } from '../../../src/revocation/stored-revocations.ts'
import { at, configMap, HOUR } from '../domain/token/revocations.ts'

type StoredChange = ReturnType<StoredRevocations['update']>

const EARLY = '2026-11-21T10:10:00Z'
const LATE = '2026-11-21T10:50:00Z'
const LAST = at('2026-11-21T10:59:59.999Z')
const one = (data: Readonly<Record<string, string>>): ConfigMap => configMap(HOUR, data)
const other = (data: Readonly<Record<string, string>>): ConfigMap => configMap(`${HOUR}-1`, data)
const foreign = configMap('kube-root-ca.crt', { a: 'x' })

type Data = Readonly<Record<string, string>>
// biome-ignore format: a table
const rows: readonly {
  readonly name: string
  /** The other ConfigMap of the hour. */
  readonly beside?: Data
  readonly before?: Data
  readonly after?: Data
  readonly change?: Partial<StoredChange>
  /** The stored tokens with their expiry. */
  readonly holds: Readonly<Record<string, number>>
}[] = [
  { name: 'a new record', after: { a: EARLY }, change: { gained: ['a'] }, holds: { a: at(EARLY) } },
  { name: 'an unchanged record', before: { a: EARLY }, after: { a: EARLY }, holds: { a: at(EARLY) } },
  { name: 'a new record beside an unchanged one', before: { a: EARLY }, after: { a: EARLY, b: LATE }, change: { gained: ['b'] }, holds: { a: at(EARLY), b: at(LATE) } },
  { name: 'a deleted record', before: { a: EARLY, b: EARLY }, after: { b: EARLY }, change: { lost: [['a', at(EARLY)]] }, holds: { b: at(EARLY) } },
  { name: 'a deleted ConfigMap', before: { a: EARLY }, change: { lost: [['a', at(EARLY)]] }, holds: {} },
  { name: 'another expiry', before: { a: LATE }, after: { a: EARLY }, holds: { a: at(EARLY) } },
  { name: 'a malformed expiry', before: { a: EARLY }, after: { a: 'soon' }, holds: { a: LAST } },
  { name: 'a copy in another ConfigMap', beside: { a: EARLY }, after: { a: EARLY }, change: { shared: ['a'] }, holds: { a: at(EARLY) } },
  { name: 'a copy with a later expiry', beside: { a: EARLY }, after: { a: LATE }, change: { shared: ['a'] }, holds: { a: at(LATE) } },
  { name: 'a copy with an earlier expiry', beside: { a: LATE }, after: { a: EARLY }, change: { shared: ['a'] }, holds: { a: at(LATE) } },
  { name: 'a copy whose expiry becomes later', beside: { a: EARLY }, before: { a: EARLY }, after: { a: LATE }, change: { shared: ['a'] }, holds: { a: at(LATE) } },
  { name: 'a deleted copy', beside: { a: EARLY }, before: { a: EARLY }, change: { shared: ['a'] }, holds: { a: at(EARLY) } },
  { name: 'the name of an object property', after: { constructor: EARLY }, change: { gained: ['constructor'] }, holds: { constructor: at(EARLY) } },
]
test.each(rows)('$name (7.4)', ({ beside, before, after, change, holds }) => {
  const stored = new StoredRevocations()
  if (beside) stored.update(undefined, other(beside))
  if (before) stored.update(undefined, one(before))
  expect(stored.update(before && one(before), after && one(after))).toEqual({
    gained: [],
    lost: [],
    shared: [],
    ...change,
  })
  const names = ['a', 'b', 'constructor']
  const held = names.flatMap((jti) => [[jti, stored.get(jti)?.endMs] as const])
  expect(Object.fromEntries(held.filter(([, endMs]) => endMs !== undefined))).toEqual(holds)
  expect(names.filter((jti) => stored.has(jti))).toEqual(Object.keys(holds))
})

test('ConfigMaps of other owners are ignored', () => {
  const stored = new StoredRevocations()
  expect(stored.update(undefined, foreign)).toEqual({ gained: [], lost: [], shared: [] })
  expect(stored.update(foreign, undefined)).toEqual({ gained: [], lost: [], shared: [] })
})

test.each([
  { now: '2026-11-21T10:00:00Z', count: 2 },
  { now: EARLY, count: 1 },
  { now: '2026-11-21T10:49:59.999Z', count: 1 },
  { now: LATE, count: 0 },
])('$count are not expired at $now (8.4)', ({ now, count }) => {
  const stored = new StoredRevocations()
  stored.update(undefined, one({ a: EARLY, b: LATE }))
  stored.update(undefined, other({ a: EARLY }))
  expect(stored.countAt(at(now))).toBe(count)
})
