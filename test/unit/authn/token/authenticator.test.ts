import { expect, test } from 'vitest'
import { directWorld } from './direct-world.ts'

test('a sound token is accepted as the identity that a stock API server makes of it (9.2)', async () => {
  const { start, token } = await directWorld()
  const direct = await start()
  const { token: sound, jti } = token()
  const result = await direct.authenticate(sound)
  expect(direct.lines).toEqual([])
  expect(result).toMatchObject({
    ok: true,
    caller: {
      identity: {
        user: 'platform:user:ada',
        groups: [
          'platform:authenticated',
          'platform:user:ada',
          'platform:group:dev',
          'system:authenticated',
        ],
      },
      token: { jti, name: 'ci', scope: '*' },
      scope: null,
    },
  })
})

test('a token is refused from the poll on that lists it as revoked (9.2)', async () => {
  const { start, token, centre, clock } = await directWorld()
  const direct = await start()
  const { token: sound, jti } = token()
  expect(await direct.because(sound)).toBe(null)
  centre.served.revoked = { [jti]: Date.parse('2026-11-21T11:00:00Z') }
  centre.served.asOfMs = clock.nowMs()
  await direct.poll()
  expect(await direct.because(sound)).toBe('revoked')
  expect(direct.notified.at(-1)).toBe(jti)
})
