import { describe, expect, test } from 'vitest'
import { ROTATE_ANNOTATION } from '../../../../src/api/names.ts'
import type { DeliveryAttempt } from '../../../../src/delivery/claims/attempt.ts'
import type { DeliveryFault } from '../../../../src/delivery/claims/facts.ts'
import { type ClaimStep, plan } from '../../../../src/delivery/claims/plan.ts'
import { keyIdOf } from '../../../../src/domain/accesskey/access-key.ts'
import { jitterOf } from '../../../../src/domain/claim/rotation.ts'
import {
  CLAIM_UID,
  type FactsParts,
  KEY,
  REST,
  atRest,
  claimFacts,
  claimKey,
  claimToken,
  publishedOf,
} from '../../../support/delivery/claim-facts.ts'
import { after, t0, textAfter } from '../../../support/key-builder.ts'

/** A step in words: what, of whom, and why. */
function said(step: ClaimStep): string {
  switch (step.kind) {
    case 'wait':
      return `wait until ${(step.wakeMs - t0) / 1000}`
    case 'endKey':
      return `end ${step.key.name}: ${step.because}`
    case 'endToken':
      return `end ${step.token.name}: ${step.because}`
    case 'limitKey':
      return `limit ${step.key.name}`
    case 'makeKey':
      return `make a key: ${step.replacement.cause}`
    case 'makeToken':
      return `make a token of ${step.owner.name}: ${step.replacement.cause}`
    case 'deliver':
      return `deliver ${step.token?.name ?? step.key.name}`
    case 'publish':
      return `publish ${step.status.conditions[0]?.reason}`
    case 'nothing':
    case 'adopt':
    case 'release':
    case 'look':
    case 'abandon':
    case 'label':
      return step.kind
    default:
      return step satisfies never
  }
}

const planned = (parts: FactsParts): string => said(plan(atRest(parts)))

const NEW = claimKey('new', { createdAt: 8 })
/** A key is under way: NEW, seen and ready for a second. */
const attempt = (differing: Partial<DeliveryAttempt> = {}): DeliveryAttempt => ({
  cause: 'due',
  isTokenOnly: false,
  startedMs: after(8),
  key: { name: 'new', uid: 'uid-new', plaintext: 'plaintext', isSeen: true },
  token: null,
  readySinceMs: after(9),
  ...differing,
})
const UNSEEN = { name: 'new', uid: 'uid-new', plaintext: 'plaintext', isSeen: false }
const fault: DeliveryFault = {
  reason: 'SecretRefused',
  message: 'A quota.',
  generation: 1,
  failures: 1,
  retryMs: after(12),
}
const spec = (fields: object): FactsParts => ({ claim: { spec: fields } })
const asked = { metadata: { annotations: { [ROTATE_ANNOTATION]: 'now' } } }
const DUE_SECONDS = Math.floor(20 * 86_400 * (1 - jitterOf(CLAIM_UID) / 10))

describe('the steps of a first delivery (28.3)', () => {
  const nothing: FactsParts = { published: {}, keys: [], secret: 'missing' }
  const first = attempt({ cause: 'first' })
  // biome-ignore format: a table
  test.each<FactsParts & { readonly name: string; readonly step: string }>([
    { name: 'the finalizer comes first', claim: { metadata: { finalizers: ['example.com/other'] } }, secret: 'unknown', step: 'adopt' },
    { name: 'then the Secret is read', secret: 'unknown', step: 'look' },
    { name: 'then a key is made', step: 'make a key: first' },
    { name: 'which the watch has to show', attempt: attempt({ cause: 'first', key: UNSEEN, readySinceMs: null }), step: 'wait until 13' },
    { name: 'and which has to be Ready', keys: [claimKey('new', { createdAt: 8, reason: '' })], attempt: attempt({ cause: 'first', readySinceMs: null }), step: 'wait until 13' },
    { name: 'for a second', keys: [NEW], attempt: attempt({ cause: 'first', readySinceMs: after(9) + 1 }), step: 'wait until 10.001' },
    { name: 'and then is delivered', keys: [NEW], attempt: first, step: 'deliver new' },
    { name: 'and then is in the status', keys: [claimKey('key')], secret: {}, step: 'publish Delivered' },
  ])('$name', ({ step, ...parts }) => {
    expect(said(plan(claimFacts({ ...nothing, ...parts })))).toBe(step)
  })

  test('a published status needs no other write: the claim waits until its key is due (28.8)', () => {
    expect(planned({})).toBe(`wait until ${DUE_SECONDS}`)
  })

  test('a claim that is deleted lets its keys go, and then holds up no other (28.6)', () => {
    const metadata = { deletionTimestamp: textAfter(5) }
    expect(planned({ claim: { metadata }, secret: 'unknown' })).toBe('release')
    expect(planned({ claim: { metadata: { ...metadata, finalizers: [] } } })).toBe('nothing')
    const held = { ...metadata, finalizers: ['example.com/hold'] }
    expect(planned({ claim: { metadata: held }, secret: 'unknown' })).toBe('publish Terminating')
  })
})

