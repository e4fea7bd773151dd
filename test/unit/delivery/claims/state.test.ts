import { describe, expect, test } from 'vitest'
import { REASONS } from '../../../../src/api/reasons.ts'
import type { DeliveryAttempt } from '../../../../src/delivery/claims/attempt.ts'
import type { ClaimFault, DeliveryFault } from '../../../../src/delivery/claims/facts.ts'
import { obstacleOf, stateOf } from '../../../../src/delivery/claims/state.ts'
import { isPublished, statusOf } from '../../../../src/delivery/claims/status.ts'
import { keyIdOf } from '../../../../src/domain/accesskey/access-key.ts'
import {
  type FactsParts,
  KEY,
  REST,
  atRest,
  claimFacts,
  claimKey,
  claimToken,
} from '../../../support/delivery/claim-facts.ts'
import { after, textAfter } from '../../../support/key-builder.ts'

const spec = (fields: object): FactsParts => ({ claim: { spec: fields } })
const faulty = (reason: ClaimFault['reason']): DeliveryFault => ({
  reason,
  message: `${reason} is so.`,
  generation: 1,
  failures: 1,
  retryMs: after(20),
})
const attempt: DeliveryAttempt = {
  cause: 'due',
  isTokenOnly: false,
  startedMs: after(4),
  key: { name: 'new', uid: 'uid-new', plaintext: 'plaintext', isSeen: true },
  token: null,
  readySinceMs: null,
}
const disabled = claimKey('key', { reason: 'Disabled', spec: { disabled: true } })
const withServer = { secret: { data: { a: '$(SERVER)' } } }
const capped = { maxTtlSeconds: 119, loginTtlSeconds: null }
const ended: FactsParts = { keys: [], secret: {} }

/** Facts for each reason, in the order of 28.7. */
// biome-ignore format: a table
const ROWS: readonly (FactsParts & { readonly reason: string; readonly message: RegExp })[] = [
  { reason: 'Terminating', claim: { metadata: { deletionTimestamp: textAfter(5) } }, message: /being deleted/ },
  { reason: 'NamespaceRefused', placeFault: faulty('NamespaceRefused'), message: /is so/ },
  { reason: 'TooManyClaims', placeFault: faulty('TooManyClaims'), message: /is so/ },
  { reason: 'GatewayUnknown', claim: { spec: withServer }, server: null, message: /platformHost.*--gateway-url/ },
  { reason: 'LifetimeTooShort', caps: capped, message: /accessKeyMaxTTLSeconds.*119 s.*at least 120/ },
  { reason: 'DeliveryForbidden', fault: faulty('DeliveryForbidden'), message: /is so/ },
  { reason: 'SecretTaken', fault: faulty('SecretTaken'), message: /is so/ },
  { reason: 'SecretRefused', fault: faulty('SecretRefused'), message: /is so/ },
  { reason: 'KeyDisabled', keys: [disabled], message: /key was disabled.*rotate/ },
  { reason: 'KeyNotReady', keys: [claimKey('key', { reason: 'UserDisabled' })], message: /^Access key key: It is UserDisabled/ },
  { reason: 'Suspended', claim: { spec: { suspend: true } }, ...ended, message: /spec\.suspend/ },
  { reason: 'Pending', ...ended, message: /being made\.$/ },
  { reason: 'Delivered', message: /^Secret deploy has a key that works until 2026-12-21T10:00:00Z and is replaced 2026-12-09T/ },
]

