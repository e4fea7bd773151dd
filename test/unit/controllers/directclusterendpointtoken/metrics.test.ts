import { describe, expect, test } from 'vitest'
import type { DirectClusterEndpointToken } from '../../../../src/api/directclusterendpointtoken.gen.ts'
import {
  TOKEN_STATE_LABELS,
  countTokens,
  lastExpMs,
} from '../../../../src/controllers/directclusterendpointtoken/metrics.ts'
import type { TokenPlanInput } from '../../../../src/controllers/directclusterendpointtoken/facts.ts'
import { plan } from '../../../../src/controllers/directclusterendpointtoken/plan.ts'
import { tokenOf } from '../../../../src/domain/token/token.ts'
import { EventLoopShare } from '../../../../src/runtime/concurrency/event-loop.ts'
import { after, capped, textAfter } from '../../../support/key-builder.ts'
import { manualClock } from '../../../support/manual-clock.ts'
import {
  UNDER_CI,
  issuedObject,
  owner,
  tampered,
  tokenAfter,
  tokenCircumstances,
  tokenObject,
  tokenStore,
  withMetadata,
} from '../../../support/token-builder.ts'

const eventLoop = new EventLoopShare(manualClock(after(0)))

const named = (name: string, object: DirectClusterEndpointToken) =>
  withMetadata(object, { name, uid: name })

function afterNextStep(object: DirectClusterEndpointToken, circumstances: Partial<TokenPlanInput>) {
  const step = plan(tokenOf(object), tokenCircumstances({ isRecorded: true, ...circumstances }))
  return tokenAfter(object, step) ?? object
}

const waiting = { isRecorded: false }
const under = tokenObject({ metadata: UNDER_CI, spec: { scope: { clusters: [{ cluster: 'b' }] } } })

// biome-ignore format: a table
const STATES: readonly { readonly name: string; readonly object: DirectClusterEndpointToken; readonly state: string }[] = [
  { name: 'new', object: tokenObject(), state: 'pending' },
  { name: 'no issuer', object: afterNextStep(tokenObject(), { ...waiting, issuer: null }), state: 'pending' },
  { name: 'no signing key', object: afterNextStep(tokenObject(), { ...waiting, signing: null }), state: 'pending' },
  { name: 'no owner', object: afterNextStep(under, { ...waiting, nowMs: after(9) }), state: 'pending' },
  { name: 'issued', object: issuedObject(), state: 'issued' },
  { name: 'issued, capped', object: issuedObject({}, capped(60)), state: 'issued' },
  { name: 'expired', object: afterNextStep(issuedObject(), { nowMs: after(86_400) }), state: 'expired' },
  { name: 'revoked', object: afterNextStep(issuedObject(), { isKeyWithdrawn: true }), state: 'revoked' },
  { name: 'scope exceeds its owner', object: afterNextStep(under, { ...waiting, owner: owner({ scope: { clusters: [{ cluster: 'a' }] } }) }), state: 'refused' },
  { name: 'scope too large', object: afterNextStep(tokenObject({ spec: { scope: { clusters: [{ cluster: 'x'.repeat(8000) }] } } }), waiting), state: 'refused' },
  { name: 'being deleted', object: withMetadata(issuedObject(), { deletionTimestamp: textAfter(1) }), state: 'terminating' },
]

describe('platform_tokens{state} (8.4)', () => {
  test.each(STATES)('$name: $state', async ({ object, state }) => {
    const { byState } = await countTokens(tokenStore(object), after(0), eventLoop)
    expect(byState).toEqual({ [state]: 1 })
  })

  test('counts all states, and capped tokens', async () => {
    const store = tokenStore(...STATES.map(({ name, object }) => named(name, object)))
    const counts = await countTokens(store, after(0), eventLoop)
    expect(counts).toEqual({
      byState: { pending: 4, issued: 2, expired: 1, revoked: 1, refused: 2, terminating: 1 },
      capped: 1,
      overdue: { count: 0, longestMs: 0 },
    })
    expect(Object.keys(counts.byState).toSorted()).toEqual(TOKEN_STATE_LABELS.toSorted())
  })
})

/** An issued token, signed by this key. */
function signed(name: string, ttl: number, kid: string): DirectClusterEndpointToken {
  const object = tokenObject({ metadata: { name, uid: name }, spec: { ttl } })
  return tokenAfter(object, plan(tokenOf(object), tokenCircumstances()), kid) ?? object
}

describe('overdue tokens: still issued after their end (8.4)', () => {
  const store = tokenStore(
    signed('day', 86_400, 'kid-1'),
    signed('hour', 3600, 'kid-1'),
    afterNextStep(signed('expired', 3600, 'kid-1'), { nowMs: after(3600) }),
    withMetadata(signed('terminating', 3600, 'kid-1'), { deletionTimestamp: textAfter(1) }),
    named('new', tokenObject()),
  )
  test.each([
    { name: 'none', nowMs: after(3600) - 1, overdue: { count: 0, longestMs: 0 } },
    { name: 'one, at its end', nowMs: after(3600), overdue: { count: 1, longestMs: 0 } },
    {
      name: 'one, a minute after its end',
      nowMs: after(3660),
      overdue: { count: 1, longestMs: 60_000 },
    },
    { name: 'two', nowMs: after(86_401), overdue: { count: 2, longestMs: 82_801_000 } },
  ])('$name', async ({ nowMs, overdue }) => {
    expect(await countTokens(store, nowMs, eventLoop)).toMatchObject({ overdue })
  })
})

describe('the latest exp of the tokens of a signing key (7.3)', () => {
  const store = tokenStore(
    signed('a', 60, 'kid-1'),
    signed('b', 600, 'kid-1'),
    signed('c', 90, 'kid-1'),
    signed('d', 3600, 'kid-2'),
    afterNextStep(signed('e', 30, 'kid-3'), { nowMs: after(30) }),
    tampered(signed('f', 30, 'kid-4'), { token: 'x.y.z' }),
    tokenObject({ metadata: { name: 'g', uid: 'g' } }),
  )
  test.each([
    { name: 'three tokens', kid: 'kid-1', lastMs: after(600) },
    { name: 'one token', kid: 'kid-2', lastMs: after(3600) },
    { name: 'one ended token', kid: 'kid-3', lastMs: null },
    { name: 'one damaged token', kid: 'kid-4', lastMs: null },
    { name: 'no token', kid: 'kid-5', lastMs: null },
  ])('$name', ({ kid, lastMs }) => {
    expect(lastExpMs(store, kid)).toBe(lastMs)
  })
})
