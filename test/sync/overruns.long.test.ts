// Objects whose patches overrun hold up no others: an expression that broke a bound before is evaluated last (19.4).
import { setTimeout as delay } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { ENDPOINTS, SERVICES } from '../../src/api/names.ts'
import { type Ref, SELECTORLESS, createPair, endpointsAt } from '../support/sync-side.ts'
import { syncPlanes, syncWorld } from '../support/sync-world.ts'

const world = await syncWorld(await syncPlanes())
const { virtual, host, hostRef } = world
const namespace = await world.namespace()
const at = (name: string): Ref => ({ namespace, name })

const OVERRUNNING = 50
const OTHERS = 100
/** The changes are spread over ten seconds, in which the overrunning objects are new and tried again. */
const EVERY_MS = 100

/** Milliseconds from each change of another object until the host has it. */
async function changesOfOthers(round: number): Promise<readonly number[]> {
  const waits: Promise<number>[] = []
  for (let change = 0; change < OTHERS; change += 1) {
    const ref = at(`other-${change}`)
    const changed = {
      ...endpointsAt(`10.8.${round}.${change}`),
      metadata: { annotations: { pace: 'quick' } },
    }
    waits.push(
      (async () => {
        const fromMs = performance.now()
        await virtual.patch(ENDPOINTS, ref, changed)
        await host.shows(ENDPOINTS, hostRef(ref), changed)
        return performance.now() - fromMs
      })(),
    )
    await delay(EVERY_MS)
  }
  return Promise.all(waits)
}

const p99Of = (waits: readonly number[]): number =>
  Math.round(waits.toSorted((a, b) => a - b)[Math.ceil(waits.length * 0.99) - 1] ?? 0)

test(`${OVERRUNNING} objects whose patches overrun add at most 1 s to the changes of others, at p99 (19.4)`, async () => {
  await world.configure({
    endpoints: {
      patches: [
        {
          path: 'metadata.annotations.pace',
          expression: 'value === "slow" ? (() => { for (;;); })() : value',
        },
      ],
    },
  })
  await using syncer = await world.start()
  for (let other = 0; other < OTHERS; other += 1)
    await createPair(virtual, at(`other-${other}`), '10.8.0.1')
  await world.caughtUp(syncer)
  const alone = await changesOfOthers(1)
  const slow = Array.from({ length: OVERRUNNING }, (_, n) => at(`slow-${n}`))
  await Promise.all(slow.map((ref) => virtual.create(SERVICES, ref, SELECTORLESS)))
  await Promise.all(
    slow.map((ref) =>
      virtual.create(ENDPOINTS, ref, {
        ...endpointsAt('10.8.3.1'),
        metadata: { annotations: { pace: 'slow' } },
      }),
    ),
  )
  const beside = await changesOfOthers(2)
  const [p99Alone, p99Beside] = [p99Of(alone), p99Of(beside)]
  console.log(
    `measured: p99 of a change ${p99Alone} ms alone, ${p99Beside} ms beside ${OVERRUNNING}`,
  )
  expect(p99Beside - p99Alone).toBeLessThanOrEqual(1000)
})
