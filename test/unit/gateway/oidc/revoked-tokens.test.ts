/** @module-tag no-retry */
// The list of revoked tokens: its content, and what a request for it costs (contract 7.4, threat X8).
import { setImmediate } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { REVOKED_TOKENS_PREFIX } from '../../../../src/api/names.ts'
import { AS_OF_HEADER } from '../../../../src/api/names.ts'
import { createRevokedPage } from '../../../../src/gateway/oidc/documents.ts'
import { Store } from '../../../../src/kube/informer/store.ts'
import type { Answer } from '../../../../src/serving/http/answer.ts'
import { platformConfigMap } from '../../../../src/settings/follow.ts'
import { manualClock } from '../../../support/manual-clock.ts'
import { randomFrom } from '../../../support/random.ts'
import { repeated } from '../../../support/tier.ts'
import { callTo } from '../request-builder.ts'
import { configMap, statusOf, textOf } from './config-map-pages.ts'

const NOW_MS = Date.parse('2026-11-21T10:00:00Z')
const EXP = '2026-11-21T11:30:00Z'
const LATER = '2026-11-21T11:40:00Z'
const NAME = `${REVOKED_TOKENS_PREFIX}2026112111`
const NEXT_HOUR = `${REVOKED_TOKENS_PREFIX}2026112112`

function revokedOver() {
  const store = new Store(platformConfigMap)
  const clock = manualClock(NOW_MS)
  let heardMs: number | null = null
  const page = createRevokedPage({ configMaps: store, asOfMs: () => heardMs, clock })
  const get = (held?: string): Promise<Answer> =>
    page(callTo('/oidc/revoked', { headers: held === undefined ? {} : { 'if-none-match': held } }))
  const hear = (ms: number): void => {
    heardMs = ms
  }
  return {
    store,
    clock,
    get,
    hear,
    put: (name: string, data: Readonly<Record<string, string>>) => store.put(configMap(name, data)),
    tokens: async (): Promise<object> => JSON.parse(textOf(await get())).tokens,
  }
}
const etagOf = ({ headers }: Answer): string => String(headers['etag'])

test('the list of revoked tokens is unavailable before the first complete list (7.4)', async () => {
  const { put, get } = revokedOver()
  put(NAME, { a: EXP })
  expect(statusOf(await get())).toEqual({
    status: 503,
    message: 'the revoked tokens are not known yet',
  })
})

test('the list has the tokens of all ConfigMaps, and as asOf the moment they were last known complete (7.4)', async () => {
  const { put, get, hear } = revokedOver()
  put(NAME, { b: EXP })
  put(`${NAME}-1`, { a: EXP, broken: 'soon' })
  put('other', { c: EXP })
  hear(NOW_MS)
  const answer = await get()
  expect(answer).toMatchObject({
    status: 200,
    headers: { 'content-type': 'application/json', 'cache-control': 'no-cache' },
  })
  expect(JSON.parse(textOf(answer))).toEqual({
    asOf: '2026-11-21T10:00:00Z',
    tokens: { a: EXP, b: EXP, broken: '2026-11-21T11:59:59.999Z' },
  })
})

test('tokens that end in the last hour come first, so that a client that stops reading misses those that end soonest (7.4)', async () => {
  const { put, tokens, hear } = revokedOver()
  put(NAME, { a: EXP })
  put(NEXT_HOUR, { b: '2026-11-21T12:30:00Z' })
  put(`${NAME}-1`, { c: EXP })
  hear(NOW_MS)
  expect(Object.keys(await tokens())).toEqual(['b', 'c', 'a'])
})

test('asOf does not advance while the watch is silent, however often clients ask (7.4)', async () => {
  const { get, hear, clock } = revokedOver()
  hear(NOW_MS)
  const first = await get()
  await clock.advance(60_000)
  expect(await get()).toEqual(first)
  hear(NOW_MS + 60_000)
  expect(JSON.parse(textOf(await get())).asOf).toBe('2026-11-21T10:01:00Z')
})