describe('the reasons of Ready (28.7)', () => {
  test.each(ROWS)('$reason', ({ reason, message, ...parts }) => {
    const state = stateOf(atRest(parts))
    expect(state.state).toBe(reason)
    expect(state.message).toMatch(message)
  })

  test('are all in the table, in the order in which the first counts', () => {
    const [delivered, ...others] = REASONS.claimReady
    expect(ROWS.map(({ reason }) => reason)).toEqual([...others, delivered])
  })

  // Only pairs whose facts can hold together: a claim has one place and one fault.
  const pairs = ROWS.slice(0, -1).flatMap((first, at) =>
    ROWS.slice(at + 1, -1)
      .filter(
        (second) =>
          !Object.keys(second).some(
            (part) => part in first && !['reason', 'message', 'claim'].includes(part),
          ),
      )
      .map((second) => ({ first, second })),
  )
  test.each(pairs)('$first.reason comes before $second.reason', ({ first, second }) => {
    const metadata = { ...second.claim?.metadata, ...first.claim?.metadata }
    const claim = { metadata, spec: { ...second.claim?.spec, ...first.claim?.spec } }
    expect(stateOf(atRest({ ...second, ...first, claim })).state).toBe(first.reason)
  })

  test('pairs are most of the table', () => {
    expect(pairs.length).toBeGreaterThan(45)
  })
})

describe('what each reason needs (28.4, 28.5, 28.7)', () => {
  const token = spec({ token: {} })
  const owner = claimKey('key', { delivers: 'Token' })
  const held: FactsParts = { ...token, keys: [owner], secret: { token: 'token' } }
  // biome-ignore format: a table
  test.each<FactsParts & { readonly name: string; readonly reason: string }>([
    { name: 'the gateway may be unknown where nothing needs it', server: null, reason: 'Delivered' },
    { name: 'or where only its authority is asked for', ...spec({ secret: { data: { ca: '$(CA_DATA)' } } }), server: null, reason: 'Delivered' },
    { name: 'a kubeconfig needs it', ...spec({ secret: { data: { k: '$(KUBECONFIG)' } } }), server: null, reason: 'GatewayUnknown' },
    { name: '120 s are not too short', caps: { maxTtlSeconds: 120, loginTtlSeconds: null }, reason: 'Delivered' },
    { name: 'the cap for logins says nothing of claims', caps: { maxTtlSeconds: null, loginTtlSeconds: 60 }, reason: 'Delivered' },
    { name: 'a suspended claim is delivered while its key works', ...spec({ suspend: true }), reason: 'Delivered' },
    { name: 'and suspended when it has ended', ...spec({ suspend: true }), nowMs: after(2_592_000), reason: 'Suspended' },
    { name: 'a key that has ended is pending', nowMs: after(2_592_000), reason: 'Pending' },
    { name: 'a key is good until then', nowMs: after(2_591_999), reason: 'Delivered' },
    { name: 'a changed Secret is pending', secret: { dataDigest: 'other' }, reason: 'Pending' },
    { name: 'another identity is pending', ...spec({ key: { user: 'ada' } }), reason: 'Pending' },
    { name: 'a token instead is pending', ...token, reason: 'Pending' },
    { name: 'another template is pending', secret: { template: 'other' }, reason: 'Pending' },
    { name: 'what is due still works', nowMs: after(2_000_000), reason: 'Delivered' },
    { name: 'a token that works is delivered', ...held, tokens: [claimToken('token')], reason: 'Delivered' },
    { name: 'a token that has ended is pending', ...held, tokens: [claimToken('token')], nowMs: after(86_400), reason: 'Pending' },
    { name: 'a token that is gone is pending', ...held, reason: 'Pending' },
    { name: 'a token that may nothing is not ready', ...held, tokens: [claimToken('token', { reason: 'ScopeExceedsOwner' })], reason: 'KeyNotReady' },
    { name: 'a token of a key that is not good', ...held, keys: [claimKey('key', { reason: 'TeamGone', delivers: 'Token' })], tokens: [claimToken('token')], reason: 'KeyNotReady' },
    { name: 'a first key whose user is disabled is not ready', keys: [claimKey('new', { reason: 'UserDisabled' })], secret: 'missing', published: {}, attempt, reason: 'KeyNotReady' },
    { name: 'the elder of a key that is not ready goes on', keys: [KEY, claimKey('new', { reason: 'UserDisabled' })], attempt, reason: 'Delivered' },
    ...['Pending', 'Expired', 'Terminating', ''].map((reason) => ({ name: `reason "${reason}" of the key passes by itself`, keys: [claimKey('key', { reason })], reason: 'Delivered' })),
  ])('$name', ({ reason, ...parts }) => {
    expect(stateOf(atRest(parts)).state).toBe(reason)
  })

  test('a slow attempt says where to look (28.7)', () => {
    const slow = { ...ended, attempt, nowMs: after(9) }
    expect(stateOf(atRest(slow)).message).toContain('see whether the manager runs')
    expect(stateOf(atRest({ ...slow, nowMs: after(8) })).message).not.toContain('manager')
  })

  test('only the gateway and the lifetime keep a credential from being made (28.5)', () => {
    const found = ROWS.filter((parts) => obstacleOf(atRest(parts)) !== null)
    expect(found.map(({ reason }) => reason)).toEqual(['GatewayUnknown', 'LifetimeTooShort'])
  })
})

