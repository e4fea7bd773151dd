import { describe, expect, test } from 'vitest'
import {
  NORMAL_REASONS,
  secretChangedOf,
  transitionsOf,
} from '../../../../src/delivery/claims/announce.ts'
import type { DeliveryFault } from '../../../../src/delivery/claims/facts.ts'
import { statusOf } from '../../../../src/delivery/claims/status.ts'
import { keyIdOf } from '../../../../src/domain/accesskey/access-key.ts'
import {
  type FactsParts,
  KEY,
  atRest,
  claimFacts,
  claimKey,
  claimToken,
  publishedOf,
} from '../../../support/delivery/claim-facts.ts'
import { after } from '../../../support/key-builder.ts'

const NEXT = claimKey('next', { createdAt: 5 })
const rotated: FactsParts = { keys: [KEY, NEXT], secret: { keyID: keyIdOf(NEXT) } }
const faulty = (reason: DeliveryFault['reason']): FactsParts => ({
  fault: { reason, message: `${reason} is so.`, generation: 1, failures: 1, retryMs: after(20) },
})
const nothing: FactsParts = { published: {}, keys: [], secret: 'missing' }
const owner = claimKey('key', { delivers: 'Token' })
const withToken: FactsParts = {
  claim: { spec: { token: {} } },
  keys: [owner],
  tokens: [claimToken('token')],
  secret: { token: 'token' },
}
const slow: FactsParts = {
  attempt: {
    cause: 'due',
    isTokenOnly: false,
    startedMs: after(4),
    key: { name: 'new', uid: 'uid-new', plaintext: 'plaintext', isSeen: true },
    token: null,
    readySinceMs: null,
  },
}

function eventsOf(parts: FactsParts) {
  const facts = claimFacts(parts)
  return transitionsOf(facts, statusOf(facts))
}
const reasonsOf = (parts: FactsParts) => eventsOf(parts).map(({ reason }) => reason)
const published = publishedOf({})

describe('Events report transitions (28.7)', () => {
  // biome-ignore format: a table
  test.each<FactsParts & { readonly name: string; readonly reasons: readonly string[] }>([
    { name: 'the first delivery', published: {}, reasons: ['Delivered'] },
    { name: 'a rotation', published, ...rotated, reasons: ['Rotated'] },
    { name: 'a rotation of a token', ...withToken, published: publishedOf(withToken), tokens: [claimToken('token'), claimToken('fresh')], secret: { token: 'fresh' }, reasons: ['Rotated'] },
    { name: 'nothing at rest', published, reasons: [] },
    { name: 'no delivery of a token that was deleted', ...withToken, published: publishedOf(withToken), tokens: [], reasons: [] },
    { name: 'no failure of a change that waits for its time', published, claim: { metadata: { generation: 2 } }, secret: { template: 'other' }, reasons: [] },
    { name: 'no delivery of a suspended token that was deleted', ...withToken, published: publishedOf(withToken), tokens: [], claim: { spec: { token: {}, suspend: true } }, reasons: [] },
    { name: 'a missing right', ...nothing, ...faulty('DeliveryForbidden'), reasons: ['DeliveryForbidden'] },
    { name: 'the Secret of others', ...nothing, ...faulty('SecretTaken'), reasons: ['SecretTaken'] },
    { name: 'a refused Secret', ...nothing, ...faulty('SecretRefused'), reasons: ['SecretRefused'] },
    { name: 'a refusal of a rotation', published, ...faulty('SecretRefused'), reasons: ['SecretRefused', 'RotationFailed'] },
    { name: 'a refusal that status has already', published: publishedOf({ published, ...faulty('SecretRefused') }), ...faulty('SecretRefused'), reasons: [] },
    { name: 'another refusal', published: publishedOf({ published, ...faulty('SecretRefused') }), ...faulty('SecretTaken'), reasons: ['SecretTaken', 'RotationFailed'] },
    { name: 'a rotation that takes too long', published, ...slow, keys: [KEY], secret: { template: 'other' }, reasons: ['RotationFailed'] },
    { name: 'no rotation that takes too long while the elder works', published, ...slow, reasons: [] },
    { name: 'no refusal by the claim itself', published, caps: { maxTtlSeconds: 60, loginTtlSeconds: null }, reasons: [] },
    { name: 'no suspension', published, keys: [], claim: { spec: { suspend: true } }, reasons: [] },
  ])('$name', ({ reasons, ...parts }) => {
    expect(reasonsOf(parts)).toEqual(reasons)
  })

  test('say what was delivered, and never what a Secret holds', () => {
    const [event] = eventsOf({ published, ...rotated })
    expect(event?.note).toBe(
      `Secret deploy has key ${keyIdOf(NEXT)}, which works until 2026-12-21T10:00:05Z.`,
    )
    const [ofToken] = eventsOf({ ...withToken, published: {} })
    expect(ofToken?.note).toBe(
      `Secret deploy has token token of key ${keyIdOf(owner)}, which works until 2026-11-22T10:00:00Z.`,
    )
  })

  test('have one name for one transition, also after a crash before the status was written', () => {
    const parts = { published, ...rotated }
    const later = { ...parts, nowMs: after(50) }
    expect(eventsOf(parts)[0]?.discriminator).toBe(eventsOf(later)[0]?.discriminator)
    const other = {
      published,
      keys: [KEY, claimKey('third')],
      secret: { keyID: keyIdOf(claimKey('third')) },
    }
    expect(eventsOf(parts)[0]?.discriminator).not.toBe(eventsOf(other)[0]?.discriminator)
  })

  test('are warnings but for a delivery and a rotation', () => {
    expect(NORMAL_REASONS).toEqual(['Delivered', 'Rotated'])
  })
})

describe('Event SecretChanged (28.4)', () => {
  test.each<FactsParts & { readonly name: string; readonly note: string | undefined }>([
    { name: 'a deleted Secret', secret: 'missing', note: 'it was deleted by others' },
    {
      name: 'changed data',
      secret: { dataDigest: 'other' },
      note: 'its data were changed by others',
    },
    { name: 'a first delivery', published: {}, secret: 'missing', keys: [], note: undefined },
    { name: 'a deleted key', keys: [], note: undefined },
    { name: 'nothing at rest', note: undefined },
  ])('$name', ({ note, ...parts }) => {
    const event = secretChangedOf(atRest(parts))
    expect(event === null ? null : event.reason).toBe(note === undefined ? null : 'SecretChanged')
    expect(event?.note ?? '').toContain(note ?? '')
  })

  test('is one for one change: the same until another credential is delivered', () => {
    const [first, again] = [
      secretChangedOf(atRest({ secret: 'missing' })),
      secretChangedOf(atRest({ secret: 'missing', nowMs: after(60) })),
    ]
    expect(first?.discriminator).toBe(again?.discriminator)
  })
})
