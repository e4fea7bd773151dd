// The webhook's answers at a real socket (contract 9.6).
import { describe, expect, test } from 'vitest'
import { LONGEST_PARSED_BODY } from '../../../../src/serving/http/answer.ts'
import { scopeOf, of } from '../../domain/scope/scope-builder.ts'
import { type Ask, REVIEW, TOKEN, bearer, listeningWebhook } from './listening-webhook.ts'
import { attributesOf, extraOf, specOf } from './review-builder.ts'

const secrets = specOf(extraOf(scopeOf(of('pods'))), attributesOf('get secrets x'))

describe('a review', () => {
  test('is answered with no opinion, never with allowed, so that RBAC decides', async () => {
    const { ask, outcomes } = await listeningWebhook()
    const { code, headers, body } = await ask()
    expect({ code, headers }).toMatchObject({
      code: 200,
      headers: { 'content-type': 'application/json', 'cache-control': 'no-store' },
    })
    expect(JSON.parse(body)).toEqual({
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SubjectAccessReview',
      status: { allowed: false },
    })
    expect(outcomes).toEqual(['noOpinion'])
  })

  test('is answered with denied, and why', async () => {
    const { ask, outcomes } = await listeningWebhook()
    const { code, body } = await ask({ body: { ...REVIEW, spec: secrets } })
    expect(code).toBe(200)
    expect(JSON.parse(body)).toEqual({
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SubjectAccessReview',
      status: {
        allowed: false,
        denied: true,
        reason: expect.stringContaining('does not grant "get" on "secrets"') as string,
      },
    })
    expect(outcomes).toEqual(['denied'])
  })

  test('may come with a timeout, as API servers send it', async () => {
    const { ask } = await listeningWebhook()
    expect(await ask({ target: '/authorize?timeout=3s' })).toMatchObject({ code: 200 })
  })

  test('is decided by the state at its time', async () => {
    let since: string | null = null
    const revocation = { isRevoked: () => false, unknownSince: () => since }
    const { ask, outcomes } = await listeningWebhook(undefined, { revocation })
    await ask()
    since = '2026-11-21T10:00:00Z'
    const { body } = await ask()
    expect(body).toContain('revocation unknown since 2026-11-21T10:00:00Z')
    expect(outcomes).toEqual(['noOpinion', 'denied'])
  })

  test('may be as long as the longest body that is parsed, and no longer', async () => {
    const { ask, outcomes } = await listeningWebhook()
    const text = JSON.stringify(REVIEW)
    const longest = text.padEnd(LONGEST_PARSED_BODY)
    expect(await ask({ body: longest })).toMatchObject({ code: 200 })
    const { code, body } = await ask({ body: `${longest} ` })
    expect({ code, ...JSON.parse(body) }).toMatchObject({
      code: 413,
      reason: 'RequestEntityTooLarge',
      message: `the review must have at most ${LONGEST_PARSED_BODY} bytes`,
    })
    expect(outcomes).toEqual(['noOpinion', 'malformed'])
  })

  const twice = JSON.stringify(REVIEW).replace('"user":', '"user":"system:admin","user":')
  test.each<{ name: string; sent: Ask['body']; fault: string }>([
    { name: 'nothing', sent: '', fault: 'it is not a JSON object' },
    { name: 'text', sent: 'apiVersion: v1', fault: 'it is not a JSON object' },
    {
      name: 'half of it',
      sent: JSON.stringify(REVIEW).slice(0, -1),
      fault: 'it is not a JSON object',
    },
    { name: 'a list', sent: [REVIEW], fault: 'it is not a JSON object' },
    { name: 'null', sent: 'null', fault: 'it is not a JSON object' },
    { name: 'a name twice', sent: twice, fault: 'an object has a name twice' },
    {
      name: 'other bytes than UTF-8',
      sent: Buffer.from([0x7b, 0xff, 0x7d]),
      fault: 'it is not UTF-8',
    },
    {
      name: 'another kind',
      sent: { ...REVIEW, kind: 'TokenReview' },
      fault: 'it has another kind',
    },
    { name: 'no kind', sent: { ...REVIEW, kind: undefined }, fault: 'it has another kind' },
    {
      name: 'a list as kind',
      sent: { ...REVIEW, kind: ['SubjectAccessReview'] },
      fault: 'it has another kind',
    },
    {
      name: 'another group',
      sent: { ...REVIEW, apiVersion: 'v1' },
      fault: 'it has another apiVersion',
    },
    {
      name: 'no version',
      sent: { ...REVIEW, apiVersion: null },
      fault: 'it has another apiVersion',
    },
  ])('with $name is refused, and the message says why', async ({ sent, fault }) => {
    const { ask, outcomes } = await listeningWebhook()
    const { code, body } = await ask({ body: sent ?? '' })
    expect({ code, ...JSON.parse(body) }).toMatchObject({
      kind: 'Status',
      code: 400,
      reason: 'BadRequest',
      message: `the body is not a review: ${fault}`,
    })
    expect(outcomes).toEqual(['malformed'])
  })

  test('of v1beta1 is refused, with the setting to change', async () => {
    const { ask } = await listeningWebhook()
    const { code, body } = await ask({
      body: { ...REVIEW, apiVersion: 'authorization.k8s.io/v1beta1' },
    })
    expect({ code, ...JSON.parse(body) }).toMatchObject({
      code: 400,
      message: 'reviews must be authorization.k8s.io/v1: set subjectAccessReviewVersion: v1',
    })
  })

  test('without a spec is denied, as everything that cannot be read', async () => {
    const { ask } = await listeningWebhook()
    const { body } = await ask({ body: { ...REVIEW, spec: undefined } })
    expect(JSON.parse(body)).toMatchObject({
      status: { allowed: false, denied: true, reason: 'the review has no spec' },
    })
  })

  test.each(['GET', 'PUT', 'DELETE', 'OPTIONS'])('is not sent by %s', async (method) => {
    const { ask, outcomes } = await listeningWebhook()
    expect(await ask({ method })).toMatchObject({ code: 405, headers: { allow: 'POST' } })
    expect(outcomes).toEqual(['malformed'])
  })
})

