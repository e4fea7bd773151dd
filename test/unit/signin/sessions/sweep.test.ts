import { createHash } from 'node:crypto'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { Secret } from '../../../../src/api/objects.ts'
import type { Clock } from '../../../../src/runtime/clock.ts'
import { fullObject, Store } from '../../../../src/kube/informer/store.ts'
import { PasswordHashes } from '../../../../src/signin/people/password-hashes.ts'
import { SignInUsers } from '../../../../src/signin/people/sign-in-user.ts'
import { sessionStep } from '../../../../src/signin/sessions/plan.ts'
import {
  NO_TOKENS,
  sessionIn,
  sessionSecret,
  type SignInSession,
} from '../../../../src/signin/sessions/session.ts'
import { sweepSessions } from '../../../../src/signin/sessions/sweep.ts'
import { refused } from '../../../support/fake-kube-client.ts'
import { manualClock } from '../../../support/manual-clock.ts'
import { memoryLog } from '../../../support/memory-log.ts'
import { MemoryCluster } from '../../../support/signin/memory-cluster.ts'

const NAMESPACE = 'platform-sign-in'
const START_MS = Date.UTC(2026, 10, 21)
const NAME = `login-${'a'.repeat(26)}`
const OLD = `login-${'z'.repeat(26)}`
const session = (differs: Partial<SignInSession> = {}): SignInSession => ({
  name: NAME,
  provider: 'oidc',
  subject: 'https://provider.example#1',
  user: 'ada',
  userUid: 'uid-ada',
  identity: {},
  madeMs: START_MS,
  takenMs: START_MS,
  keyUid: 'uid-key',
  passwordDigest: null,
  tokens: NO_TOKENS,
  ...differs,
})

describe('the step for a session (25.4, 25.7)', () => {
  it.each([
    ['is kept for ten minutes, even if its key is gone', {}, false, null, 599_999, 'keep'],
    ['is given to its key after ten minutes', {}, false, null, 600_000, 'giveToKey'],
    ['is kept once it is given', {}, true, null, 6_000_000, 'keep'],
    ['ends where no terminal took it', { keyUid: null }, false, null, 600_000, 'end'],
    ['waits for its terminal', { keyUid: null }, false, null, 599_999, 'keep'],
    ['is kept with its password', { passwordDigest: 'a' }, false, 'a', 1, 'keep'],
    ['ends at once with another password', { passwordDigest: 'a' }, false, 'b', 1, 'end'],
    ['ends with a password that is gone', { passwordDigest: 'a' }, true, null, 6_000_000, 'end'],
    ['of a provider has nothing to do with passwords', {}, true, 'b', 6_000_000, 'keep'],
  ] as const)('%s', (_, differs, isOwned, digest, afterMs, kind) => {
    const step = sessionStep({ session: session(differs), isOwned }, digest, START_MS + afterMs)
    expect(step.kind).toBe(kind)
  })
})

describe('a session in a Secret (25.4)', () => {
  const secretOf = (differs: object) =>
    ({ ...sessionSecret(session(), NAMESPACE), ...differs }) as unknown as Secret
  const data = (value: unknown) => ({
    data: { session: Buffer.from(JSON.stringify(value)).toString('base64') },
  })

  it('comes back as it was', () => {
    const stored = session({ tokens: { refreshToken: 'r', accessToken: 'a', idToken: 'i' } })
    expect(sessionIn(sessionSecret(stored, NAMESPACE) as unknown as Secret)).toEqual(stored)
  })

  it.each([
    ['of another type', { type: 'Opaque' }],
    ['of another name', { metadata: { name: 'login-x' } }],
    ['that is no JSON', { data: { session: 'e' } }],
    ['without a user', data({ ...session(), user: '' })],
    ['without the uid of its User', data({ ...session(), userUid: undefined })],
    ['without a time', data({ ...session(), madeMs: 'now' })],
    ['with a number as its subject', data({ ...session(), subject: 7 })],
  ])('is not read from one %s', (_, differs) => {
    expect(sessionIn(secretOf(differs))).toBeNull()
  })
})

