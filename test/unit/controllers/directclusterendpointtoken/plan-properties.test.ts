import { isDeepStrictEqual } from 'node:util'
import { expect, test } from 'vitest'
import type { TokenStep } from '../../../../src/controllers/directclusterendpointtoken/plan.ts'
import { lifetimeOf } from '../../../../src/domain/accesskey/lifetime.ts'
import { findCondition } from '../../../../src/domain/conditions.ts'
import { parseTimestamp } from '../../../../src/domain/time.ts'
import { after } from '../../../support/key-builder.ts'
import { randomFrom } from '../../../support/random.ts'
import { repeated } from '../../../support/tier.ts'
import {
  FOREIGN,
  type Taken,
  type World,
  changed,
  claimsOut,
  isHeld,
  mayLive,
  newWorld,
  nextStep,
  reach,
  worked,
} from './life.ts'

interface Life {
  readonly seed: number
  readonly taken: readonly Taken[]
  /** The worlds in which nothing was left to do. */
  readonly rests: readonly World[]
}

/** Changes and looks in turn; some looks are cut short, as by a crash. */
function lived(seed: number): Life {
  const random = randomFrom(seed)
  const taken: Taken[] = []
  const rests: World[] = []
  let world = newWorld(random)
  for (let changes = 0; changes < 30 && world.object; changes += 1) {
    const isCut = random.pick([true, false, false])
    const steps = worked(world, isCut ? random.pick([0, 1]) : 12)
    taken.push(...steps)
    world = steps.at(-1)?.after ?? world
    if (!isCut && world.object && isAtRest(world)) rests.push(world)
    world = changed(world, random)
  }
  return { seed, taken, rests }
}

const isAtRest = (world: World): boolean =>
  ['nothing', 'wait'].includes(nextStep(world)?.kind ?? '')

const LIVES = Array.from({ length: repeated(500, 3000) }, (_, seed) => lived(seed))

/** The seeds of the lives in which something breaks a rule. */
const breaking = (holds: (life: Life) => boolean): readonly number[] =>
  LIVES.filter((life) => !holds(life)).map(({ seed }) => seed)

const everyStep =
  (holds: (taken: Taken) => boolean) =>
  ({ taken }: Life): boolean =>
    taken.every(holds)

const readyOf = ({ object }: World): string =>
  findCondition(object?.status?.conditions ?? [], 'Ready')?.reason ?? 'none'

const ENDED = ['Expired', 'Revoked']

test('the lives reach every step and every state, each many times', () => {
  const steps: readonly TokenStep['kind'][] = [
    'adopt',
    'issue',
    'record',
    'publish',
    'delete',
    'release',
  ]
  const states = [
    'Issued',
    'Expired',
    'Revoked',
    'OwnerNotReady',
    'ScopeExceedsOwner',
    'IssuerUnknown',
    'SigningKeyUnavailable',
    'Terminating',
  ]
  const seen = LIVES.flatMap(({ taken }) =>
    taken.flatMap(({ step, after: now }) => [step.kind, readyOf(now)]),
  )
  const rare = [...steps, ...states].filter(
    (one) => seen.filter((other) => other === one).length < LIVES.length / 30,
  )
  expect(rare).toEqual([])
})

const issues = ({ taken }: Life) => taken.filter(({ step }) => step.kind === 'issue')

test('at most one token is ever out per uid (2.4, 5.4)', () => {
  expect(breaking((life) => issues(life).length <= 1)).toEqual([])
})

test('its exp is never later than creation + the least of ttl, cap and limit, nor than its owner’s end (2.4)', () => {
  const holds = ({ step, before, after: now }: Taken): boolean => {
    const claims = claimsOut(now)
    if (step.kind !== 'issue' || !claims) return step.kind !== 'issue'
    const { key, caps, maxTtlMs, nowMs } = before
    const ttl = before.object?.spec?.ttl || 86_400
    const limits = [ttl * 1000, (caps.maxTtlSeconds ?? Number.POSITIVE_INFINITY) * 1000, maxTtlMs]
    const isOwned = !claims.sub.startsWith('token:')
    const ownerMs = isOwned && key ? lifetimeOf(key, caps, nowMs).expiresMs : null
    const endMs = Math.min(after(0) + Math.min(...limits), ownerMs ?? Number.POSITIVE_INFINITY)
    const exactMs = Math.floor(endMs / 1000) * 1000
    return claims.exp * 1000 === exactMs && claims.iat * 1000 === after(0) && nowMs < exactMs
  }
  expect(breaking(everyStep(holds))).toEqual([])
})

