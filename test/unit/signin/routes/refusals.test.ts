import { describe, expect, it } from 'vitest'
import { SIGN_IN_OUTCOME_HEADER } from '../../../../src/api/names.ts'
import { outcomeIn } from '../../../../src/domain/signin/outcome.ts'
import { ask, comeBack, JSON_TYPE } from '../../../support/signin/requests.ts'
import {
  fakeProvider,
  identityOf,
  PASSWORD,
  PLATFORM,
  PROVIDER,
  SignInWorld,
} from '../../../support/signin/world.ts'

const NAME_REASONS = [
  ['name_missing', identityOf({ username: null })],
  ['name_refused', identityOf({ username: 'system:masters' })],
  ['name_taken', identityOf({ username: 'grace' })],
  ['user_unknown', identityOf({ username: 'new' })],
  ['user_disabled', identityOf({ subject: `${PROVIDER}#2` })],
] as const

describe('a refusal (25.5, SG)', () => {
  it.each(NAME_REASONS)(
    'for %s has the one text and code of its kind',
    async (reason, identity) => {
      const world = new SignInWorld({ auth: { disableUserCreation: true } })
      world.user('grace')
      const identities = [{ connector: 'oidc', subject: `${PROVIDER}#2` }]
      world.user('linus', { identities, disabled: true })
      world.identity = identity
      const page = await comeBack(world)
      expect(page.status).toBe(403)
      expect(page.text).toBe(
        "Not signed in This account can't be used here. Ask an administrator (reference reference-1) Start again",
      )
      expect(world.reports.at(-1)).toMatchObject({
        provider: 'kind-of-oidc',
        outcome: 'refused',
        reason,
      })
      expect(outcomeIn(String(page.headers[SIGN_IN_OUTCOME_HEADER]))).toMatchObject({
        provider: 'oidc',
        subject: identity.subject,
        outcome: 'refused',
        reason,
      })
      expect(
        world.memory.lines.filter(({ sentence }) => sentence === 'sign-in attempt').at(-1),
      ).toMatchObject({
        fields: { provider: 'oidc', reason, address: '192.0.2.1', requestID: 'reference-1' },
      })
    },
  )

  it.each([
    ['a wrong password', { username: 'ada', password: 'wrong' }],
    ['a name that no User has', { username: 'nobody', password: PASSWORD }],
    ['a User without a password', { username: 'grace', password: PASSWORD }],
    ['a User who is disabled', { username: 'linus', password: PASSWORD }],
  ])('for %s has one text and code', async (_, fields) => {
    const world = new SignInWorld()
    world.userWithPassword('ada')
    world.user('grace')
    world.userWithPassword('linus', { disabled: true })
    const body = JSON.stringify(fields)
    const answer = await ask(world, { path: '/auth/password/login', type: JSON_TYPE, body })
    expect(answer.status).toBe(401)
    expect(JSON.parse(answer.body)).toMatchObject({
      message: 'The user name or the password is wrong (reference reference-1)',
    })
  })

  it('shows the error code of a provider escaped, and names the provider', async () => {
    const world = new SignInWorld()
    const page = await comeBack(world, 'error=access_denied')
    expect(page.status).toBe(403)
    expect(page.text).toContain('refused: access_denied (reference reference-1)')
  })

  it('for a key that the gateway does not take leaves no key behind (25.4)', async () => {
    const world = new SignInWorld()
    world.gatewayWorks = false
    const page = await comeBack(world)
    expect(page.status).toBe(503)
    expect(world.reports.at(-1)).toMatchObject({ reason: 'key_not_made' })
    expect(world.cluster.all('OwnedAccessKey')).toEqual([])
  })

  it('for an error of this program shows nothing of it', async () => {
    const world = new SignInWorld()
    world.cluster.before = ({ kind }) => {
      if (kind === 'User') throw new Error('secret detail')
    }
    const page = await comeBack(world)
    expect(page.status).toBe(503)
    expect(page.body).not.toContain('secret detail')
  })

  it('for more than 200 groups says what to set, and makes no key', async () => {
    const world = new SignInWorld()
    const groups = Array.from({ length: 201 }, (_, at) => ({ name: `g${at}`, displayName: null }))
    world.identity = identityOf({ groups })
    const page = await comeBack(world)
    expect(page.status).toBe(403)
    expect(page.text).toContain('too many groups: set groupsFilters')
    expect(world.cluster.all('OwnedAccessKey')).toEqual([])
  })

  it('for filters that are unusable opens nothing', async () => {
    const world = new SignInWorld({ auth: { groupsFilters: ['('] } })
    expect((await comeBack(world)).status).toBe(503)
    expect(world.cluster.all('OwnedAccessKey')).toEqual([])
  })
})

describe('a password that the watches still show (25.5)', () => {
  it.each([
    ['changed', (world: SignInWorld) => world.secret('password-of-ada', { password: 'hash-2' })],
    ['deleted', (world: SignInWorld) => world.cluster.remove('Secret', 'password-of-ada')],
    ['taken from the User', (world: SignInWorld) => world.user('ada')],
    ['of a User who is disabled', (world: SignInWorld) => world.disable('ada')],
  ])('opens nothing once it is %s', async (_, change) => {
    const world = new SignInWorld()
    world.userWithPassword('ada')
    world.cluster.isStale = true
    change(world)
    const login = await world.browser().navigate(`${PLATFORM}/login`)
    const fields = { username: 'ada', password: PASSWORD }
    const page = await world.browser().submit(login, '/auth/password/login', fields)
    expect(page.status).toBe(401)
    expect(world.reports.at(-1)).toMatchObject({ outcome: 'refused', reason: 'wrong_password' })
    expect(world.cluster.all('OwnedAccessKey')).toEqual([])
  })
})

describe('a provider that hangs (25.5)', () => {
  it('keeps no person from the page that shows them, and from signing out', async () => {
    const world = new SignInWorld()
    const browser = world.browser()
    await comeBack(world, 'code=right', browser)
    world.providers = [
      {
        ...fakeProvider('oidc', () => world.identity),
        refresh: null,
        endSession: () => new Promise(() => undefined),
      },
    ]
    world.configure({ uiSettings: {} })
    const shown = browser.navigate(`${PLATFORM}/login`)
    await world.clock.advance(2000)
    const page = await shown
    expect(page.text).toContain('Signed in as ada')
    const leaving = browser.submit(page, '/auth/logout')
    await world.clock.advance(2000)
    expect((await leaving).url.pathname).toBe('/login')
    expect(world.cluster.all('OwnedAccessKey')).toEqual([])
  })
})
