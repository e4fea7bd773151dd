// How many keys and tokens a user may have by self-service (contract 12.2).
import { describe, expect, test } from 'vitest'
import { ACCESS_KEYS, TOKENS } from '../../../../src/api/names.ts'
import type { OwnedAccessKey } from '../../../../src/api/ownedaccesskey.gen.ts'
import { createTokenIndex } from '../../../../src/authn/credential-index.ts'
import type { JsonMap } from '../../../../src/domain/json/json.ts'
import { create } from '../../../../src/gateway/selfservice/create.ts'
import { createQuota } from '../../../../src/gateway/selfservice/quota.ts'
import type { UpstreamCall } from '../../../../src/kube/proxy/types.ts'
import { t0, textAfter } from '../../../support/key-builder.ts'
import { manualClock } from '../../../support/manual-clock.ts'
import { indexOf, key, ownedBy } from '../../authn/test-authenticator.ts'
import { exchangeOf } from './self-service-request.ts'

type Place = ReturnType<ReturnType<typeof createQuota>['take']>

const HOUR = 3600
const ADA = 'user:ada'

function started(...all: readonly OwnedAccessKey[]) {
  const clock = manualClock(t0 + HOUR * 1000)
  const keys = indexOf(...all)
  const tokens = createTokenIndex(keys, () => clock.nowMs())
  const caps = () => ({ maxTtlSeconds: null, loginTtlSeconds: null })
  const counts = createQuota({ keys, tokens, limits: { keys: 3, tokens: 2 }, caps, clock })
  return { clock, keys, tokens, counts, caps }
}

const live = (name: string): OwnedAccessKey => key(name)
const ended = (name: string, after: number): OwnedAccessKey => key(name, { ttl: after })

/** Status code and message; empty when admitted. */
function saidOf(place: Place): string {
  if (place.ok) return ''
  const { status, body } = place.answer
  return `${status} ${(JSON.parse(body.toString()) as { message: string }).message}`
}

describe('the quota of keys of a user (12.2)', () => {
  test('admits keys up to the bound, however they were created', () => {
    const { counts } = started(live('a'), live('b'), key('c', { user: 'bob' }))
    expect(saidOf(counts.take(ACCESS_KEYS, ADA))).toBe('')
    const said = saidOf(counts.take(ACCESS_KEYS, ADA))
    expect(said).toContain(
      '403 this user has 3 access keys that have not ended, and the limit is 3 (--max-keys-per-user)',
    )
    expect(said).toContain('--max-keys-per-user')
    expect(saidOf(counts.take(ACCESS_KEYS, 'user:bob'))).toBe('')
  })

  test('counts disabled keys, but not those that ended or are being deleted', () => {
    const deletionTimestamp = textAfter(0)
    const { counts } = started(
      ended('a', 60),
      key('b', {}, { metadata: { name: 'b', deletionTimestamp, finalizers: ['x'] } }),
      key('c', { disabled: true }),
      live('d'),
    )
    expect(saidOf(counts.take(ACCESS_KEYS, ADA))).toBe('')
    expect(saidOf(counts.take(ACCESS_KEYS, ADA))).toContain('has 3 access keys')
  })

  test('neither counts nor deletes keys of claims (28.8, 37)', () => {
    const labels = { 'management.platform.sh/claim': 'uid-deploy' }
    const ofClaim = (name: string, ttl: number) =>
      key(name, { ttl }, { metadata: { name, labels } })
    const claimed = ['e', 'f', 'g', 'h'].map((name) => ofClaim(name, 1))
    const { counts } = started(live('a'), live('b'), ofClaim('c', 2 * HOUR), ...claimed)
    const place = counts.take(ACCESS_KEYS, ADA)
    expect(place.ok && place.beyond()).toEqual([])
    expect(saidOf(counts.take(ACCESS_KEYS, ADA))).toContain('has 3 access keys')
  })

  test('counts a key under creation once, until the watch shows it or the creation fails', async () => {
    const { counts, keys } = started(live('a'), live('b'))
    const first = counts.take(ACCESS_KEYS, ADA)
    if (!first.ok) throw new Error('there is a place')
    first.leave()
    const second = counts.take(ACCESS_KEYS, ADA)
    if (!second.ok) throw new Error('there is a place again')
    second.stored({ name: 'c', uid: 'uid-c' })
    second.leave()
    expect(saidOf(counts.take(ACCESS_KEYS, ADA)), 'before the watch shows it').not.toBe('')
    keys.store.put(live('c'))
    expect(saidOf(counts.take(ACCESS_KEYS, ADA)), 'after the watch has shown it').toContain(
      'has 3 access keys',
    )
    keys.store.remove({ ...live('c'), metadata: { ...live('c').metadata, resourceVersion: '99' } })
    expect(saidOf(counts.take(ACCESS_KEYS, ADA)), 'deleted since').toBe('')
  })

  test('counts a key once when the watch is faster than the response, and not after its deletion', () => {
    const { counts, keys } = started(live('a'), live('b'))
    const place = counts.take(ACCESS_KEYS, ADA)
    if (!place.ok) throw new Error('there is a place')
    keys.store.put(live('c'))
    place.stored({ name: 'c', uid: 'uid-c' })
    place.leave()
    expect(saidOf(counts.take(ACCESS_KEYS, ADA))).toContain('has 3 access keys')
    keys.store.remove({ ...live('c'), metadata: { ...live('c').metadata, resourceVersion: '99' } })
    expect(saidOf(counts.take(ACCESS_KEYS, ADA))).toBe('')
  })

  test('counts a key for 10 s that the watch never delivers', async () => {
    const { clock, counts } = started(live('a'), live('b'))
    const place = counts.take(ACCESS_KEYS, ADA)
    if (!place.ok) throw new Error('there is a place')
    place.stored({ name: 'c', uid: 'uid-c' })
    place.leave()
    await clock.advance(9_999)
    expect(saidOf(counts.take(ACCESS_KEYS, ADA))).not.toBe('')
    await clock.advance(2)
    expect(saidOf(counts.take(ACCESS_KEYS, ADA))).toBe('')
  })

  test.each([
    { name: 'ended key is not revived', before: 60, after: 2 * HOUR, refused: true },
    { name: 'ended key that stays ended is changed', before: 60, after: 120, refused: false },
    {
      name: 'valid key gets a longer life',
      before: 2 * HOUR,
      after: 3 * HOUR,
      refused: false,
    },
  ])('decides on a change at the bound by its effect: $name', ({ before, after, refused }) => {
    const { counts } = started(live('a'), live('b'), live('c'))
    const json = (ttl: number): JsonMap => key('d', { ttl }) as unknown as JsonMap
    const said = counts.revivalRefusal(ADA, json(before), json(after))
    expect(said?.status ?? null).toBe(refused ? 403 : null)
    const below = started(live('a')).counts.revivalRefusal(ADA, json(before), json(after))
    expect(below).toBeNull()
  })

  test('keeps a number of ended keys, and deletes the oldest above it', () => {
    const { counts } = started(...[5, 1, 4, 2, 3].map((after) => ended(`ended-${after}`, after)))
    const place = counts.take(ACCESS_KEYS, ADA)
    expect(place.ok && place.beyond().map(({ name }) => name)).toEqual(['ended-1', 'ended-2'])
  })

  test('keeps ended keys that a GitOps tool would recreate', () => {
    const annotations = { 'argocd.argoproj.io/tracking-id': 'x' }
    const { counts } = started(
      key('a', { ttl: 1 }, { metadata: { name: 'a', annotations } }),
      ...[2, 3, 4, 5].map((after) => ended(`ended-${after}`, after)),
    )
    const place = counts.take(ACCESS_KEYS, ADA)
    expect(place.ok && place.beyond().map(({ name }) => name)).toEqual(['ended-2'])
  })
})

