/** @module-tag no-retry */
// People and teams at a gateway: who is refused, when, and which groups callers have (contract 10.3, 12.1, 13.4, 24.2,
// 24.5; threats C5, E1).
import { afterAll, describe, expect, test } from 'vitest'
import {
  API_VERSION,
  HEARTBEAT_NAME,
  IDENTITY_GONE_ANNOTATION,
  TEAMS,
  USERS,
} from '../../../src/api/names.ts'
import type { ObjectMeta } from '../../../src/api/objects.ts'
import type { TeamSpec } from '../../../src/api/team.gen.ts'
import type { UserSpec } from '../../../src/api/user.gen.ts'
import { objectNameFor } from '../../../src/people/people-index.ts'
import { privateControlPlane } from '../../support/control-plane.ts'
import { eventually, eventuallyPasses, staysTrue } from '../../support/eventually.ts'
import { objectClientOf, type StoredObject } from '../../support/object-client.ts'
import { uniqueName } from '../../support/object-builder.ts'
import { bindRole } from '../policies/rbac-users.ts'
import { SOON, startTestGateway, type UsableKey } from './test-gateway.ts'
import { gatewayClientOf, measureMachineLag, openWatch } from './timed-requests.ts'

const setup = await startTestGateway(await privateControlPlane())
const { plane, keys } = setup
const [gateway] = setup.gateways
if (!gateway) throw new Error('there is no gateway')
const client = gatewayClientOf(setup)
afterAll(() => client.close())
const users = objectClientOf<StoredObject>(plane, USERS)
const teams = objectClientOf<StoredObject>(plane, TEAMS)

const GROUP_PATH = '/apis/management.platform.sh/v1'
const REFUSED_WITHIN_MS = 500
const CUT_WITHIN_MS = 1000

/** Creates a User under the name that belongs to its user name. */
const person = (username: string, spec: UserSpec = {}, metadata: Partial<ObjectMeta> = {}) =>
  users.create({
    apiVersion: API_VERSION,
    kind: USERS.kind,
    metadata: { name: objectNameFor(username), ...metadata },
    spec: { username, ...spec },
  })

const team = (name: string, spec: TeamSpec, metadata: Partial<ObjectMeta> = {}) =>
  teams.create({
    apiVersion: API_VERSION,
    kind: TEAMS.kind,
    metadata: { name: objectNameFor(name), ...metadata },
    spec: { name, ...spec },
  })

/** A finalizer of somebody else, which keeps an object in deletion. */
const HELD = { finalizers: ['example.com/hold'] }
const release = { metadata: { finalizers: null } }

/** Keys of a user that were made in every way. */
async function keysOf(user: string): Promise<Readonly<Record<string, UsableKey>>> {
  const byHand = await setup.key({ user, type: 'Login' })
  const made = await setup.ask(byHand.token, `${GROUP_PATH}/ownedaccesskeys`, {
    method: 'POST',
    body: JSON.stringify({ metadata: { generateName: 'own-' }, spec: {} }),
    headers: { 'content-type': 'application/json' },
  })
  const object = JSON.parse(made.body) as UsableKey['object']
  const labels = { 'kustomize.toolkit.fluxcd.io/name': 'keys' }
  return {
    byHand,
    bySelfService: { object, token: object.spec.key ?? '', kubeconfig: '' },
    fromGit: await setup.key({ user }, { name: uniqueName('git'), labels }),
  }
}

const codesOf = async (made: Readonly<Record<string, UsableKey>>) =>
  Object.fromEntries(
    await Promise.all(
      Object.entries(made).map(
        async ([name, { token }]) => [name, (await client.ask(token, '/version')).code] as const,
      ),
    ),
  )

const all = (made: object, code: number) =>
  Object.fromEntries(Object.keys(made).map((name) => [name, code]))

const untilAll = (what: string, made: Readonly<Record<string, UsableKey>>, code: number) =>
  eventuallyPasses(what, async () => expect(await codesOf(made)).toEqual(all(made, code)), SOON)

/** Through the API server and the gateway, as a change of an object goes. */
const roundTrip = () => Promise.all([plane.raw('GET', '/version'), client.ask('', '/version')])

/** Milliseconds from the answer to a change until a request with the key is refused, without the lag of the machine. */
async function refusedAfter(token: string, change: () => Promise<unknown>): Promise<number> {
  await using lag = measureMachineLag(roundTrip)
  await change()
  const storedMs = Date.now()
  const answer = await eventually(
    'the key is refused',
    async () => {
      const asked = await client.ask(token, '/version')
      return asked.code === 401 ? asked : undefined
    },
    SOON,
  )
  return answer.sentMs - storedMs - lag.maxMs(storedMs)
}

