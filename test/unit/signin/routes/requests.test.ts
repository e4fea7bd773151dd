import { describe, expect, it } from 'vitest'
<<<<<<< HEAD
import { ask, FORM, JSON_TYPE } from '../../../support/signin/requests.ts'
import { PASSWORD, PLATFORM, SignInWorld } from '../../../support/signin/world.ts'
=======
import { SIGN_IN_OUTCOME_HEADER } from '../../../../src/api/names.ts'
import { outcomeIn } from '../../../../src/domain/signin/outcome.ts'
import { refused } from '../../../support/fake-kube-client.ts'
import {
  fakeProvider,
  identityOf,
  PASSWORD,
  PLATFORM,
  PROVIDER,
  SignInWorld,
} from '../../../support/signin/world.ts'

const FORM = 'application/x-www-form-urlencoded'
const JSON_TYPE = 'application/json'
const OWN_COOKIE = '__Host-platform_known=x'

interface Asked {
  readonly method?: string
  readonly path: string
  readonly origin?: string | null
  readonly cookie?: string
  readonly type?: string
  readonly accept?: string
  readonly body?: string | Buffer
}

const ask = (world: SignInWorld, asked: Asked) => {
  const { method = 'POST', path, origin = PLATFORM, cookie, type, accept, body = '' } = asked
  return world.sendRaw({
    method,
    url: {
      pathname: path.split('?')[0],
      search: path.includes('?') ? path.slice(path.indexOf('?')) : '',
    } as URL,
    headers: {
      ...(origin === null ? {} : { origin }),
      ...(cookie === undefined ? {} : { cookie }),
      ...(type === undefined ? {} : { 'content-type': type }),
      ...(accept === undefined ? {} : { accept }),
    },
    body,
  })
}

const POSTS = [
  { path: '/auth/password/login', types: [FORM, JSON_TYPE] },
  { path: '/auth/cli/token', types: [JSON_TYPE] },
  { path: '/auth/logout', types: [FORM, JSON_TYPE] },
]
const ORIGINS = [
  PLATFORM,
  null,
  'null',
  '',
  'https://evil.example',
  'http://platform.example',
  'https://platform.example:8443',
  'https://platform.example.evil.example',
  'https://PLATFORM.example',
  `${PLATFORM}/`,
  `${PLATFORM}, https://evil.example`,
]
const MATRIX = POSTS.flatMap(({ path, types }) =>
  ORIGINS.flatMap((origin) =>
    [undefined, OWN_COOKIE, 'other=1'].flatMap((cookie) =>
      [...types, 'text/plain', undefined].map((type) => ({ path, origin, cookie, type })),
    ),
  ),
)

describe('a POST (25.2, SF)', () => {
  it.each(MATRIX)(
    'to $path with Origin $origin, cookie $cookie and type $type comes from the platform or a program',
    async ({ path, origin, cookie, type }) => {
      const world = new SignInWorld()
      const answer = await ask(world, {
        path,
        origin,
        body: '{}',
        ...(cookie === undefined ? {} : { cookie }),
        ...(type === undefined ? {} : { type }),
      })
      const isOwnPage = origin === PLATFORM
      const isProgram = origin === null && cookie !== OWN_COOKIE && type === JSON_TYPE
      expect(answer.body.includes('another site')).toBe(!isOwnPage && !isProgram)
      expect(answer.status === 403).toBe(!isOwnPage && !isProgram)
    },
  )

  it('of another site signs no person out, whatever cookies the browser has (25.9, SF)', async () => {
    const world = new SignInWorld()
    const browser = await signedIn(world)
    const forged = await browser.forge(
      `${PLATFORM}/auth/logout`,
      {},
      { from: 'https://evil.example' },
    )
    expect(forged.status).toBe(403)
    expect(world.cluster.all('OwnedAccessKey')).toHaveLength(1)
    expect((await browser.navigate(`${PLATFORM}/login`)).text).toContain('Signed in as ada')
  })

  it('of another site signs no person in as the attacker (25.9, SA)', async () => {
    const world = new SignInWorld()
    world.userWithPassword('mallory')
    const browser = world.browser()
    const fields = { username: 'mallory', password: PASSWORD }
    const forged = await browser.forge(`${PLATFORM}/auth/password/login`, fields, {
      from: 'https://evil.example',
    })
    expect(forged.status).toBe(403)
    expect(browser.jar.names(new URL(PLATFORM))).toEqual([])
  })
})

async function signedIn(world: SignInWorld) {
  world.userWithPassword('ada')
  const browser = world.browser()
  const login = await browser.navigate(`${PLATFORM}/login`)
  await browser.submit(login, '/auth/password/login', { username: 'ada', password: PASSWORD })
  return browser
}