describe('the quota of tokens of a user (12.2)', () => {
  const token = (name: string, endsAfter: number, version = 1) => ({
    apiVersion: 'management.platform.sh/v1',
    kind: TOKENS.kind,
    metadata: {
      ...ownedBy('ci').metadata,
      name,
      uid: `uid-${name}`,
      resourceVersion: String(version),
      creationTimestamp: textAfter(0),
    },
    status: { expirationTimestamp: textAfter(endsAfter) },
  })

  test('admits no token before the informer knows the existing ones', () => {
    const { counts } = started(live('ci'))
    expect(saidOf(counts.take(TOKENS, ADA))).toContain('503')
  })

  test('counts deleted tokens until their exp', async () => {
    const { clock, counts, tokens } = started(live('ci'))
    tokens.store.begin()
    for (const name of ['a', 'b']) tokens.store.put(token(name, 2 * HOUR))
    tokens.store.end()
    tokens.store.remove(token('a', 2 * HOUR, 2))
    const said = saidOf(counts.take(TOKENS, ADA))
    expect(said).toContain('403 this user, team or subject has 2 tokens that have not ended')
    expect(said).toContain('the limit is 2 (--max-tokens-per-user)')
    await clock.advance(HOUR * 1000)
    expect(saidOf(counts.take(TOKENS, ADA))).toBe('')
  })

  test('counts a token once that is deleted right after its creation', () => {
    const { counts, tokens } = started(live('ci'))
    tokens.store.begin()
    tokens.store.end()
    const place = counts.take(TOKENS, ADA)
    if (!place.ok) throw new Error('there is a place')
    place.stored({ name: 'a', uid: 'uid-a' })
    place.leave()
    tokens.store.put(token('a', 2 * HOUR))
    tokens.store.remove(token('a', 2 * HOUR, 2))
    expect(saidOf(counts.take(TOKENS, ADA))).toBe('')
  })
})

describe('a create (12.2)', () => {
  const stored = (call: UpstreamCall, asked: string[]): readonly [number, JsonMap] => {
    const { method, path, body } = call
    asked.push(
      `${method} ${path.split('?')[0]?.split('/').at(-1)}${path.includes('dryRun') ? ' tried' : ''}`,
    )
    const sent = JSON.parse((body as Buffer).toString()) as JsonMap
    if (method === 'DELETE') return [200, { kind: 'Status', status: 'Success' }]
    const metadata = { ...(sent['metadata'] as JsonMap), name: 'new', uid: 'uid-new' }
    return [method === 'POST' ? 201 : 200, { ...sent, kind: 'OwnedAccessKey', metadata }]
  }

  async function made(...all: readonly OwnedAccessKey[]) {
    const { clock, counts, caps } = started(...all)
    const asked: string[] = []
    const body = { type: 'application/json', json: { metadata: { name: 'new' }, spec: {} } }
    const exchange = exchangeOf(
      { verb: 'create', name: '', body, answers: (call) => stored(call, asked) },
      { type: 'Login' },
    )
    const { status } = await create(exchange, { caps, clock, counts, newKey: () => 'x' })
    return { status, asked }
  }

  test('sends nothing to the API server beyond the bound', async () => {
    expect(await made(live('a'), live('b'), live('c'))).toEqual({ status: 403, asked: [] })
  })

  test('deletes ended keys above the number to keep within the bound', async () => {
    const { status, asked } = await made(
      live('a'),
      ...[4, 1, 3, 2].map((after) => ended(`ended-${after}`, after)),
    )
    expect(status).toBe(201)
    expect(asked.filter((one) => one.startsWith('DELETE'))).toEqual(['DELETE ended-1'])
  })
})