test('issued is only what may live at that moment, after the finalizer is on (5.1, 5.4)', () => {
  const holds = ({ step, before, after: now }: Taken): boolean => {
    const claims = claimsOut(now)
    return step.kind !== 'issue' || (claims !== null && mayLive(now, claims) && isHeld(before))
  }
  expect(breaking(everyStep(holds))).toEqual([])
})

test('never wider than its owner, nor than it asks (5.4, 7.1)', () => {
  const holds = ({ step, before }: Taken): boolean => {
    if (step.kind !== 'issue') return true
    const { scope } = step.claims['platform.sh']
    const own = before.object?.spec?.scope ?? null
    const inner = reach(scope === '*' ? null : JSON.parse(scope))
    return inner.every((one) => reach(own).includes(one))
  }
  expect(breaking(everyStep(holds))).toEqual([])
})

test('once status says that it ended, no step ever says otherwise (2.5, 5.4)', () => {
  const holds = ({ before, after: now }: Taken): boolean =>
    !ENDED.includes(readyOf(before)) ||
    now.object === null ||
    [readyOf(before), 'Terminating'].includes(readyOf(now))
  expect(breaking(everyStep(holds))).toEqual([])
})

test('at rest an ended token stands in no status (5.2, 5.4)', () => {
  const holds = ({ rests }: Life): boolean =>
    rests.every((world) => readyOf(world) === 'Issued' || !world.object?.status?.token)
  expect(breaking(holds)).toEqual([])
})

test('one that ends before its exp is recorded before status says so (5.4, 7.4)', () => {
  const holds = ({ step, before, after: now }: Taken): boolean => {
    const saysSo = step.kind === 'publish' && ['Revoked', 'Terminating'].includes(readyOf(now))
    return (
      !saysSo || !isOut(before) || before.stored.has('uid-deploy') || before.recordFault !== null
    )
  }
  expect(breaking(everyStep(holds))).toEqual([])
})

test('and before our finalizer goes (5.1, 7.4)', () => {
  const holds = ({ step, before }: Taken): boolean =>
    step.kind !== 'release' || !isOut(before) || before.stored.has('uid-deploy')
  expect(breaking(everyStep(holds))).toEqual([])
})

/** Whether it was out, and its exp is still to come. */
function isOut({ object, nowMs }: World): boolean {
  const endMs = parseTimestamp(object?.status?.expirationTimestamp)
  return endMs !== null && nowMs < endMs
}

test('the record reaches to its exp, or further where that is not known (7.4)', () => {
  const holds = ({ step, before }: Taken): boolean => {
    if (step.kind !== 'record') return true
    const endMs = parseTimestamp(before.object?.status?.expirationTimestamp)
    return step.expiresMs >= (endMs ?? 0) && step.expiresMs > before.nowMs
  }
  expect(breaking(everyStep(holds))).toEqual([])
})

test('at rest it is issued exactly as long as it may live (5.4)', () => {
  const holds = ({ rests }: Life): boolean =>
    rests.every((world) => {
      const claims = claimsOut(world)
      return readyOf(world) !== 'Issued' || (claims !== null && mayLive(world, claims))
    })
  expect(breaking(holds)).toEqual([])
})

test('revoked is only what had to end: by the world, by its status or by its record (5.4)', () => {
  const holds = ({ step, before, after: now }: Taken): boolean => {
    if (step.kind !== 'publish' || readyOf(now) !== 'Revoked' || readyOf(before) === 'Revoked')
      return true
    const claims = claimsOut(before)
    return claims === null || !mayLive(before, claims)
  }
  expect(breaking(everyStep(holds))).toEqual([])
})

test('recorded is only what had to end, or is deleted (7.4)', () => {
  const holds = ({ step, before }: Taken): boolean => {
    const claims = claimsOut(before)
    const isDeleted = before.object?.metadata.deletionTimestamp !== undefined
    return step.kind !== 'record' || isDeleted || claims === null || !mayLive(before, claims)
  }
  expect(breaking(everyStep(holds))).toEqual([])
})