describe('the steps of a replacement (28.3, 28.5)', () => {
  const old = claimKey('key')
  // biome-ignore format: a table
  test.each<FactsParts & { readonly name: string; readonly step: string }>([
    { name: 'a key is made when it is due', nowMs: after(DUE_SECONDS), step: 'make a key: due' },
    { name: 'not within 30 s of the delivery before', claim: asked, nowMs: after(31), step: 'wait until 32' },
    { name: 'but after them', claim: asked, nowMs: after(32), step: 'make a key: requested' },
    { name: 'not while the gateway is unknown', ...spec({ secret: { data: { a: '$(SERVER)' } } }), secret: { template: 'other' }, server: null, step: 'publish GatewayUnknown' },
    { name: 'not while a Secret could not hold it', dataBytes: 1_048_577, secret: { template: 'other' }, step: 'publish SecretRefused' },
    { name: 'not while a lifetime is too short', secret: { template: 'other', expires: textAfter(119) }, caps: { maxTtlSeconds: 119, loginTtlSeconds: null }, step: 'publish LifetimeTooShort' },
    { name: 'not before a refused write is tried again', secret: { template: 'other' }, nowMs: after(40), fault: { ...fault, retryMs: after(45) }, step: 'publish SecretRefused' },
    { name: 'no attempt goes on after another claim of its identity is asked', ...spec({ key: { user: 'ada' } }), keys: [old, NEW], attempt: attempt(), step: 'abandon' },
    { name: 'no attempt goes on whose key is being deleted', claim: asked, keys: [old, claimKey('new', { deletedAt: 9 })], attempt: attempt(), step: 'abandon' },
    { name: 'no attempt goes on whose key was deleted', claim: asked, keys: [old], attempt: attempt(), step: 'abandon' },
    { name: 'an attempt waits for the watch to show its key', claim: asked, keys: [old], attempt: attempt({ key: UNSEEN, readySinceMs: null }), step: 'wait until 13' },
    { name: 'no attempt goes on that nothing asks for any more', keys: [old, NEW], attempt: attempt(), step: 'abandon' },
    { name: 'no attempt of a suspended claim goes on', claim: { ...asked, spec: { suspend: true } }, keys: [old, NEW], attempt: attempt(), step: 'abandon' },
    { name: 'no key is delivered where a token is asked for now', ...spec({ token: {} }), keys: [old, NEW], attempt: attempt({ cause: 'requested' }), step: 'abandon' },
    { name: 'what is under way is delivered', claim: asked, keys: [old, NEW], attempt: attempt(), step: 'deliver new' },
    { name: 'an attempt waits while its write is refused', claim: asked, keys: [old, NEW], attempt: attempt(), fault, step: 'publish SecretRefused' },
    { name: 'a slow attempt is shown after 5 s', secret: { template: 'other' }, keys: [old, claimKey('new', { reason: '' })], attempt: attempt({ readySinceMs: null }), nowMs: after(13), step: 'publish Pending' },
    { name: 'and not before', secret: { template: 'other' }, keys: [old, claimKey('new', { reason: '' })], attempt: attempt({ readySinceMs: null }), nowMs: after(12), step: 'wait until 13' },
  ])('$name', ({ step, ...parts }) => {
    expect(planned(parts)).toBe(step)
  })
})