test('the list follows added and removed records within a second (7.4)', async () => {
  const { store, put, tokens, hear, clock } = revokedOver()
  hear(NOW_MS)
  expect(await tokens()).toEqual({})
  put(NAME, { a: EXP })
  await clock.advance(1000)
  expect(await tokens()).toEqual({ a: EXP })
  put(NAME, { a: EXP, b: EXP })
  await clock.advance(1000)
  expect(await tokens()).toEqual({ a: EXP, b: EXP })
  store.remove(configMap(NAME, {}))
  await clock.advance(1000)
  expect(await tokens()).toEqual({})
})

test('a token in several ConfigMaps is listed once, with its latest expiry (7.4)', async () => {
  const { store, put, get, tokens, hear, clock } = revokedOver()
  hear(NOW_MS)
  const textIn = async (): Promise<string> => {
    await clock.advance(1000)
    return textOf(await get())
  }
  put(NAME, { a: EXP, b: EXP })
  expect(await tokens()).toEqual({ a: EXP, b: EXP })
  put(`${NAME}-1`, { a: LATER })
  expect((await textIn()).match(/"a":/g)).toHaveLength(1)
  expect(await tokens()).toEqual({ a: LATER, b: EXP })
  put(`${NAME}-1`, { a: 'damaged' })
  expect((await textIn()).match(/"a":/g)).toHaveLength(1)
  expect(await tokens()).toEqual({ a: '2026-11-21T11:59:59.999Z', b: EXP })
  store.remove(configMap(NAME, {}))
  expect(await textIn()).toContain('"a":')
  store.remove(configMap(`${NAME}-1`, {}))
  await clock.advance(1000)
  expect(await tokens()).toEqual({})
})

test.each([
  { name: 'the same ETag', held: (etag: string) => etag },
  { name: 'the same ETag, strong', held: (etag: string) => etag.slice('W/'.length) },
  { name: 'it among several ETags', held: (etag: string) => `"x", ${etag} , "y"` },
])('the list is not sent again to a client that holds $name (7.4)', async ({ held }) => {
  const { get, hear } = revokedOver()
  hear(NOW_MS)
  const etag = etagOf(await get())
  expect(etag).toMatch(/^W\/"[\w-]{43}"$/)
  const answer = await get(held(etag))
  expect(answer).toMatchObject({ status: 304, headers: { etag, 'cache-control': 'no-cache' } })
  expect(answer.body).toHaveLength(0)
})

test.each([
  { name: 'an empty ETag', held: undefined },
  { name: 'another ETag', held: '"x"' },
  { name: 'a text without quotes', held: 'x' },
  { name: 'no ETag', held: '' },
])('the list is sent to a client that holds $name (7.4)', async ({ held }) => {
  const { get, hear } = revokedOver()
  hear(NOW_MS)
  expect((await get(held)).status).toBe(200)
})

test('the list is sent again with another ETag when a token has changed (7.4)', async () => {
  const { put, get, hear, clock } = revokedOver()
  hear(NOW_MS)
  const first = etagOf(await get())
  put(NAME, { a: EXP })
  await clock.advance(1000)
  const second = await get(first)
  expect(second.status).toBe(200)
  expect(etagOf(second)).not.toBe(first)
})

test('a later asOf of the same tokens is in a header of the 304, and in the body of the next 200 (7.4)', async () => {
  const { put, get, hear, clock } = revokedOver()
  put(NAME, { a: EXP })
  hear(NOW_MS)
  const etag = etagOf(await get())
  await clock.advance(1000)
  hear(NOW_MS + 1000)
  const unchanged = await get(etag)
  expect(unchanged.status).toBe(304)
  expect(unchanged.headers[AS_OF_HEADER]).toBe('2026-11-21T10:00:01Z')
  expect(JSON.parse(textOf(await get()))).toMatchObject({
    asOf: '2026-11-21T10:00:01Z',
    tokens: { a: EXP },
  })
})

test('the same tokens have the same ETag in any order of arrival (7.4)', async () => {
  const tags = [
    [NAME, NEXT_HOUR],
    [NEXT_HOUR, NAME],
  ].map(async (names) => {
    const { put, get, hear } = revokedOver()
    for (const name of names) put(name, { [name]: EXP })
    hear(NOW_MS)
    return etagOf(await get())
  })
  expect(new Set(await Promise.all(tags)).size).toBe(1)
})

