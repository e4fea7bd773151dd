// Tokens and their owning access keys: a token is revoked when its owner stops working or changes (contract 5.4).
import { decodeJwt } from 'jose'
import { beforeAll, describe, expect, test } from 'vitest'
import type { DirectClusterEndpointTokenSpec } from '../../../src/api/directclusterendpointtoken.gen.ts'
import { EXPIRED_ANNOTATION } from '../../../src/api/names.ts'
import type { OwnedAccessKeySpec } from '../../../src/api/ownedaccesskey.gen.ts'
import type { Scope } from '../../../src/api/scope.gen.ts'
import { ISSUER } from '../../support/command-process.ts'
import { sharedControlPlane } from '../../support/control-plane.ts'
import { conditionIn } from '../../support/object-client.ts'
import { type StoredKey, keyClientOf } from '../keys/key-client.ts'
import { platformStateOf } from './platform-state.ts'
import {
  type StoredToken,
  collectorReady,
  controllerOf,
  tokenClientOf,
  under,
} from './token-client.ts'

const plane = await sharedControlPlane()
const keys = keyClientOf(plane)
const tokens = tokenClientOf(plane)
const platform = platformStateOf(plane)

const collector = collectorReady(tokens)

const CLUSTERS: Scope = { clusters: [{ cluster: 'a' }, { cluster: 'b' }] }
const ONE_CLUSTER: Scope = { clusters: [{ cluster: 'a' }] }
const AGENT: Scope = { ...CLUSTERS, roles: [{ role: 'agent' }] }

/** An Active key and an issued token that it owns. */
async function pair(key: OwnedAccessKeySpec = {}, spec: DirectClusterEndpointTokenSpec = {}) {
  const owner = await keys.shown(await keys.create(key), 'Active')
  return { owner, token: await tokens.issue(spec, under(owner)) }
}

const patched = (owner: StoredKey, spec: object) => keys.patch(owner, { spec })

const owned = (token: StoredToken, ownerReferences: unknown) =>
  tokens.patch(token, { metadata: { ownerReferences } })

interface Row {
  readonly name: string
  readonly key?: OwnedAccessKeySpec
  readonly token?: DirectClusterEndpointTokenSpec
  readonly change: (owner: StoredKey, token: StoredToken) => Promise<unknown>
  /** The reason in the message, for an owner of that name. */
  readonly because: (owner: string) => string
}

const OTHER_IDENTITY = (owner: string) =>
  `the identity or the groups of access key ${owner} changed`
const KEEP = { metadata: { annotations: { [EXPIRED_ANNOTATION]: 'Keep' } } }
const NARROWER = (owner: string) => `its scope exceeds that of access key ${owner} now`
const OTHER_OWNER = (owner: string) => `its owner reference no longer names access key ${owner}`

// biome-ignore format: a table
const REVOKED: readonly Row[] = [
  { name: 'disabled', change: (owner) => patched(owner, { disabled: true }), because: (owner) => `access key ${owner} is disabled` },
  { name: 'expired before the token', key: { ttl: 3600 }, change: (owner) => patched(owner, { ttl: 1 }), because: (owner) => `access key ${owner} has expired` },
  { name: 'without an identity', change: (owner) => patched(owner, { user: '' }), because: (owner) => `access key ${owner} names no user, team or subject` },
  { name: 'of another user', change: (owner) => patched(owner, { user: 'bob' }), because: OTHER_IDENTITY },
  { name: 'of a team', change: (owner) => patched(owner, { user: '', team: 'ada' }), because: OTHER_IDENTITY },
  { name: 'in another group', change: (owner) => patched(owner, { groups: ['dev'] }), because: OTHER_IDENTITY },
  { name: 'in one group less', key: { groups: ['dev', 'ops'] }, change: (owner) => patched(owner, { groups: ['dev'] }), because: OTHER_IDENTITY },
  { name: 'narrower than the token', key: { scope: CLUSTERS }, token: { scope: CLUSTERS }, change: (owner) => patched(owner, { scope: ONE_CLUSTER }), because: NARROWER },
  { name: 'narrower than the scope that the token inherited', key: { scope: AGENT }, change: (owner) => patched(owner, { scope: { roles: null } }), because: NARROWER },
  { name: 'scoped for the first time', change: (owner) => patched(owner, { scope: AGENT }), because: NARROWER },
  { name: 'no longer in the ownerReferences of the token', change: (_, token) => owned(token, null), because: OTHER_OWNER },
  { name: 'replaced by another one', change: async (_, token) => owned(token, [controllerOf(await keys.create())]), because: OTHER_OWNER },
  { name: 'an owner, but no longer the controller', change: (owner, token) => owned(token, [controllerOf(owner, { controller: false })]), because: OTHER_OWNER },
]

