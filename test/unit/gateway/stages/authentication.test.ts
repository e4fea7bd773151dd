import { describe, expect, test } from 'vitest'
import { KEY_ANSWERS, createAuthentication } from '../../../../src/gateway/stages/authentication.ts'
import { textAfter } from '../../../support/key-builder.ts'
import { createTestAuthenticator, key, ownedBy, secretOf } from '../../authn/test-authenticator.ts'

const NOT_FOUND = 'platform access key not found. Please login again'
const EXPIRED = 'platform access key expired. Please login again'

function stage() {
  const { callers, now, clock } = createTestAuthenticator(
    key('good'),
    key('disabled', { disabled: true }),
    key('deleted', {}, { metadata: { deletionTimestamp: textAfter(0) } }),
    key('nobody', { user: '' }),
    key('reset', { type: 'Reset' }),
    key('orphan', {}, ownedBy('gone')),
    key('elder', { key: secretOf('twin'), disabled: true }),
    key('younger', { key: secretOf('twin') }, {}, 1),
    key('short', { ttl: 60 }),
    key('short-disabled', { ttl: 60, disabled: true }),
  )
  const reasons: (string | null)[] = []
  const authenticate = createAuthentication(callers, KEY_ANSWERS, (refused) =>
    reasons.push(refused),
  )
  const asked = (...rawHeaders: readonly string[]) => authenticate({ rawHeaders })
  return {
    asked,
    bearing: (token: string) => asked('Authorization', `Bearer ${token}`),
    reasons,
    now,
    clock,
  }
}

describe('the authenticator refuses every invalid key with the same bytes (10.2, C1)', () => {
  test.each([
    { name: 'unknown', token: secretOf('unknown'), reason: 'unknown', key: null },
    { name: 'empty', token: '', reason: 'unknown', key: null },
    { name: 'too long (C2)', token: 'k'.repeat(5000), reason: 'unknown', key: null },
    {
      name: 'the digest form (3.6)',
      token: `sha256:${'0'.repeat(64)}`,
      reason: 'unknown',
      key: null,
    },
    { name: 'disabled', token: secretOf('disabled'), reason: 'disabled', key: 'disabled' },
    { name: 'being deleted', token: secretOf('deleted'), reason: 'deleted', key: 'deleted' },
    { name: 'without an identity', token: secretOf('nobody'), reason: 'noIdentity', key: 'nobody' },
    { name: 'of a single-purpose type', token: secretOf('reset'), reason: 'purpose', key: 'reset' },
    { name: 'of a deleted owner', token: secretOf('orphan'), reason: 'owner', key: 'orphan' },
    {
      name: 'in conflict with a disabled key',
      token: secretOf('twin'),
      reason: 'disabled',
      key: 'elder',
    },
  ])('$name', async ({ token, reason, key: named }) => {
    const { asked, bearing, reasons } = stage()
    const none = await asked()
    const refused = await bearing(token)
    expect([refused.ok, !refused.ok && refused.answer]).toEqual([false, !none.ok && none.answer])
    // For the audit log alone.
    const { because, key: known } = (!refused.ok && refused.refusal) || {}
    expect([because, known?.name ?? null]).toEqual([reason, named])
    expect(none).toMatchObject({
      ok: false,
      answer: { status: 401, headers: { 'www-authenticate': 'Bearer' } },
    })
    expect(reasons).toEqual(['none', reason])
  })

  test('with a Status that says what to do next', async () => {
    const { bearing } = stage()
    const refused = await bearing('x')
    expect(JSON.parse(refused.ok ? '' : refused.answer.body.toString())).toMatchObject({
      kind: 'Status',
      status: 'Failure',
      code: 401,
      reason: 'Unauthorized',
      message: NOT_FOUND,
    })
  })
})

const messageOf = (body: Buffer): string =>
  (JSON.parse(body.toString()) as { readonly message: string }).message

describe('the authenticator distinguishes', () => {
  test.each([
    {
      name: 'an expired key with the right secret (10.2)',
      token: secretOf('short'),
      message: EXPIRED,
      reason: 'expired',
    },
    {
      name: 'an expired key that was disabled: refused as unknown',
      token: secretOf('short-disabled'),
      message: NOT_FOUND,
      reason: 'disabled',
    },
  ])('$name', async ({ token, message, reason }) => {
    const { clock, now, bearing, reasons } = stage()
    await clock.advance(60_000)
    now.proven = { wallMs: clock.nowMs(), monotonicMs: 60_000 }
    const refused = await bearing(token)
    expect(refused.ok ? '' : messageOf(refused.answer.body)).toBe(message)
    expect(reasons).toEqual([reason])
  })

  test('two credentials, with a 400 (10.1, A7)', async () => {
    const { asked, reasons } = stage()
    const bearer = `Bearer ${secretOf('good')}`
    const refused = await asked('Authorization', bearer, 'Authorization', bearer)
    expect(refused).toMatchObject({ ok: false, answer: { status: 400 } })
    expect(reasons).toEqual(['twice'])
  })

  test("a key that it can't check now, with a 503 and Retry-After (10.4)", async () => {
    const { bearing, now, reasons } = stage()
    Object.assign(now, { proven: null, stored: null })
    for (const token of [secretOf('good'), secretOf('unknown'), 'x', '']) {
      const answer = { status: 503, headers: { 'retry-after': '1' } }
      expect(await bearing(token)).toMatchObject({ ok: false, answer })
    }
    expect(new Set(reasons)).toEqual(new Set(['unavailable']))
  })

  test('a valid key, with its caller', async () => {
    const { bearing, reasons } = stage()
    expect(await bearing(secretOf('good'))).toMatchObject({
      ok: true,
      caller: { key: { name: 'good' }, identity: { user: 'ada' }, scope: null, expiresMs: null },
    })
    expect(reasons).toEqual([null])
  })
})