describe('the steps for a token (28.3, 28.5)', () => {
  const owner = claimKey('key', { delivers: 'Token' })
  const newOwner = claimKey('new', { createdAt: 8, delivers: 'Token' })
  const token = claimToken('token')
  const parts: FactsParts = {
    ...spec({ token: {} }),
    keys: [owner],
    tokens: [token],
    secret: { token: 'token', expires: textAfter(86_400) },
  }
  const published = publishedOf(parts)
  const seen = (name: string) => ({ name, uid: `uid-${name}`, isSeen: true })
  const underway = { ...attempt(), token: seen('fresh') }
  const both = { claim: { ...asked, spec: { token: {} } }, keys: [owner, newOwner] }
  const only = attempt({
    isTokenOnly: true,
    key: { name: 'key', uid: 'uid-key', plaintext: null, isSeen: true },
    token: seen('fresh'),
  })
  // biome-ignore format: a table
  test.each<FactsParts & { readonly name: string; readonly step: string }>([
    { name: 'at rest it waits until the token is due', step: `wait until ${Math.floor(57_600 * (1 - jitterOf(CLAIM_UID) / 10))}` },
    { name: 'a token of the same key', tokens: [], nowMs: after(40), step: 'make a token of key: key_deleted' },
    { name: 'not within 30 s', tokens: [], step: 'publish Pending' },
    { name: 'a key of which a token is made', claim: both.claim, nowMs: after(40), step: 'make a key: requested' },
    { name: 'a token of the new key once it works', ...both, attempt: attempt(), step: 'make a token of new: due' },
    { name: 'no token of a new key before it works', ...both, attempt: attempt({ readySinceMs: null }), step: 'wait until 13' },
    { name: 'no token is delivered before it is issued', ...both, tokens: [token, claimToken('fresh', { owner: 'new', reason: 'Pending' })], attempt: underway, step: 'wait until 13' },
    { name: 'it is delivered once it is issued', ...both, tokens: [token, claimToken('fresh', { owner: 'new' })], attempt: underway, step: 'deliver fresh' },
    { name: 'also under the same key', tokens: [claimToken('fresh', { createdAt: 9 })], attempt: only, step: 'deliver fresh' },
    { name: 'no token of another scope than is asked for now', ...both, claim: { ...asked, spec: { token: { scope: {} } } }, tokens: [token, claimToken('fresh', { owner: 'new' })], attempt: underway, step: 'abandon' },
    { name: 'no token goes on where a key is asked for', claim: { ...asked, spec: { token: {} } }, tokens: [token, claimToken('fresh', { createdAt: 9 })], attempt: only, step: 'abandon' },
    { name: 'a token under way that was revoked is made again', ...both, tokens: [token, claimToken('fresh', { owner: 'new', reason: 'Revoked' })], attempt: underway, step: 'abandon' },
    { name: 'a token under way that has expired is made again', ...both, tokens: [token, claimToken('fresh', { owner: 'new', reason: 'Expired' })], attempt: underway, step: 'abandon' },
    { name: 'a token under way that is being deleted is made again', ...both, tokens: [token, claimToken('fresh', { owner: 'new', deletedAt: 9 })], attempt: underway, step: 'abandon' },
    { name: 'a token under way that was deleted is made again', ...both, attempt: underway, step: 'abandon' },
    { name: 'a token that the watch has not shown is waited for', ...both, attempt: { ...underway, token: { ...seen('fresh'), isSeen: false } }, step: 'wait until 13' },
    { name: 'a token that the watch has not shown in two minutes was deleted', ...both, attempt: { ...underway, token: { ...seen('fresh'), isSeen: false } }, nowMs: after(128), step: 'abandon' },
    { name: 'an elder token ends 5 s after its own end', tokens: [claimToken('old', { createdAt: -86_380 }), token], nowMs: after(25), step: 'end old: replaced' },
    { name: 'and is left to the manager until then', tokens: [claimToken('old', { createdAt: -86_380 }), token], nowMs: after(24), step: 'wait until 25' },
    { name: 'the second elder token ends at once', tokens: [claimToken('old', { createdAt: -20 }), claimToken('older', { createdAt: -30 }), token], step: 'end older: replaced' },
    { name: 'a token that this process gave up ends at once', tokens: [token, claimToken('stray', { createdAt: 9 })], abandoned: new Set(['uid-stray']), step: 'end stray: stray' },
    { name: 'and one of the key under way, whose making was not answered', keys: [owner, newOwner], tokens: [token, claimToken('stray', { owner: 'new', createdAt: 9 })], attempt: attempt({ cause: 'requested' }), claim: { ...asked, spec: { token: {} } }, step: 'end stray: stray' },
    { name: 'one of another process is left to it', tokens: [token, claimToken('stray', { createdAt: 9 })], step: 'wait until 19' },
    { name: 'for ten seconds', tokens: [token, claimToken('stray', { createdAt: 9 })], nowMs: after(19), step: 'end stray: stray' },
    { name: 'and no other is made meanwhile', tokens: [claimToken('stray', { createdAt: 30 })], nowMs: after(35), step: 'publish Pending' },
  ])('$name', ({ step, ...differing }) => {
    expect(planned({ ...parts, published, ...differing })).toBe(step)
  })
})

