import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import type { Secret } from '../../../../src/api/objects.ts'
import { seal } from '../../../../src/signin/sealing/seal.ts'
import { SESSION_COOKIE } from '../../../../src/signin/http/cookies.ts'
import { sessionData, sessionIn } from '../../../../src/signin/sessions/session.ts'
import { PASSWORD, PLATFORM, sealingKeys, SignInWorld } from '../../../support/signin/world.ts'

const VERIFIER = 'v'.repeat(43)
const CHALLENGE = createHash('sha256').update(VERIFIER).digest('base64url')
const QUERY = `cli=true&port=2048&state=terminal-state&code_challenge=${CHALLENGE}`

/** The page that hands a sign-in of ada over. */
async function handOver(world: SignInWorld) {
  world.userWithPassword('ada')
  const browser = world.browser()
  const page = await browser.navigate(`${PLATFORM}/login?${QUERY}`)
  const form = { username: 'ada', password: PASSWORD }
  return { browser, page: await browser.submit(page, '/auth/password/login', form) }
}

const codeOf = async (world: SignInWorld): Promise<string> =>
  (await handOver(world)).page.forms[0]?.fields['code'] ?? ''

/** What the terminal asks. */
const exchange = (world: SignInWorld, fields: object) =>
  world.send({
    method: 'POST',
    url: new URL('/auth/cli/token', PLATFORM),
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(fields),
  })

