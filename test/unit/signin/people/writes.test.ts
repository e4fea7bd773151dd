import { describe, expect, it, test } from 'vitest'
import type { User } from '../../../../src/api/user.gen.ts'
import { type Account } from '../../../../src/signin/people/plan.ts'
import { SignInUsers } from '../../../../src/signin/people/sign-in-user.ts'
import {
  makeTeams,
  type PeopleDeps,
  recordSignIn,
  userOfAccount,
} from '../../../../src/signin/people/writes.ts'
import { refused } from '../../../support/fake-kube-client.ts'
import { manualClock } from '../../../support/manual-clock.ts'
import { memoryLog } from '../../../support/memory-log.ts'
import { MemoryCluster } from '../../../support/signin/memory-cluster.ts'

const SUBJECT = 'https://provider.example#1'
const ACCOUNT: Account = { connector: 'oidc', subject: SUBJECT, username: 'ada' }
const PROFILE = { displayName: 'Ada', email: 'ada@example.com' }

/** People of a replica that hears of every change. */
function people(cluster = new MemoryCluster()) {
  const users = new SignInUsers()
  cluster.feed('User', users.store)
  const { log, lines } = memoryLog()
  let full = 0
  const deps: PeopleDeps = {
    client: cluster.client,
    users,
    teams: { has: () => false, count: () => cluster.all('Team').length },
    maxTeams: 2000,
    teamsFull: () => void (full += 1),
    clock: manualClock(Date.UTC(2026, 10, 21, 12)),
    log,
  }
  return { cluster, users, deps, lines, full: () => full }
}

const put = (cluster: MemoryCluster, name: string, spec: User['spec'], uid?: string): void =>
  void cluster.put({ kind: 'User', metadata: { name, uid } as never, spec } as never)

const signIn = (deps: PeopleDeps, account = ACCOUNT, mayCreate = true) =>
  userOfAccount(account, PROFILE, { mayCreate, deps })

const specOf = (cluster: MemoryCluster, name: string) => cluster.object('User', name)?.spec

test('Users in memory have no groups, of which 10,000 people could have 200 each (24.1)', async () => {
  const { deps } = people()
  const user = await signIn(deps)
  const groups = [{ name: 'a-group-of-ada', displayName: null }]
  await recordSignIn(user, { connector: 'oidc', groups, email: null }, deps)
  expect(JSON.stringify([...deps.users.store.values()])).toContain('"username":"ada"')
  expect(JSON.stringify([...deps.users.store.values()])).not.toContain('a-group-of-ada')
})