/** The replica that leads, on a cluster with one session. */
function leader(differs: Partial<SignInSession> = {}) {
  const cluster = new MemoryCluster()
  const clock = manualClock(START_MS)
  const { log, lines } = memoryLog()
  const users = new SignInUsers()
  const secrets = new Store(fullObject<Secret>)
  const passwords = new PasswordHashes(users, secrets, NAMESPACE)
  const stop = new AbortController()
  onTestFinished(() => stop.abort())
  cluster.put(sessionSecret(session(differs), NAMESPACE) as never)
  cluster.put({ kind: 'OwnedAccessKey', metadata: { name: NAME, uid: 'uid-key' } } as never)
  const password = (hash: string, name = 'ada'): void =>
    void cluster.put({
      kind: 'Secret',
      metadata: { name, namespace: NAMESPACE },
      type: 'Opaque',
      data: { password: Buffer.from(hash).toString('base64') },
    } as never)
  const user = (spec: object): void =>
    void cluster.put({ kind: 'User', metadata: { name: 'ada' }, spec } as never)
  const sweeps = (swept: Clock = clock): void =>
    void sweepSessions({
      client: cluster.client,
      namespace: NAMESPACE,
      secrets,
      users,
      passwords,
      clock: swept,
      log,
      signal: stop.signal,
    })
  return { cluster, clock, lines, users, secrets, passwords, password, user, sweeps }
}

const keysOf = ({ cluster }: ReturnType<typeof leader>) => cluster.all('OwnedAccessKey').length
const sessionsOf = ({ cluster }: ReturnType<typeof leader>) => cluster.object('Secret', NAME)