describe('the hand-over to a terminal (25.2, SH)', () => {
  it('gives no key for a session that is over (25.7)', async () => {
    const world = new SignInWorld()
    const code = await codeOf(world)
    for (const secret of world.cluster.all('Secret')) {
      const session = sessionIn(secret as Secret)
      if (session !== null)
        world.cluster.put({ ...secret, data: sessionData({ ...session, endedMs: 1 }) } as never)
    }
    expect((await exchange(world, { code, code_verifier: VERIFIER })).status).toBe(400)
    expect(world.cluster.all('OwnedAccessKey')).toEqual([])
  })

  it('gives one key to who has the verifier, after the page that asks', async () => {
    const world = new SignInWorld()
    const { browser, page } = await handOver(world)
    const check = createHash('sha256').update(CHALLENGE).digest('hex')
    expect(page.text).toContain(`${check.slice(0, 4)}-${check.slice(4, 8)}`)
    expect(page.text).toContain('Sign in as ada on a terminal')
    expect(page.forms).toMatchObject([
      {
        method: 'POST',
        action: new URL('http://127.0.0.1:2048/callback'),
        fields: { state: 'terminal-state' },
      },
    ])
    expect(page.headers['content-security-policy']).toContain(
      "form-action 'self' http://127.0.0.1:2048;",
    )
    expect(world.cluster.all('OwnedAccessKey')).toEqual([])
    expect(browser.jar.names(new URL(PLATFORM))).not.toContain(SESSION_COOKIE)
    const code = page.forms[0]?.fields['code']
    const answer = await exchange(world, { code, code_verifier: VERIFIER })
    expect(answer.status).toBe(200)
    expect(JSON.parse(answer.body)).toEqual({
      accessKey: expect.any(String) as string,
      expirationTimestamp: '2026-11-21T13:00:00Z',
    })
    expect(world.cluster.all('OwnedAccessKey')).toMatchObject([
      { spec: { type: 'Login', user: 'ada', displayName: 'Sign-in by password, terminal' } },
    ])
  })

  it('ends at the page that asks also for a person who is signed in', async () => {
    const world = new SignInWorld()
    world.userWithPassword('ada')
    const browser = world.browser()
    const form = { username: 'ada', password: PASSWORD }
    const login = await browser.navigate(`${PLATFORM}/login`)
    const person = await browser.submit(login, '/auth/password/login', form)
    expect(person.text).toContain('Signed in as ada')
    const page = await browser.navigate(`${PLATFORM}/login?${QUERY}`, {
      from: 'https://evil.example',
    })
    expect(page.forms.map(({ action }) => action.pathname)).toEqual(['/auth/password/login'])
    expect(page.text).not.toContain('Signed in as')
  })

  it.each([
    ['a wrong password', '/login', (world: SignInWorld) => world.userWithPassword('ada')],
    [
      'a provider that refuses',
      '/auth/oidc/login',
      (world: SignInWorld) => world.configure({ auth: { disableUserCreation: true } }),
    ],
  ] as const)('waits for a second try after %s (25.2)', async (_, path, arrange) => {
    const world = new SignInWorld()
    arrange(world)
    const browser = world.browser()
    const first = await browser.navigate(`${PLATFORM}${path}?${QUERY}`)
    const location = new URL(String(first.headers['location'] ?? PLATFORM))
    const state = location.searchParams.get('state')
    const refusal = await (path === '/login'
      ? browser.submit(first, '/auth/password/login', { username: 'ada', password: 'another one' })
      : browser.navigate(`${PLATFORM}/auth/oidc/callback?code=right&state=${state}`))
    expect(refusal.status).toBeGreaterThanOrEqual(400)
    const again = await browser.click(refusal, 'Start again')
    expect(again.url.search).toBe(`?${QUERY}`)
    expect(again.text).toContain('This signs you in on a terminal')
  })

  it.each<readonly [string, (code: string, world: SignInWorld) => Promise<object> | object]>([
    ['another verifier', (code) => ({ code, code_verifier: 'w'.repeat(43) })],
    ['the challenge in place of the verifier', (code) => ({ code, code_verifier: CHALLENGE })],
    ['a code that was changed', (code) => ({ code: `${code}A`, code_verifier: VERIFIER })],
    [
      'an age of more than five minutes',
      async (code, world) => {
        await world.clock.advance(300_001)
        return { code, code_verifier: VERIFIER }
      },
    ],
    [
      'a second use',
      async (code, world) => {
        await exchange(world, { code, code_verifier: VERIFIER })
        return { code, code_verifier: VERIFIER }
      },
    ],
    [
      'a second use after its key has ended',
      async (code, world) => {
        await exchange(world, { code, code_verifier: VERIFIER })
        for (const { kind, metadata } of world.cluster.all('OwnedAccessKey'))
          world.cluster.remove(kind, metadata.name)
        return { code, code_verifier: VERIFIER }
      },
    ],
    [
      'a session that is gone',
      (code, world) => {
        for (const { kind, metadata } of world.cluster.all('Secret'))
          if (metadata.name.startsWith('login-')) world.cluster.remove(kind, metadata.name)
        return { code, code_verifier: VERIFIER }
      },
    ],
    [
      'a text that was sealed for another purpose',
      (_, world) => {
        const [session] = world.cluster
          .all('Secret')
          .filter(({ metadata: { name } }) => name.startsWith('login-'))
        const content = {
          session: session?.metadata.name,
          challenge: CHALLENGE,
          madeMs: world.clock.nowMs(),
        }
        const code = seal(content, SESSION_COOKIE, sealingKeys(), (bytes) => world.random(bytes))
        return { code, code_verifier: VERIFIER }
      },
    ],
  ])('refuses %s with the same text (SH)', async (_, attack) => {
    const world = new SignInWorld()
    const fields = await attack(await codeOf(world), world)
    const keys = world.cluster.all('OwnedAccessKey').length
    const answer = await exchange(world, fields)
    expect(answer.status).toBe(400)
    expect(JSON.parse(answer.body)).toMatchObject({
      kind: 'Status',
      message: 'This code has ended or was used already. Start again (reference reference-1)',
    })
    expect(world.cluster.all('OwnedAccessKey')).toHaveLength(keys)
  })

  it('makes one key where two calls come at once', async () => {
    const world = new SignInWorld()
    const code = await codeOf(world)
    const answers = await Promise.all(
      [1, 2].map(() => exchange(world, { code, code_verifier: VERIFIER })),
    )
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 400])
    expect(world.cluster.all('OwnedAccessKey')).toHaveLength(1)
  })

  it.each<readonly [string, (world: SignInWorld) => void]>([
    ['is disabled', (world) => world.disable('ada')],
    ['is gone', (world) => world.cluster.remove('User', 'ada')],
    [
      'is another one, maybe of another person',
      (world) => {
        world.cluster.remove('User', 'ada')
        world.userWithPassword('ada')
      },
    ],
  ])('gives no key where the User %s meanwhile', async (_, change) => {
    const world = new SignInWorld()
    const code = await codeOf(world)
    change(world)
    const answer = await exchange(world, { code, code_verifier: VERIFIER })
    expect(answer.status).toBe(403)
    expect(JSON.parse(answer.body)).toMatchObject({
      message: "This account can't be used here. Ask an administrator (reference reference-1)",
    })
    expect(world.cluster.all('OwnedAccessKey')).toEqual([])
  })
})
