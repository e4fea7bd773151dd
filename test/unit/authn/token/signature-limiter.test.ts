// What forged tokens may cost (contract 9.2; threats D5).
import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { MOST_SIGNATURE_CHECKS } from '../../../../src/authn/token/signature-limiter.ts'
import {
  TOKEN_ANSWERS,
  createAuthentication,
} from '../../../../src/gateway/stages/authentication.ts'
import { claimsIn, es256, forge } from '../../../direct/forged-tokens.ts'
import { directWorld } from './direct-world.ts'
import { newTestKey } from './test-issuer.ts'

/** Signs with a key that is not published. */
const foreign = es256(newTestKey())

const counted = (texts: readonly (string | null)[]): Readonly<Record<string, number>> =>
  Object.fromEntries(
    [...new Set(texts)].map((text) => [`${text}`, texts.filter((one) => one === text).length]),
  )

test('claims are not read before the signature is verified (9.2; threats D5)', async () => {
  const { start, key, token } = await directWorld()
  const direct = await start()
  const [head = ''] = token().token.split('.')
  for (const claims of ['{"a":1,"a":2}', '[]', `{"a":${'['.repeat(65)}${']'.repeat(65)}}`]) {
    const text = `${head}.${Buffer.from(claims).toString('base64url')}`
    expect(await direct.because(`${text}.${foreign(text)}`)).toBe('signature')
    expect(await direct.because(`${text}.${es256(key)(text)}`)).toBe('malformed')
  }
})

test('a header longer than the operator’s is not read (9.2; threats D5)', async () => {
  const { start, token } = await directWorld()
  const direct = await start()
  const [, claims, signature] = token().token.split('.')
  const head = Buffer.from(`{"a":${'['.repeat(2000)}`).toString('base64url')
  expect(await direct.because(`${head}.${claims}.${signature}`)).toBe('header')
})

test('forged tokens beyond the limit are answered with 429 (9.2, 13.3; threats D5)', async () => {
  const { start, key, token } = await directWorld()
  const direct = await start()
  const { token: sound } = token()
  const forged = Array.from({ length: 2 * MOST_SIGNATURE_CHECKS }, () =>
    forge(key, { ...claimsIn(sound), jti: randomUUID() }, { signer: foreign }),
  )
  const reasons: (string | null)[] = []
  const authenticate = createAuthentication(direct, TOKEN_ANSWERS, (reason) => reasons.push(reason))
  const results = await Promise.all(
    forged.map(async (text) => authenticate({ rawHeaders: ['Authorization', `Bearer ${text}`] })),
  )
  expect(counted(reasons)).toEqual({
    signature: MOST_SIGNATURE_CHECKS,
    busy: MOST_SIGNATURE_CHECKS,
  })
  const busy = results.filter((result) => !result.ok && result.answer.status === 429)
  expect(busy).toHaveLength(MOST_SIGNATURE_CHECKS)
  expect(busy[0]).toMatchObject({ answer: { headers: { 'retry-after': '1' } } })
  expect(JSON.stringify(busy[0]?.ok === false && busy[0].answer.body.toString())).toContain(
    'too many tokens to check at this server (limit 256); try again in 1 s',
  )
  // Nothing of them is left.
  expect(await direct.because(sound)).toBe(null)
})

test('requests that come with one token at once cost one check (9.2)', async () => {
  const { start, token } = await directWorld()
  const direct = await start()
  const { token: sound } = token()
  const all = Array.from({ length: 4 * MOST_SIGNATURE_CHECKS }, () => direct.because(sound))
  expect(counted(await Promise.all(all))).toEqual({ null: 4 * MOST_SIGNATURE_CHECKS })
})