describe('the User of an account (24.3, 25.4)', () => {
  it('is made with name, e-mail address and identity, and found the next time', async () => {
    const { cluster, deps } = people()
    const made = await signIn(deps)
    expect(specOf(cluster, 'ada')).toEqual({
      username: 'ada',
      ...PROFILE,
      identities: [{ connector: 'oidc', subject: SUBJECT }],
    })
    expect((await signIn(deps, { ...ACCOUNT, username: 'grace' })).uid).toBe(made.uid)
    expect(cluster.all('User')).toHaveLength(1)
  })

  it('is made without texts that are too long for people', async () => {
    const { cluster, deps } = people()
    const profile = { displayName: 'A'.repeat(257), email: `${'a'.repeat(257)}@example.com` }
    await userOfAccount(ACCOUNT, profile, { mayCreate: true, deps })
    expect(Object.keys(specOf(cluster, 'ada') as object)).toEqual(['username', 'identities'])
  })

  it('is claimed once: a second account of that name is refused (SC)', async () => {
    const { cluster, deps } = people()
    put(cluster, 'ada', { identities: [{ connector: 'saml' }, { connector: 'oidc' }] })
    await signIn(deps)
    expect(specOf(cluster, 'ada')).toMatchObject({
      identities: [{ connector: 'saml' }, { connector: 'oidc', subject: SUBJECT }],
    })
    const thief = { ...ACCOUNT, subject: `${SUBJECT}1` }
    await expect(signIn(deps, thief)).rejects.toMatchObject({ reason: 'name_taken' })
  })

  it('is claimed by one of two accounts that come at once (SC)', async () => {
    const { cluster, deps } = people()
    put(cluster, 'ada', { identities: [{ connector: 'oidc' }] })
    const both = await Promise.allSettled([
      signIn(deps),
      signIn(deps, { ...ACCOUNT, subject: `${SUBJECT}1` }),
    ])
    expect(both.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected'])
  })

  it('is the one that another replica made a moment ago, of which no watch has word yet (SC)', async () => {
    const { cluster, deps } = people()
    cluster.isStale = true
    put(cluster, 'ada', { identities: [{ connector: 'oidc', subject: SUBJECT }] })
    expect((await signIn(deps)).username).toBe('ada')
    expect(cluster.calls.filter((call) => call.startsWith('create'))).toEqual([])
  })

  it('is the one that another replica makes between look and write', async () => {
    const { cluster, deps } = people()
    cluster.before = ({ verb }) => {
      if (verb === 'create')
        put(cluster, 'ada', { identities: [{ connector: 'oidc', subject: SUBJECT }] })
    }
    expect((await signIn(deps)).username).toBe('ada')
    expect(cluster.all('User')).toHaveLength(1)
  })

  it('is refused where a User of that name appears between look and write (SC)', async () => {
    const { cluster, deps } = people()
    cluster.before = ({ verb }) => {
      if (verb === 'create') put(cluster, 'ada', {})
    }
    await expect(signIn(deps)).rejects.toMatchObject({ reason: 'name_taken' })
  })

  it('is not opened by an identity that the watch has and the API server no longer (SC)', async () => {
    const { cluster, deps } = people()
    put(cluster, 'ada', { identities: [{ connector: 'oidc', subject: SUBJECT }] }, 'one')
    cluster.isStale = true
    put(cluster, 'ada', { identities: [] }, 'one')
    await expect(signIn(deps)).rejects.toMatchObject({ reason: 'name_taken' })
  })

  it('is never the one that the watch still has with the identity (SC)', async () => {
    const { cluster, deps } = people()
    put(cluster, 'grace', { identities: [{ connector: 'oidc', subject: SUBJECT }] }, 'one')
    cluster.isStale = true
    put(cluster, 'grace', { identities: [] }, 'one')
    expect((await signIn(deps)).username).toBe('ada')
  })

  it('is not opened by a watch that does not know yet that the User is disabled', async () => {
    const { cluster, deps } = people()
    const identities = [{ connector: 'oidc', subject: SUBJECT }]
    put(cluster, 'grace', { identities }, 'one')
    cluster.isStale = true
    put(cluster, 'grace', { identities, disabled: true }, 'one')
    await expect(signIn(deps)).rejects.toMatchObject({ reason: 'user_disabled' })
  })

  it('is refused where two Users name the account, of which the watch knows one (SC)', async () => {
    const { cluster, deps } = people()
    const identities = [{ connector: 'oidc', subject: SUBJECT }]
    put(cluster, 'grace', { identities })
    cluster.isStale = true
    put(cluster, 'ada', { identities })
    await expect(signIn(deps)).rejects.toMatchObject({ reason: 'name_taken' })
  })

  it('is never made where its object belongs to another name', async () => {
    const { cluster, deps } = people()
    put(cluster, 'ada', { username: 'grace' })
    await expect(signIn(deps)).rejects.toMatchObject({ reason: 'name_taken' })
    expect(cluster.calls.filter((call) => call.startsWith('create'))).toEqual([])
  })

  it('is given up after four writes of others, as an outage', async () => {
    const { cluster, deps } = people()
    put(cluster, 'ada', { identities: [{ connector: 'oidc' }] })
    cluster.before = ({ verb }) => {
      if (verb === 'patch') throw refused(409, 'Conflict')
    }
    await expect(signIn(deps)).rejects.toMatchObject({ reason: 'key_not_made' })
    expect(cluster.calls.filter((call) => call.startsWith('patch'))).toHaveLength(4)
  })
})

describe('a sign-in, recorded in the User (24.1, 25.4)', () => {
  const groups = [{ name: 'dev', displayName: null }]

  it('writes groups, time and e-mail address, and nothing else', async () => {
    const { cluster, deps } = people()
    put(cluster, 'ada', {
      displayName: 'Countess',
      identities: [{ connector: 'oidc', subject: SUBJECT }],
    })
    await recordSignIn(
      await signIn(deps),
      { connector: 'oidc', groups, email: 'new@example.com' },
      deps,
    )
    expect(cluster.object('User', 'ada')).toMatchObject({
      spec: { displayName: 'Countess', email: 'new@example.com' },
      status: { groups: [{ connector: 'oidc', name: 'dev' }], lastSignIn: '2026-11-21T12:00:00Z' },
    })
  })

  it('decides again about groups that another replica has written meanwhile', async () => {
    const { cluster, deps } = people()
    const user = await signIn(deps)
    cluster.before = ({ verb }) => {
      if (verb !== 'patch') return
      cluster.before = () => undefined
      const object = cluster.object('User', 'ada')
      cluster.put({ ...object, status: { groups: [{ connector: 'saml', name: 'ops' }] } } as never)
    }
    await recordSignIn(user, { connector: 'oidc', groups, email: null }, deps)
    expect(cluster.object('User', 'ada')?.status).toMatchObject({
      groups: [
        { connector: 'saml', name: 'ops' },
        { connector: 'oidc', name: 'dev' },
      ],
    })
  })

  it('is refused where the User is another one meanwhile', async () => {
    const { cluster, deps } = people()
    const user = await signIn(deps)
    cluster.before = ({ verb }) => {
      if (verb !== 'patch') return
      cluster.remove('User', 'ada')
      put(cluster, 'ada', {})
    }
    await expect(
      recordSignIn(user, { connector: 'oidc', groups, email: null }, deps),
    ).rejects.toMatchObject({ reason: 'key_not_made' })
  })
})

describe('the Teams of a sign-in (24.4, SD)', () => {
  const groups = ['a', 'b', 'c'].map((name) => ({ name, displayName: `Team ${name}` }))

  it('are made with their group', async () => {
    const { cluster, deps } = people()
    await makeTeams('oidc', groups.slice(0, 1), deps)
    expect(cluster.all('Team')).toMatchObject([
      {
        spec: {
          name: 'oidc:a',
          displayName: 'Team a',
          groups: [{ connector: 'oidc', name: 'a' }],
        },
      },
    ])
  })

  it('are never changed where one exists of which no watch has word yet', async () => {
    const { cluster, deps } = people()
    await makeTeams('oidc', groups, deps)
    const before = cluster.all('Team')
    await makeTeams('oidc', groups, deps)
    expect(cluster.all('Team')).toEqual(before)
  })

  it('are not made beyond --max-teams, which log and metric say', async () => {
    const { cluster, deps, lines, full } = people()
    await makeTeams('oidc', groups, { ...deps, maxTeams: 2 })
    expect(cluster.all('Team')).toHaveLength(2)
    expect(full()).toBe(1)
    expect(lines.filter(({ level }) => level === 'warn')).toHaveLength(1)
  })
})
