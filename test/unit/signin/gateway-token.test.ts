import { describe, expect, it } from 'vitest'
import type { KubeObject } from '../../../src/api/objects.ts'
import type { KubeClient, NewObject } from '../../../src/kube/client/client.ts'
import { createGatewayTokens } from '../../../src/signin/gateway-token.ts'
import { manualClock } from '../../support/manual-clock.ts'

const ACCOUNT = 'system:serviceaccount:platform:gateway'
const GATEWAY = { authenticated: true, audiences: ['sign-in'], user: { username: ACCOUNT } }
const STRANGER = { ...GATEWAY, user: { username: 'system:serviceaccount:platform:other' } }

/** Tokens whose reviews answer with this status, when the gate lets them. */
function tokens(status: unknown, gate: () => Promise<void> = () => Promise.resolve()) {
  const reviews: unknown[] = []
  const clock = manualClock(0)
  const state = { status }
  const create: KubeClient['create'] = async <T extends KubeObject>(
    _: unknown,
    object: NewObject,
  ) => {
    reviews.push(object['spec'])
    await gate()
    if (state.status instanceof Error) throw state.status
    return { status: state.status } as unknown as T
  }
  const verdictOf = createGatewayTokens({ client: { create }, account: ACCOUNT, clock })
  return { verdictOf, reviews, clock, state }
}

describe('the caller of the sign-in process (25.1)', () => {
  it.each([
    ['the gateway', GATEWAY, 'gateway'],
    ['the gateway, for several audiences', { ...GATEWAY, audiences: ['a', 'sign-in'] }, 'gateway'],
    ['another account', STRANGER, 'other'],
    ['an account whose name begins so', { ...GATEWAY, user: { username: `${ACCOUNT}x` } }, 'other'],
    ['a token for another audience', { ...GATEWAY, audiences: ['other'] }, 'other'],
    ['a server that knows no audiences', { ...GATEWAY, audiences: undefined }, 'other'],
    ['a token that is not valid', { ...GATEWAY, authenticated: false }, 'other'],
    ['a review that says "true" as text', { ...GATEWAY, authenticated: 'true' }, 'other'],
    ['a review without a user', { ...GATEWAY, user: undefined }, 'other'],
    ['a review without a status', undefined, 'other'],
    ['an API server that is away', new Error('away'), 'unknown'],
  ])('is judged by the review: %s', async (_, status, verdict) => {
    const { verdictOf, reviews } = tokens(status)
    expect(await verdictOf('Bearer the-token')).toBe(verdict)
    expect(reviews).toEqual([{ token: 'the-token', audiences: ['sign-in'] }])
  })

  it.each([
    undefined,
    '',
    'Bearer',
    'Bearer ',
    'Basic the-token',
    'the-token',
    'Bearer a b',
    `Bearer ${'a'.repeat(16_385)}`,
  ])('is a stranger without a review: %j', async (authorization) => {
    const { verdictOf, reviews } = tokens(GATEWAY)
    expect(await verdictOf(authorization)).toBe('other')
    expect(reviews).toEqual([])
  })

  it.each([
    ['the gateway', GATEWAY, STRANGER, 'gateway', 'other'],
    ['a stranger', STRANGER, GATEWAY, 'other', 'gateway'],
  ])('is remembered for 60 s: %s', async (_, status, later, verdict, after) => {
    const { verdictOf, reviews, clock, state } = tokens(status)
    await verdictOf('Bearer a')
    state.status = later
    await clock.advance(59_999)
    expect(await verdictOf('Bearer a')).toBe(verdict)
    expect(reviews).toHaveLength(1)
    await clock.advance(1)
    expect(await verdictOf('Bearer a')).toBe(after)
    await clock.advance(30_000)
    expect(await verdictOf('Bearer a')).toBe(after)
    expect(reviews).toHaveLength(2)
  })

  it('is not remembered while the API server is away', async () => {
    const { verdictOf, state } = tokens(new Error('away'))
    expect(await verdictOf('Bearer a')).toBe('unknown')
    state.status = GATEWAY
    expect(await verdictOf('Bearer a')).toBe('gateway')
  })

  it('is reviewed once where many requests come at once', async () => {
    const { verdictOf, reviews } = tokens(GATEWAY)
    const verdicts = await Promise.all(Array.from({ length: 100 }, () => verdictOf('Bearer a')))
    expect(new Set(verdicts)).toEqual(new Set(['gateway']))
    expect(reviews).toHaveLength(1)
  })

  it('keeps the way free in a flood of strangers, whose reviews are few at a time', async () => {
    const held = Promise.withResolvers<undefined>()
    let isHeld = false
    const { verdictOf, reviews, clock, state } = tokens(GATEWAY, () =>
      isHeld ? held.promise.then(() => undefined) : Promise.resolve(),
    )
    await verdictOf('Bearer gateway')
    await clock.advance(60_000)
    state.status = STRANGER
    isHeld = true
    const flood = Array.from({ length: 1000 }, (_, at) => verdictOf(`Bearer stranger-${at}`))
    await clock.advance(0)
    expect(reviews).toHaveLength(1 + 4)
    const gateway = verdictOf('Bearer gateway')
    await clock.advance(0)
    expect(reviews).toHaveLength(1 + 5)
    state.status = GATEWAY
    held.resolve(undefined)
    expect(await gateway).toBe('gateway')
    const verdicts = await Promise.all(flood)
    expect(verdicts.filter((verdict) => verdict === 'unknown')).toHaveLength(1000 - 64)
  })

  it('keeps the verdict on the gateway whatever strangers try', async () => {
    const { verdictOf, reviews, state } = tokens(GATEWAY)
    await verdictOf('Bearer gateway')
    state.status = STRANGER
    for (let at = 0; at < 600; at += 1) await verdictOf(`Bearer stranger-${at}`)
    expect(await verdictOf('Bearer gateway')).toBe('gateway')
    expect(reviews).toHaveLength(601)
    await verdictOf('Bearer stranger-0')
    expect(reviews).toHaveLength(602)
  })
})