describe.concurrent('a token is revoked for good when its owner is', () => {
  test.each(REVOKED)('$name (4.2, 5.4, 7.4)', async (row) => {
    const { owner, token } = await pair(row.key, row.token)
    await row.change(owner, token)
    const revoked = await tokens.shown(token, 'Revoked')
    const because = row.because(owner.metadata.name)
    const reported = {
      reason: 'Revoked',
      message: `The token was revoked for good, because ${because}; make a new object for another token.`,
    }
    expect(conditionIn(revoked, 'Ready')).toMatchObject({ status: 'False', ...reported })
    expect(conditionIn(revoked, 'Stalled')).toMatchObject({ status: 'True', ...reported })
    const { token: _, conditions: __, ...kept } = token.status
    expect(revoked.status).toEqual({ ...kept, conditions: revoked.status.conditions })
    // The records at the resourceVersion of that status.
    const records = await platform.revokedAt(revoked.metadata.resourceVersion)
    expect(records[token.metadata.uid]).toBe(token.status.expirationTimestamp)
  })

  test('added after the token was issued without one (5.4)', async () => {
    const token = await tokens.issue()
    await owned(token, [controllerOf(await keys.shown(await keys.create(), 'Active'))])
    const revoked = await tokens.shown(token, 'Revoked')
    expect(conditionIn(revoked, 'Ready').message).toContain(
      'it was issued without an owner and has one now',
    )
    const records = await platform.revokedAt(revoked.metadata.resourceVersion)
    expect(records).toHaveProperty(token.metadata.uid)
  })
})

describe.concurrent('a token is revoked for good when a key that owns its owner is', () => {
  /** Ada's Login key, a key that it owns, and an issued token of that key. */
  async function family(spec: OwnedAccessKeySpec = {}) {
    const login = await keys.shown(await keys.create({ type: 'Login' }), 'Active')
    const owner = await keys.shown(
      await keys.create(spec, { ownerReferences: [controllerOf(login)] }),
      'Active',
    )
    return { login, owner, token: await tokens.issue({}, under(owner)) }
  }

  // biome-ignore format: a table
  test.each<{ name: string, spec?: OwnedAccessKeySpec, change: (login: StoredKey) => Promise<unknown>, because: (login: string, owner: string) => string }>([
    { name: 'disabled', change: (login) => patched(login, { disabled: true }), because: (login, owner) => `access key ${login}, which access key ${owner} depends on, is disabled` },
    // Annotated with Keep: the deletion of an owner deletes its keys and their tokens.
    { name: 'expired', change: (login) => keys.patch(login, { ...KEEP, spec: { ttl: 1 } }), because: (login, owner) => `access key ${login}, which access key ${owner} depends on, has expired` },
    { name: 'without an identity', change: (login) => patched(login, { user: '' }), because: (login, owner) => `access key ${login}, which access key ${owner} depends on, names no user, team or subject` },
    { name: 'narrowed', change: (login) => patched(login, { scope: ONE_CLUSTER }), because: (_, owner) => NARROWER(owner) },
    { name: 'narrowed below its owner', spec: { scope: CLUSTERS }, change: (login) => patched(login, { scope: ONE_CLUSTER }), because: (login, owner) => `access key ${login}, which access key ${owner} depends on, has a narrower scope or fewer groups than a key that it owns` },
  ])('$name (5.4, 10.3, 12.3)', async ({ spec, change, because }) => {
    const { login, owner, token } = await family(spec)
    await change(login)
    const revoked = await tokens.shown(token, 'Revoked')
    expect(conditionIn(revoked, 'Ready').message).toContain(
      because(login.metadata.name, owner.metadata.name),
    )
    const records = await platform.revokedAt(revoked.metadata.resourceVersion)
    expect(records[token.metadata.uid]).toBe(token.status.expirationTimestamp)
  })

  test('narrowed, and a new token gets the narrower scope (5.4, 11.8)', async () => {
    const { login, owner } = await family()
    await patched(login, { scope: ONE_CLUSTER })
    const wide = await tokens.create({ scope: CLUSTERS }, under(owner))
    await tokens.shown(wide, 'ScopeExceedsOwner')
    const token = await tokens.issue({}, under(owner))
    const claims = decodeJwt(token.status.token ?? '')
    expect(claims['aud']).toEqual([`${ISSUER}/scoped/clusters/a`])
    expect(claims['platform.sh']).toMatchObject({ scope: JSON.stringify(ONE_CLUSTER) })
  })

  test('disabled, and no new token is issued (5.4, 12.3)', async () => {
    const { login, owner } = await family()
    await patched(login, { disabled: true })
    const token = await tokens.shown(await tokens.create({}, under(owner)), 'OwnerNotReady')
    expect(conditionIn(token, 'Ready').message).toBe(
      `Access key ${login.metadata.name}, which access key ${owner.metadata.name} depends on, is disabled.`,
    )
  })
})

