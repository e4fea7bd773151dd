// A new key while the status of all others is being written, as after a change of the cap.
import { settingsOf } from '../../test/support/config-client.ts'
import { metric } from '../../test/support/metrics-page.ts'
import type { KeysLoad } from '../measure/load.ts'
import type { Figures } from '../measure/rounds.ts'
import { settled } from '../measure/usage.ts'
import { type Testbed, startManager } from './comparators.ts'
import { createLoad } from './load.ts'
import { madeBy } from './scale.ts'
import { removeSeeds, seed } from './seed.ts'

const PREFIX = 'refreshed'
/** New keys as a fraction of the others: with few keys, the p99 would be the slowest of all. */
const NEW_SHARE = 1 / 30
const NEW_PER_SECOND = 20
const CAP_SECONDS = 86_400

/** Creates keys at the product while it is idle, and while `count` others wait for a write of their status. */
export async function measureRefresh(bed: Testbed, count: number): Promise<Figures> {
  const original = await madeBy('product', bed)
  await seed(bed, 'keys', original, { prefix: PREFIX, count })
  await using operator = await startManager(bed)
  await settled(operator.pid)
  const idle = await newKeys(bed, 'idle', count * NEW_SHARE)
  const settings = settingsOf(bed)
  await settings.declare({ auth: { accessKeyMaxTTLSeconds: CAP_SECONDS } })
  await settings.settled(
    'the cap is in force',
    ({ auth }) => auth?.accessKeyMaxTTLSeconds === CAP_SECONDS,
  )
  const busy = await newKeys(bed, 'busy', count * NEW_SHARE)
  if ((await metric(operator, 'workqueue_depth', 'controller="ownedaccesskey"')) === 0)
    throw new Error('the refresh had ended before the last new key: refresh more')
  await settings.declare({})
  await operator.stop()
  for (const prefix of [PREFIX, 'original', 'idle', 'busy']) await removeSeeds(bed, prefix)
  return {
    idleP99Ms: idle.latencyMs.p99,
    busyP99Ms: busy.latencyMs.p99,
    times: busy.latencyMs.p99 / idle.latencyMs.p99,
  }
}

const newKeys = (bed: Testbed, prefix: string, count: number): Promise<KeysLoad> =>
  createLoad(bed, { prefix, count: Math.round(count), rate: NEW_PER_SECOND })
