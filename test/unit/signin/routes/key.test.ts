import { describe, expect, it } from 'vitest'
import { refused } from '../../../support/fake-kube-client.ts'
import { comeBack } from '../../../support/signin/requests.ts'
import { identityOf, SignInWorld } from '../../../support/signin/world.ts'

describe('the key of a sign-in (25.4)', () => {
  it('has the identity as a record, within what its schema takes, and the User as its owner', async () => {
    const world = new SignInWorld()
    const groups = ['dev', 'ops'].map((name) => ({ name, displayName: null }))
    world.identity = identityOf({
      groups,
      groupsPrefix: 'corp:',
      email: `${'e'.repeat(1025)}@example.com`,
      extraClaims: { room: 7 },
    })
    await comeBack(world)
    const [key] = world.cluster.all('OwnedAccessKey')
    const user = world.cluster.object('User', 'ada')
    expect(key).toMatchObject({
      metadata: {
        name: expect.stringMatching(/^login-[a-z2-7]{26}$/) as string,
        finalizers: ['management.platform.sh/revoke'],
        ownerReferences: [{ kind: 'User', name: 'ada', uid: user?.metadata.uid }],
      },
      spec: {
        type: 'Login',
        user: 'ada',
        key: expect.stringMatching(/^sha256:[0-9a-f]{64}$/) as string,
        displayName: 'Sign-in by oidc, browser',
        identity: {
          connector: 'oidc',
          userId: '1',
          username: 'ada',
          emailVerified: false,
          groups: ['corp:dev', 'corp:ops'],
          extraClaims: { room: 7 },
        },
      },
    })
    expect(key?.spec).not.toHaveProperty('ttl')
    expect(key?.spec).not.toHaveProperty('identity.email')
    expect(world.cluster.all('Team')).toMatchObject([
      { spec: { name: 'oidc:corp:dev' } },
      { spec: { name: 'oidc:corp:ops' } },
    ])
  })

  it('is made after User, Teams and session', async () => {
    const world = new SignInWorld()
    world.identity = identityOf({ groups: [{ name: 'dev', displayName: null }] })
    await comeBack(world)
    const created = world.cluster.calls.filter((call) => call.startsWith('create'))
    expect(created.map((call) => call.split(' ')[1])).toEqual([
      'User',
      'Team',
      'Secret',
      'OwnedAccessKey',
    ])
  })

  it.each([
    ['was deleted', (): boolean => true],
    ['was deleted and made anew, for another person', (world: SignInWorld) => world.user('ada')],
    [
      'cannot be read',
      (world: SignInWorld) => {
        world.cluster.before = ({ verb, kind }) => {
          if (verb === 'get' && kind === 'User') throw refused(503, 'ServiceUnavailable')
        }
      },
    ],
  ] as const)('ends again where the User %s meanwhile (25.9, SC)', async (_, then) => {
    const world = new SignInWorld()
    world.cluster.before = ({ kind }) => {
      if (kind !== 'OwnedAccessKey') return
      world.cluster.before = () => undefined
      world.cluster.remove('User', 'ada')
      then(world)
    }
    const page = await comeBack(world)
    expect(page.status).toBe(503)
    expect(world.reports.at(-1)).toMatchObject({ outcome: 'refused', reason: 'key_not_made' })
    expect(world.cluster.all('OwnedAccessKey')).toEqual([])
  })

  it('makes no Teams where that is off', async () => {
    const world = new SignInWorld({ auth: { disableTeamCreation: true } })
    world.identity = identityOf({ groups: [{ name: 'dev', displayName: null }] })
    expect((await comeBack(world)).text).toContain('Signed in as ada')
    expect(world.cluster.all('Team')).toEqual([])
  })
})
