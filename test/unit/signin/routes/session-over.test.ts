// What a sign-in stores for refreshes, and a session that is over although its key still works: the operator has not taken the end
// over yet (contract 25.4, 25.7).
import { describe, expect, it } from 'vitest'
import type { OwnedAccessKey } from '../../../../src/api/ownedaccesskey.gen.ts'
import type { Secret } from '../../../../src/api/objects.ts'
import { formatTimestamp } from '../../../../src/domain/time.ts'
import { sessionData, sessionIn } from '../../../../src/signin/sessions/session.ts'
import { createSignInMetrics } from '../../../../src/commands/sign-in/metrics.ts'
import { isSetUp } from '../../../../src/signin/settings.ts'
import { stateWith } from '../../../support/signin/leader.ts'
import { RotatingProvider } from '../../../support/signin/refreshes.ts'
import { comeBack } from '../../../support/signin/requests.ts'
import { storedSession } from '../../../support/signin/stored-session.ts'
import { PLATFORM, SignInWorld } from '../../../support/signin/world.ts'

const TOKENS = { refreshToken: 'secret-0', accessToken: 'a', idToken: 'i' }

/** A world whose provider can be asked again. */
function refreshingWorld(): SignInWorld {
  const world = new SignInWorld()
  world.identity = { ...world.identity, tokens: TOKENS }
  const { refresh } = new RotatingProvider().provider()
  world.providers = world.providers.map((provider) => ({ ...provider, refresh }))
  world.configure({ auth: { disableTeamCreation: true } })
  return world
}

const keyIn = ({ cluster }: SignInWorld) => cluster.all('OwnedAccessKey')[0] as OwnedAccessKey
const sessionsIn = ({ cluster }: SignInWorld): readonly Secret[] =>
  (cluster.all('Secret') as readonly Secret[]).filter((secret) => sessionIn(secret) !== null)

describe('a sign-in at a provider that can be asked again (25.4, 25.7)', () => {
  it('says in the key and in the session when the person was confirmed', async () => {
    const world = refreshingWorld()
    await comeBack(world)
    const atMs = world.clock.nowMs()
    expect(keyIn(world).spec?.identityRefresh).toBe(formatTimestamp(atMs))
    expect(sessionsIn(world).map((secret) => sessionIn(secret)?.refresh)).toEqual([
      { confirmedMs: atMs, askedMs: null, failures: 0, isUnanswered: false },
    ])
  })

  it('says nothing of it where the provider gave no token to ask with', async () => {
    const world = refreshingWorld()
    world.identity = { ...world.identity, tokens: { ...TOKENS, accessToken: null } }
    await comeBack(world)
    expect(keyIn(world).spec).not.toHaveProperty('identityRefresh')
    expect(sessionsIn(world).map((secret) => sessionIn(secret)?.refresh)).toEqual([null])
  })
})

it('a browser is signed in no more once its session is over, whatever its key says (25.7)', async () => {
  const world = new SignInWorld()
  const browser = world.browser()
  await comeBack(world, 'code=right', browser)
  const shown = async () => (await browser.navigate(`${PLATFORM}/login`)).text
  expect(await shown()).toContain('Signed in as ada')
  for (const secret of sessionsIn(world)) {
    const session = sessionIn(secret)
    if (session !== null)
      world.cluster.put({ ...secret, data: sessionData({ ...session, endedMs: 1 }) } as never)
  }
  expect(await shown()).not.toContain('Signed in as ada')
})

describe('the provider of a session (25.7)', () => {
  it('is in the settings while it is the one that vouched for the account', () => {
    const rotating = new RotatingProvider()
    const state = stateWith({ providers: new Map([['oidc', rotating.provider()]]) })
    expect(isSetUp(storedSession(), state)).toBe(true)
    rotating.isSame = false
    expect(isSetUp(storedSession(), state)).toBe(false)
    expect(isSetUp(storedSession({ provider: 'other' }), state)).toBe(false)
  })
})

it('refreshes are counted by kind and outcome, and how overdue people are is shown (27.1)', async () => {
  const { refreshes, scrape } = createSignInMetrics()
  refreshes.refreshed('oidc', 'refreshed')
  refreshes.refreshed('oidc', 'superseded')
  refreshes.overdue(7)
  const { body } = await scrape()
  expect(body).toContain('platform_identity_refresh_total{provider="oidc",outcome="refreshed"} 1')
  expect(body).not.toContain('superseded')
  expect(body).toContain('platform_identity_refresh_overdue_seconds 7')
})
