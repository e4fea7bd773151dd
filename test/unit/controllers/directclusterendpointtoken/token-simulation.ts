// A simulation of one token among random changes: the steps of `plan` are applied to an object in memory,
// and property tests check every step.
import type { DirectClusterEndpointToken } from '../../../../src/api/directclusterendpointtoken.gen.ts'
import { REVOKE_FINALIZER } from '../../../../src/api/names.ts'
import type { OwnerReference } from '../../../../src/api/objects.ts'
import type { Scope } from '../../../../src/api/scope.gen.ts'
import type { TokenPlanInput } from '../../../../src/controllers/directclusterendpointtoken/facts.ts'
import {
  type TokenStep,
  plan,
} from '../../../../src/controllers/directclusterendpointtoken/plan.ts'
import type { Owner } from '../../../../src/controllers/indexes/tokens.ts'
import type { AccessKey } from '../../../../src/domain/accesskey/access-key.ts'
import { keyStateOf } from '../../../../src/domain/accesskey/key-state.ts'
import { type Caps, lifetimeOf } from '../../../../src/domain/accesskey/lifetime.ts'
import type { TokenClaims } from '../../../../src/domain/token/token-claims.ts'
import { tokenOf } from '../../../../src/domain/token/token.ts'
import { DAY_MS, accessKey, after, textAfter } from '../../../support/key-builder.ts'
import type { Random } from '../../../support/random.ts'
import {
  ISSUER,
  claimsIn,
  referenceTo,
  tampered,
  tokenAfter,
  tokenCircumstances,
  tokenObject,
  withMetadata,
} from '../../../support/token-builder.ts'

/** What the plan of a token depends on besides its object. */
export interface Environment {
  /** The owning access key; null = deleted. */
  readonly key: AccessKey | null
  readonly hasOlderDuplicate: boolean
  readonly caps: Caps
  readonly issuer: string | null
  /** kid of the signing key; null = no key may sign. */
  readonly kid: string | null
  readonly withdrawn: ReadonlySet<string>
  readonly maxTtlMs: number
  readonly recordFault: string | null
  readonly nowMs: number
}

/** The token object and its environment. */
export interface SimulatedState extends Environment {
  /** null = deleted. */
  readonly object: DirectClusterEndpointToken | null
  readonly requestedRecords: ReadonlySet<string>
  readonly storedRecords: ReadonlySet<string>
}

/** A step of the plan, and the state before and after it. */
export interface TakenStep {
  readonly step: TokenStep
  readonly before: SimulatedState
  readonly after: SimulatedState
}

export const FOREIGN = 'example.com/backup'
const OTHER = accessKey({ name: 'cd', uid: 'uid-cd' })
const clusters = (...names: readonly string[]): Scope => ({
  clusters: names.map((cluster) => ({ cluster })),
})
const SCOPES = [null, null, clusters('*'), clusters('a'), clusters('a', 'b')] as const

/** The clusters that a scope grants; without a scope also everything else. */
export const clustersIn = (scope: Scope | null): readonly string[] => {
  if (scope === null) return ['a', 'b', 'c', 'everything else']
  const names = scope.clusters?.map(({ cluster = '' }) => cluster) ?? []
  return names.includes('*') ? ['a', 'b', 'c'] : names
}

/** The state at t0: a new token. */
export function initialState(random: Random): SimulatedState {
  const { pick } = random
  const references: readonly (readonly OwnerReference[])[] = [
    [referenceTo(accessKey())],
    [referenceTo(accessKey())],
    [referenceTo(accessKey())],
    [],
  ]
  const scope = pick(SCOPES)
  return {
    object: tokenObject({
      metadata: { finalizers: [], ownerReferences: pick(references) },
      spec: { ttl: pick([0, 60, 90, 3600, 30 * 86_400]), ...(scope ? { scope } : {}) },
    }),
    key: randomKey(random),
    hasOlderDuplicate: false,
    caps: { maxTtlSeconds: pick([null, null, 60, 90, 7200]), loginTtlSeconds: null },
    issuer: pick([ISSUER, ISSUER, null]),
    kid: pick(['kid-1', 'kid-1', null]),
    withdrawn: new Set(),
    maxTtlMs: pick([DAY_MS, 120_000]),
    recordFault: null,
    requestedRecords: new Set(),
    storedRecords: new Set(),
    nowMs: after(0),
  }
}

const randomKey = ({ pick }: Random): AccessKey =>
  accessKey({
    ttl: pick([0, 0, 90, 150]),
    slides: pick([true, false]),
    scope: pick(SCOPES),
    groups: pick([[], ['ops']]),
  })

type Change = (state: SimulatedState, random: Random) => SimulatedState

