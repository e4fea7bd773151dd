// Apps that sign people in through the platform, by openid-client (contract 26).
import { decodeJwt, decodeProtectedHeader } from 'jose'
import * as oidc from 'openid-client'
import { describe, expect, it } from 'vitest'
import {
  arrive,
  begin,
  CALLBACK,
  CLIENT_SECRET,
  discovered,
  ISSUER,
  worldWithApps,
} from '../../../support/signin/app.ts'

describe('the code flow with a confidential client (26.3)', () => {
  it.each([
    ['in the form', oidc.ClientSecretPost(CLIENT_SECRET)],
    ['by Basic', oidc.ClientSecretBasic(CLIENT_SECRET)],
  ])('signs a person in, with the secret %s', async (_, auth) => {
    const world = worldWithApps()
    const config = await discovered(world, { auth })
    const { url, checks } = await begin(config)
    const back = await arrive(world.browser(), url)
    expect(back.href.startsWith(`${CALLBACK}?`)).toBe(true)
    const tokens = await oidc.authorizationCodeGrant(config, back, checks)
    expect(tokens.claims()).toMatchObject({
      iss: ISSUER,
      aud: 'grafana',
      sub: world.cluster.object('User', 'ada')?.metadata.uid,
      name: 'Ada Lovelace',
      preferred_username: 'ada',
      email: 'ada@example.com',
      groups: ['sre'],
      token_use: 'app',
      azp: 'grafana',
    })
    expect(tokens).toMatchObject({ expires_in: 900, token_type: 'bearer' })
    expect(tokens.refresh_token).toBeUndefined()
    expect(decodeProtectedHeader(tokens.access_token)).toMatchObject({ typ: 'at+jwt' })
    expect(decodeJwt(tokens.access_token)['exp']).toBe(world.clock.nowMs() / 1000 + 900)
    const info = await oidc.fetchUserInfo(config, tokens.access_token, tokens.claims()?.sub ?? '')
    expect(info).toMatchObject({ name: 'Ada Lovelace', groups: ['sre'] })
  })
})