describe('the steps for elders and strays (28.3, 28.5)', () => {
  const key = claimKey('key', { createdAt: 0 })
  const elder = claimKey('elder', { createdAt: -100 })
  const eldest = claimKey('eldest', { createdAt: -200 })
  const named = (overlap?: number): FactsParts => {
    const parts: FactsParts = {
      ...spec(overlap === undefined ? {} : { overlap }),
      keys: [key, elder],
    }
    const before = { key: { name: 'elder', keyID: keyIdOf(elder), expirationTimestamp: '' } }
    return { ...parts, published: publishedOf({ ...parts, published: before }) }
  }
  /** Status names the elder still: the Secret has just been written. */
  const justDelivered = {
    published: { ...REST, key: { name: 'elder', keyID: keyIdOf(elder), expirationTimestamp: '' } },
  }
  // biome-ignore format: a table
  test.each<FactsParts & { readonly name: string; readonly step: string }>([
    { name: 'without overlap it works until a second before its own end', ...named(), step: `wait until ${DUE_SECONDS}` },
    { name: 'and ends then', ...named(), nowMs: after(2_592_000 - 101), step: 'end elder: replaced' },
    { name: 'with overlap 0 it ends when the Secret is written', ...named(0), ...justDelivered, step: 'end elder: replaced' },
    { name: 'it ends after the overlap', ...named(60), nowMs: after(62), step: 'end elder: replaced' },
    { name: 'and not before', ...named(60), nowMs: after(61), step: 'wait until 62' },
    { name: 'the eldest of two ends at once', keys: [key, elder, eldest], published: { ...named().published, previous: { name: 'eldest' }, key: { name: 'elder' } }, step: 'end eldest: replaced' },
    { name: 'one that acts as another ends at once', ...named(), keys: [key, claimKey('elder', { spec: { subject: '', user: 'ada' } })], step: 'end elder: replaced' },
    { name: 'one that was delivered as a token ends at once', ...named(), keys: [key, claimKey('elder', { delivers: 'Token' })], step: 'end elder: replaced' },
    { name: 'none ends before its successor is delivered', ...named(0), ...justDelivered, secret: 'missing', keys: [elder], nowMs: after(40), step: 'make a key: secret_changed' },
    { name: 'none ends while the key in the Secret is gone', ...named(0), ...justDelivered, keys: [elder], nowMs: after(40), step: 'make a key: key_deleted' },
    { name: 'none ends while the Secret is not read', ...named(0), ...justDelivered, secret: 'unknown', nowMs: after(40), step: 'look' },
    { name: 'it ends after the overlap also where the Secret cannot be read', ...named(60), secret: 'unknown', fault: { ...fault, reason: 'SecretTaken' }, nowMs: after(62), step: 'end elder: replaced' },
    { name: 'and not before that', ...named(60), secret: 'unknown', fault: { ...fault, reason: 'SecretTaken' }, nowMs: after(61), step: 'publish SecretTaken' },
    { name: 'nor without its successor', ...named(60), keys: [elder], secret: 'unknown', fault: { ...fault, reason: 'SecretTaken' }, nowMs: after(62), step: 'publish SecretTaken' },
    { name: 'a key that this process gave up ends at once', keys: [key, claimKey('stray', { createdAt: 9 })], abandoned: new Set(['uid-stray']), step: 'end stray: stray' },
    { name: 'one of another process is left to it for ten seconds', keys: [key, claimKey('stray', { createdAt: 1 })], step: 'wait until 11' },
    { name: 'also by a clock that is behind', keys: [key, claimKey('stray', { createdAt: 19 })], step: 'wait until 29' },
    { name: 'and ends then', keys: [key, claimKey('stray')], step: 'end stray: stray' },
    { name: 'or where a clock was wrong', keys: [key, claimKey('stray', { createdAt: 300 })], step: 'end stray: stray' },
    { name: 'no other key is made meanwhile', claim: asked, keys: [key, claimKey('stray', { createdAt: 35 })], nowMs: after(40), step: 'wait until 45' },
    { name: 'but not what is under way', claim: asked, keys: [key, NEW], attempt: attempt(), step: 'deliver new' },
    { name: 'and not while the Secret is not read', keys: [key, claimKey('stray')], secret: 'unknown', step: 'look' },
  ])('$name', ({ step, ...parts }) => {
    expect(planned(parts)).toBe(step)
  })
})

