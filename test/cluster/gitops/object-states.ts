// Brings objects into every state that status can show, on a control plane with a running operator.
import {
  ACCESS_KEY_CLAIMS,
  API_VERSION,
  CONFIGS,
  IDENTITY_GONE_ANNOTATION,
} from '../../../src/api/names.ts'
import { REASONS } from '../../../src/api/reasons.ts'
import type { KubeObject } from '../../../src/api/objects.ts'
import type { TokenReadyState } from '../../../src/controllers/directclusterendpointtoken/ready-state.ts'
import { STALLED } from '../../../src/delivery/claims/state.ts'
import type { KeyState } from '../../../src/domain/accesskey/key-state.ts'
import { pathOf } from '../../../src/kube/client/client.ts'
import { IN_FORCE_PATH, isReadyBy, settingsOf } from '../../support/config-client.ts'
import type { TestControlPlane } from '../../support/control-plane.ts'
import { type StoredObject, objectClientOf } from '../../support/object-client.ts'
import { TRACKED, teamClientOf, userClientOf } from '../people/people-client.ts'
import { type KeyClient, keyClientOf, outlived, createdAgo } from '../keys/key-client.ts'
import {
  FOREIGN,
  type TokenClient,
  controllerOf,
  tokenClientOf,
  under,
} from '../tokens/token-client.ts'

/** Reasons of the Ready condition of a token. `Pending` is never in status. */
export type TokenReason = Exclude<TokenReadyState['reason'], 'Pending'> | 'Terminating'
/** Reasons of a User. */
export type UserReason = (typeof REASONS.userReady)[number]
/** Reasons of a Team. */
export type TeamReason = (typeof REASONS.teamReady)[number]
/** Reasons of a claim. */
export type ClaimReason = (typeof REASONS.claimReady)[number]
/** Reasons of a Config. */
export type ConfigReason = 'Applied' | 'Invalid' | 'NotInForce'

/** An object in each state, by the reason of its Ready condition. */
export interface States {
  readonly keys: Readonly<Record<KeyState, KubeObject>>
  readonly tokens: Readonly<Record<TokenReason, KubeObject>>
  readonly users: Readonly<Record<UserReason, KubeObject>>
  readonly teams: Readonly<Record<TeamReason, KubeObject>>
  readonly claims: Readonly<Record<ClaimReason, KubeObject>>
  readonly configs: Readonly<Record<ConfigReason, KubeObject>>
}

const HOUR = 3600

/** Brings an object into each state of a key. */
export async function keyStates(plane: TestControlPlane): Promise<States['keys']> {
  const keys = keyClientOf(plane)
  const key = `sha256:${'0'.repeat(64)}`
  const older = await keys.shown(await keys.create({ key }), 'Active')
  // Of two keys created in the same second the uid decides.
  await outlived(older)
  const conflicting = await keys.create({ key })
  const login = await keys.create({ disabled: true })
  const [active, noIdentity, conflict, expired, disabled, owned] = await Promise.all([
    keys.shown(await keys.create(), 'Active'),
    keys.shown(await keys.create({ user: '' }), 'NoIdentity'),
    keys.shown(conflicting, 'KeyConflict'),
    keys.shown(await keys.create({ ttl: 60 }, createdAgo(HOUR)), 'Expired'),
    keys.shown(login, 'Disabled'),
    keys.shown(await keys.create({}, { ownerReferences: [controllerOf(login)] }), 'OwnerNotReady'),
  ])
  return {
    Active: active,
    NoIdentity: noIdentity,
    KeyConflict: conflict,
    Expired: expired,
    Disabled: disabled,
    OwnerNotReady: owned,
    Terminating: await terminating(keys),
    ...(await endedByPeople(plane)),
  }
}

/** Keys whose person or team keeps them from working. */
async function endedByPeople(plane: TestControlPlane) {
  const keys = keyClientOf(plane)
  const user = await userClientOf(plane).create({ disabled: true })
  const team = await deletedTeam(plane)
  const gone = (reason: string) => ({
    annotations: { [IDENTITY_GONE_ANNOTATION]: `2026-11-21T10:00:00Z ${reason}` },
  })
  const stale = { type: 'Login', identityRefresh: '2026-11-21T10:00:00Z' } as const
  return {
    UserDisabled: await keys.shown(await keys.create({ user: user.metadata.name }), 'UserDisabled'),
    // The Team holds only what a GitOps tool applies.
    TeamGone: await keys.shown(
      await keys.create({ user: '', team: team.metadata.name }, TRACKED.Flux),
      'TeamGone',
    ),
    IdentityGone: await keys.shown(await keys.create({}, gone('IdentityGone')), 'IdentityGone'),
    SignInAgain: await keys.shown(await keys.create({}, gone('SignInAgain')), 'SignInAgain'),
    IdentityStale: await keys.shown(await keys.create(stale), 'IdentityStale'),
  }
}

/** A Team in deletion with a foreign finalizer. */
async function deletedTeam(plane: TestControlPlane): Promise<KubeObject> {
  const teams = teamClientOf(plane)
  const team = await teams.shown(await teams.create({}, { finalizers: [FOREIGN] }), 'Active')
  await teams.remove(team)
  return teams.shown(team, 'Terminating')
}

/** Brings an object into each state of a User. */
export async function userStates(plane: TestControlPlane): Promise<States['users']> {
  const users = userClientOf(plane)
  const leaving = await users.shown(await users.create({}, { finalizers: [FOREIGN] }), 'Active')
  await users.remove(leaving)
  return {
    Active: await users.shown(await users.create(), 'Active'),
    Disabled: await users.shown(await users.create({ disabled: true }), 'Disabled'),
    NameMismatch: await users.shown(await users.create({ username: 'Ada' }), 'NameMismatch'),
    Terminating: await users.shown(leaving, 'Terminating'),
  }
}