describe('a browser that works without JavaScript (25.2)', () => {
  it('signs in by the form of the page and signs out, at the provider as well', async () => {
    const world = new SignInWorld()
    const browser = world.browser()
    const begun = await browser.navigate(`${PLATFORM}/auth/oidc/login`)
    const state = new URL(String(begun.headers['location'])).searchParams.get('state')
    const person = await browser.navigate(
      `${PLATFORM}/auth/oidc/callback?code=right&state=${state}`,
      { from: PROVIDER },
    )
    expect(person.text).toContain('Until 2026-11-21T13:00:00Z')
    const out = await browser.submit(person, '/auth/logout')
    expect(String(out.headers['location'])).toMatch(
      /^https:\/\/provider.example\/end\?hint=an-id-token/,
    )
    expect(world.cluster.all('OwnedAccessKey')).toEqual([])
    expect((await browser.navigate(`${PLATFORM}/login`)).text).not.toContain('Signed in as')
  })

  it('comes to the page that it wanted', async () => {
    const world = new SignInWorld()
    world.userWithPassword('ada')
    const browser = world.browser()
    const login = await browser.navigate(`${PLATFORM}/login?next=/oidc/apps/authorize?a=b`)
    const page = await browser.submit(login, '/auth/password/login', {
      username: 'ada',
      password: PASSWORD,
    })
    expect(page.url.href).toBe(`${PLATFORM}/oidc/apps/authorize?a=b`)
  })

  it('keeps its cookie where the key cannot be ended now', async () => {
    const world = new SignInWorld()
    const browser = await signedIn(world)
    world.cluster.before = ({ verb }) => {
      if (verb === 'delete') throw new Error('away')
    }
    const person = await browser.navigate(`${PLATFORM}/login`)
    expect((await browser.submit(person, '/auth/logout')).status).toBe(503)
    world.cluster.before = () => undefined
    await browser.submit(person, '/auth/logout')
    expect(world.cluster.all('OwnedAccessKey')).toEqual([])
  })

  it('has no session any more where the gateway takes its key no longer (25.4)', async () => {
    const world = new SignInWorld()
    const browser = await signedIn(world)
    for (const { metadata } of world.cluster.all('OwnedAccessKey'))
      world.cluster.remove('OwnedAccessKey', metadata.name)
    expect((await browser.navigate(`${PLATFORM}/login`)).text).not.toContain('Signed in as')
  })
})
>>>>>>> breaker

