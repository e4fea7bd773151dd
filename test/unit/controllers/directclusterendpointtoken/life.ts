// The life of one token in a world that changes at random: what `plan` says is done to an object in
// memory, and what must never happen is looked for after every step.
import type { DirectClusterEndpointToken } from '../../../../src/api/directclusterendpointtoken.gen.ts'
import { REVOKE_FINALIZER } from '../../../../src/api/names.ts'
import type { OwnerReference } from '../../../../src/api/objects.ts'
import type { Scope } from '../../../../src/api/scope.gen.ts'
import {
  type TokenPlanCircumstances,
  type TokenStep,
  plan,
} from '../../../../src/controllers/directclusterendpointtoken/plan.ts'
import type { Owner } from '../../../../src/controllers/directclusterendpointtoken/ready-state.ts'
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

/** What is there besides the token. */
export interface Surroundings {
  /** null = gone. */
  readonly key: AccessKey | null
  readonly hasElder: boolean
  readonly caps: Caps
  readonly issuer: string | null
  /** null = none may sign. */
  readonly kid: string | null
  readonly withdrawn: ReadonlySet<string>
  readonly maxTtlMs: number
  readonly recordFault: string | null
  readonly nowMs: number
}

/** A token in its world. */
export interface World extends Surroundings {
  /** null = removed. */
  readonly object: DirectClusterEndpointToken | null
  readonly asked: ReadonlySet<string>
  readonly stored: ReadonlySet<string>
}

/** A step, and the world before and after it. */
export interface Taken {
  readonly step: TokenStep
  readonly before: World
  readonly after: World
}

export const FOREIGN = 'example.com/backup'
const OTHER = accessKey({ name: 'cd', uid: 'uid-cd' })
const clusters = (...names: readonly string[]): Scope => ({
  clusters: names.map((cluster) => ({ cluster })),
})
const SCOPES = [null, null, clusters('*'), clusters('a'), clusters('a', 'b')] as const

/** What a scope of clusters leaves of all that there is. */
export const reach = (scope: Scope | null): readonly string[] => {
  if (scope === null) return ['a', 'b', 'c', 'everything else']
  const names = scope.clusters?.map(({ cluster = '' }) => cluster) ?? []
  return names.includes('*') ? ['a', 'b', 'c'] : names
}