describe('a caller that is not known gets a 401 without details, whatever it asks', () => {
  const [name, first] = ['Authorization', `Authorization: Bearer ${TOKEN}`]
  const subprotocol = `base64url.bearer.authorization.k8s.io.${Buffer.from(TOKEN).toString('base64url')}`
  test.each<{ name: string; headers: readonly string[]; ask?: Ask }>([
    { name: 'no credential', headers: [] },
    { name: 'another token', headers: bearer('another') },
    { name: 'an empty token', headers: [`${name}: Bearer `] },
    { name: 'the token of another case', headers: bearer(TOKEN.toUpperCase()) },
    { name: 'a part of the token', headers: bearer(TOKEN.slice(0, -1)) },
    { name: 'the token and more', headers: bearer(`${TOKEN}x`) },
    { name: 'another scheme', headers: [`${name}: Basic ${TOKEN}`] },
    { name: 'the token twice', headers: [first, first] },
    { name: 'the token and another', headers: [first, `${name}: Bearer x`] },
    {
      name: 'the token, and one in a subprotocol',
      headers: [first, `Sec-WebSocket-Protocol: ${subprotocol}`],
    },
    { name: 'by another method', headers: [], ask: { method: 'GET' } },
    { name: 'with no review', headers: [], ask: { body: 'x' } },
  ])('$name', async ({ headers, ask: asked }) => {
    const { ask, outcomes } = await listeningWebhook()
    const { code, headers: given, body } = await ask({ ...asked, headers })
    expect(code).toBe(401)
    expect(given).toMatchObject({ 'www-authenticate': 'Bearer', connection: 'close' })
    expect(JSON.parse(body)).toMatchObject({ reason: 'Unauthorized', message: 'Unauthorized' })
    expect(outcomes).toEqual(['refused'])
  })

  test('words after the token are ignored, as by an API server', async () => {
    const { ask } = await listeningWebhook()
    expect(await ask({ headers: [`${first} more`] })).toMatchObject({ code: 200 })
  })
})

test('no webhook is served without a file of a token or a client CA', async () => {
  const { ask, outcomes } = await listeningWebhook({ token: null, authority: null })
  for (const method of ['POST', 'GET']) expect(await ask({ method })).toMatchObject({ code: 404 })
  expect(outcomes).toEqual([])
})