/** Brings an object into each state of a Team. */
export async function teamStates(plane: TestControlPlane): Promise<States['teams']> {
  const teams = teamClientOf(plane)
  return {
    Active: await teams.shown(await teams.create(), 'Active'),
    NameMismatch: await teams.shown(await teams.create({ name: 'SRE' }), 'NameMismatch'),
    Terminating: await deletedTeam(plane),
  }
}

/** Writes each state of a claim into status, as the delivery process does: none runs. */
export async function claimStates({ raw }: TestControlPlane): Promise<States['claims']> {
  const written = REASONS.claimReady.map(async (reason) => {
    const metadata = { name: reason.toLowerCase(), namespace: 'default', finalizers: [FOREIGN] }
    const { apiVersion, kind } = { apiVersion: API_VERSION, kind: ACCESS_KEY_CLAIMS.kind }
    const path = pathOf(ACCESS_KEY_CLAIMS, metadata)
    const claims = pathOf(ACCESS_KEY_CLAIMS, { namespace: metadata.namespace })
    await raw('POST', claims, { apiVersion, kind, metadata, spec: {} })
    if (reason === 'Terminating') await raw('DELETE', path)
    const { body } = await raw<KubeObject>('PATCH', `${path}/status`, {
      status: { observedGeneration: 1, conditions: claimConditions(reason) },
    })
    return [reason, body] as const
  })
  return Object.fromEntries(await Promise.all(written)) as States['claims']
}

function claimConditions(reason: ClaimReason): readonly object[] {
  const lastTransitionTime = '2026-11-21T10:00:00Z'
  const one = { reason, message: `It is ${reason}.`, lastTransitionTime, observedGeneration: 1 }
  const ready = { ...one, type: 'Ready', status: reason === 'Delivered' ? 'True' : 'False' }
  return STALLED.has(reason) ? [ready, { ...one, type: 'Stalled', status: 'True' }] : [ready]
}

/** A key in deletion with a foreign finalizer. */
async function terminating(keys: KeyClient): Promise<KubeObject> {
  const created = await keys.shown(await keys.create({}, { finalizers: [FOREIGN] }), 'Active')
  await keys.remove(created)
  return keys.shown(created, 'Terminating')
}

/**
 * Brings an object into each state of a token. The operator must have no issuer yet, and must not be able to create
 * signing keys before `allowSigning` is called.
 */
export async function tokenStates(
  plane: TestControlPlane,
  allowSigning: () => Promise<void>,
): Promise<States['tokens']> {
  const tokens = tokenClientOf(plane)
  const waiting = await tokens.create()
  const issuerUnknown = await tokens.shown(waiting, 'IssuerUnknown')
  await settingsOf(plane).declare({ platformHost: 'platform.example.com' })
  const noKey = await tokens.shown(waiting, 'SigningKeyUnavailable')
  await allowSigning()
  return {
    IssuerUnknown: issuerUnknown,
    SigningKeyUnavailable: noKey,
    Issued: await tokens.shown(waiting, 'Issued'),
    ...(await endedTokens(tokens)),
    ...(await refusedTokens(plane, tokens)),
  }
}

async function endedTokens(tokens: TokenClient) {
  const leaving = await tokens.issue({}, { finalizers: [FOREIGN] })
  await tokens.remove(leaving)
  const short = await tokens.create({ ttl: 1 })
  return {
    Terminating: await tokens.shown(leaving, 'Terminating'),
    Expired: await tokens.shown(short, 'Expired'),
  }
}

async function refusedTokens(plane: TestControlPlane, tokens: TokenClient) {
  const keys = keyClientOf(plane)
  const narrow = { scope: { clusters: [{ cluster: 'a' }] } }
  const owner = await keys.shown(await keys.create(narrow), 'Active')
  const issued = await tokens.issue({}, under(owner))
  const wide = await tokens.create({ scope: { clusters: [{ cluster: 'b' }] } }, under(owner))
  const exceeding = await tokens.shown(wide, 'ScopeExceedsOwner')
  await keys.patch(owner, { spec: { disabled: true } })
  const clusters = Array.from({ length: 60 }, (_, at) => ({ cluster: `${at}-${'c'.repeat(100)}` }))
  return {
    ScopeExceedsOwner: exceeding,
    Revoked: await tokens.shown(issued, 'Revoked'),
    OwnerNotReady: await tokens.shown(await tokens.create({}, under(owner)), 'OwnerNotReady'),
    ScopeTooLarge: await tokens.shown(
      await tokens.create({ scope: { clusters } }),
      'ScopeTooLarge',
    ),
  }
}

/** Brings a Config into each state; the one in force is valid in the end. */
export async function configStates(plane: TestControlPlane): Promise<States['configs']> {
  const settings = settingsOf(plane)
  const read = async (reason: string): Promise<KubeObject> => {
    await settings.settled(`Config is ${reason}`, isReadyBy(reason))
    return (await plane.raw<KubeObject>('GET', IN_FORCE_PATH)).body
  }
  const { spec } = await settings.read()
  await settings.declare({ ...spec, auth: { accessKeyMaxTTLSeconds: -5 } })
  const invalid = await read('Invalid')
  await settings.declare(spec)
  const configs = objectClientOf<StoredObject>(plane, CONFIGS)
  const { apiVersion, kind } = invalid
  const other = await configs.create({ apiVersion, kind, metadata: { name: 'another' }, spec: {} })
  return {
    Invalid: invalid,
    Applied: await read('Applied'),
    NotInForce: await configs.shown(other, 'NotInForce'),
  }
}
