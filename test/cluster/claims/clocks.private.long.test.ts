/** @module-tag no-retry */
// The delivery process was away for an hour or a day, its clock jumps, and caps fall and rise, while it runs and while it is away:
// what is overdue is caught up once, the most overdue first, and nothing is replaced in a loop (contract 2.9, 28.5).
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { AccessKeyClaimSpec } from '../../../src/api/accesskeyclaim.gen.ts'
import { ROTATE_ANNOTATION } from '../../../src/api/names.ts'
import { type Mark, auditOf } from '../../support/audit-log.ts'
import { recordClaims } from '../../support/claims/claim-history.ts'
import { writesOfPrograms } from '../../support/claims/claim-writes.ts'
import { claimNamespace, startDelivery } from '../../support/claims/delivery.ts'
import { type StoredClaim, claimsOf } from '../../support/claims/stored-claims.ts'
import { type OwnProcess, startOperator } from '../../support/command-process.ts'
import { settingsOf } from '../../support/config-client.ts'
import { privateControlPlane } from '../../support/control-plane.ts'
import { eventually, eventuallyPasses, staysTrue } from '../../support/eventually.ts'
import { clockAheadEnv, steppedClock } from '../../support/stepped-clock.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const DAY = 86_400
const SOON = { withinMs: 60_000 }
/** Longer than a claim is left alone after a replacement: a loop would show. */
const LOOP_MS = 40_000

const OVERDUE = 12
/** So many claims are reconciled at a time after a start, whose order may differ. */
const AT_ONCE = 4

const plane = await privateControlPlane()
const audit = auditOf(plane)
const claims = claimsOf(plane)
const settings = settingsOf(plane)

/** How many keys were made for claims of the namespace. */
const keysMadeSince = async (mark: Mark, namespace: string): Promise<number> => {
  const writes = await writesOfPrograms(audit, mark, `claim-${namespace}-`)
  return writes['create ownedaccesskeys by delivery'] ?? 0
}

const shown = (made: readonly StoredClaim[]) =>
  Promise.all(made.map((claim) => claims.shown(claim, 'Delivered')))

/** The id of the key that each claim has. */
const keyIDs = async (made: readonly StoredClaim[]): Promise<readonly string[]> =>
  (await Promise.all(made.map((claim) => claims.read(claim)))).map(
    ({ status }) => status.key?.keyID ?? '',
  )

const make = async (
  namespace: string,
  specs: readonly AccessKeyClaimSpec[],
): Promise<readonly StoredClaim[]> => {
  const made: StoredClaim[] = []
  // One after the other: the order of their due times is that of their creation.
  for (const spec of specs) made.push(await claims.create(namespace, spec))
  return made
}

describe.each([
  { name: 'an hour', awayMs: HOUR_MS },
  { name: 'a day', awayMs: DAY_MS },
])('a process that was away for $name', ({ name, awayMs }) => {
  const seconds = awayMs / 1000
  /** The later a claim is made, the more it is overdue. */
  const overdue = Array.from({ length: OVERDUE }, (_, at): AccessKeyClaimSpec => {
    const rotateAfter = Math.round((seconds * (OVERDUE - at)) / (OVERDUE + 1))
    return { rotateAfter: Math.max(rotateAfter, 300), overlap: 0 }
  })
  const ended: AccessKeyClaimSpec = { key: { ttl: 900 } }
  const notDue: AccessKeyClaimSpec = { key: { ttl: seconds * 30 } }
  let namespace: string
  let made: readonly StoredClaim[]
  let before: readonly string[]
  let manager: OwnProcess
  let delivery: OwnProcess

  beforeAll(async () => {
    namespace = await claimNamespace(plane, `away-${name.replaceAll(' ', '-')}`)
    // What both write looks as if it had been written that long ago.
    const env = clockAheadEnv(-awayMs)
    const old = await Promise.all([
      startOperator({ kubeconfig: await plane.operatorKubeconfig(), env }),
      startDelivery(plane, { env }),
    ])
    made = await make(namespace, [...overdue, ended, notDue])
    await shown(made)
    before = await keyIDs(made)
    await Promise.all(old.map((one) => one.stop()))
    manager = await startOperator({ kubeconfig: await plane.operatorKubeconfig() })
  })
  afterAll(() => Promise.all([manager?.stop(), delivery?.stop()]))

  test('replaces once what is overdue, the most overdue first, and nothing else (28.5)', async () => {
    const mark = await audit.mark()
    delivery = await startDelivery(plane, { flags: ['--claim-keys-per-second=2'] })
    const areReplaced = async (): Promise<void> => {
      const now = await keyIDs(made)
      const changed = now.filter((keyID, at) => keyID !== before[at])
      expect(changed).toHaveLength(OVERDUE + 1)
      expect(now.at(-1)).toBe(before.at(-1))
    }
    await eventuallyPasses('the overdue ones are replaced', areReplaced, SOON)
    await shown(made)
    const creates = (await audit.writesSince(mark)).filter(
      ({ verb, resource, code }) =>
        verb === 'create' && resource === 'ownedaccesskeys' && code === 201,
    )
    const order = creates
      .map(({ name: key }) => made.findIndex(({ metadata }) => key.includes(metadata.name)))
      .filter((at) => at < OVERDUE)
    const misplaced = order.filter((at, turn) => Math.abs(OVERDUE - 1 - at - turn) > AT_ONCE)
    expect({ order, misplaced }).toEqual({ order, misplaced: [] })
    await staysTrue('nothing is replaced again', () => undefined, { forMs: LOOP_MS })
    expect(await keysMadeSince(mark, namespace)).toBe(OVERDUE + 1)
  })
})