const onKey =
  (differing: (random: Random, key: AccessKey, nowMs: number) => Partial<AccessKey>): Change =>
  (state, random) => ({
    ...state,
    key: state.key && { ...state.key, ...differing(random, state.key, state.nowMs) },
  })

const onObject =
  (
    change: (object: DirectClusterEndpointToken, random: Random) => DirectClusterEndpointToken,
  ): Change =>
  (state, random) => ({ ...state, object: state.object && change(state.object, random) })

const referring = (...ownerReferences: readonly OwnerReference[]): Change =>
  onObject((object) => withMetadata(object, { ownerReferences }))

const finalizersOf = ({ metadata: { finalizers = [] } }: DirectClusterEndpointToken) => finalizers

const advanceClock: Change = (state, { pick }) => {
  const seconds = pick([0.001, 1, 1, 5, 10, 30, 30, 60, 600, 3600, 90_000])
  return { ...state, nowMs: state.nowMs + seconds * 1000 }
}

/** Possible changes; repeated entries are more likely. */
const CHANGES: readonly Change[] = [
  advanceClock,
  advanceClock,
  advanceClock,
  advanceClock,
  onKey((_, __, nowMs) => ({ lastActivityMs: nowMs })),
  onKey((_, __, nowMs) => ({ lastActivityMs: nowMs - 250 })),
  onKey(({ pick }) => ({ isDisabled: pick([true, false, false]) })),
  onKey(({ pick }) => ({ scope: pick(SCOPES) })),
  onKey(({ pick }) => ({ groups: pick([[], ['ops'], ['ops', 'ops']]) })),
  onKey(({ pick }) => ({ identity: pick(['user:ada', 'user:ada', 'user:eve', null]) })),
  onKey(({ pick }) => ({ ttl: pick([0, 0, 60, 90, 3600]) })),
  onKey(({ pick }, key) => ({ isDeleting: key.isDeleting || pick([true, false, false]) })),
  (state, random) => ({ ...state, key: random.pick([state.key, state.key, null]) }),
  (state, random) => ({
    ...state,
    key: { ...randomKey(random), uid: random.pick(['uid-ci', 'uid-ci', 'uid-new']) },
  }),
  (state, { pick }) => ({ ...state, hasOlderDuplicate: pick([true, false, false]) }),
  (state, { pick }) => ({
    ...state,
    caps: { ...state.caps, maxTtlSeconds: pick([null, null, 1, 60, 90, 7200]) },
  }),
  (state, { pick }) => ({ ...state, maxTtlMs: pick([DAY_MS, 120_000]) }),
  (state, { pick }) => ({ ...state, issuer: pick([ISSUER, ISSUER, ISSUER, null]) }),
  (state, { pick }) => ({ ...state, kid: pick(['kid-1', 'kid-1', 'kid-2', null]) }),
  (state, { pick }) => ({
    ...state,
    withdrawn: new Set([...state.withdrawn, ...pick([[], [], ['kid-1'], ['kid-2']])]),
  }),
  (state, { pick }) => ({ ...state, recordFault: pick([null, null, 'no answer']) }),
  (state) => ({ ...state, storedRecords: state.requestedRecords }),
  (state) => ({ ...state, storedRecords: new Set() }),
  referring(),
  referring(referenceTo(accessKey())),
  referring(referenceTo(accessKey())),
  referring(referenceTo(OTHER)),
  onObject((object) => tampered(object, { token: undefined })),
  onObject((object) => tampered(object, { token: 'x.y.z' })),
  onObject((object) =>
    withMetadata(object, { finalizers: [...new Set([FOREIGN, ...finalizersOf(object)])] }),
  ),
  onObject((object) =>
    withMetadata(object, {
      finalizers: finalizersOf(object).filter((finalizer) => finalizer !== FOREIGN),
    }),
  ),
  onObject((object) => withMetadata(object, { deletionTimestamp: textAfter(1) })),
]

/** The state after one random change. */
export function randomChange(state: SimulatedState, random: Random): SimulatedState {
  const next = random.pick(CHANGES)(state, random)
  const { object } = next
  const isGone = object?.metadata.deletionTimestamp && finalizersOf(object).length === 0
  return isGone ? { ...next, object: null } : next
}

/** The access key that the token's owner reference names. */
function ownerIn({ object, key, hasOlderDuplicate, caps, nowMs }: SimulatedState): Owner | null {
  const reference = object?.metadata.ownerReferences?.[0]
  if (!key || reference?.name !== key.name || reference.uid !== key.uid) return null
  const lifetime = lifetimeOf(key, caps, nowMs)
  const faults = { isInConflict: hasOlderDuplicate, identityFault: null }
  const state = keyStateOf(key, lifetime, faults, nowMs)
  const end = state === 'Active' ? null : { state, above: null }
  return { key, state, above: null, end, expiresMs: lifetime.expiresMs }
}