describe('the replica that leads (25.4, 25.7)', () => {
  const started = async (differs: Partial<SignInSession> = {}) => {
    const world = leader(differs)
    world.password('hash-1')
    world.user({ passwordRef: { name: 'ada' } })
    world.cluster.feed('User', world.users.store)
    world.cluster.feed('Secret', world.secrets)
    world.sweeps()
    await world.clock.advance(0)
    return world
  }
  /** SHA-256 of `hash-1`. */
  const withPassword = async () => {
    const world = leader()
    world.password('hash-1')
    world.user({ passwordRef: { name: 'ada' } })
    world.cluster.feed('User', world.users.store)
    world.cluster.feed('Secret', world.secrets)
    const passwordDigest = world.passwords.digest('ada')
    world.cluster.put(sessionSecret(session({ passwordDigest }), NAMESPACE) as never)
    world.sweeps()
    await world.clock.advance(60_000)
    expect(keysOf(world)).toBe(1)
    return world
  }

  it('gives a session to its key after ten minutes, so that it goes with it', async () => {
    const world = await started()
    await world.clock.advance(599_000)
    expect(sessionsOf(world)?.metadata.ownerReferences).toBeUndefined()
    await world.clock.advance(61_000)
    expect(sessionsOf(world)?.metadata.ownerReferences).toEqual([
      {
        apiVersion: 'management.platform.sh/v1',
        kind: 'OwnedAccessKey',
        name: NAME,
        uid: 'uid-key',
      },
    ])
  })

  it('ends a session that no terminal took', async () => {
    const world = await started({ keyUid: null })
    await world.clock.advance(660_000)
    expect(sessionsOf(world)).toBeUndefined()
  })

  it('ends key and session within a minute of another password', async () => {
    const world = await withPassword()
    world.password('hash-2')
    await world.clock.advance(60_000)
    expect(keysOf(world)).toBe(0)
    expect(sessionsOf(world)).toBeUndefined()
  })

  it('keeps a session of a new password while the watch of Secrets is behind', async () => {
    const world = await withPassword()
    world.cluster.isStale = true
    world.password('hash-2')
    world.cluster.isStale = false
    const passwordDigest = createHash('sha256').update('hash-2').digest('hex')
    world.cluster.put(sessionSecret(session({ passwordDigest }), NAMESPACE) as never)
    await world.clock.advance(60_000)
    expect([keysOf(world), sessionsOf(world) !== undefined]).toEqual([1, true])
  })

  it('keeps a session of a password elsewhere while the watch of Users is behind', async () => {
    const world = await withPassword()
    world.password('hash-2', 'elsewhere')
    world.cluster.isStale = true
    world.user({ passwordRef: { name: 'elsewhere' } })
    world.cluster.isStale = false
    const passwordDigest = createHash('sha256').update('hash-2').digest('hex')
    world.cluster.put(sessionSecret(session({ passwordDigest }), NAMESPACE) as never)
    await world.clock.advance(60_000)
    expect([keysOf(world), sessionsOf(world) !== undefined]).toEqual([1, true])
  })

  it('keeps the keys of a User who is disabled: they come back with the User (24.2)', async () => {
    const world = await withPassword()
    world.user({ passwordRef: { name: 'ada' }, disabled: true })
    await world.clock.advance(180_000)
    expect(keysOf(world)).toBe(1)
  })

  it.each(['User', 'Secret'])('ends nothing before it has seen every %s', async (late) => {
    const world = leader({ passwordDigest: 'of-a-password-that-no-store-has-shown' })
    const sinks = { User: world.users.store, Secret: world.secrets }
    if (late === 'Secret') world.cluster.feed('User', sinks.User)
    else world.cluster.feed('Secret', sinks.Secret)
    world.sweeps()
    await world.clock.advance(300_000)
    expect(keysOf(world)).toBe(1)
    expect(world.cluster.calls).toEqual([])
    world.cluster.feed(late, sinks[late as 'User' | 'Secret'])
    await world.clock.advance(60_000)
    expect(keysOf(world)).toBe(0)
  })

  it('ends nothing while the end of the key fails, and tries again', async () => {
    const world = await withPassword()
    world.cluster.before = ({ verb }) => {
      if (verb === 'delete') throw refused(503, 'ServiceUnavailable')
    }
    world.password('hash-2')
    await world.clock.advance(120_000)
    expect(sessionsOf(world)).toBeDefined()
    expect(world.lines.some(({ level }) => level === 'warn')).toBe(true)
    world.cluster.before = () => undefined
    await world.clock.advance(60_000)
    expect(sessionsOf(world)).toBeUndefined()
  })

  it('leaves the event loop to people who sign in, however many sessions there are', async () => {
    const world = leader()
    for (let at = 0; at < 300; at += 1) {
      const digits = at.toString(2).padStart(26, '0').replaceAll('0', 'a').replaceAll('1', 'b')
      world.cluster.put(
        sessionSecret(session({ name: `login-${digits}`, madeMs: START_MS }), NAMESPACE) as never,
      )
    }
    world.cluster.put(sessionSecret(session({ name: OLD, madeMs: 0 }), NAMESPACE) as never)
    world.cluster.feed('User', world.users.store)
    world.cluster.feed('Secret', world.secrets)
    let readings = 0
    world.sweeps({
      ...world.clock,
      monotonicMs: () => {
        readings += 1
        return readings
      },
    })
    let turns = 0
    const isOwned = (): boolean =>
      world.cluster.object('Secret', OLD)?.metadata.ownerReferences !== undefined
    while (!isOwned()) {
      await new Promise((resolve) => setImmediate(resolve))
      turns += 1
    }
    expect(turns).toBeGreaterThan(20)
  })

  it('begins another round for a Secret that may have a password, and for no grant of an app', async () => {
    const world = await started({ madeMs: START_MS + 30_000 })
    const put = async (type: string): Promise<boolean> => {
      world.cluster.put({
        kind: 'Secret',
        type,
        metadata: { name: type, namespace: NAMESPACE },
      } as never)
      await world.clock.advance(100)
      return world.cluster.object('Secret', NAME)?.metadata.ownerReferences !== undefined
    }
    await world.clock.advance(631_000)
    expect(await put('management.platform.sh/app-grant')).toBe(false)
    expect(await put('Opaque')).toBe(true)
  })

  it('decides again about a session that another replica has changed', async () => {
    const world = await started({ keyUid: null })
    world.cluster.isStale = true
    world.cluster.put(sessionSecret(session(), NAMESPACE) as never)
    await world.clock.advance(660_000)
    expect(sessionsOf(world)).toBeDefined()
    expect(keysOf(world)).toBe(1)
    expect(world.lines.filter(({ level }) => level !== 'info')).toEqual([])
  })
})
