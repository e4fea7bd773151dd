/** @module-tag no-retry */
// Crashes, conflicts and lost answers at each write of a first delivery, of a rotation and of an end: the same state comes of it.
import { describe, expect, test } from 'vitest'
import { ROTATE_ANNOTATION } from '../../../../src/api/names.ts'
import { DeliveryWorld, deliveredWorld } from '../../../support/delivery/delivery-world.ts'
import {
  type ServerCall,
  type ServerFault,
  isWrite,
} from '../../../support/delivery/memory-api-server.ts'

/** More writes than any of these courses has. */
const MOST_WRITES = 9

interface Course {
  readonly name: string
  readonly begin: () => Promise<DeliveryWorld>
  /** How many keys and tokens there are at the end. */
  readonly keys: number
  readonly tokens: number
}

const rotation = async (spec: object): Promise<DeliveryWorld> => {
  const world = await deliveredWorld(spec)
  await world.run(60)
  world.edit({ metadata: { annotations: { [ROTATE_ANNOTATION]: 'now' } } })
  return world
}

const COURSES: readonly Course[] = [
  { name: 'a first key', begin: () => Promise.resolve(new DeliveryWorld()), keys: 1, tokens: 0 },
  {
    name: 'a first token',
    begin: () => Promise.resolve(new DeliveryWorld({ spec: { token: {} } })),
    keys: 1,
    tokens: 1,
  },
  { name: 'a rotation', begin: () => rotation({}), keys: 2, tokens: 0 },
  { name: 'a rotation without overlap', begin: () => rotation({ overlap: 0 }), keys: 1, tokens: 0 },
  {
    name: 'a rotation of a token',
    begin: () => rotation({ token: {}, overlap: 0 }),
    keys: 1,
    tokens: 1,
  },
  {
    name: 'new labels and limits',
    begin: async () => {
      const world = await deliveredWorld()
      world.edit({ spec: { key: { ttl: 864_000 }, secret: { labels: { a: 'b' } } } })
      return world
    },
    keys: 1,
    tokens: 0,
  },
]

/** Injects the fault into the write of this number. @returns whether it came so far */
function failAt(world: DeliveryWorld, at: number, fault: ServerFault): () => boolean {
  let count = -1
  world.server.faultOf = (call: ServerCall) => {
    if (!isWrite(call)) return null
    count += 1
    if (count !== at) return null
    return fault
  }
  return () => count >= at
}

const rows = COURSES.flatMap((course) =>
  Array.from({ length: MOST_WRITES }, (_, at) => ({ ...course, at })),
)

/** Which writes were reached, so that a course that does nothing fails. */
const reached = new Map<string, number>()
function note(kind: string, isReached: boolean): void {
  if (isReached) reached.set(kind, (reached.get(kind) ?? 0) + 1)
}

/** What comes of it after two minutes, and how much is written in the hour after that. */
async function endOf(world: DeliveryWorld) {
  await world.run(120)
  const { broken, fault, reason } = world
  const writes = world.server.writes().length
  await world.run(3600)
  return {
    broken,
    fault,
    reason,
    keys: world.keys.length,
    tokens: world.server.all('directclusterendpointtokens').length,
    writesAtRest: world.server.writes().length - writes,
  }
}

const end = (keys: number, tokens: number) => ({
  broken: [],
  fault: null,
  reason: 'Delivered',
  keys,
  tokens,
  writesAtRest: 0,
})

describe('a crash (28.3)', () => {
  test.each(rows)('$name, after write $at', async ({ begin, at, keys, tokens }) => {
    const world = await begin()
    const isReached = failAt(world, at, 'lost')
    world.crashOnError = true
    expect(await endOf(world)).toEqual(end(keys, tokens))
    note('crash', isReached())
  })

  test.each(rows)('$name, before write $at', async ({ begin, at, keys, tokens }) => {
    const world = await begin()
    failAt(world, at, 'unsent')
    world.crashOnError = true
    expect(await endOf(world)).toEqual(end(keys, tokens))
  })
})

describe('an answer that is lost (28.3)', () => {
  test.each(rows)('$name, of write $at', async ({ begin, at, keys, tokens }) => {
    const world = await begin()
    const isReached = failAt(world, at, 'lost')
    expect(await endOf(world)).toEqual(end(keys, tokens))
    note('lost', isReached())
  })
})

describe('a conflict (8.6)', () => {
  test.each(rows)('$name, at write $at', async ({ begin, at, keys, tokens }) => {
    const world = await begin()
    const isReached = failAt(world, at, { code: 409, reason: 'Conflict' })
    expect(await endOf(world)).toEqual(end(keys, tokens))
    note('conflict', isReached())
  })
})

test('the faults have met most writes', () => {
  for (const kind of ['crash', 'lost', 'conflict']) expect(reached.get(kind)).toBeGreaterThan(20)
})

describe('two processes at once (threat 9)', () => {
  test.each([{ stale: 0 }, { stale: 0.4 }, { stale: 1.4 }])(
    'one with stores from $stale s before: one Secret, and nothing left over',
    async ({ stale }) => {
      const world = new DeliveryWorld()
      const other = world.start()
      await world.run(stale)
      other.isStale = true
      for (let step = 0; step < 20; step += 1) {
        await world.reconcile(other)
        await world.run(0.2)
      }
      other.isStale = false
      world.server.refresh()
      for (let step = 0; step < 90; step += 1) {
        await world.reconcile(other)
        await world.run(1)
      }
      expect(world.fault).toBeNull()
      expect(world.reason).toBe('Delivered')
      expect(world.broken.filter((text) => !text.includes('keys'))).toEqual([])
      expect(world.keys.length).toBeLessThanOrEqual(2)
    },
  )
})
