// A scrape that counts the objects of a large cluster does not block the event loop.
import { describe, expect, test } from 'vitest'
import { secretDigest } from '../../../src/authn/credential-index.ts'
import { countObjects } from '../../../src/commands/manager/metrics.ts'
import { TOKEN_INDEXERS } from '../../../src/controllers/indexes/tokens.ts'
import { KEY_INDEXERS, KEY_ORDERS } from '../../../src/controllers/indexes/access-keys.ts'
import { type OwnedAccessKeyObject, accessKeyOf } from '../../../src/domain/accesskey/access-key.ts'
import { NOTHING_OVERDUE } from '../../../src/domain/time.ts'
import { tokenOf } from '../../../src/domain/token/token.ts'
import { Store } from '../../../src/kube/informer/store.ts'
import { EventLoopShare } from '../../../src/runtime/concurrency/event-loop.ts'
import { settledKeys } from '../../support/key-controller-at-scale.ts'
import { countPerTurn, tickingClock } from '../../support/manual-clock.ts'
import { issuedObject, withMetadata } from '../../support/token-builder.ts'
import { repeated } from '../../support/tier.ts'
import { peopleStores } from '../people/people-builder.ts'
import { managerMetrics, scraped } from './manager/metrics-builder.ts'

const T0 = Date.parse('2026-11-21T10:00:00Z')
const COUNT = repeated(5_000, 20_000)
/** A look at the clock takes a millisecond, and there are some for each thousand objects. */
const MOST = 1100

const HOUR_MS = 3_600_000
const KEYS = settledKeys(COUNT, T0, (n) => ((n % 2) * HOUR_MS) / 1000)
const ISSUED = issuedObject()
const TOKENS = Array.from({ length: COUNT }, (_, n) =>
  withMetadata(ISSUED, { name: `token-${n}`, uid: `token-${n}` }),
)

/** The same key after a later event. */
const later = (key: OwnedAccessKeyObject, metadata: object): OwnedAccessKeyObject => {
  revision += 1
  return { ...key, metadata: { ...key.metadata, resourceVersion: String(revision), ...metadata } }
}
let revision = COUNT

/** The counts of that many keys and tokens; records the objects visited in each turn. */
function stage() {
  let looked = (): void => undefined
  let last: unknown = null
  /** Called once for each object that is visited. */
  const seen = <T extends object>(item: T): T =>
    new Proxy(item, {
      get: (of, member) => {
        if (of !== last) looked()
        last = of
        return Reflect.get(of, member) as unknown
      },
    })
  const keys = new Store(
    (object) => seen(accessKeyOf(object as OwnedAccessKeyObject, secretDigest)),
    KEY_INDEXERS,
    KEY_ORDERS,
  )
  const tokens = new Store((object) => seen(tokenOf(object as never)), TOKEN_INDEXERS)
  const clock = tickingClock(T0, 1)
  const nobody = peopleStores()
  const options = {
    stores: { keys, tokens, ...nobody },
    people: nobody.people,
    caps: { current: () => ({ maxTtlSeconds: null, loginTtlSeconds: null }) },
    clock,
    eventLoop: new EventLoopShare(clock),
    keyring: { lives: () => [], faults: () => [] },
    revocations: { countAt: () => 0, backlog: () => NOTHING_OVERDUE },
  }
  for (const [store, objects] of [
    [keys, KEYS],
    [tokens, TOKENS],
  ] as const) {
    store.begin()
    for (const object of objects) store.put(object)
    store.end()
  }
  const looks = countPerTurn()
  looked = looks.count
  return {
    keys,
    clock,
    looks,
    counts: countObjects(options as unknown as Parameters<typeof countObjects>[0]),
  }
}

const sum = (byState: Readonly<Record<string, number>>): number =>
  Object.values(byState).reduce((all, one) => all + one, 0)

describe(`${COUNT} keys and as many tokens`, () => {
  test('are counted in many turns (8.4)', async () => {
    const { counts, looks } = stage()
    await counts.refresh()
    expect(counts.counts('OwnedAccessKey')?.byState).toEqual({ active: COUNT })
    expect(counts.counts('DirectClusterEndpointToken')?.byState).toEqual({ issued: COUNT })
    expect(looks.all()).toBe(2 * COUNT)
    expect(looks.most()).toBeLessThanOrEqual(MOST)
  })

  test('are reported one by one in many turns (8.4)', async () => {
    const { counts, looks } = stage()
    const ends = new Map<string, number>()
    await counts.keyEnds((name, atMs) => ends.set(name, atMs))
    expect(ends.size).toBe(COUNT / 2)
    expect(ends.get('key-1')).toBe(T0 + HOUR_MS)
    expect(looks.most()).toBeLessThanOrEqual(MOST)
  })

  test('are each counted once, whatever changes meanwhile (8.4)', async () => {
    const { counts, looks, keys, clock } = stage()
    const counted = counts.refresh()
    while (looks.all() < COUNT / 2) await new Promise(setImmediate)
    const [first, , third, ...rest] = KEYS
    const last = rest.at(-1)
    if (!first || !third || !last) throw new Error('there are no keys')
    // Of the counted ones one is deleted, one deleted and created again; of the others one changes; one is new.
    keys.remove(later(first, {}))
    keys.remove(later(third, {}))
    keys.put(later(third, { uid: 'another' }))
    keys.put({ ...later(last, {}), spec: { user: 'ada', disabled: true, key: 'l'.repeat(32) } })
    keys.put({ ...later(last, { name: 'new', uid: 'new' }), spec: { user: 'ada' } })
    await counted
    expect(counts.counts('OwnedAccessKey')?.byState).toEqual({ active: COUNT })
    await clock.advance(1001)
    await counts.refresh()
    expect(sum(counts.counts('OwnedAccessKey')?.byState ?? {})).toBe(COUNT)
    expect(counts.counts('OwnedAccessKey')?.byState['disabled']).toBe(1)
  })

  test('are counted once for all scrapes within a second (8.4)', async () => {
    const { counts, looks, clock } = stage()
    await Promise.all([counts.refresh(), counts.refresh()])
    await counts.refresh()
    expect(looks.all()).toBe(2 * COUNT)
    await clock.advance(1001)
    await counts.refresh()
    expect(looks.all()).toBe(4 * COUNT)
  })

  test('are in the scrape that caused the count (8.4)', async () => {
    const { counts } = stage()
    const metrics = managerMetrics(true)
    metrics.follow(counts)
    const series = await scraped(metrics)
    expect(series['platform_access_keys{state="active"}']).toBe(COUNT)
    const ends = Object.entries(series).filter(([name]) =>
      name.includes('_key_expiration_timestamp'),
    )
    expect(ends).toHaveLength(COUNT / 2)
    expect(ends[0]).toEqual([
      'platform_access_key_expiration_timestamp_seconds{name="key-1"}',
      (T0 + HOUR_MS) / 1000,
    ])
  })
})