describe.concurrent('a token is not revoked when', () => {
  // biome-ignore format: a table
  test.each<Omit<Row, 'because'>>([
    { name: 'is given a wider scope', key: { scope: ONE_CLUSTER }, change: (owner) => patched(owner, { scope: CLUSTERS }) },
    { name: 'is given no scope', key: { scope: ONE_CLUSTER }, change: (owner) => patched(owner, { scope: null }) },
    { name: 'is narrowed to what the token has', key: { scope: AGENT }, token: { scope: CLUSTERS }, change: (owner) => patched(owner, { scope: { roles: null } }) },
    { name: 'gets a longer ttl', key: { ttl: 3600 }, change: (owner) => patched(owner, { ttl: 7200 }) },
    { name: 'gets another displayName', change: (owner) => patched(owner, { displayName: 'other' }) },
    { name: 'is in a second ownerReference', change: (owner, token) => owned(token, [controllerOf(owner), controllerOf(owner, { controller: false, apiVersion: 'management.platform.sh/v9' })]) },
  ])('its owner $name (5.4)', async ({ key, token: spec, change }) => {
    const { owner, token } = await pair(key, spec)
    await change(owner, token)
    // A later object is reconciled later.
    await tokens.shown(await tokens.create({}, under(owner)), 'Issued')
    const now = await tokens.read(token)
    expect(now?.status).toEqual(token.status)
    expect(await platform.revoked()).not.toHaveProperty(token.metadata.uid)
  })
})

describe.concurrent('when its owner is valid again', () => {
  // biome-ignore format: a table
  test.each([
    { name: 'enabled', worse: { disabled: true }, better: { disabled: false } },
    { name: 'not expired', worse: { ttl: 1 }, better: { ttl: 7200 } },
    { name: 'of the same user', worse: { user: 'bob' }, better: { user: 'ada' } },
    { name: 'as wide as before', worse: { scope: ONE_CLUSTER }, better: { scope: null } },
  ])('$name, a revoked token stays revoked, and a new one is issued (5.4)', async ({ worse, better }) => {
    const { owner, token } = await pair({ ttl: 3600 })
    await patched(owner, worse)
    const revoked = await tokens.shown(token, 'Revoked')
    await keys.shown(await patched(owner, better), 'Active')
    await tokens.issue({}, under(owner))
    expect(await tokens.read(token)).toEqual(revoked)
  })

  test('named in its ownerReferences, a revoked token stays revoked (5.4)', async () => {
    const { owner, token } = await pair()
    await owned(token, null)
    const { status } = await tokens.shown(token, 'Revoked')
    await owned(token, [controllerOf(owner)])
    await tokens.issue({}, under(owner))
    expect((await tokens.read(token))?.status).toEqual(status)
  })
})