describe('the steps for what needs no new credential (28.5)', () => {
  const limits = { key: { ttl: 600 } }
  // biome-ignore format: a table
  test.each<FactsParts & { readonly name: string; readonly step: string }>([
    { name: 'a lifetime reaches the key that works', ...spec(limits), step: 'limit key' },
    { name: 'a scope', ...spec({ key: { scope: {} } }), step: 'limit key' },
    { name: 'a scope that is not asked for any more', keys: [claimKey('key', { spec: { scope: {} } })], step: 'limit key' },
    { name: 'a name to show', ...spec({ key: { displayName: 'CI' } }), step: 'limit key' },
    { name: 'a description', ...spec({ key: { description: 'x' } }), step: 'limit key' },
    { name: 'also of a suspended claim', ...spec({ ...limits, suspend: true }), step: 'limit key' },
    { name: 'not a key that is being deleted', ...spec(limits), keys: [claimKey('key', { deletedAt: 5 })], nowMs: after(40), step: 'make a key: key_deleted' },
    { name: 'also where the Secret cannot be read', ...spec(limits), secret: 'unknown', fault: { ...fault, reason: 'DeliveryForbidden' }, step: 'limit key' },
    { name: 'not again at once when the API server refuses it', ...spec(limits), fault: { ...fault, reason: 'Pending' }, step: 'publish Pending' },
    { name: 'the key under way', ...spec(limits), keys: [claimKey('key', { spec: { ttl: 600 } }), NEW], attempt: attempt(), step: 'limit new' },
    { name: 'labels of the Secret', ...spec({ secret: { labels: { a: 'b' } } }), step: 'label' },
    { name: 'labels that are not asked for any more', secret: { labels: { a: 'b' } }, step: 'label' },
    { name: 'annotations of the Secret', ...spec({ secret: { annotations: { a: 'b' } } }), step: 'label' },
    { name: 'the owner of the Secret', secret: { isOwned: false }, step: 'label' },
    { name: 'annotation expires of the Secret', secret: { expires: textAfter(0) }, step: 'label' },
    { name: 'not again within a minute, as where a webhook changes them', secret: { isOwned: false }, labelled: { generation: 1, atMs: after(5) }, step: 'wait until 65' },
    { name: 'again after a minute', secret: { isOwned: false }, labelled: { generation: 1, atMs: after(5) }, nowMs: after(65), step: 'label' },
    { name: 'again at once for another spec', secret: { isOwned: false }, labelled: { generation: 0, atMs: after(5) }, step: 'label' },
    { name: 'a Secret that a crash has left as created', secret: { isCreatedOnly: true }, step: 'label' },
    { name: 'also before it is replaced', secret: { isCreatedOnly: true }, nowMs: after(DUE_SECONDS), step: 'label' },
    { name: 'nothing while a write is refused', secret: { isOwned: false, isCreatedOnly: true }, fault, step: 'publish SecretRefused' },
    { name: 'no labels of a Secret whose key is gone', secret: { isOwned: false }, keys: [], step: 'publish Pending' },
  ])('$name', ({ step, ...parts }) => {
    expect(planned(parts)).toBe(step)
  })

  // A colleague who may not impersonate ada takes her out of the claim: her key must not get what the claim asks for then.
  // biome-ignore format: a table
  test.each<FactsParts & { readonly name: string }>([
    { name: 'a wider scope', ...spec({ suspend: true }), keys: [claimKey('key', { spec: { subject: '', user: 'ada', scope: {} } })] },
    { name: 'a longer lifetime', ...spec({ suspend: true }), keys: [claimKey('key', { spec: { subject: '', user: 'ada', ttl: 600 } })] },
  ])('a key that acts as another than is asked for gets no $name (28.2)', ({ ...parts }) => {
    expect(planned({ ...parts, secret: { expires: '' } })).not.toContain('limit')
  })
})

