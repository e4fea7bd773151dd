import { describe, expect, test } from 'vitest'
import { type Random, randomFrom } from '../../../support/random.ts'
import { repeated } from '../../../support/tier.ts'
import { UNCAPPED } from './recorder-builder.ts'
import {
  type Accepted,
  createReplica,
  createSimulation,
  kill,
  stop,
  type Faults,
  type Simulation,
} from './replicas.ts'

const SEEDS = Array.from({ length: repeated(3, 8) }, (_, index) => index + 1)
/** In seconds. */
const TTLS = [2, 3, 5, 10, 30, 120, 3600]
const STEPS = 1500
/** Seconds that retries may add until a use is recorded. */
const RETRIES_MS = 1000

/** A random history: keys are created, used rarely or constantly, and expire; gateways start and stop. */
async function simulated(random: Random, faultRates: Faults): Promise<Simulation> {
  const simulation = createSimulation(UNCAPPED, random, faultRates)
  const replicas = [1, 2, 3].map(() => createReplica(simulation))
  for (let step = 0; step < STEPS; step += 1) {
    const name = `k-${Math.floor(random.between(0, 12))}`
    const replica = random.pick(replicas)
    const chance = random.between(0, 1000)
    if (!simulation.api.get(name)) simulation.addKey(name, random.pick(TTLS))
    if (chance < 850) simulation.request(replica, name)
    else if (chance < 980) touch(simulation, name)
    else {
      if (faultRates.kills && chance < 995) kill(simulation, replica)
      else await stop(simulation, replica)
      replicas[replicas.indexOf(replica)] = createReplica(simulation)
    }
    simulation.operate()
    await simulation.clock.advance(random.pick([0, 1, 5, 20, 100, 300, 1000, 2500]))
  }
  for (const _ of TTLS) {
    await simulation.clock.advance(60_000)
    simulation.operate()
  }
  return simulation
}

/** Other clients write to keys, too. */
function touch({ api }: Simulation, name: string): void {
  const object = api.get(name)
  if (object) api.put({ ...object, spec: { ...object.spec, displayName: 'touched' } })
}

const lifetimeIn = ({ history }: Simulation, uid: string): number =>
  history.lifetimes.get(uid) ?? Number.NaN

const withinMs = (lifetimeMs: number): number => Math.min(60_000, lifetimeMs / 4)

/** How long a key lives at least after a request, by 14.2. */
function leastMs(simulation: Simulation, { uid, atMs, replica }: Accepted): number {
  const lifetimeMs = lifetimeIn(simulation, uid)
  const recordedByMs = atMs + withinMs(lifetimeMs) + RETRIES_MS
  const isLost = replica.killedMs !== null && replica.killedMs < recordedByMs
  return isLost ? lifetimeMs / 2 : lifetimeMs
}

describe.each<{ name: string; faultRates: Faults }>([
  { name: 'without faults', faultRates: { slowestMs: 10, mostFailures: 0, kills: false } },
  { name: 'while calls fail', faultRates: { slowestMs: 30, mostFailures: 2, kills: false } },
  {
    name: 'while gateways are killed',
    faultRates: { slowestMs: 30, mostFailures: 2, kills: true },
  },
])('three gateways and an operator $name', ({ faultRates }) => {
  test.each(SEEDS)('keep 3.4, 14.1 and 14.2 (I7), seed %i', async (seed) => {
    const simulation = await simulated(randomFrom(seed), faultRates)
    const { accepted, ends, recorded, waited } = simulation.history
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
        (request) =>
          request.uid === end.uid && end.atMs < request.atMs + leastMs(simulation, request),
      ),
    )
    expect(tooEarly).toEqual([])
  })
})

test.each(SEEDS)('record each use in time (14.1), seed %i', async (seed) => {
  const faultRates = { slowestMs: 10, mostFailures: 0, kills: false }
  const simulation = await simulated(randomFrom(seed), faultRates)
  const late = simulation.history.accepted.filter(({ uid, atMs }) => {
    const untilMs = atMs + withinMs(lifetimeIn(simulation, uid))
    return !simulation.history.recorded.some(
      (one) => one.uid === uid && one.usedMs >= atMs && one.atMs <= untilMs,
    )
  })
  expect(late).toEqual([])
})