describe.concurrent('a token that was never issued', () => {
  // In a hook, so that the wait does not count as time of a test.
  beforeAll(() => collector)

  test('waits for a disabled owner (4.2, 5.4)', async () => {
    const owner = await keys.shown(await keys.create({ disabled: true }), 'Disabled')
    const token = await tokens.shown(await tokens.create({}, under(owner)), 'OwnerNotReady')
    expect(token.status).toEqual({
      observedGeneration: 1,
      conditions: [
        expect.objectContaining({
          type: 'Ready',
          status: 'False',
          message: `Access key ${owner.metadata.name} is disabled.`,
        }),
      ],
    })
    await patched(owner, { disabled: false })
    const issued = await tokens.shown(token, 'Issued')
    expect(issued.status.owner).toEqual({ name: owner.metadata.name, uid: owner.metadata.uid })
    expect(conditionIn(issued, 'Ready').status).toBe('True')
  })

  test('waits for a missing owner (4.2, 5.4)', async () => {
    // In a version that the garbage collector does not know, so that it does not delete the token.
    const missing = { metadata: { ...(await keys.create()).metadata, uid: 'no-such-uid' } }
    const created = await tokens.create(
      {},
      under(missing, { apiVersion: 'management.platform.sh/v9' }),
    )
    const token = await tokens.shown(created, 'OwnerNotReady')
    expect(conditionIn(token, 'Ready').message).toBe(
      `The owner reference names access key ${missing.metadata.name} with a uid that no access key has.`,
    )
    expect(token.status.conditions).toHaveLength(1)
    expect(await platform.revoked()).not.toHaveProperty(token.metadata.uid)
  })

  // biome-ignore format: a table
  test.each([
    { name: 'a uid of no object', differing: { uid: 'no-such-uid' } },
    { name: 'a name that does not match its uid', differing: { name: 'no-such-key' } },
  ])('is garbage collected if its owner has $name (5.4)', async ({ differing }) => {
    const owner = await keys.shown(await keys.create(), 'Active')
    const token = await tokens.create({}, under(owner, differing))
    await tokens.gone(token)
    expect(await platform.revoked()).not.toHaveProperty(token.metadata.uid)
  })

  test('reports the entry of its scope that exceeds its owner (4.2, 5.4, 11.8)', async () => {
    const owner = await keys.shown(await keys.create({ scope: ONE_CLUSTER }), 'Active')
    const token = await tokens.shown(
      await tokens.create({ scope: CLUSTERS }, under(owner)),
      'ScopeExceedsOwner',
    )
    const reported = {
      reason: 'ScopeExceedsOwner',
      message: `The scope grants more than that of access key ${owner.metadata.name}: scope.clusters[1]: cluster "b".`,
    }
    expect(conditionIn(token, 'Ready')).toMatchObject({ status: 'False', ...reported })
    expect(conditionIn(token, 'Stalled')).toMatchObject({ status: 'True', ...reported })
    await patched(owner, { scope: CLUSTERS })
    const issued = await tokens.shown(token, 'Issued')
    expect(issued.status.conditions).toHaveLength(1)
  })
})

test('a token whose owner references name a key, but no controller, is not issued until one does (5.4)', async () => {
  const owner = await keys.shown(await keys.create({}), 'Active')
  const reference = controllerOf(owner)
  const waiting = await tokens.create(
    {},
    { ownerReferences: [{ ...reference, controller: false }] },
  )
  const { status } = await tokens.shown(waiting, 'OwnerNotReady')
  expect(conditionIn({ status }, 'Ready')?.message).toContain('set controller: true on the owner')
  expect(status.token).toBeUndefined()
  await owned(waiting, [reference])
  expect((await tokens.shown(waiting, 'Issued')).status.owner?.uid).toBe(owner.metadata.uid)
})