describe('every key of a user', () => {
  const disabled = (username: string) =>
    users.patch(objectNameFor(username), { spec: { disabled: true } })

  // biome-ignore format: a table
  test.each([
    { name: 'is disabled', username: () => uniqueName('pat'), end: disabled, revive: (username: string) => users.patch(objectNameFor(username), { spec: { disabled: false } }) },
    { name: 'of no name of an object is disabled', username: () => `${uniqueName('Pat')}@Example.com`, end: disabled, revive: (username: string) => users.patch(objectNameFor(username), { spec: { disabled: null } }) },
  ])('who $name is refused within 500 ms, new ones as well, until the user is enabled (10.3, 24.2)', async ({ username: named, end, revive }) => {
    const username = named()
    await person(username)
    const made = await keysOf(username)
    await untilAll('all keys are accepted', made, 200)
    expect(await refusedAfter(made['byHand']?.token ?? '', () => end(username))).toBeLessThan(REFUSED_WITHIN_MS)
    const token = uniqueName('k'.repeat(32))
    const late = await keys.create({ user: username, key: token })
    expect(await codesOf(made)).toEqual(all(made, 401))
    await keys.shown(late, 'UserDisabled')
    expect((await client.ask(token, '/version')).code).toBe(401)
    await revive(username)
    await untilAll('all keys are accepted again', made, 200)
    expect((await client.ask(token, '/version')).code).toBe(200)
  })

  test('is refused within 500 ms after the deletion of the User began (24.2)', async () => {
    const username = uniqueName('pat')
    await person(username, {}, HELD)
    const { token } = await setup.key({ user: username })
    const lateMs = await refusedAfter(token, () => users.remove(username))
    await users.patch(username, release)
    expect(lateMs).toBeLessThan(REFUSED_WITHIN_MS)
  })

  test('is as good as before when a User appears, and when another is disabled (24.1)', async () => {
    const [username, other] = [uniqueName('pat'), uniqueName('kim')]
    const made = { it: await setup.key({ user: username }) }
    await person(other, { disabled: true })
    await person(username)
    await users.create({
      apiVersion: API_VERSION,
      kind: USERS.kind,
      metadata: { name: uniqueName('not-the-form') },
      spec: { username, disabled: true },
    })
    await staysTrue(
      'the key is accepted',
      async () => expect(await codesOf(made)).toEqual({ it: 200 }),
      { forMs: 1000 },
    )
  })
})

test.each([
  { value: '2026-11-21T10:00:00Z IdentityGone', reason: 'IdentityGone' },
  { value: '2026-11-21T10:00:00Z SignInAgain', reason: 'SignInAgain' },
])('a key with identity-gone "$value" is refused within 500 ms (10.3, 24.5)', async (row) => {
  const { object, token } = await setup.key({ user: uniqueName('pat') })
  const annotations = { [IDENTITY_GONE_ANNOTATION]: row.value }
  const lateMs = await refusedAfter(token, () => keys.patch(object, { metadata: { annotations } }))
  expect(lateMs).toBeLessThan(REFUSED_WITHIN_MS)
  await keys.shown(object, row.reason)
})

test('every key of a team is refused within 500 ms after its deletion began (24.2)', async () => {
  const name = uniqueName('sre')
  await team(name, {}, HELD)
  const { token } = await setup.key({ user: '', team: name })
  const lateMs = await refusedAfter(token, () => teams.remove(name))
  await teams.patch(name, release)
  expect(lateMs).toBeLessThan(REFUSED_WITHIN_MS)
})

describe('a team', () => {
  const groupsOf = async (token: string): Promise<readonly string[]> => {
    const { groups } = await setup.userInfo(token)
    return groups.filter((group) => group.startsWith('platform:team:'))
  }

  test('gives its people a group that RoleBindings name; lost, their streams end within a second (13.4, 24.2)', async () => {
    const [user, name, other] = [uniqueName('pat'), `${uniqueName('x')}:Dev`, uniqueName('dev')]
    await bindGroup(`platform:team:${name}`)
    const { token } = await setup.key({ user })
    await expect(openWatch(setup, gateway, token)).rejects.toThrow('403')
    await team(name, { users: [user, 'someone'] })
    await eventuallyPasses(
      'the caller has the group',
      async () => expect(await groupsOf(token)).toEqual([`platform:team:${name}`]),
      SOON,
    )
    const watch = await eventually(
      'the group opens the watch',
      () => openWatch(setup, gateway, token).catch(() => undefined),
      SOON,
    )
    await team(other, { users: [user] })
    await eventuallyPasses(
      'the caller has both groups',
      async () => expect(await groupsOf(token)).toHaveLength(2),
      SOON,
    )
    expect(watch.endedMs()).toBeNull()
    await using lag = measureMachineLag(roundTrip)
    await teams.patch(objectNameFor(name), { spec: { users: ['someone'] } })
    const storedMs = Date.now()
    expect((await watch.ended) - storedMs - lag.maxMs(storedMs)).toBeLessThan(CUT_WITHIN_MS)
    expect(await groupsOf(token)).toEqual([`platform:team:${other}`])
    await expect(openWatch(setup, gateway, token)).rejects.toThrow('403')
  })

  test('that is being deleted gives nobody its group (24.2)', async () => {
    const [user, name] = [uniqueName('pat'), uniqueName('sre')]
    const { token } = await setup.key({ user })
    await team(name, { users: [user] }, HELD)
    await eventuallyPasses(
      'the caller has the group',
      async () => expect(await groupsOf(token)).toEqual([`platform:team:${name}`]),
      SOON,
    )
    await teams.remove(name)
    await eventuallyPasses(
      'the caller lacks the group',
      async () => expect(await groupsOf(token)).toEqual([]),
      SOON,
    )
    await teams.patch(name, release)
  })
})

