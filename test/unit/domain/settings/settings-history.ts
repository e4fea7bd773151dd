// What happens to a Config and its sources over time, told in worlds.
import { expect } from 'vitest'
import { settingsToJson } from '../../../../src/domain/json/json.ts'
import { capsInForce, settingsInForce } from '../../../../src/domain/settings/in-force.ts'
import { withDefaults } from '../../../../src/domain/settings/layers.ts'
import { type World, reconciled, shown } from './settings-sources.ts'

/** Settings with a cap of that many seconds. */
export const cap = (seconds: number) => ({ auth: { accessKeyMaxTTLSeconds: seconds } })
/** Settings that are at fault. */
export const BROKEN = { uiSettings: { primaryColor: 'red' } }
/** Settings that have nothing to do with caps. */
export const host = { platformHost: 'p.example.com' }
/** What status shows when nothing was ever set. */
export const DEFAULTS = settingsToJson(withDefaults({}))

/** Runs the operator until nothing changes, which must be soon. */
export function run(world: World): World {
  const first = reconciled(world).world
  const second = reconciled(first).world
  const third = reconciled(second).world
  expect(third).toEqual(second)
  return third
}

/** The cap that everybody reads; status is what the API server serves. */
export function readCap(world: World): number | null {
  const ready = { type: 'Ready', status: 'True', reason: 'Applied' }
  const status = world.settled && { ...shown(world), observedGeneration: 1, conditions: [ready] }
  const config = { uid: world.uid ?? 'uid-1', status: status || undefined }
  const reading = capsInForce(settingsInForce(config, world.record ?? null))
  return reading.known ? reading.caps.maxTtlSeconds : Number.NaN
}

/** The Config was deleted, and created anew with an empty spec. */
export const deleted = ({ uid = 'uid-1', ...world }: World): World => ({
  ...world,
  uid: `${uid}+`,
  spec: {},
  owned: {},
  foreign: {},
  settled: false,
})