describe('a process that runs', () => {
  const clock = steppedClock()
  let manager: OwnProcess
  let delivery: OwnProcess
  let namespace: string
  let made: readonly StoredClaim[]
  let history: Awaited<ReturnType<typeof recordClaims>>

  const start = () => startDelivery(plane, { env: clock.env })
  const cap = async (accessKeyMaxTTLSeconds: number): Promise<void> => {
    await settings.declare({ auth: { accessKeyMaxTTLSeconds } })
    await settings.settled(
      'the cap is in force',
      ({ auth }) => auth?.accessKeyMaxTTLSeconds === accessKeyMaxTTLSeconds,
    )
  }

  beforeAll(async () => {
    namespace = await claimNamespace(plane, 'clocks')
    history = await recordClaims(plane, namespace)
    manager = await startOperator({ kubeconfig: await plane.operatorKubeconfig() })
    delivery = await start()
    made = await make(namespace, [
      {},
      { key: { ttl: 7 * DAY } },
      { key: { ttl: 10 * DAY }, overlap: 60 },
    ])
    await shown(made)
  })
  afterAll(() => Promise.all([manager?.stop(), delivery?.stop()]))

  test.each([
    { name: 'an hour', ms: HOUR_MS },
    { name: 'a day', ms: DAY_MS },
  ])('whose clock jumps $name ahead and back again still delivers (2.9)', async ({ ms }) => {
    const before = await keyIDs(made)
    await clock.step(delivery, ms)
    const during = await claims.create(namespace)
    await claims.shown(during, 'Delivered')
    await clock.step(delivery, 0)
    const after = await claims.create(namespace)
    await claims.shown(after, 'Delivered')
    // By the clock that was ahead it was delivered in the future.
    const annotations = { [ROTATE_ANNOTATION]: 'now' }
    await claims.patch(during, { metadata: { annotations } })
    await claims.rotated(during, 'now')
    expect(await keyIDs(made)).toEqual(before)
    await claims.remove(after)
    await claims.remove(during)
  })

  test('shows at once when keys are to be replaced under a lower cap, and replaces none before (28.5)', async () => {
    const [before, mark] = [await keyIDs(made), await audit.mark()]
    await cap(3600)
    for (const claim of made)
      await claims.shown(
        claim,
        'Delivered',
        ({ nextRotation = '' }) => Date.parse(nextRotation) < Date.now() + HOUR_MS,
      )
    await cap(30 * DAY)
    for (const claim of made)
      await claims.shown(
        claim,
        'Delivered',
        ({ nextRotation = '' }) => Date.parse(nextRotation) > Date.now() + DAY_MS,
      )
    await staysTrue('nothing is replaced', () => undefined, { forMs: LOOP_MS })
    expect(await keyIDs(made)).toEqual(before)
    expect(await keysMadeSince(mark, namespace)).toBe(0)
  })

  test('has had no Secret with a key that does not work (28.3)', async () => {
    // The keys of the two claims that were deleted end first: their Secrets go with the garbage collector.
    const faults = (await history.faults()).filter((fault) =>
      made.some(({ metadata }) => fault.startsWith(`Secret ${metadata.name} `)),
    )
    expect(faults).toEqual([])
  })

  test('makes nothing under a cap below two minutes, and goes on once it is raised (28.5)', async () => {
    const mark = await audit.mark()
    await cap(100)
    for (const claim of made) await claims.shown(claim, 'LifetimeTooShort')
    await staysTrue('nothing is made', () => undefined, { forMs: LOOP_MS })
    expect(await keysMadeSince(mark, namespace)).toBe(0)
    await cap(30 * DAY)
    await shown(made)
    await staysTrue('nothing is made in a loop', () => undefined, { forMs: LOOP_MS })
    expect(await keysMadeSince(mark, namespace)).toBeLessThanOrEqual(made.length)
  })

  test('finds caps that have fallen and risen while it was away, and replaces once what they end (28.5)', async () => {
    const mark = await audit.mark()
    await delivery.stop()
    await cap(600)
    delivery = await start()
    for (const claim of made)
      await claims.shown(
        claim,
        'Delivered',
        ({ nextRotation = '' }) => Date.parse(nextRotation) < Date.now() + 600_000,
      )
    await delivery.stop()
    await cap(30 * DAY)
    delivery = await start()
    for (const claim of made)
      await claims.shown(
        claim,
        'Delivered',
        ({ nextRotation = '' }) => Date.parse(nextRotation) > Date.now() + DAY_MS,
      )
    await staysTrue('nothing is made in a loop', () => undefined, { forMs: LOOP_MS })
    expect(await keysMadeSince(mark, namespace)).toBeLessThanOrEqual(made.length)
    const isQuiet = async (): Promise<true | undefined> => {
      const now = await audit.mark()
      await staysTrue('nothing is written', () => undefined, { forMs: 2000 })
      return Object.keys(await writesOfPrograms(audit, now)).length === 0 || undefined
    }
    await eventually('nothing is written any more', isQuiet, SOON)
  })
})