describe('the conditions (4.1 to 4.4, 28.7)', () => {
  test.each(ROWS)('a claim with reason $reason has these', ({ reason, ...parts }) => {
    const { conditions } = statusOf(atRest(parts))
    const [ready, stalled] = conditions
    expect(ready).toMatchObject({
      type: 'Ready',
      reason,
      status: reason === 'Delivered' ? 'True' : 'False',
    })
    const isStalled = [
      'NamespaceRefused',
      'LifetimeTooShort',
      'SecretTaken',
      'KeyDisabled',
    ].includes(reason)
    expect(stalled).toEqual(isStalled ? { ...ready, type: 'Stalled', status: 'True' } : undefined)
  })

  test('have the generation and the time of their change', () => {
    const generation = { metadata: { generation: 7 } }
    const status = statusOf(atRest({ claim: generation }))
    expect(status.observedGeneration).toBe(7)
    expect(status.conditions).toMatchObject([
      { observedGeneration: 7, lastTransitionTime: textAfter(2) },
    ])
    const disabledNow = statusOf(atRest({ keys: [disabled] }))
    expect(disabledNow.conditions.map((one) => one.lastTransitionTime)).toEqual([
      textAfter(10),
      textAfter(10),
    ])
  })
})

describe('the fields of status (28.7)', () => {
  test('a delivered key has these', () => {
    expect(REST).toMatchObject({
      key: { name: 'key', keyID: keyIdOf(KEY), expirationTimestamp: '2026-12-21T10:00:00Z' },
      expirationTimestamp: '2026-12-21T10:00:00Z',
      identity: 'subject:claim:shop:deploy',
      lastRotation: textAfter(2),
      secretName: 'deploy',
      secretDigest: 'digest',
    })
    for (const absent of ['previous', 'token', 'lastRotate'])
      expect(REST).not.toHaveProperty(absent)
  })

  test('a delivered token has the sooner end of its own and of its key', () => {
    const owner = claimKey('key', { delivers: 'Token' })
    const parts: FactsParts = {
      ...spec({ token: {} }),
      keys: [owner],
      tokens: [claimToken('token')],
      secret: { token: 'token' },
    }
    const { token, expirationTimestamp } = statusOf(claimFacts(parts))
    expect(token).toEqual({ name: 'token', expirationTimestamp: textAfter(86_400) })
    expect(expirationTimestamp).toBe(textAfter(86_400))
    const caps = { maxTtlSeconds: 3600, loginTtlSeconds: null }
    expect(statusOf(claimFacts({ ...parts, caps })).expirationTimestamp).toBe(textAfter(3600))
  })

  test('name the elder with its end by overlap, and not once it has ended (28.5)', () => {
    const elder = claimKey('elder', { createdAt: -100 })
    const parts: FactsParts = { ...spec({ overlap: 60 }), keys: [KEY, elder] }
    const published = { ...REST, previous: { name: 'elder', keyID: '', expirationTimestamp: '' } }
    expect(statusOf(atRest({ ...parts, published })).previous).toEqual({
      name: 'elder',
      keyID: keyIdOf(elder),
      expirationTimestamp: textAfter(62),
    })
    expect(statusOf(atRest({ ...parts, published, nowMs: after(62) }))).not.toHaveProperty(
      'previous',
    )
  })

  test('name the identity that the Secret has, until another is delivered (28.2)', () => {
    expect(statusOf(atRest(spec({ key: { user: 'ada' } }))).identity).toBe(
      'subject:claim:shop:deploy',
    )
    const none: FactsParts = { ...spec({ key: { user: 'ada' } }), keys: [], secret: 'missing' }
    expect(statusOf(claimFacts(none)).identity).toBe('user:ada')
  })

  test('keep the digest of what was delivered, so that a change by others shows until it is mended (28.4)', () => {
    expect(statusOf(atRest({ secret: { dataDigest: 'other' } })).secretDigest).toBe('digest')
    const next = claimKey('next')
    const delivered = { keys: [KEY, next], secret: { keyID: keyIdOf(next), dataDigest: 'other' } }
    expect(statusOf(atRest(delivered)).secretDigest).toBe('other')
  })

  test('stay while the Secret cannot be read, also when its key is due, so that it gets overdue (28.7)', () => {
    const status = statusOf(atRest({ secret: 'unknown', fault: faulty('DeliveryForbidden') }))
    expect(status).toEqual({ ...REST, conditions: status.conditions })
  })

  // biome-ignore format: a table
  test.each<FactsParts & { readonly name: string }>([
    { name: 'is gone', keys: [] },
    { name: 'is disabled', keys: [claimKey('key', { spec: { disabled: true } })] },
    { name: 'has a person who is disabled', keys: [claimKey('key', { reason: 'UserDisabled' })] },
    { name: 'is suspended', ...spec({ suspend: true }) },
  ])('have no next rotation of a key that $name, where the Secret cannot be read', (parts) => {
    const status = statusOf(atRest({ ...parts, secret: 'unknown', fault: faulty('DeliveryForbidden') }))
    expect(status).not.toHaveProperty('nextRotation')
  })

  test('a deleted token moves no time of a delivery (28.7)', () => {
    const owner = claimKey('key', { delivers: 'Token' })
    const parts: FactsParts = { ...spec({ token: {} }), keys: [owner], secret: { token: 'token' } }
    const published = statusOf(
      claimFacts({ ...parts, tokens: [claimToken('token')], nowMs: after(2) }),
    )
    expect(statusOf(claimFacts({ ...parts, published }))).toMatchObject({
      lastRotation: textAfter(2),
    })
  })
})

describe('whether a status is published (4.1)', () => {
  const status = statusOf(atRest())
  const published = { ...status, conditions: status.conditions }
  // biome-ignore format: a table
  test.each([
    { name: 'the same', differing: {}, same: true },
    { name: 'another field', differing: { secretDigest: 'other' }, same: false },
    { name: 'one field more', differing: { lastRotate: 'now' }, same: false },
    { name: 'another generation', differing: { observedGeneration: 2 }, same: false },
    { name: 'another message', differing: { conditions: status.conditions.map((one) => ({ ...one, message: '' })) }, same: false },
    { name: 'Stalled that is over', differing: { conditions: [...status.conditions, { ...status.conditions[0], type: 'Stalled' }] }, same: false },
    { name: 'a condition of others', differing: { conditions: [...status.conditions, { ...status.conditions[0], type: 'Seen' }] }, same: true },
  ])('$name: $same', ({ differing, same }) => {
    expect(isPublished(status, { ...published, ...differing } as never)).toBe(same)
  })
})