test('a look takes few steps: it comes to rest, or the records fail, or it is gone', () => {
  const holds = ({ rests }: Life): boolean => rests.every((world) => worked(world, 1).length === 0)
  expect(breaking(holds)).toEqual([])
  const random = randomFrom(1)
  const settles = ({ taken }: Life): boolean =>
    taken.every(({ after: world }) => {
      const steps = worked({ ...world, recordFault: null }, 12)
      const last = steps.at(-1)?.after ?? world
      return steps.length < 7 && (last.object === null || isAtRest(last))
    })
  expect(LIVES.filter(() => random.between(0, 5) < 1).every(settles)).toBe(true)
})

test('what was published is not published again', () => {
  const holds = ({ step, after: now }: Taken): boolean =>
    step.kind !== 'publish' || now.object === null || nextStep(now)?.kind !== 'publish'
  expect(breaking(everyStep(holds))).toEqual([])
})

/**
 * Looked at a millisecond later, halfway, and a millisecond before. One that waits for its owner is
 * brought back when that one's end is told.
 */
function isQuiet(world: World): boolean {
  const { key, caps, nowMs } = world
  const rest = nextStep(world)
  const ownerEndMs = key && rest?.kind === 'nothing' ? lifetimeOf(key, caps, nowMs).expiresMs : null
  const quietMs = rest?.kind === 'wait' ? rest.wakeMs : (ownerEndMs ?? 0)
  const untilMs = quietMs > nowMs ? quietMs : after(10 ** 9)
  const looks = [nowMs + 1, Math.floor((nowMs + untilMs) / 2), untilMs - 1]
  return looks.every(
    (lookMs) => lookMs >= untilMs || isDeepStrictEqual(nextStep({ ...world, nowMs: lookMs }), rest),
  )
}

test('at rest it costs no write before the moment that it waits for', () => {
  expect(breaking(({ rests }) => rests.every(isQuiet))).toEqual([])
})

test('when that moment comes it is not waited for again', () => {
  const goesOn = (world: World): boolean => {
    const rest = nextStep(world)
    if (rest?.kind !== 'wait') return true
    const next = nextStep({ ...world, nowMs: rest.wakeMs })
    return rest.wakeMs > world.nowMs && (next?.kind !== 'wait' || next.wakeMs > rest.wakeMs)
  }
  expect(breaking(({ rests }) => rests.every(goesOn))).toEqual([])
})

test('the uses of its owner cost it no write (4.4)', () => {
  const isCalm = (world: World): boolean => {
    const { key, caps, nowMs } = world
    if (!key || nextStep(world)?.kind === undefined) return true
    const used = { ...key, slides: true, lastActivityMs: nowMs }
    const was = { ...world, key: { ...used, lastActivityMs: nowMs - 1000 } }
    const endMs = lifetimeOf(was.key, caps, nowMs).expiresMs
    if (endMs !== null && endMs <= nowMs) return true
    const settled = worked({ ...was, recordFault: null }, 12).at(-1)?.after ?? was
    return settled.object === null || worked({ ...settled, key: used }, 1).length === 0
  }
  expect(breaking(({ rests }) => rests.every(isCalm))).toEqual([])
})

test('deleted and held by nobody else it goes, whatever the world is like (5.1)', () => {
  const goes = (world: World): boolean => {
    if (!world.object || !isHeld(world)) return true
    const { metadata } = world.object
    const finalizers = metadata.finalizers?.filter((finalizer) => finalizer !== FOREIGN) ?? []
    const deletionTimestamp = '2026-11-21T12:00:00Z'
    const object = { ...world.object, metadata: { ...metadata, finalizers, deletionTimestamp } }
    const steps = worked({ ...world, object, recordFault: null }, 6)
    return steps.at(-1)?.after.object === null
  }
  expect(breaking(({ rests }) => rests.every(goes))).toEqual([])
})

test('events tell each transition once in a life (4.5)', () => {
  const told = ({ taken }: Life): readonly string[] =>
    taken.flatMap(({ step }) =>
      'announce' in step ? step.announce.map(({ reason, of }) => `${reason} ${of}`) : [],
    )
  const isOnce = (life: Life): boolean => {
    const all = told(life).filter((one) => !one.startsWith('ScopeExceedsOwner'))
    return new Set(all).size === all.length
  }
  expect(breaking(isOnce)).toEqual([])
})
