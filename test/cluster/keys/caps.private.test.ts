// The cap of Config limits all keys, at any time (contract 2.1, 2.2, 2.5). Each test sets its own settings; the
// annotation makes keys an hour old.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { EXPIRED_ANNOTATION } from '../../../src/api/names.ts'
import type { OwnedAccessKeySpec } from '../../../src/api/ownedaccesskey.gen.ts'
import { findCondition } from '../../../src/domain/conditions.ts'
import { auditOf } from '../../support/audit-log.ts'
import { type OwnOperator, startOperator } from '../../support/command-process.ts'
import { isReadyBy, settingsOf } from '../../support/config-client.ts'
import { privateControlPlane } from '../../support/control-plane.ts'
import { staysTrue } from '../../support/eventually.ts'
import {
  type StoredKey,
  condition,
  keyClientOf,
  createdAgo,
  textAfter,
  writesTo,
} from './key-client.ts'

const plane = await privateControlPlane()
const keys = keyClientOf(plane)
const audit = auditOf(plane)
const settings = settingsOf(plane)
let operator: OwnOperator

beforeAll(async () => {
  operator = await startOperator({ kubeconfig: await plane.operatorKubeconfig() })
  await settings.settled('defaults are in force', isReadyBy('Applied'))
})
afterAll(() => operator?.stop())

const HOUR = 3600
const DAY = 86_400
const CAP = 1800

interface Row {
  readonly name: string
  readonly spec: OwnedAccessKeySpec
  /** The last use, in seconds after the start. */
  readonly used?: number
  /** Seconds after the start without a cap, with a cap of half an hour, and of two hours; null = never. */
  readonly ends: readonly [free: number | null, low: number, high: number]
  /** Whether a cap of half an hour, and one of two hours, shorten the lifetime. */
  readonly capped: readonly [low: boolean, high: boolean]
}

const slidingFor = (ttl: number): OwnedAccessKeySpec => ({ ttl, ttlAfterLastActivity: true })

// biome-ignore format: a table
const ROWS: readonly Row[] = [
  { name: 'without a ttl', spec: {}, ends: [null, CAP, 2 * HOUR], capped: [true, true] },
  { name: 'of a day', spec: { ttl: DAY }, ends: [DAY, CAP, 2 * HOUR], capped: [true, true] },
  { name: 'of type Login', spec: { type: 'Login' }, ends: [20 * DAY, CAP, 2 * HOUR], capped: [true, true] },
  { name: 'of two hours', spec: { ttl: 2 * HOUR }, ends: [2 * HOUR, CAP, 2 * HOUR], capped: [true, false] },
  { name: 'of half an hour', spec: { ttl: CAP, type: 'User' }, ends: [CAP, CAP, CAP], capped: [false, false] },
  { name: 'that slides, used late', spec: slidingFor(DAY), used: HOUR, ends: [HOUR + DAY, CAP, 2 * HOUR], capped: [true, true] },
  { name: 'that slides by an hour, used late', spec: slidingFor(HOUR), used: HOUR, ends: [2 * HOUR, CAP, 2 * HOUR], capped: [true, false] },
]

/** A key that is an hour old by its annotation. */
async function aged({ spec, used }: Pick<Row, 'spec' | 'used'>, annotations = {}) {
  const seen = createdAgo(HOUR).annotations
  const key = await keys.create(spec, { annotations: { ...seen, ...annotations } })
  const startMs = Date.parse(Object.values(seen)[0] ?? '')
  if (used !== undefined) await keys.use(key, startMs + used * 1000)
  return { key, startMs }
}

const cap = (accessKeyMaxTTLSeconds: number) =>
  settings.declare({ auth: accessKeyMaxTTLSeconds === 0 ? {} : { accessKeyMaxTTLSeconds } })

const livesFor =
  (seconds: number) =>
  ({ status }: StoredKey): boolean =>
    status.effectiveTTLSeconds === seconds

