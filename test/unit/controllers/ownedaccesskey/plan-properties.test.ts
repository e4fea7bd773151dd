import { isDeepStrictEqual } from 'node:util'
import { expect, test } from 'vitest'
import { REVOKE_FINALIZER } from '../../../../src/api/names.ts'
import { REASONS } from '../../../../src/api/reasons.ts'
import {
  type KeyPlanInput,
  type KeyStep,
  plan,
} from '../../../../src/controllers/ownedaccesskey/plan.ts'
import type { AccessKey } from '../../../../src/domain/accesskey/access-key.ts'
import { isLive, lifetimeOf } from '../../../../src/domain/accesskey/lifetime.ts'
import { findCondition } from '../../../../src/domain/conditions.ts'
import {
  DAY_MS,
  accessKey,
  after,
  circumstances,
  olderThan,
  stepped,
} from '../../../support/key-builder.ts'
import { type Random, randomFrom } from '../../../support/random.ts'

const STEPS: readonly KeyStep['kind'][] = [
  'nothing',
  'wait',
  'adopt',
  'record',
  'publish',
  'delete',
  'release',
]
const FOREIGN = 'example.com/backup'

/** Few values, many of them equal or next to each other, since rules meet there. */
function randomKey({ pick }: Random): AccessKey {
  const seconds = [-DAY_MS / 1000, -500, -60, 0, 1, 30, 60, 61, 90, 120, 500] as const
  const moment = (): number => after(pick(seconds))
  return accessKey({
    ttl: pick([0, 1, 60, 90, 3600, 2_147_483_647]),
    type: pick(['', 'Login', 'User']),
    slides: pick([true, false]),
    creationMs: after(pick([-500, 0, 0, 0, 90])),
    firstSeenMs: pick([true, true, false]) ? moment() : null,
    lastActivityMs: pick([true, false]) ? moment() + pick([0, 0, 1, 999]) : null,
    generation: pick([1, 2]),
    isDeleting: pick([false, false, false, true]),
    finalizers: pick([
      [],
      [REVOKE_FINALIZER],
      [REVOKE_FINALIZER],
      [FOREIGN],
      [FOREIGN, REVOKE_FINALIZER],
    ]),
    onExpiry: pick([null, null, 'Keep', 'Delete']),
    isTracked: pick([false, false, true]),
    isOfClaim: pick([false, false, true]),
    isDisabled: pick([false, false, true]),
    identity: pick(['user:ada', 'user:ada', null]),
    digest: pick([accessKey().digest, null]),
    refreshedMs: pick([null, null, moment() - DAY_MS]),
    identityGone: pick([null, null, 'SignInAgain', 'IdentityGone']),
  })
}

const IDENTITY_FAULTS = (
  ['UserDisabled', 'TeamGone', 'IdentityGone', 'IdentityStale', 'SignInAgain'] as const
).map((reason) => ({ reason, message: `The reason is ${reason}.` }))

/** Reports of another key, of the past and of the future. */
const randomReport = ({ pick }: Random): KeyPlanInput['report'] =>
  pick([true, false])
    ? null
    : {
        keyUid: pick(['uid-ci', 'uid-ci', 'uid-ci', 'uid-other']),
        refreshedMs: pick(
          [null, 0, 1, 60, 90, 500, -DAY_MS / 1000].map((one) => one && after(one)),
        ),
        gone: pick([null, null, 'SignInAgain', 'IdentityGone'] as const) && {
          atMs: after(pick([0, 60, 10 ** 9])),
          reason: pick(['SignInAgain', 'IdentityGone']),
        },
      }

const randomCircumstances = (random: Random): KeyPlanInput => {
  const { pick } = random
  return circumstances({
    caps: {
      maxTtlSeconds: pick([null, 1, 60, 90, 5000]),
      loginTtlSeconds: pick([null, 60, 1_728_000]),
    },
    retentionMs: pick([0, 1000, DAY_MS]),
    conflict: pick([null, null, null, olderThan('old-ci').conflict]),
    ownerFault: pick([null, null, null, 'access key login, which it depends on, is disabled']),
    identityFault: pick([...Array<null>(8).fill(null), ...IDENTITY_FAULTS]),
    isSurplusLogin: pick([...Array<boolean>(9).fill(false), true]),
    report: randomReport(random),
    nowMs: after(pick([0, 1, 30, 59.999, 60, 60.001, 90, 120, 500, 90_000])),
  })
}

interface Case {
  readonly seed: number
  readonly key: AccessKey
  readonly when: KeyPlanInput
}

interface TakenStep {
  readonly key: AccessKey
  readonly step: KeyStep
}

interface Settled {
  /** The key afterwards; null = deleted. */
  readonly left: AccessKey | null
  /** Each write, with the key before it. */
  readonly steps: readonly TakenStep[]
  /** The last step: nothing or wait. */
  readonly rest: KeyStep
}

const NOTHING: KeyStep = { kind: 'nothing' }

/** Takes steps at one time until none is left. */
function settle(key: AccessKey, when: KeyPlanInput): Settled {
  const steps: TakenStep[] = []
  let left: AccessKey | null = key
  while (left && steps.length < 20) {
    const step = plan(left, when)
    if (step.kind === 'nothing' || step.kind === 'wait') return { left, steps, rest: step }
    steps.push({ key: left, step })
    left = stepped(left, step)
  }
  return { left, steps, rest: NOTHING }
}