test('the list is built once a second at most, however often records come and clients ask (7.4, threat X8)', async () => {
  const { put, get, hear, clock } = revokedOver()
  const bodies = new Set<Answer['body']>()
  const tags = new Set<string>()
  for (let count = 0; count < 40; count += 1) {
    put(`${NAME}-${(count % 8) + 1}`, { [`token-${count}`]: EXP })
    hear(clock.nowMs())
    const burst = await Promise.all([get(), get(), get('"another"')])
    for (const answer of burst) bodies.add(answer.body)
    for (const tag of await Promise.all(burst.map((one) => get(etagOf(one))))) tags.add(etagOf(tag))
    await clock.advance(250)
  }
  expect(bodies.size).toBe(10)
  expect(tags.size).toBe(10)
})

test('clients that ask at once before the first list is built share it (threat X8)', async () => {
  const { put, get, hear } = revokedOver()
  put(NAME, { a: EXP })
  hear(NOW_MS)
  const burst = await Promise.all(Array.from({ length: 50 }, () => get()))
  expect(new Set(burst.map(({ body }) => body)).size).toBe(1)
})

/** Data that counts how often it is iterated. */
function countedData(name: string): {
  readonly data: Readonly<Record<string, string>>
  reads: number
} {
  const counted = { data: {}, reads: 0 }
  counted.data = new Proxy(
    { [name]: EXP },
    {
      ownKeys: (target) => {
        counted.reads += 1
        return Reflect.ownKeys(target)
      },
    },
  )
  return counted
}

test('unchanged ConfigMaps are not parsed again (7.4, threat X8)', async () => {
  const { put, get, hear, clock } = revokedOver()
  const stable = Array.from({ length: 30 }, (_, at) => countedData(`token-${at}`))
  stable.forEach(({ data }, at) => put(`${NAME}-${at + 1}`, data))
  hear(NOW_MS)
  await get()
  const reads = stable.map((one) => one.reads)
  expect(Math.min(...reads)).toBeGreaterThan(0)
  for (let count = 0; count < 5; count += 1) {
    put(NAME, { [`new-${count}`]: EXP })
    hear(clock.nowMs())
    await clock.advance(1000)
    expect(textOf(await get())).toContain(`new-${count}`)
  }
  expect(stable.map((one) => one.reads)).toEqual(reads)
})

test.each(Array.from({ length: repeated(20, 1000) }, (_, seed) => seed + 1))(
  'the list has each token once, whatever is written, copied and removed: history %i (7.4)',
  async (seed) => {
    const random = randomFrom(seed)
    const { store, put, get, hear, clock } = revokedOver()
    const names = [NAME, `${NAME}-1`, `${NAME}-2`, NEXT_HOUR]
    const held = new Map<string, Readonly<Record<string, string>>>()
    hear(NOW_MS)
    for (let change = 0; change < 12; change += 1) {
      const name = random.pick(names)
      const jtis = ['a', 'b', 'c', 'd', 'e'].filter(() => random.pick([true, false]))
      held.set(name, Object.fromEntries(jtis.map((jti) => [jti, random.pick([EXP, LATER])])))
      if (random.pick([true, true, false])) put(name, held.get(name) ?? {})
      else if (held.delete(name)) store.remove(configMap(name, {}))
      if (random.pick([true, false])) continue
      await clock.advance(1000)
      const there = textOf(await get()).match(/"\w"(?=:)/g) ?? []
      const wanted = new Set([...held.values()].flatMap((data) => Object.keys(data)))
      expect(there.toSorted()).toEqual([...wanted].map((jti) => `"${jti}"`).toSorted())
    }
  },
)

test('one of many ConfigMaps is parsed in each turn of the event loop (threat X8)', async () => {
  const { put, get, hear } = revokedOver()
  const many = Array.from({ length: 65 }, (_, at) => countedData(`token-${at}`))
  many.forEach(({ data }, at) => put(`${NAME}-${at + 1}`, data))
  hear(NOW_MS)
  const readSoFar = (): number => many.filter(({ reads }) => reads > 0).length
  const building = get()
  let most = readSoFar()
  for (let before = most; before < many.length; before = readSoFar()) {
    await setImmediate()
    most = Math.max(most, readSoFar() - before)
  }
  expect(most).toBe(1)
  expect(Object.keys(JSON.parse(textOf(await building)).tokens)).toHaveLength(many.length)
})
