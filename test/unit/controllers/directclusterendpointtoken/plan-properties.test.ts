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
  type TakenStep,
  type SimulatedState,
  randomChange,
  claimsInStatus,
  hasFinalizer,
  mayBeValid,
  initialState,
  nextStep,
  clustersIn,
  runSteps,
} from './token-simulation.ts'

interface History {
  readonly seed: number
  readonly steps: readonly TakenStep[]
  /** States in which the plan had nothing left to do. */
  readonly idleStates: readonly SimulatedState[]
}

/** Alternates random changes with reconciles; a simulated crash cuts some reconciles short. */
function simulate(seed: number): History {
  const random = randomFrom(seed)
  const allSteps: TakenStep[] = []
  const idleStates: SimulatedState[] = []
  let state = initialState(random)
  for (let changes = 0; changes < 30 && state.object; changes += 1) {
    const isCrash = random.pick([true, false, false])
    const steps = runSteps(state, isCrash ? random.pick([0, 1]) : 12)
    allSteps.push(...steps)
    state = steps.at(-1)?.after ?? state
    if (!isCrash && state.object && isIdle(state)) idleStates.push(state)
    state = randomChange(state, random)
  }
  return { seed, steps: allSteps, idleStates }
}

const isIdle = (state: SimulatedState): boolean =>
  ['nothing', 'wait'].includes(nextStep(state)?.kind ?? '')

const HISTORIES = Array.from({ length: repeated(500, 3000) }, (_, seed) => simulate(seed))

/** Seeds of the histories that violate a property. */
const violations = (holds: (history: History) => boolean): readonly number[] =>
  HISTORIES.filter((history) => !holds(history)).map(({ seed }) => seed)

const everyStep =
  (holds: (steps: TakenStep) => boolean) =>
  ({ steps }: History): boolean =>
    steps.every(holds)

const readyOf = ({ object }: SimulatedState): string =>
  findCondition(object?.status?.conditions ?? [], 'Ready')?.reason ?? 'none'

const ENDED = ['Expired', 'Revoked']

