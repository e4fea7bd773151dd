// Work that a running manager does by its schedules, without a restart or an event (contract 7.3, 7.4). Its clock is
// set shortly before a multiple of ten minutes, when both schedules are due.
import { afterAll, expect, test } from 'vitest'
import { ROTATE_ANNOTATION } from '../../../src/api/names.ts'
import type { ConfigMap } from '../../../src/api/objects.ts'
import { ISSUER, type OwnOperator, startOperator } from '../../support/command-process.ts'
import { privateControlPlane } from '../../support/control-plane.ts'
import { eventually, eventuallyPasses } from '../../support/eventually.ts'
import { steppedClock } from '../../support/stepped-clock.ts'
import { platformStateOf } from './platform-state.ts'
import { kidsIn, managersOf, signingKeyClientOf } from './signing-key-client.ts'
import { tokenClientOf } from './token-client.ts'

const plane = await privateControlPlane()
const kubeconfig = await plane.operatorKubeconfig()
const tokens = tokenClientOf(plane)
const platform = platformStateOf(plane)
const signingKeys = signingKeyClientOf(plane)
const managers = managersOf(kubeconfig)
const clock = steppedClock()
let stepped: OwnOperator | undefined
afterAll(() => stepped?.stop())

const INTERVAL_MS = 10 * 60_000
const DAY_MS = 24 * 60 * 60_000
const HALF_LIFE_MS = 15 * DAY_MS
/** Longer than the start of a manager on a busy machine, and the work of the test before the due time. */
const BEFORE_DUE_MS = 40_000
/** Until the due work is done; a due time in a stepped clock is noticed within a minute. */
const WHEN_DUE = { withinMs: BEFORE_DUE_MS + 60_000 }

/** How far ahead to set a clock, at least `atLeastMs`, so that the schedules are due shortly after. */
function aheadToDueTime(atLeastMs: number): number {
  const overMs = (Date.now() + atLeastMs + BEFORE_DUE_MS) % INTERVAL_MS
  return atLeastMs + INTERVAL_MS - overMs
}

test('a rotated key is removed at the next scheduled run once its last token is deleted (7.3)', async () => {
  await managers.start({ flags: ['--token-max-ttl=120h'] })
  const last = await tokens.issue({ ttl: (5 * DAY_MS) / 1000 })
  await platform.annotate(ROTATE_ANNOTATION, '')
  const [first, second] = kidsIn(await signingKeys.published(2))
  // The limit of five days is no longer in force: only the token keeps its key published.
  const flags = ['--token-max-ttl=1h']
  await managers.restart({ aheadMs: aheadToDueTime(2 * DAY_MS), flags })
  await managers.untilSigningWith(second)
  expect(kidsIn(await platform.record())).toEqual([first, second])
  await tokens.remove(last)
  await tokens.gone(last)
  await eventuallyPasses(
    'the key is removed',
    async () => expect(kidsIn(await platform.record())).toEqual([second]),
    WHEN_DUE,
  )
  await platform.secretsUntil([2])
})

test('a key gets a successor after half its life, and the records of past hours are deleted (7.3, 7.4)', async () => {
  await managers.stopAll()
  await signingKeys.empty()
  const aheadMs = aheadToDueTime(0)
  const env = { ...clock.env, CLOCK_AHEAD_MS: String(aheadMs) }
  stepped = await startOperator({ kubeconfig, env, flags: [`--issuer-url=${ISSUER}`] })
  const [first] = kidsIn(await signingKeys.published(1))
  const revoked = await tokens.issue()
  await tokens.remove(revoked)
  await tokens.gone(revoked)
  expect(await platform.revoked()).toHaveProperty([revoked.metadata.uid])
  await clock.step(stepped, aheadMs + HALF_LIFE_MS + INTERVAL_MS)
  const next = await eventually('the next key is published', nextKey, WHEN_DUE)
  await platform.secretsUntil([1, 2])
  expect(kidsIn(next)[0]).toBe(first)
  await eventuallyPasses(
    'the records are deleted',
    async () => expect(await platform.revoked()).toEqual({}),
    WHEN_DUE,
  )
})

async function nextKey(): Promise<ConfigMap | undefined> {
  const record = await platform.record()
  return record && kidsIn(record).length === 2 ? record : undefined
}
