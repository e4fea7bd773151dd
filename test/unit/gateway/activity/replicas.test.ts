import { describe, expect, test } from 'vitest'
import { type Random, randomFrom } from '../../../support/random.ts'
import { repeated } from '../../../support/tier.ts'
import {
  type Accepted,
  createReplica,
  createWorld,
  kill,
  stop,
  type Weather,
  type World,
} from './replicas.ts'
import { UNCAPPED } from './simulated-api.ts'

const SEEDS = Array.from({ length: repeated(3, 8) }, (_, index) => index + 1)
/** In seconds. */
const TTLS = [2, 3, 5, 10, 30, 120, 3600]
const STEPS = 1500
/** What failed calls, tried again, may add to the time until a use is recorded. */
const RETRIES_MS = 1000

/** Life in such weather: keys come, are used now and then or all the time, and end; gateways as well. */
async function lived(random: Random, weather: Weather): Promise<World> {
  const world = createWorld(UNCAPPED, random, weather)
  const replicas = [1, 2, 3].map(() => createReplica(world))
  for (let step = 0; step < STEPS; step += 1) {
    const name = `k-${Math.floor(random.between(0, 12))}`
    const replica = random.pick(replicas)
    const chance = random.between(0, 1000)
    if (!world.api.get(name)) world.addKey(name, random.pick(TTLS))
    if (chance < 850) world.request(replica, name)
    else if (chance < 980) touch(world, name)
    else {
      if (weather.kills && chance < 995) kill(world, replica)
      else await stop(world, replica)
      replicas[replicas.indexOf(replica)] = createReplica(world)
    }
    world.operate()
    await world.clock.advance(random.pick([0, 1, 5, 20, 100, 300, 1000, 2500]))
  }
  for (const _ of TTLS) {
    await world.clock.advance(60_000)
    world.operate()
  }
  return world
}

/** Others write to keys too. */
function touch({ api }: World, name: string): void {
  const object = api.get(name)
  if (object) api.put({ ...object, spec: { ...object.spec, displayName: 'touched' } })
}

const lifetimeIn = ({ history }: World, uid: string): number =>
  history.lifetimes.get(uid) ?? Number.NaN

const withinMs = (lifetimeMs: number): number => Math.min(60_000, lifetimeMs / 4)

/** How long a key lives at least after a request, by 14.2. */
function leastMs(world: World, { uid, atMs, replica }: Accepted): number {
  const lifetimeMs = lifetimeIn(world, uid)
  const recordedByMs = atMs + withinMs(lifetimeMs) + RETRIES_MS
  const isLost = replica.killedMs !== null && replica.killedMs < recordedByMs
  return isLost ? lifetimeMs / 2 : lifetimeMs
}

describe.each<{ name: string; weather: Weather }>([
  { name: 'in fair weather', weather: { slowestMs: 10, mostFailures: 0, kills: false } },
  { name: 'while calls fail', weather: { slowestMs: 30, mostFailures: 2, kills: false } },
  { name: 'while gateways are killed', weather: { slowestMs: 30, mostFailures: 2, kills: true } },
])('three gateways and an operator $name', ({ weather }) => {
  test.each(SEEDS)('keep 3.4, 14.1 and 14.2 (I7), seed %i', async (seed) => {
    const world = await lived(randomFrom(seed), weather)
    const { accepted, ends, recorded, waited } = world.history
    expect(accepted.length).toBeGreaterThan(500)
    expect(ends.length).toBeGreaterThan(10)
    expect(waited).toBeGreaterThan(0)

    const latest = new Map<string, number>()
    const movedBack = recorded.filter(({ uid, usedMs }) => {
      const beforeMs = latest.get(uid) ?? usedMs
      latest.set(uid, usedMs)
      return usedMs < beforeMs
    })
    expect(movedBack).toEqual([])
    expect(recorded.filter(({ usedMs, atMs }) => usedMs > atMs)).toEqual([])

    const tooEarly = ends.filter((end) =>
      accepted.some(
        (request) => request.uid === end.uid && end.atMs < request.atMs + leastMs(world, request),
      ),
    )
    expect(tooEarly).toEqual([])
  })
})

test.each(SEEDS)('each use is recorded in time (14.1), seed %i', async (seed) => {
  const weather = { slowestMs: 10, mostFailures: 0, kills: false }
  const world = await lived(randomFrom(seed), weather)
  const late = world.history.accepted.filter(({ uid, atMs }) => {
    const untilMs = atMs + withinMs(lifetimeIn(world, uid))
    return !world.history.recorded.some(
      (one) => one.uid === uid && one.usedMs >= atMs && one.atMs <= untilMs,
    )
  })
  expect(late).toEqual([])
})
