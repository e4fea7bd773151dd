import { describe, expect, it } from 'vitest'
import { ask, FORM, JSON_TYPE, signedIn } from '../../../support/signin/requests.ts'
import { PASSWORD, PLATFORM, SignInWorld } from '../../../support/signin/world.ts'

const OWN_COOKIE = '__Host-platform_known=x'

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
