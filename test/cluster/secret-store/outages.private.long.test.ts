/** @module-tag no-retry */
// A store that is away, slow or busy: every Secret keeps its data, the condition says so, it is asked little, and what has changed
// meanwhile is there a round or two after it is back (contract 36.3, 36.5, threat 20).
import { describe, expect, test } from 'vitest'
import { privateControlPlane } from '../../support/control-plane.ts'
import { eventuallyPasses, staysTrue } from '../../support/eventually.ts'
import type { KvStore } from '../../support/kv-store/kv-store.ts'
import { metric } from '../../support/metrics-page.ts'
import { prepareWith } from '../../support/program-or-skip.ts'
import { serveStore } from './served-store.ts'
import { AFTER_A_ROUND, type Project, createProject, storeProgram } from './store-world.ts'

const program = await storeProgram()
const plane = await privateControlPlane()
const served = serveStore(plane, program)

const MANY = 30
const NAMES = Array.from({ length: MANY }, (_, at) => `pulled-${at}`)
/** Two intervals with what they vary by, and a little. */
const TWO_ROUNDS_MS = 23_000
/** Of a round in which nothing answers: 8 calls, each of which may be sent twice. */
const MOST_IN_A_ROUND = 16
let web: Project

const putAll = async (value: string): Promise<void> => {
  for (const name of NAMES) await served().store.put(`${web.name}/${name}`, { value })
}
const allHave = (value: string, withinMs = AFTER_A_ROUND.withinMs): Promise<void> =>
  eventuallyPasses(
    `all have ${value}`,
    async () => {
      for (const name of NAMES) expect(await web.texts(name)).toEqual({ value })
    },
    { withinMs },
  )

prepareWith([program], async () => {
  web = await createProject(plane)
  await putAll('0')
  for (const name of NAMES) await web.create(name, { direction: 'Pull' })
  await web.create('pushed', { direction: 'Push', data: { value: '0' } })
  await served().says('Synced', String(MANY + 1))
})

interface Outage {
  readonly name: string
  readonly begin: (store: KvStore) => Promise<void>
  readonly end: (store: KvStore) => Promise<void>
}
const fault = (name: string, parts: Parameters<KvStore['fault']>[0]): Outage => ({
  name,
  begin: (store) => store.fault(parts),
  end: (store) => store.fault({}),
})
const OUTAGES: readonly Outage[] = [
  { name: 'stopped', begin: (store) => store.listen(false), end: (store) => store.listen(true) },
  { name: 'sealed', begin: (store) => store.seal(true), end: (store) => store.seal(false) },
  fault('slow: 30 s for each answer', { delayMs: 30_000 }),
  fault('breaking each connection', { every: 1 }),
  fault('busy: 429', { every: 1, code: 429 }),
  fault('in maintenance: 503', { every: 1, code: 503 }),
  fault('failing: 500', { every: 1, code: 500 }),
]

describe.each(OUTAGES)('a store that is $name', ({ name, begin, end }) => {
  test('Unreachable, all keep their data, no round piles up, and it heals (36.3, 36.5, threat 20)', async () => {
    const { store, says, delivery } = served()
    await begin(store)
    await putAll(name)
    await web.change('pushed', { stringData: { value: name } })
    const before = await web.texts('pulled-0')
    const { status, message } = await says('Unreachable')
    expect(status).toBe('False')
    expect(message).toContain('every Secret and entry stays as it is')
    const versions = await Promise.all(NAMES.map(web.read))
    await store.requests()
    let asked = 0
    await staysTrue(
      'it is asked little',
      async () => {
        asked += (await store.requests()).length
        expect(asked).toBeLessThanOrEqual(3 * MOST_IN_A_ROUND)
      },
      { forMs: TWO_ROUNDS_MS },
    )
    expect(await web.texts('pulled-0')).toEqual(before)
    expect(await Promise.all(NAMES.map(web.read))).toEqual(versions)
    expect((await store.get(`${web.name}/pushed`))?.data).not.toEqual({ value: name })
    expect(await metric(delivery(), 'platform_secret_store_lag_seconds')).toBeGreaterThan(10)
    await end(store)
    await allHave(name, 2 * TWO_ROUNDS_MS)
    await says('Synced', String(MANY + 1))
    expect((await store.get(`${web.name}/pushed`))?.data).toEqual({ value: name })
    expect(await metric(delivery(), 'platform_secret_store_lag_seconds')).toBe(0)
  })
})

test('a store that fails a tenth of the calls: all follow meanwhile, and the condition says of how many it does not answer (36.5)', async () => {
  const { store, says } = served()
  await store.fault({ every: 10, code: 500 })
  const { status, message } = await says('Partly', 'The store does not answer for')
  expect(status).toBe('False')
  expect(message).toMatch(/of 31\. .*The store does not answer for [1-9] of them\./)
  await putAll('in spite of that')
  await allHave('in spite of that')
  await store.requests()
  let asked = 0
  await staysTrue(
    'each Secret is asked for once in a round',
    async () => {
      asked += (await store.requests()).length
      expect(asked).toBeLessThanOrEqual(3 * (MANY + 1) * 1.2)
    },
    { forMs: TWO_ROUNDS_MS },
  )
  await store.fault({})
  await says('Synced')
})