test('the simulation reaches every step and every reason of Ready many times', () => {
  const stepKinds: readonly TokenStep['kind'][] = [
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
  const seen = HISTORIES.flatMap(({ steps }) =>
    steps.flatMap(({ step, after: now }) => [step.kind, readyOf(now)]),
  )
  const rare = [...stepKinds, ...states].filter(
    (one) => seen.filter((other) => other === one).length < HISTORIES.length / 30,
  )
  expect(rare).toEqual([])
})

const issues = ({ steps }: History) => steps.filter(({ step }) => step.kind === 'issue')

test('no more than one token is issued for each uid (2.4, 5.4)', () => {
  expect(violations((history) => issues(history).length <= 1)).toEqual([])
})

test('exp is the creation plus the least of ttl, cap and limit, and not later than the end of the owner (2.4)', () => {
  const holds = ({ step, before, after: now }: TakenStep): boolean => {
    const claims = claimsInStatus(now)
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
  expect(violations(everyStep(holds))).toEqual([])
})

test('a token is issued only while it may be valid, and after the finalizer is set (5.1, 5.4)', () => {
  const holds = ({ step, before, after: now }: TakenStep): boolean => {
    const claims = claimsInStatus(now)
    return (
      step.kind !== 'issue' || (claims !== null && mayBeValid(now, claims) && hasFinalizer(before))
    )
  }
  expect(violations(everyStep(holds))).toEqual([])
})

test('the scope of a token never exceeds that of its owner or its spec (5.4, 7.1)', () => {
  const holds = ({ step, before }: TakenStep): boolean => {
    if (step.kind !== 'issue') return true
    const { scope } = step.claims['platform.sh']
    const own = before.object?.spec?.scope ?? null
    const inner = clustersIn(scope === '*' ? null : JSON.parse(scope))
    return inner.every((one) => clustersIn(own).includes(one))
  }
  expect(violations(everyStep(holds))).toEqual([])
})

test('an ended token never leaves Expired or Revoked, except for Terminating (2.5, 5.4)', () => {
  const holds = ({ before, after: now }: TakenStep): boolean =>
    !ENDED.includes(readyOf(before)) ||
    now.object === null ||
    [readyOf(before), 'Terminating'].includes(readyOf(now))
  expect(violations(everyStep(holds))).toEqual([])
})

test('an idle ended object has no token in status (5.2, 5.4)', () => {
  const holds = ({ idleStates }: History): boolean =>
    idleStates.every((state) => readyOf(state) === 'Issued' || !state.object?.status?.token)
  expect(violations(holds)).toEqual([])
})

test('a token that ends before its exp is recorded before status shows the end (5.4, 7.4)', () => {
  const holds = ({ step, before, after: now }: TakenStep): boolean => {
    const saysSo = step.kind === 'publish' && ['Revoked', 'Terminating'].includes(readyOf(now))
    return (
      !saysSo ||
      !isInUse(before) ||
      before.storedRecords.has('uid-deploy') ||
      before.recordFault !== null
    )
  }
  expect(violations(everyStep(holds))).toEqual([])
})

test('a token that ends before its exp is recorded before the finalizer is removed (5.1, 7.4)', () => {
  const holds = ({ step, before }: TakenStep): boolean =>
    step.kind !== 'release' || !isInUse(before) || before.storedRecords.has('uid-deploy')
  expect(violations(everyStep(holds))).toEqual([])
})

/** Whether the token was issued and has not expired. */
function isInUse({ object, nowMs }: SimulatedState): boolean {
  const endMs = parseTimestamp(object?.status?.expirationTimestamp)
  return endMs !== null && nowMs < endMs
}

test('the record lasts until exp, or longer where exp is not known (7.4)', () => {
  const holds = ({ step, before }: TakenStep): boolean => {
    if (step.kind !== 'record') return true
    const endMs = parseTimestamp(before.object?.status?.expirationTimestamp)
    return step.expiresMs >= (endMs ?? 0) && step.expiresMs > before.nowMs
  }
  expect(violations(everyStep(holds))).toEqual([])
})

test('an idle token is Issued only while it may be valid (5.4)', () => {
  const holds = ({ idleStates }: History): boolean =>
    idleStates.every((state) => {
      const claims = claimsInStatus(state)
      return readyOf(state) !== 'Issued' || (claims !== null && mayBeValid(state, claims))
    })
  expect(violations(holds)).toEqual([])
})

test('a token becomes Revoked only if it may no longer be valid (5.4)', () => {
  const holds = ({ step, before, after: now }: TakenStep): boolean => {
    if (step.kind !== 'publish' || readyOf(now) !== 'Revoked' || readyOf(before) === 'Revoked')
      return true
    const claims = claimsInStatus(before)
    return claims === null || !mayBeValid(before, claims)
  }
  expect(violations(everyStep(holds))).toEqual([])
})

test('a token is recorded only if it may no longer be valid or is deleted (7.4)', () => {
  const holds = ({ step, before }: TakenStep): boolean => {
    const claims = claimsInStatus(before)
    const isDeleted = before.object?.metadata.deletionTimestamp !== undefined
    return step.kind !== 'record' || isDeleted || claims === null || !mayBeValid(before, claims)
  }
  expect(violations(everyStep(holds))).toEqual([])
})

test('a reconcile takes fewer than seven steps until the token is idle or deleted', () => {
  const holds = ({ idleStates }: History): boolean =>
    idleStates.every((state) => runSteps(state, 1).length === 0)
  expect(violations(holds)).toEqual([])
  const random = randomFrom(1)
  const settles = ({ steps }: History): boolean =>
    steps.every(({ after: state }) => {
      const furtherSteps = runSteps({ ...state, recordFault: null }, 12)
      const last = furtherSteps.at(-1)?.after ?? state
      return furtherSteps.length < 7 && (last.object === null || isIdle(last))
    })
  expect(HISTORIES.filter(() => random.between(0, 5) < 1).every(settles)).toBe(true)
})

test('publish never follows publish without a change', () => {
  const holds = ({ step, after: now }: TakenStep): boolean =>
    step.kind !== 'publish' || now.object === null || nextStep(now)?.kind !== 'publish'
  expect(violations(everyStep(holds))).toEqual([])
})

/**
 * Whether the step stays the same until the wake-up: a millisecond later, halfway, and a millisecond before it.
 * A token that waits for its owner is queued by a change of that key.
 */
function isStableUntilWakeUp(state: SimulatedState): boolean {
  const { key, caps, nowMs } = state
  const rest = nextStep(state)
  const ownerEndMs = key && rest?.kind === 'nothing' ? lifetimeOf(key, caps, nowMs).expiresMs : null
  const quietMs = rest?.kind === 'wait' ? rest.wakeMs : (ownerEndMs ?? 0)
  const untilMs = quietMs > nowMs ? quietMs : after(10 ** 9)
  const sampleTimesMs = [nowMs + 1, Math.floor((nowMs + untilMs) / 2), untilMs - 1]
  return sampleTimesMs.every(
    (sampleMs) =>
      sampleMs >= untilMs || isDeepStrictEqual(nextStep({ ...state, nowMs: sampleMs }), rest),
  )
}

test('an idle token needs no write before its wake-up', () => {
  expect(violations(({ idleStates }) => idleStates.every(isStableUntilWakeUp))).toEqual([])
})

test('a wake-up never schedules another wake-up for the same time', () => {
  const makesProgress = (state: SimulatedState): boolean => {
    const rest = nextStep(state)
    if (rest?.kind !== 'wait') return true
    const next = nextStep({ ...state, nowMs: rest.wakeMs })
    return rest.wakeMs > state.nowMs && (next?.kind !== 'wait' || next.wakeMs > rest.wakeMs)
  }
  expect(violations(({ idleStates }) => idleStates.every(makesProgress))).toEqual([])
})

test('a use of the owner needs no write to the token (4.4)', () => {
  const needsNoWrite = (state: SimulatedState): boolean => {
    const { key, caps, nowMs } = state
    if (!key || nextStep(state)?.kind === undefined) return true
    const used = { ...key, slides: true, lastActivityMs: nowMs }
    const was = { ...state, key: { ...used, lastActivityMs: nowMs - 1000 } }
    const endMs = lifetimeOf(was.key, caps, nowMs).expiresMs
    if (endMs !== null && endMs <= nowMs) return true
    const settled = runSteps({ ...was, recordFault: null }, 12).at(-1)?.after ?? was
    return settled.object === null || runSteps({ ...settled, key: used }, 1).length === 0
  }
  expect(violations(({ idleStates }) => idleStates.every(needsNoWrite))).toEqual([])
})

test('a deleted token without foreign finalizers is removed from any state (5.1)', () => {
  const isRemoved = (state: SimulatedState): boolean => {
    if (!state.object || !hasFinalizer(state)) return true
    const { metadata } = state.object
    const finalizers = metadata.finalizers?.filter((finalizer) => finalizer !== FOREIGN) ?? []
    const deletionTimestamp = '2026-11-21T12:00:00Z'
    const object = { ...state.object, metadata: { ...metadata, finalizers, deletionTimestamp } }
    const steps = runSteps({ ...state, object, recordFault: null }, 6)
    return steps.at(-1)?.after.object === null
  }
  expect(violations(({ idleStates }) => idleStates.every(isRemoved))).toEqual([])
})

test('each transition has one event (4.5)', () => {
  const eventsOf = ({ steps }: History): readonly string[] =>
    steps.flatMap(({ step }) =>
      'announce' in step
        ? step.announce.map(({ reason, discriminator }) => `${reason} ${discriminator}`)
        : [],
    )
  const isOnce = (history: History): boolean => {
    const all = eventsOf(history).filter((one) => !one.startsWith('ScopeExceedsOwner'))
    return new Set(all).size === all.length
  }
  expect(violations(isOnce)).toEqual([])
})