/** Lets a group watch the ConfigMaps of the namespace `default`. */
async function bindGroup(group: string): Promise<void> {
  const path = '/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings'
  const { code } = await plane.raw('POST', path, {
    metadata: { name: uniqueName('team') },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'view' },
    subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'Group', name: group }],
  })
  expect(code).toBe(201)
}

describe('Users and Teams through the gateway (12.1, 24.5)', () => {
  const ask = async (key: UsableKey, path: string, method = 'GET', body?: object) => {
    const { code, body: text } = await setup.ask(key.token, `${GROUP_PATH}/${path}`, {
      method,
      ...(body === undefined
        ? {}
        : {
            body: JSON.stringify(
              method === 'POST'
                ? { apiVersion: API_VERSION, kind: USERS.kind, spec: {}, ...body }
                : body,
            ),
          }),
      headers: {
        'content-type': method === 'PATCH' ? 'application/merge-patch+json' : 'application/json',
      },
    })
    return {
      code,
      json: JSON.parse(text) as {
        readonly metadata: ObjectMeta
        readonly items: readonly StoredObject[]
        readonly message?: string
      },
    }
  }
  const own = `${uniqueName('Pat')}@Example.com`
  const other = uniqueName('kim')

  test('a user gets the User of that name, within the scope, and no other', async () => {
    await Promise.all([person(own), person(other)])
    const key = await setup.key({ user: own })
    const inScope = {
      rules: [
        {
          verbs: ['get'],
          resources: [{ group: 'management.platform.sh', resources: ['users'] }],
          requestTargets: ['Management' as const],
        },
      ],
    }
    const scoped = await setup.key({ user: own, scope: inScope })
    const outside = await setup.key({ user: own, scope: { projects: [{ project: 'shop' }] } })
    const name = objectNameFor(own)
    expect((await ask(key, `users/${name}`)).json.metadata.name).toBe(name)
    expect((await ask(scoped, `users/${name}`)).code).toBe(200)
    expect((await ask(outside, `users/${name}`)).code).toBe(403)
    expect((await ask(key, `users/${other}`)).code).toBe(404)
    expect((await ask(key, `users/${uniqueName('nobody')}`)).code).toBe(404)
    expect((await ask(key, 'users')).code).toBe(403)
    // A User without a username is the person of its own name, whoever's name has that form.
    const stranger = `${uniqueName('Kim')}@Example.com`
    const form = objectNameFor(stranger)
    await users.create({
      apiVersion: API_VERSION,
      kind: USERS.kind,
      metadata: { name: form },
      spec: {},
    })
    expect((await ask(await setup.key({ user: stranger }), `users/${form}`)).code).toBe(404)
    expect((await ask(await setup.key({ user: form }), `users/${form}`)).code).toBe(200)
    expect((await ask(key, `teams/${other}`)).code).toBe(404)
    expect((await ask(key, `users/${name}`, 'PATCH', { spec: { disabled: true } })).code).toBe(403)
    expect((await ask(key, `users/${name}`, 'DELETE')).code).toBe(403)
    expect((await ask(key, 'users', 'POST', { metadata: { name: uniqueName('x') } })).code).toBe(
      403,
    )
  })

  test('an administrator manages them as RBAC says, strictly, and sees no heartbeat', async () => {
    const user = uniqueName('root')
    await bindRole(plane, user, 'cluster-admin')
    const admin = await setup.key({ user, type: 'Login' })
    const name = uniqueName('new')
    expect(
      (await ask(admin, 'users', 'POST', { metadata: { name }, spec: { disable: true } })).code,
    ).toBe(400)
    expect((await ask(admin, 'users', 'POST', { metadata: { name } })).code).toBe(201)
    expect((await ask(admin, `users/${name}`, 'PATCH', { spec: { disabled: true } })).code).toBe(
      200,
    )
    const namesIn = async (plural: string) =>
      (await ask(admin, plural)).json.items.map(({ metadata }) => metadata.name)
    expect(await namesIn('users')).toContain(name)
    for (const plural of ['users', 'teams']) {
      expect(await namesIn(plural)).not.toContain(HEARTBEAT_NAME)
      expect((await ask(admin, `${plural}/${HEARTBEAT_NAME}`)).code).toBe(404)
    }
    expect(await users.read(HEARTBEAT_NAME)).toMatchObject({ spec: { disabled: true } })
    expect(await teams.read(HEARTBEAT_NAME)).toBeTruthy()
    expect((await ask(admin, `users/${name}`, 'DELETE')).code).toBe(200)
  })
})
