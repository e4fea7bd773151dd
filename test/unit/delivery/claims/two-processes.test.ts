/** @module-tag no-retry */
// Two delivery processes at work at once, because one runs without --leader-elect: they do not undo each other's work (28.3).
import { describe, expect, test } from 'vitest'
import { ROTATE_ANNOTATION } from '../../../../src/api/names.ts'
import type { SecretObject } from '../../../support/delivery/server-side-apply.ts'
import { DeliveryWorld, expectDelivered } from '../../../support/delivery/delivery-world.ts'

const TICK_MS = 100

/** Runs both processes side by side, for so many seconds. @returns the names of all keys that were there */
async function runBoth(
  world: DeliveryWorld,
  second: ReturnType<DeliveryWorld['start']>,
  seconds: number,
): Promise<ReadonlySet<string>> {
  const names = new Set<string>()
  for (let tick = 0; tick < (seconds * 1000) / TICK_MS; tick += 1) {
    world.manager.act()
    await Promise.all([world.reconcile(), world.reconcile(second)])
    for (const { metadata } of world.keys) names.add(metadata.name)
    world.clock.setNow(world.clock.nowMs() + TICK_MS)
  }
  return names
}

const nameOf = (key: SecretObject | undefined): string => key?.metadata.name ?? ''

describe.each([
  { name: 'a key', spec: {} },
  { name: 'a key whose elder ends at once', spec: { overlap: 0 } },
  { name: 'a token', spec: { token: { ttl: 3600 } } },
])('two processes that deliver $name (28.3)', ({ spec }) => {
  test('deliver once, and rotate once', async () => {
    const world = new DeliveryWorld({ spec })
    const second = world.start()
    const made = await runBoth(world, second, 60)
    expectDelivered(world)
    expect(made.size).toBeLessThanOrEqual(2)
    const [before] = world.keys
    world.edit({ metadata: { annotations: { [ROTATE_ANNOTATION]: 'now' } } })
    const rotated = await runBoth(world, second, 60)
    expectDelivered(world, 'overlap' in spec ? 1 : 2)
    expect(rotated.size).toBeLessThanOrEqual(4)
    expect(world.claim?.status?.key?.name).not.toBe(nameOf(before))
  })
})