describe('a request (25.2)', () => {
  it.each([
    ['GET', '/', 404, null],
    ['GET', '/login/', 404, null],
    ['GET', '/auth/oidc', 404, null],
    ['GET', '/auth/oidc/other', 404, null],
    ['GET', '/auth/none/login', 404, null],
    ['GET', '/auth/none/callback', 404, null],
    ['GET', '/auth/oidc/login/', 404, null],
    ['GET', '/auth/oidc%2f/login', 404, null],
    ['GET', '/oidc/apps/authorize', 404, null],
    ['POST', '/login', 405, 'GET, HEAD'],
    ['OPTIONS', '/login', 405, 'GET, HEAD'],
    ['GET', '/auth/logout', 405, 'POST'],
    ['GET', '/auth/password/login', 405, 'POST'],
    ['GET', '/auth/cli/token', 405, 'POST'],
    ['HEAD', '/auth/oidc/login', 405, 'GET'],
    ['POST', '/auth/oidc/login', 405, 'GET'],
    ['POST', '/auth/oidc/callback', 405, 'GET'],
    ['HEAD', '/auth/oidc/callback', 405, 'GET'],
    ['HEAD', '/login', 200, null],
    ['GET', '/login?next=/login&next=/login', 400, null],
    ['GET', '/login?a=1&a=2', 400, null],
    ['GET', '/auth/oidc/callback?state=a&state=b', 400, null],
    ['GET', '/login?next=/login?next=/login', 200, null],
  ])('%s %s gets %i', async (method, path, status, allow) => {
    const answer = await ask(new SignInWorld(), { method, path })
    expect(answer.status).toBe(status)
    expect(answer.headers['allow'] ?? null).toBe(allow)
  })

  it.each([
    ['another type', 'text/plain', 'username=a&password=b', 415],
    ['no type', undefined, 'username=a&password=b', 415],
    ['a multipart form', 'multipart/form-data; boundary=a', '', 415],
    ['a parameter of its type', `${FORM}; charset=utf-8`, 'username=a&password=b', 401],
    ['a field twice', FORM, 'username=a&password=b&password=c', 400],
    ['no password', FORM, 'username=a', 400],
    ['no name', FORM, 'username=&password=b', 400],
    ['malformed JSON', JSON_TYPE, '{', 400],
    ['a list', JSON_TYPE, '["a"]', 400],
    ['null', JSON_TYPE, 'null', 400],
    ['a number as a field', JSON_TYPE, '{"username":"a","password":1}', 400],
    ['a list as a field', JSON_TYPE, '{"username":"a","password":["b"]}', 400],
    ['a name twice', JSON_TYPE, '{"username":"a","password":"b","password":"c"}', 400],
    [
      'a name twice, escaped',
      JSON_TYPE,
      '{"username":"a","password":"b","pa\\u0073sword":"c"}',
      400,
    ],
    ['deep JSON', JSON_TYPE, `{"username":"a","password":${'['.repeat(30_000)}`, 400],
    ['bytes that are not UTF-8', FORM, Buffer.from([0x75, 0xff]), 400],
    ['a malformed terminal', FORM, 'username=a&password=b&cli=true&state=a', 400],
    ['65,536 bytes', FORM, `username=a&password=${'b'.repeat(65_516)}`, 401],
    ['65,537 bytes', FORM, `username=a&password=${'b'.repeat(65_517)}`, 413],
    ['__proto__', JSON_TYPE, '{"__proto__":"a","username":"a","password":"b"}', 401],
  ])('to sign in with %s is answered by its fault', async (_, type, body, status) => {
    const path = '/auth/password/login'
    const asked = type === undefined ? { path, body } : { path, body, type }
    expect((await ask(new SignInWorld(), asked)).status).toBe(status)
  })

  it('with 16,000 parameters is read in no more time than others', async () => {
    const names = Array.from({ length: 16_000 }, (_, at) =>
      (at + 1296).toString(36).padStart(3, '0'),
    )
    const asked = { path: '/auth/password/login', type: FORM }
    const startMs = performance.now()
    const answer = await ask(new SignInWorld(), { ...asked, body: names.join('&') })
    expect(answer.status).toBe(400)
    expect(performance.now() - startMs).toBeLessThan(300)
  })

  it.each([
    [undefined, 'text/html; charset=utf-8'],
    ['*/*', 'text/html; charset=utf-8'],
    ['text/html,application/xhtml+xml,*/*;q=0.8', 'text/html; charset=utf-8'],
    ['application/json', 'application/json'],
    ['application/json, text/html;q=0.9', 'application/json'],
    ['application/json;q=0.8, text/html', 'text/html; charset=utf-8'],
    ['application/*', 'application/json'],
    ['application/json;q=0, */*', 'text/html; charset=utf-8'],
    ['application/json;q=x', 'text/html; charset=utf-8'],
  ])('that accepts %s gets its error as %s', async (accept, type) => {
    const asked = { method: 'GET', path: '/none', ...(accept === undefined ? {} : { accept }) }
    const answer = await ask(new SignInWorld(), asked)
    expect(answer.headers['content-type']).toBe(type)
    const start = type === JSON_TYPE ? '{"kind":"Status"' : '<!doctype html>'
    expect(answer.body.startsWith(start)).toBe(true)
  })

  it.each([
    ['other', 401],
    ['unknown', 503],
  ] as const)(
    'of a caller who is %s gets a code without a body (25.1)',
    async (verdict, status) => {
      const world = new SignInWorld()
      world.verdict = verdict
      const answer = await ask(world, { method: 'GET', path: '/login' })
      expect(answer).toMatchObject({ status, headers: {}, body: '' })
    },
  )

  it('before the keys that seal are there is answered as an outage', async () => {
    const world = new SignInWorld()
    world.keys = null
    expect((await ask(world, { method: 'GET', path: '/login' })).status).toBe(503)
  })

  it('whose client leaves leaves no outage in metrics and log', async () => {
    const world = new SignInWorld()
    world.userWithPassword('ada')
    const left = new AbortController()
    world.cluster.before = () => {
      left.abort('gone')
      throw new Error('cut')
    }
    await world.sendRaw({
      method: 'POST',
      url: new URL('/auth/password/login', PLATFORM),
      headers: { 'content-type': JSON_TYPE },
      body: JSON.stringify({ username: 'ada', password: PASSWORD }),
      gone: left.signal,
    })
    expect(world.reports).toEqual([])
  })
})
<<<<<<< HEAD
=======

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

/** A browser goes to the provider and comes back. */
async function comeBack(world: SignInWorld, query = 'code=right', browser = world.browser()) {
  world.providers = [fakeProvider('oidc', () => world.identity)]
  const begun = await browser.navigate(`${PLATFORM}/auth/oidc/login`)
  const state = new URL(String(begun.headers['location'])).searchParams.get('state')
  return browser.navigate(`${PLATFORM}/auth/oidc/callback?${query}&state=${state}`, {
    from: PROVIDER,
  })
}

describe('a password that the watches still show (25.5)', () => {
  it.each([
    ['changed', (world: SignInWorld) => world.secret('password-of-ada', { password: 'hash-2' })],
    ['deleted', (world: SignInWorld) => world.cluster.remove('Secret', 'password-of-ada')],
    ['taken from the User', (world: SignInWorld) => world.user('ada')],
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
>>>>>>> breaker