/** A world at t0, the token just created. */
export function newWorld(random: Random): World {
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
    hasElder: false,
    caps: { maxTtlSeconds: pick([null, null, 60, 90, 7200]), loginTtlSeconds: null },
    issuer: pick([ISSUER, ISSUER, null]),
    kid: pick(['kid-1', 'kid-1', null]),
    withdrawn: new Set(),
    maxTtlMs: pick([DAY_MS, 120_000]),
    recordFault: null,
    asked: new Set(),
    stored: new Set(),
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

type Change = (world: World, random: Random) => World

const onKey =
  (differing: (random: Random, key: AccessKey, nowMs: number) => Partial<AccessKey>): Change =>
  (world, random) => ({
    ...world,
    key: world.key && { ...world.key, ...differing(random, world.key, world.nowMs) },
  })

const onObject =
  (
    change: (object: DirectClusterEndpointToken, random: Random) => DirectClusterEndpointToken,
  ): Change =>
  (world, random) => ({ ...world, object: world.object && change(world.object, random) })

const referring = (...ownerReferences: readonly OwnerReference[]): Change =>
  onObject((object) => withMetadata(object, { ownerReferences }))

const finalizersOf = ({ metadata: { finalizers = [] } }: DirectClusterEndpointToken) => finalizers

const passing: Change = (world, { pick }) => {
  const seconds = pick([0.001, 1, 1, 5, 10, 30, 30, 60, 600, 3600, 90_000])
  return { ...world, nowMs: world.nowMs + seconds * 1000 }
}

/** What happens, the more often the more harmless. */
const CHANGES: readonly Change[] = [
  passing,
  passing,
  passing,
  passing,
  onKey((_, __, nowMs) => ({ lastActivityMs: nowMs })),
  onKey((_, __, nowMs) => ({ lastActivityMs: nowMs - 250 })),
  onKey(({ pick }) => ({ isDisabled: pick([true, false, false]) })),
  onKey(({ pick }) => ({ scope: pick(SCOPES) })),
  onKey(({ pick }) => ({ groups: pick([[], ['ops'], ['ops', 'ops']]) })),
  onKey(({ pick }) => ({ identity: pick(['user:ada', 'user:ada', 'user:eve', null]) })),
  onKey(({ pick }) => ({ ttl: pick([0, 0, 60, 90, 3600]) })),
  onKey(({ pick }, key) => ({ isDeleting: key.isDeleting || pick([true, false, false]) })),
  (world, random) => ({ ...world, key: random.pick([world.key, world.key, null]) }),
  (world, random) => ({
    ...world,
    key: { ...randomKey(random), uid: random.pick(['uid-ci', 'uid-ci', 'uid-new']) },
  }),
  (world, { pick }) => ({ ...world, hasElder: pick([true, false, false]) }),
  (world, { pick }) => ({
    ...world,
    caps: { ...world.caps, maxTtlSeconds: pick([null, null, 1, 60, 90, 7200]) },
  }),
  (world, { pick }) => ({ ...world, maxTtlMs: pick([DAY_MS, 120_000]) }),
  (world, { pick }) => ({ ...world, issuer: pick([ISSUER, ISSUER, ISSUER, null]) }),
  (world, { pick }) => ({ ...world, kid: pick(['kid-1', 'kid-1', 'kid-2', null]) }),
  (world, { pick }) => ({
    ...world,
    withdrawn: new Set([...world.withdrawn, ...pick([[], [], ['kid-1'], ['kid-2']])]),
  }),
  (world, { pick }) => ({ ...world, recordFault: pick([null, null, 'no answer']) }),
  (world) => ({ ...world, stored: world.asked }),
  (world) => ({ ...world, stored: new Set() }),
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

/** The world after something has happened in it. */
export function changed(world: World, random: Random): World {
  const next = random.pick(CHANGES)(world, random)
  const { object } = next
  const isGone = object?.metadata.deletionTimestamp && finalizersOf(object).length === 0
  return isGone ? { ...next, object: null } : next
}

/** The access key that the token's reference names, as the model knows it. */
function ownerIn({ object, key, hasElder, caps, nowMs }: World): Owner | null {
  const reference = object?.metadata.ownerReferences?.[0]
  if (!key || reference?.name !== key.name || reference.uid !== key.uid) return null
  const lifetime = lifetimeOf(key, caps, nowMs)
  const state = keyStateOf(key, lifetime, hasElder, nowMs)
  return { key, state, above: null, expiresMs: lifetime.expiresMs }
}

/** What the reconciler would find. */
export function found(world: World): TokenPlanCircumstances {
  const { object, caps, issuer, kid, withdrawn, maxTtlMs, recordFault, asked, stored, nowMs } =
    world
  const signedBy = tokenOf(object ?? tokenObject()).published.keyID
  const canSign = kid !== null && !withdrawn.has(kid)
  return tokenCircumstances({
    owner: ownerIn(world),
    caps,
    issuer,
    signing: canSign ? { algorithm: 'ES256' } : null,
    isKeyWithdrawn: signedBy !== undefined && withdrawn.has(signedBy),
    maxTtlMs,
    isRecorded: stored.has('uid-deploy'),
    recordFault,
    recordAskedForMs: asked.has('uid-deploy') && !stored.has('uid-deploy') ? 0 : null,
    nowMs,
  })
}

/** The next step; null when there is no object. */
export const nextStep = (world: World): TokenStep | null =>
  world.object && plan(tokenOf(world.object), found(world))

/** The world after a step was carried out. */
function done(world: World, step: TokenStep): World {
  const { object, asked, recordFault } = world
  if (!object) return world
  if (step.kind !== 'record')
    return { ...world, object: tokenAfter(object, step, world.kid ?? 'none') }
  const now = new Set([...asked, object.metadata.uid])
  return { ...world, asked: now, ...(recordFault === null ? { stored: now } : {}) }
}

/** Takes steps until none is left, or the records fail, or the operator dies. */
export function worked(world: World, most: number): readonly Taken[] {
  const taken: Taken[] = []
  let before = world
  while (taken.length < most) {
    const step = nextStep(before)
    if (!step || step.kind === 'nothing' || step.kind === 'wait') break
    const next = done(before, step)
    taken.push({ step, before, after: next })
    if (step.kind === 'record' && before.recordFault !== null && before.asked.size > 0) break
    before = next
  }
  return taken
}

/** The claims of the token in status, whoever put it there; null when there is none of ours. */
export function claimsOut({ object }: World): TokenClaims | null {
  const text = object?.status?.token ?? ''
  return text.split('.').length === 3 && text !== 'x.y.z' ? claimsIn(text) : null
}

/** Whether a token with these claims may live in this world (contract 5.4, 2.5, 7.3). */
export function mayLive(world: World, claims: TokenClaims): boolean {
  const { object, key, hasElder, caps, withdrawn, stored, nowMs } = world
  const { creationTimestamp, ownerReferences = [] } = object?.metadata ?? tokenObject().metadata
  const capMs = (caps.maxTtlSeconds ?? Number.POSITIVE_INFINITY) * 1000
  const isInTime = nowMs < claims.exp * 1000 && nowMs < Date.parse(creationTimestamp) + capMs
  const keyID = object?.status?.keyID ?? ''
  if (!isInTime || withdrawn.has(keyID) || stored.has(claims.jti)) return false
  if (claims.sub.startsWith('token:')) return ownerReferences.length === 0
  const { uid } = claims['platform.sh']
  const { expiresMs } = key ? lifetimeOf(key, caps, nowMs) : { expiresMs: 0 }
  return (
    key?.uid === uid &&
    ownerReferences.some((reference) => reference.uid === uid && reference.name === key.name) &&
    !(key.isDeleting || key.isDisabled || hasElder) &&
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
  const inner = reach(scope === '*' ? null : (JSON.parse(scope) as Scope))
  return inner.every((one) => reach(parent).includes(one))
}

/** Whether our finalizer is on the object. */
export const isHeld = ({ object }: World): boolean =>
  object !== null && finalizersOf(object).includes(REVOKE_FINALIZER)