/** New keys, and keys that were settled before under other caps and at another time. */
const CASES: readonly Case[] = Array.from({ length: 8000 }, (_, seed) => {
  const random = randomFrom(seed)
  const fresh = randomKey(random)
  const past = random.pick([true, false]) ? settle(fresh, randomCircumstances(random)).left : fresh
  return { seed, key: past ?? fresh, when: randomCircumstances(random) }
})

const at = (when: KeyPlanInput, nowMs: number): KeyPlanInput => ({ ...when, nowMs })

/** Seeds of the cases that violate a property. */
const violations = (holds: (one: Case) => boolean): readonly number[] =>
  CASES.filter((one) => !holds(one)).map(({ seed }) => seed)

test('the cases reach every step and every reason of Ready many times', () => {
  const seen = CASES.flatMap(({ key, when }) => {
    const { steps, rest } = settle(key, when)
    const ready = findCondition(key.published.conditions, 'Ready')
    return [...steps.map(({ step }) => step.kind), rest.kind, ready?.reason]
  })
  const rare = [...STEPS, ...REASONS.accessKeyReady].filter(
    (one) => seen.filter((other) => other === one).length < 50,
  )
  expect(rare).toEqual([])
})

/** A sixth step publishes Terminating. */
const takesFewSteps = ({ key, when }: Case): boolean =>
  settle(key, when).steps.length <= (key.finalizers.includes(FOREIGN) ? 6 : 5)

test('every key settles within five steps, or six with a foreign finalizer', () => {
  expect(violations(takesFewSteps)).toEqual([])
})

const ORDER = /^(adopt )?(record )?(publish )?(delete )?(release )?(publish )?$/

const takesThemInOrder = ({ key, when }: Case): boolean =>
  ORDER.test(
    settle(key, when)
      .steps.map(({ step }) => `${step.kind} `)
      .join(''),
  )

test('steps come in this order, without repeats: adopt, record, publish, delete, release, publish', () => {
  expect(violations(takesThemInOrder)).toEqual([])
})

const staysPublished = ({ key, when }: Case): boolean =>
  settle(key, when).steps.every(({ key: before, step }) => {
    const next = step.kind === 'publish' ? stepped(before, step) : null
    return next === null || plan(next, when).kind !== 'publish'
  })

test('publish never follows publish without a change', () => {
  expect(violations(staysPublished)).toEqual([])
})

/** Whether the step stays the same until the wake-up: a millisecond later, halfway, and a millisecond before it. */
function isStableUntilWakeUp({ key, when }: Case): boolean {
  const { left, rest } = settle(key, when)
  if (!left || left.isDeleting) return true
  const untilMs = rest.kind === 'wait' ? rest.wakeMs : after(10 ** 9)
  const rounds = [when.nowMs + 1, Math.floor((when.nowMs + untilMs) / 2), untilMs - 1]
  return rounds.every(
    (nowMs) => nowMs >= untilMs || isDeepStrictEqual(plan(left, at(when, nowMs)), rest),
  )
}

test('a settled key needs no write before its wake-up', () => {
  expect(violations(isStableUntilWakeUp)).toEqual([])
})

function makesProgress({ key, when }: Case): boolean {
  const { left, rest } = settle(key, when)
  if (!left || rest.kind !== 'wait') return true
  const next = plan(left, at(when, rest.wakeMs))
  return rest.wakeMs > when.nowMs && (next.kind !== 'wait' || next.wakeMs > rest.wakeMs)
}

test('a wake-up never schedules another wake-up for the same time', () => {
  expect(violations(makesProgress)).toEqual([])
})

function mayBeDeleted(key: AccessKey, when: KeyPlanInput): boolean {
  const isOver = !isLive(lifetimeOf(key, when.caps, when.nowMs).expiresMs, when.nowMs)
  const isPublished = findCondition(key.published.conditions, 'Ready')?.status === 'False'
  const isAwaited = key.isOfClaim && key.isDisabled
  const isKept = isAwaited || key.onExpiry === 'Keep' || (key.isTracked && key.onExpiry === null)
  const isAnnounced = isPublished && key.published.removalTimestamp !== undefined
  return isOver && (isAnnounced || key.isOfClaim) && !isKept
}

const deletesRightly = ({ key, when }: Case): boolean =>
  settle(key, when).steps.every(({ key: before, step }) => {
    if (step.kind !== 'delete') return true
    return step.because === 'surplus' ? when.isSurplusLogin : mayBeDeleted(before, when)
  })

test('a key is deleted only after its end, which was published but for keys of claims, and never if it is kept, or as a surplus sign-in', () => {
  expect(violations(deletesRightly)).toEqual([])
})

function settlesForGood({ key, when }: Case): boolean {
  let writes = 0
  let next: AccessKey | null = key
  let nowMs = when.nowMs
  for (let rounds = 0; next && rounds < 10; rounds += 1) {
    const { left, steps, rest } = settle(next, at(when, nowMs))
    writes += steps.length
    next = rest.kind === 'wait' ? left : null
    nowMs = rest.kind === 'wait' ? rest.wakeMs : nowMs
  }
  return next === null && writes <= 10
}

test('a key settles for good within ten wake-ups and ten writes', () => {
  expect(violations(settlesForGood)).toEqual([])
})

function isCappedRightly({ key, when }: Case): boolean {
  const { expiresMs, capped } = lifetimeOf(key, when.caps, when.nowMs)
  const free = lifetimeOf(key, { ...when.caps, maxTtlSeconds: null }, when.nowMs)
  return capped === (expiresMs !== null && (free.expiresMs ?? Number.POSITIVE_INFINITY) > expiresMs)
}

test('capped means that the key would end later without the cap (contract 2.2)', () => {
  expect(violations(isCappedRightly)).toEqual([])
})
