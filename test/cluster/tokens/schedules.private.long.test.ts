// What a running manager does because of its schedules, with no restart and no one to wake it (contract 7.3,
// 7.4). Its clock stands shortly before a mark of ten minutes, at which both schedules are due.
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

const MARK_MS = 10 * 60_000
const DAY_MS = 24 * 60 * 60_000
const HALF_A_LIFE_MS = 15 * DAY_MS
/** Longer than a manager on a busy machine takes to start, and what is done before the mark. */
const BEFORE_MARK_MS = 40_000
/** Until what is due at the mark is done. A moment that passes unseen is noticed within a minute. */
const BY_THE_MARK = { withinMs: BEFORE_MARK_MS + 60_000 }

/** How far ahead a clock is that is shortly before a mark, and at least so many milliseconds ahead. */
function shortlyBeforeMark(atLeastMs: number): number {
  const overMs = (Date.now() + atLeastMs + BEFORE_MARK_MS) % MARK_MS
  return atLeastMs + MARK_MS - overMs
}

test('a key whose last token went sooner than thought leaves at the next look (7.3)', async () => {
  await managers.start({ flags: ['--token-max-ttl=120h'] })
  const last = await tokens.issue({ ttl: (5 * DAY_MS) / 1000 })
  await platform.annotate(ROTATE_ANNOTATION, '')
  const [first, second] = kidsIn(await signingKeys.published(2))
  // The bound of those days is gone: the token alone holds its key.
  const flags = ['--token-max-ttl=1h']
  await managers.restart({ aheadMs: shortlyBeforeMark(2 * DAY_MS), flags })
  await managers.uses(second)
  expect(kidsIn(await platform.record())).toEqual([first, second])
  await tokens.remove(last)
  await tokens.gone(last)
  await eventuallyPasses(
    'the key has left',
    async () => expect(kidsIn(await platform.record())).toEqual([second]),
    BY_THE_MARK,
  )
  await platform.secretsUntil([2])
})

test('half a life later the next key is made, and the hours that are over are dropped (7.3, 7.4)', async () => {
  await managers.stopAll()
  await signingKeys.empty()
  const aheadMs = shortlyBeforeMark(0)
  const env = { ...clock.env, CLOCK_AHEAD_MS: String(aheadMs) }
  stepped = await startOperator({ kubeconfig, env, flags: [`--issuer-url=${ISSUER}`] })
  const [first] = kidsIn(await signingKeys.published(1))
  const revoked = await tokens.issue()
  await tokens.remove(revoked)
  await tokens.gone(revoked)
  expect(await platform.revoked()).toHaveProperty([revoked.metadata.uid])
  await clock.step(stepped, aheadMs + HALF_A_LIFE_MS + MARK_MS)
  const next = await eventually('there is a next key', nextKey, BY_THE_MARK)
  await platform.secretsUntil([1, 2])
  expect(kidsIn(next)[0]).toBe(first)
  await eventuallyPasses(
    'the records are dropped',
    async () => expect(await platform.revoked()).toEqual({}),
    BY_THE_MARK,
  )
})

async function nextKey(): Promise<ConfigMap | undefined> {
  const record = await platform.record()
  return record && kidsIn(record).length === 2 ? record : undefined
}