/** The circumstances that the reconciler would pass to `plan`. */
export function circumstancesIn(state: SimulatedState): TokenPlanInput {
  const {
    object,
    caps,
    issuer,
    kid,
    withdrawn,
    maxTtlMs,
    recordFault,
    requestedRecords,
    storedRecords,
    nowMs,
  } = state
  const signedBy = tokenOf(object ?? tokenObject()).published.keyID
  const canSign = kid !== null && !withdrawn.has(kid)
  return tokenCircumstances({
    owner: ownerIn(state),
    caps,
    issuer,
    signing: canSign ? { algorithm: 'ES256' } : null,
    isKeyWithdrawn: signedBy !== undefined && withdrawn.has(signedBy),
    maxTtlMs,
    isRecorded: storedRecords.has('uid-deploy'),
    recordFault,
    recordAskedForMs:
      requestedRecords.has('uid-deploy') && !storedRecords.has('uid-deploy') ? 0 : null,
    nowMs,
  })
}

/** The next step; null when there is no object. */
export const nextStep = (state: SimulatedState): TokenStep | null =>
  state.object && plan(tokenOf(state.object), circumstancesIn(state))

/** The state after a step was carried out. */
function afterStep(state: SimulatedState, step: TokenStep): SimulatedState {
  const { object, requestedRecords, recordFault } = state
  if (!object) return state
  if (step.kind !== 'record')
    return { ...state, object: tokenAfter(object, step, state.kid ?? 'none') }
  const now = new Set([...requestedRecords, object.metadata.uid])
  return {
    ...state,
    requestedRecords: now,
    ...(recordFault === null ? { storedRecords: now } : {}),
  }
}

/** Takes steps until none is left, storing the record fails, or `most` steps are taken (a crash). */
export function runSteps(state: SimulatedState, most: number): readonly TakenStep[] {
  const steps: TakenStep[] = []
  let before = state
  while (steps.length < most) {
    const step = nextStep(before)
    if (!step || step.kind === 'nothing' || step.kind === 'wait') break
    const next = afterStep(before, step)
    steps.push({ step, before, after: next })
    if (step.kind === 'record' && before.recordFault !== null && before.requestedRecords.size > 0)
      break
    before = next
  }
  return steps
}

/** The claims of the token in status; null without a well-formed token. */
export function claimsInStatus({ object }: SimulatedState): TokenClaims | null {
  const text = object?.status?.token ?? ''
  return text.split('.').length === 3 && text !== 'x.y.z' ? claimsIn(text) : null
}

/** Whether a token with these claims may be valid in this state (contract 5.4, 2.5, 7.3). */
export function mayBeValid(state: SimulatedState, claims: TokenClaims): boolean {
  const { object, key, hasOlderDuplicate, caps, withdrawn, storedRecords, nowMs } = state
  const { creationTimestamp, ownerReferences = [] } = object?.metadata ?? tokenObject().metadata
  const capMs = (caps.maxTtlSeconds ?? Number.POSITIVE_INFINITY) * 1000
  const isInTime = nowMs < claims.exp * 1000 && nowMs < Date.parse(creationTimestamp) + capMs
  const keyID = object?.status?.keyID ?? ''
  if (!isInTime || withdrawn.has(keyID) || storedRecords.has(claims.jti)) return false
  if (claims.sub.startsWith('token:')) return ownerReferences.length === 0
  const { uid } = claims['platform.sh']
  const { expiresMs } = key ? lifetimeOf(key, caps, nowMs) : { expiresMs: 0 }
  return (
    key?.uid === uid &&
    ownerReferences.some((reference) => reference.uid === uid && reference.name === key.name) &&
    !(key.isDeleting || key.isDisabled || hasOlderDuplicate) &&
    nowMs < (expiresMs ?? Number.POSITIVE_INFINITY) &&
    key.identity === claims.sub &&
    key.groups.every((group) => claims.groups.includes(`group:${group}`)) &&
    claims.groups.every(
      (group) =>
        group === 'authenticated' ||
        group === claims.sub ||
        key.groups.includes(group.slice('group:'.length)),
    ) &&
    isInside(claims['platform.sh'].scope, key.scope) &&
    (key.scope === null || claims.aud.every((one) => one.startsWith(`${claims.iss}/scoped`)))
  )
}

function isInside(scope: string, parent: Scope | null): boolean {
  const inner = clustersIn(scope === '*' ? null : (JSON.parse(scope) as Scope))
  return inner.every((one) => clustersIn(parent).includes(one))
}

/** Whether our finalizer is on the object. */
export const hasFinalizer = ({ object }: SimulatedState): boolean =>
  object !== null && finalizersOf(object).includes(REVOKE_FINALIZER)
