// How the controllers hear of people and keys, and what they read from the API server before they revoke (5.4, 24.2).
import { expect, test } from 'vitest'
import { REVOKE_FINALIZER, type Resource } from '../../../src/api/names.ts'
import { tokenController } from '../../../src/controllers/directclusterendpointtoken/setup.ts'
import { keyController } from '../../../src/controllers/ownedaccesskey/setup.ts'
import { keysIn, keysUnder } from '../../../src/controllers/indexes/access-keys.ts'
import { IssuesInProgress } from '../../../src/controllers/indexes/tokens.ts'
import { userController } from '../../../src/controllers/user/setup.ts'
import { EventLoopShare } from '../../../src/runtime/concurrency/event-loop.ts'
import { after, textAfter } from '../../support/key-builder.ts'
import { manualClock } from '../../support/manual-clock.ts'
import { memoryLog } from '../../support/memory-log.ts'
import { keyObject, teamObject, userObject } from '../../support/object-builder.ts'
import { reconcileContext } from '../../support/reconcile-context.ts'
import {
  issuedObject,
  keyStore,
  owner,
  referenceTo,
  tokenStore,
  UNDER_CI,
} from '../../support/token-builder.ts'
import { REPORTS_IN, reportObject, reportText } from './ownedaccesskey/report-builder.ts'
import { peopleOf, peopleStores } from '../people/people-builder.ts'

const ci = keyObject({
  metadata: { name: 'ci', uid: 'uid-ci' },
  spec: { user: 'ada', key: 'k'.repeat(32) },
})

test('the keys under a user are its own, and all that these own (10.3, 24.2)', () => {
  const owned = keyObject({
    metadata: { name: 'owned', ownerReferences: [referenceTo(owner().key)] },
    spec: { user: 'bob' },
  })
  const keys = keyStore(
    ci,
    owned,
    keyObject({ metadata: { name: 'other' }, spec: { user: 'eve' } }),
  )
  const found = keysUnder('user:ada', keys, keysIn(keys, peopleOf([], [])))
  expect(found.map(({ name }) => name).toSorted()).toEqual(['ci', 'owned'])
})

/** The setup of both controllers, beside an API server with these objects. */
function setupWith(
  stored: readonly { readonly kind: string; readonly metadata: { readonly name: string } }[],
) {
  const asked: string[] = []
  const recorded: string[] = []
  const { users, teams, people } = peopleStores()
  const clock = manualClock(after(60))
  const get = async ({ kind }: Resource, { name }: { readonly name: string }) => {
    asked.push(`${kind} ${name}`)
    return stored.find((one) => one.kind === kind && one.metadata.name === name) ?? null
  }
  const setup = {
    settings: { configName: 'config', workers: 16, expiredRetentionMs: 1e9, tokenMaxTtlMs: 1e9 },
    stores: {
      keys: keyStore(ci),
      tokens: tokenStore(),
      configMaps: {},
      identityReports: keyController.watches.identityReports.createStore(),
      signingSecrets: {},
      users,
      teams,
    },
    people,
    client: { get },
    caps: {
      current: () => ({ maxTtlSeconds: null, loginTtlSeconds: null }),
      subscribe: () => undefined,
    },
    issuer: { current: () => null },
    keyring: { current: () => null, isWithdrawn: () => false },
    revocations: {
      has: () => false,
      fault: () => null,
      requestedForMs: () => null,
      record: (jti: string) => void recorded.push(jti),
      subscribe: () => undefined,
    },
    issues: new IssuesInProgress(),
    clock,
    eventLoop: new EventLoopShare(clock),
    log: memoryLog().log,
    metrics: {},
  }
  return { setup, asked, recorded }
}

test.each([
  {
    name: 'stays while the API server has the Team',
    team: [teamObject({ spec: { users: ['ada'] } })],
    recorded: [],
  },
  { name: 'is revoked once the API server lacks the Team too', team: [], recorded: ['uid-deploy'] },
])('a token of a Team that the watch lacks $name (5.4)', async ({ team, recorded: expected }) => {
  const { setup, asked, recorded } = setupWith([ci, userObject(), ...team])
  const token = issuedObject(
    { metadata: UNDER_CI, spec: { ttl: 600 } },
    { owner: owner(), teams: ['sre'] },
  )
  const tokens = tokenStore(token)
  const { reconcile } = tokenController.setUp({
    ...setup,
    stores: { ...setup.stores, tokens },
  } as never)
  await reconcile(token.metadata.name, reconcileContext())
  expect(asked.toSorted()).toEqual(['OwnedAccessKey ci', 'Team sre', 'User ada'])
  expect(recorded).toEqual(expected)
})

test('a sign-in that comes or goes enqueues the one that was used longest ago, if there are more than 20 (5.1)', () => {
  const { setup } = setupWith([])
  const login = (at: number) =>
    keyObject({
      metadata: { name: `login-${at}`, uid: `uid-${at}`, resourceVersion: String(at + 10) },
      spec: { user: 'ada', type: 'Login', key: String(at).padEnd(32, 'x') },
      status: { lastActivity: new Date(after(at)).toISOString() },
    })
  const { keys } = setup.stores
  for (let at = 1; at <= 20; at += 1) keys.put(login(at))
  const enqueued: string[] = []
  for (const watch of keyController.setUp(setup as never).watches)
    watch((name) => void enqueued.push(name))
  enqueued.length = 0
  keys.put(login(22))
  keys.put(login(21))
  keys.remove({ ...login(1), metadata: { ...login(1).metadata, resourceVersion: '99' } })
  expect(enqueued).toEqual(['login-22', 'login-1', 'login-21', 'login-1', 'login-1', 'login-2'])
})

test('a report enqueues the key of its name, and is logged once for each change that is malformed (25.7)', () => {
  const { setup } = setupWith([])
  const { log, lines } = memoryLog()
  const { identityReports } = setup.stores
  const put = (text: string, resourceVersion: string): void => {
    const object = reportObject(text)
    identityReports.put({ ...object, metadata: { ...object.metadata, resourceVersion } })
  }
  put('{', '1')
  const enqueued: string[] = []
  for (const watch of keyController.setUp({ ...setup, log } as never).watches)
    watch((name) => void enqueued.push(name))
  expect(lines).toHaveLength(1)
  enqueued.length = 0
  put('{', '1')
  expect(enqueued).toEqual([])
  put(reportText({ gone: { atMs: 0, reason: 'IdentityGone' } }), '2')
  put('[]', '3')
  expect(enqueued).toEqual(['ci', 'ci'])
  const line = { level: 'warn', fields: { object: { namespace: REPORTS_IN, name: 'ci' } } }
  expect(lines).toEqual([line, line].map((one) => expect.objectContaining(one) as unknown))
})

test('the end of the last key enqueues the deleted User that waits for it, and no end before (24.2)', () => {
  const { setup } = setupWith([])
  const { keys, users } = setup.stores
  const held = { finalizers: [REVOKE_FINALIZER], deletionTimestamp: textAfter(0) }
  users.put(userObject({ metadata: held }))
  const another = keyObject({ metadata: { name: 'another' }, spec: { user: 'ada' } })
  keys.put(another)
  const enqueued: string[] = []
  for (const watch of userController.setUp(setup as never).watches)
    watch((name) => void enqueued.push(name))
  enqueued.length = 0
  keys.remove({ ...another, metadata: { ...another.metadata, resourceVersion: '8' } })
  expect(enqueued).toEqual([])
  keys.remove({ ...ci, metadata: { ...ci.metadata, resourceVersion: '9' } })
  expect(enqueued).toEqual(['ada'])
})
