import { createHash } from 'node:crypto'
import { decodeJwt } from 'jose'
import { describe, expect, it } from 'vitest'
import { type AppSigningKeys, appSigningKind } from '../../../../src/signin/apps/signing-keys.ts'
import {
  signAccessToken,
  signIdToken,
  verifyAccessToken,
} from '../../../../src/signin/apps/tokens.ts'

const START_MS = Date.UTC(2026, 10, 21)
const DAY_MS = 86_400_000
const ISSUER = 'https://platform.example/oidc/apps'
const HOLDER = { subject: 'uid-ada', clientId: 'app' }
const ACCESS = { ...HOLDER, grant: `oidc-${'a'.repeat(26)}`, scopes: ['openid'] }

const keyMade = (madeMs: number): AppSigningKeys => {
  const kind = appSigningKind(() => true)
  const keys = kind.read(kind.renewed(null, madeMs))
  if (keys === null) throw new Error('no keys')
  return keys
}

describe('the tokens of apps (26.3)', () => {
  it('tie an ID token to its access token, as OpenID Connect Core 3.1.3.6 has it', async () => {
    const issue = { issuer: ISSUER, keys: keyMade(START_MS), nowMs: START_MS }
    const accessToken = await signAccessToken(ACCESS, 'an id', issue)
    const about = { ...HOLDER, authMs: START_MS + 999, nonce: null, accessToken, claims: {} }
    const claims = decodeJwt(await signIdToken(about, issue))
    const left = createHash('sha256').update(accessToken).digest().subarray(0, 16)
    expect(claims).toMatchObject({
      at_hash: left.toString('base64url'),
      auth_time: START_MS / 1000,
    })
    expect(claims).not.toHaveProperty('nonce')
  })

  it('are none any more of a key that is published no more, whoever has it (26.1)', async () => {
    const [elder] = keyMade(START_MS)
    const [newer] = keyMade(START_MS + 30 * DAY_MS)
    const verdictAfter = async (afterMs: number) => {
      const nowMs = START_MS + 31 * DAY_MS + afterMs
      const token = await signAccessToken(ACCESS, 'an id', { issuer: ISSUER, keys: [elder], nowMs })
      return verifyAccessToken(token, { issuer: ISSUER, keys: [newer, elder], nowMs })
    }
    expect(await verdictAfter(299_999)).toEqual(ACCESS)
    expect(await verdictAfter(300_000)).toBeNull()
  })
})