describe('the cap', () => {
  test('expires keys when it is lowered and reactivates them when it is raised (2.2, 2.5)', async () => {
    await cap(0)
    const all = await Promise.all(ROWS.map(async (row) => ({ row, ...(await aged(row)) })))
    const follow = async (phase: 0 | 1 | 2): Promise<void> => {
      for (const { row, key, startMs } of all) {
        const end = row.ends[phase]
        const text = end === null ? undefined : textAfter(startMs, end)
        const seen = await keys.until(key, `of ${row.name} ends ${text}`, ({ status }) => {
          const isCapped = findCondition(status.conditions ?? [], 'LifetimeCapped') !== undefined
          const wantsCap = phase > 0 && row.capped[phase === 1 ? 0 : 1]
          const isSeen = status.conditions !== undefined && isCapped === wantsCap
          return isSeen && status.expirationTimestamp === text
        })
        const isOver = end !== null && end <= HOUR
        expect(condition(seen, 'Ready').reason).toBe(isOver ? 'Expired' : 'Active')
        expect(seen.spec.ttl).toBe(row.spec.ttl)
      }
    }
    await follow(0)
    await cap(CAP)
    await follow(1)
    await cap(2 * HOUR)
    await follow(2)
    await cap(0)
    await follow(0)
  })

  // biome-ignore format: a table
  test.each([
    { spec: { ttl: DAY }, own: `a lifetime of ${DAY} s` },
    { spec: {}, own: 'no lifetime of its own' },
  ])('is in the message beside the own lifetime of the key: $own (2.2, 4.1)', async ({ spec, own }) => {
    await cap(2 * HOUR)
    const { key, startMs } = await aged({ spec })
    const capped = await keys.until(key, 'is capped', livesFor(2 * HOUR))
    expect(condition(capped, 'Ready').reason).toBe('Active')
    expect(condition(capped, 'LifetimeCapped')).toMatchObject({
      status: 'True',
      reason: 'CappedByConfig',
      message: `The key has ${own}; accessKeyMaxTTLSeconds of Config platform-manager-config ends it 7200 s after its creation.`,
    })
    expect(condition(capped, 'Ready').message).toBe(
      `The key works until ${textAfter(startMs, 2 * HOUR)}, 7200 s after its creation.`,
    )
  })

  // biome-ignore format: a table
  test.each([
    { name: 'a Login key', spec: { type: 'Login' } as const, annotations: {} },
    { name: 'a Login key with a ttl', spec: { type: 'Login', ttl: DAY } as const, annotations: {} },
    { name: 'a key annotated for deletion', spec: {}, annotations: { [EXPIRED_ANNOTATION]: 'Delete' } },
    { name: 'a key of no type', spec: { ttl: DAY }, annotations: {} },
  ])('deletes nothing at once when it is lowered by mistake: $name (2.5, 5.2)', async ({ spec, annotations }) => {
    await cap(0)
    const { key } = await aged({ spec }, annotations)
    await keys.shown(key, 'Active')
    const beforeMs = Date.now()
    await cap(CAP)
    const ended = await keys.shown(key, 'Expired')
    // The retention counts from the change of the cap, not from the expiry half an hour ago.
    const removalMs = Date.parse(ended.status.removalTimestamp ?? '')
    expect(removalMs).toBeGreaterThanOrEqual(beforeMs + DAY * 1000)
    const isThere = async () => expect(await keys.read(key)).toEqual(ended)
    await staysTrue('the key is kept, and its removal stands', isThere, { forMs: 500 })
    await cap(0)
    const revived = await keys.shown(key, 'Active')
    expect(revived.status).not.toHaveProperty('removalTimestamp')
  })

  test('causes writes only to keys that it changes (2.5)', async () => {
    await cap(2 * HOUR)
    const [shorter, longer] = await Promise.all([
      aged({ spec: { ttl: HOUR + 600 } }),
      aged({ spec: { ttl: DAY } }),
    ])
    const settled = [
      await keys.until(shorter.key, 'is reported', livesFor(HOUR + 600)),
      await keys.until(longer.key, 'is capped', livesFor(2 * HOUR)),
    ]
    const mark = await audit.mark()
    await cap(3 * HOUR)
    await keys.until(longer.key, 'follows', livesFor(3 * HOUR))
    const writes = await Promise.all(settled.map((key) => writesTo(key, audit, mark)))
    expect(writes).toEqual([[], ['patch status']])
  })
})

describe('the lifetime of Login keys', () => {
  test('is that of Config unless they have a ttl; 0 = unlimited (2.1)', async () => {
    await cap(0)
    const { key: login, startMs } = await aged({ spec: { type: 'Login' } })
    const { key: own } = await aged({ spec: { type: 'Login', ttl: DAY } })
    for (const seconds of [2 * HOUR, undefined, 20 * DAY]) {
      // 0 = unlimited; absent = 20 days.
      const setting = seconds === 20 * DAY ? {} : { loginAccessKeyTTLSeconds: seconds ?? 0 }
      await settings.declare({ auth: setting })
      const hasEnd = ({ status }: StoredKey) =>
        status.conditions !== undefined && status.effectiveTTLSeconds === seconds
      const { status } = await keys.until(login, `lives ${seconds} s`, hasEnd)
      expect(status.expirationTimestamp).toBe(seconds && textAfter(startMs, seconds))
    }
    const kept = await keys.until(own, 'lives a day', livesFor(DAY))
    expect(condition(kept, 'Ready').reason).toBe('Active')
  })
})
