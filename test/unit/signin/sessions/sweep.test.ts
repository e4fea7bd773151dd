import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import type { User } from '../../../../src/api/user.gen.ts'
import {
  NO_TOKENS,
  sessionSecret,
  type SignInSession,
} from '../../../../src/signin/sessions/session.ts'
import { refused } from '../../../support/fake-kube-client.ts'
import { goneIn } from '../../../support/signin/identity-reports.ts'
import {
  GRACE_MS,
  leader,
  NAMESPACE,
  OF_PASSWORD,
  stateWith,
  storedIn,
} from '../../../support/signin/leader.ts'
import { NAME, START_MS, storedSession as session } from '../../../support/signin/stored-session.ts'

const OLD = `login-${'z'.repeat(26)}`

describe('the replica that leads (25.4, 25.7)', () => {
  const started = async (differs: Partial<SignInSession> = {}) => {
    const world = leader(differs)
    world.password('hash-1')
    world.user({ passwordRef: { name: 'ada' } })
    world.follow()
    world.sweeps()
    await world.clock.advance(0)
    return world
  }
  /** SHA-256 of `hash-1`. */
  const withPassword = async (differs: Partial<SignInSession> = {}) => {
    const world = leader()
    world.password('hash-1')
    world.user({ passwordRef: { name: 'ada' } })
    world.follow()
    const passwordDigest = world.passwords.digest('ada')
    const stored = session({ ...OF_PASSWORD, passwordDigest, ...differs })
    world.cluster.put(sessionSecret(stored, NAMESPACE) as never)
    world.sweeps()
    await world.clock.advance(60_000)
    expect(storedIn(world.cluster)?.endedMs).toBeNull()
    return world
  }

  it('gives a session to its key after ten minutes, so that it goes with it', async () => {
    const world = await started()
    await world.clock.advance(599_000)
    expect(world.cluster.object('Secret', NAME)?.metadata.ownerReferences).toBeUndefined()
    await world.clock.advance(61_000)
    expect(world.cluster.object('Secret', NAME)?.metadata.ownerReferences).toEqual([
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
    expect(world.cluster.object('Secret', NAME)).toBeUndefined()
  })

  it('says within a minute of another password that the person of the key is gone', async () => {
    const world = await withPassword()
    world.password('hash-2')
    await world.clock.advance(60_000)
    expect(goneIn(world.cluster)).toBe('IdentityGone')
    expect(storedIn(world.cluster)).toMatchObject({ endedMs: START_MS + 60_000 })
  })

  it('discards a session of another password that no terminal took', async () => {
    const world = await withPassword({ keyUid: null })
    world.password('hash-2')
    await world.clock.advance(60_000)
    expect(world.cluster.object('Secret', NAME)).toBeUndefined()
  })

  it('ends a session once, and keeps none of its tokens', async () => {
    const tokens = { refreshToken: 'r', accessToken: 'a', idToken: 'i' }
    const world = await started({ tokens })
    world.user({ identities: [] })
    await world.clock.advance(60_000)
    expect(storedIn(world.cluster)).toMatchObject({
      endedMs: expect.any(Number),
      tokens: NO_TOKENS,
    })
    const { length } = world.cluster.calls
    await world.clock.advance(300_000)
    expect(world.cluster.calls.length).toBe(length)
  })

  it.each([
    ['the User names the account no more', { identities: [] }],
    ['the User names another account', { identities: [{ connector: 'oidc', subject: 'x#2' }] }],
  ])('ends a session when %s, and takes its groups (24.3)', async (_, spec) => {
    const world = await started()
    world.user(spec, [
      { connector: 'oidc', name: 'dev' },
      { connector: 'saml', name: 'ops' },
    ])
    await world.clock.advance(60_000)
    expect(goneIn(world.cluster)).toBe('IdentityGone')
    const { status } = world.cluster.object('User', 'ada') as User
    expect(status?.groups?.some(({ connector }) => connector === 'oidc')).toBe(false)
  })

  it('leaves the groups to another User of the name (24.3)', async () => {
    const world = await started()
    world.cluster.put({
      kind: 'User',
      metadata: { name: 'ada', uid: 'uid-other' },
      spec: { identities: [{ connector: 'oidc', subject: 'x#2' }] },
      status: { groups: [{ connector: 'oidc', name: 'dev' }] },
    } as never)
    await world.clock.advance(60_000)
    expect(goneIn(world.cluster)).toBe('IdentityGone')
    const { status } = world.cluster.object('User', 'ada') as User
    expect(status?.groups).toEqual([{ connector: 'oidc', name: 'dev' }])
  })

  it('takes groups that no identity names, also without a session (24.3)', async () => {
    const world = await started({ endedMs: 1 })
    world.user({}, [
      { connector: 'oidc', name: 'dev' },
      { connector: 'saml', name: 'ops' },
    ])
    await world.clock.advance(60_000)
    const { status } = world.cluster.object('User', 'ada') as User
    expect(status?.groups).toEqual([{ connector: 'oidc', name: 'dev' }])
  })

  it('keeps a session while only the watch of Users lacks its identity', async () => {
    const world = await started()
    world.user({ identities: [] })
    world.cluster.isStale = true
    world.user({})
    await world.clock.advance(120_000)
    expect(goneIn(world.cluster)).toBeNull()
  })

  it('ends the sessions of a provider that left the settings, after the grace (25.7)', async () => {
    const world = await started()
    world.around.state = stateWith({ providers: new Map() })
    await world.clock.advance(GRACE_MS)
    expect(goneIn(world.cluster)).toBeNull()
    await world.clock.advance(120_000)
    expect(goneIn(world.cluster)).toBe('IdentityGone')
  })

  it('keeps the sessions of a provider that comes back within the grace (25.7)', async () => {
    const world = await started()
    world.around.state = stateWith({ providers: new Map() })
    await world.clock.advance(GRACE_MS - 60_000)
    world.around.state = stateWith()
    await world.clock.advance(120_000)
    world.around.state = stateWith({ providers: new Map() })
    await world.clock.advance(GRACE_MS - 60_000)
    expect(goneIn(world.cluster)).toBeNull()
  })

  it('goes on with the grace where the leader before has stopped', async () => {
    const world = await started({ removedMs: START_MS - GRACE_MS })
    expect(goneIn(world.cluster)).toBeNull()
    world.around.state = stateWith({ providers: new Map() })
    world.cluster.put(
      sessionSecret(session({ removedMs: START_MS - GRACE_MS }), NAMESPACE) as never,
    )
    await world.clock.advance(60_000)
    expect(goneIn(world.cluster)).toBe('IdentityGone')
  })

  it.each([
    ['no settings have been seen', null],
    ['the platform has no address', stateWith({ publicUrl: null, providers: new Map() })],
  ])('takes no provider for removed while %s', async (_, state) => {
    const world = await started()
    world.around.state = state
    await world.clock.advance(GRACE_MS + 120_000)
    expect(goneIn(world.cluster)).toBeNull()
  })

  it('ends the sessions of passwords that are switched off, after the grace (25.7)', async () => {
    const world = await withPassword()
    world.around.state = stateWith({ settings: { auth: { password: { disabled: true } } } })
    await world.clock.advance(GRACE_MS + 120_000)
    expect(goneIn(world.cluster)).toBe('IdentityGone')
  })

  it('keeps a session of a new password while the watch of Secrets is behind', async () => {
    const world = await withPassword()
    world.cluster.isStale = true
    world.password('hash-2')
    world.cluster.isStale = false
    const passwordDigest = createHash('sha256').update('hash-2').digest('hex')
    world.cluster.put(
      sessionSecret(session({ ...OF_PASSWORD, passwordDigest }), NAMESPACE) as never,
    )
    await world.clock.advance(60_000)
    expect([goneIn(world.cluster), storedIn(world.cluster)?.endedMs]).toEqual([null, null])
  })

  it('keeps a session of a password elsewhere while the watch of Users is behind', async () => {
    const world = await withPassword()
    world.password('hash-2', 'elsewhere')
    world.cluster.isStale = true
    world.user({ passwordRef: { name: 'elsewhere' } })
    world.cluster.isStale = false
    const passwordDigest = createHash('sha256').update('hash-2').digest('hex')
    world.cluster.put(
      sessionSecret(session({ ...OF_PASSWORD, passwordDigest }), NAMESPACE) as never,
    )
    await world.clock.advance(60_000)
    expect([goneIn(world.cluster), storedIn(world.cluster)?.endedMs]).toEqual([null, null])
  })

  it('keeps the keys of a User who is disabled: they come back with the User (24.2)', async () => {
    const world = await withPassword()
    world.user({ passwordRef: { name: 'ada' }, disabled: true })
    await world.clock.advance(180_000)
    expect(goneIn(world.cluster)).toBeNull()
  })

  it.each(['User', 'Secret'])('ends nothing before it has seen every %s', async (late) => {
    const world = leader({ passwordDigest: 'of-a-password-that-no-store-has-shown' })
    const sinks = { User: world.users.store, Secret: world.secrets }
    if (late === 'Secret') world.cluster.feed('User', sinks.User)
    else world.cluster.feed('Secret', sinks.Secret)
    world.sweeps()
    await world.clock.advance(300_000)
    expect(world.cluster.calls).toEqual([])
    world.cluster.feed(late, sinks[late as 'User' | 'Secret'])
    await world.clock.advance(60_000)
    expect(goneIn(world.cluster)).toBe('IdentityGone')
  })

  it('ends nothing while the end of the key cannot be reported, and tries again', async () => {
    const world = await withPassword()
    world.cluster.before = ({ kind }) => {
      if (kind === 'ConfigMap') throw refused(503, 'ServiceUnavailable')
    }
    world.password('hash-2')
    await world.clock.advance(120_000)
    expect(storedIn(world.cluster)?.endedMs).toBeNull()
    expect(world.lines.some(({ level }) => level === 'warn')).toBe(true)
    world.cluster.before = () => undefined
    await world.clock.advance(60_000)
    expect(storedIn(world.cluster)?.endedMs).toBe(START_MS + 240_000)
    expect(goneIn(world.cluster)).toBe('IdentityGone')
  })

  it('says once a minute that sessions and groups cannot be written, however many there are', async () => {
    const world = leader()
    const many = [...Array(30).keys()].map((at) => String.fromCharCode(97 + (at % 25)))
    for (const [at, letter] of many.entries()) {
      const name = `login-${letter.repeat(25)}${at < 25 ? 'a' : 'b'}`
      const stored = session({ name, user: `person-${at}` })
      world.cluster.put(sessionSecret(stored, NAMESPACE) as never)
      world.cluster.put({
        kind: 'User',
        metadata: { name: `person-${at}`, uid: 'uid-ada' },
        status: { groups: [{ connector: 'oidc', name: 'dev' }] },
      } as never)
    }
    world.follow()
    world.cluster.before = () => {
      throw refused(503, 'ServiceUnavailable')
    }
    world.sweeps()
    await world.clock.advance(119_000)
    const sentences = world.lines.flatMap(({ level, sentence }) =>
      level === 'warn' ? [sentence] : [],
    )
    expect(sentences.length).toBeGreaterThan(1)
    expect(sentences.length).toBeLessThanOrEqual(4)
  })

  it('leaves the event loop to people who sign in, however many sessions there are', async () => {
    const world = leader()
    world.user({})
    for (let at = 0; at < 300; at += 1) {
      const digits = at.toString(2).padStart(26, '0').replaceAll('0', 'a').replaceAll('1', 'b')
      world.cluster.put(
        sessionSecret(session({ name: `login-${digits}`, madeMs: START_MS }), NAMESPACE) as never,
      )
    }
    world.cluster.put(sessionSecret(session({ name: OLD, madeMs: 0 }), NAMESPACE) as never)
    world.follow()
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
    expect(storedIn(world.cluster)?.endedMs).toBeNull()
    expect(world.cluster.all('OwnedAccessKey')).toHaveLength(1)
    expect(world.lines.filter(({ level }) => level !== 'info')).toEqual([])
  })
})