describe('a fault (28.4, 28.8)', () => {
  // biome-ignore format: a table
  test.each<FactsParts & { readonly name: string; readonly step: string }>([
    { name: 'a Secret that could not be read is read again at its time', secret: 'unknown', published: publishedOf({ published: REST, secret: 'unknown', fault }), fault, step: 'wait until 12' },
    { name: 'and shown before', secret: 'unknown', fault, step: 'publish SecretRefused' },
    { name: 'a refused write is tried again at its time', published: publishedOf({ published: REST, fault }), fault, step: 'wait until 12' },
    { name: 'a claim without a place has no look at its namespace', placeFault: { reason: 'NamespaceRefused', message: 'No.' }, secret: 'unknown', step: 'publish NamespaceRefused' },
    { name: 'and waits for no time', placeFault: { reason: 'TooManyClaims', message: 'No.' }, published: publishedOf({ published: REST, placeFault: { reason: 'TooManyClaims', message: 'No.' } }), step: 'nothing' },
  ])('$name', ({ step, ...parts }) => {
    expect(planned(parts)).toBe(step)
  })
})

describe('nothing is written twice (28.8)', () => {
  const token = spec({ token: {} })
  const owner = claimKey('key', { delivers: 'Token' })
  // biome-ignore format: a table
  test.each<FactsParts & { readonly name: string }>([
    { name: 'at rest' },
    { name: 'suspended', ...spec({ suspend: true }) },
    { name: 'disabled', keys: [claimKey('key', { spec: { disabled: true }, reason: 'Disabled' })] },
    { name: 'of a disabled user', keys: [claimKey('key', { reason: 'UserDisabled' })] },
    { name: 'with an elder', keys: [KEY, claimKey('elder', { createdAt: -50 })], published: { previous: { name: 'elder' } } },
    { name: 'suspended without a Secret', ...spec({ suspend: true }), secret: 'missing', keys: [] },
    { name: 'suspended with an ended key', ...spec({ suspend: true }), keys: [], secret: {} },
    { name: 'with a token', ...token, keys: [owner], tokens: [claimToken('token')], secret: { token: 'token', expires: textAfter(86_400) } },
    { name: 'suspended with an ended token', ...token, claim: { spec: { token: {}, suspend: true } }, keys: [owner], secret: { token: 'token', expires: textAfter(5) } },
    { name: 'with a refused write', secret: { isOwned: false }, fault },
    { name: 'in a refused namespace', placeFault: { reason: 'NamespaceRefused', message: 'No.' } },
    { name: 'with a lifetime that is too short', caps: { maxTtlSeconds: 60, loginTtlSeconds: null }, secret: { expires: textAfter(60) } },
    { name: 'with an unknown gateway', ...spec({ secret: { data: { a: '$(SERVER)' } } }), server: null },
  ])('$name', ({ ...parts }) => {
    const first = plan(claimFacts(parts))
    if (first.kind !== 'publish') throw new Error(`the step is to ${said(first)}`)
    const published = { ...parts, published: first.status }
    expect(plan(claimFacts(published)).kind).toMatch(/^(wait|nothing)$/)
    expect(plan(claimFacts({ ...published, nowMs: after(11) })).kind).toMatch(/^(wait|nothing)$/)
  })
})

test('a delivery is in the status before another key is made, whatever is asked (28.5)', () => {
  const fresh = claimKey('fresh', { createdAt: 40, annotations: { [ROTATE_ANNOTATION]: 'now' } })
  const again = { metadata: { annotations: { [ROTATE_ANNOTATION]: 'again' } } }
  const secret = { keyID: keyIdOf(fresh), expires: textAfter(40 + 2_592_000) }
  const parts: FactsParts = { claim: again, keys: [KEY, fresh], secret, nowMs: after(42) }
  const step = plan(atRest(parts))
  expect(said(step)).toBe('publish Delivered')
  if (step.kind !== 'publish') return
  expect(step.status).toMatchObject({ lastRotate: 'now', lastRotation: textAfter(42) })
  expect(planned({ ...parts, published: step.status, nowMs: after(71) })).toBe('wait until 72')
  expect(planned({ ...parts, published: step.status, nowMs: after(72) })).toBe(
    'make a key: requested',
  )
})
