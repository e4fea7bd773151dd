// The look-ups that refuse a key, counted and not timed (contract 3.3, 10.2; threat C1).
import { hash } from 'node:crypto'
import { expect, test, vi } from 'vitest'
import { createKeyIndex, secretDigest } from '../../../src/authn/credential-index.ts'
import { UNKNOWN_KEY, checkKey } from '../../../src/authn/key-validity.ts'
import { t0, textAfter } from '../../support/key-builder.ts'
import { keyObject } from '../../support/object-builder.ts'
import { NO_PEOPLE } from '../people/people-builder.ts'
import { createTestAuthenticator, indexOf, key, secretOf } from './test-authenticator.ts'

const NO_CAPS = { maxTtlSeconds: null, loginTtlSeconds: null }

/** The look-up methods of a store. */
const LOOK_UPS = ['by', 'firstBy', 'countBy', 'getByKey'] as const

test('unknown, malformed, disabled and deleted keys are refused by the same look-ups (10.2)', async () => {
  const { callers, index } = createTestAuthenticator(
    key('disabled', { disabled: true }),
    key('deleted', {}, { metadata: { deletionTimestamp: textAfter(0) } }),
    key('ownerless', { user: '' }),
    key('twin-a', { key: secretOf('twin'), disabled: true }),
    key('twin-b', { key: secretOf('twin') }, {}, 1),
  )
  const spies = LOOK_UPS.map((name) => vi.spyOn(index.store, name))
  const lookUps = async (token: string): Promise<readonly number[]> => {
    for (const spy of spies) spy.mockClear()
    expect(await callers.authenticate(token)).toMatchObject({ ok: false })
    return spies.map(({ mock }) => mock.calls.length)
  }
  const unknown = await lookUps(secretOf('unknown'))
  expect(Math.max(...unknown)).toBeGreaterThan(0)
  for (const token of [
    '',
    'null',
    'sha256:0',
    '%',
    ...['disabled', 'deleted', 'ownerless', 'twin'].map(secretOf),
  ])
    expect([token, await lookUps(token)]).toEqual([token, unknown])
})

test('a key with the digest of the unknown key does not match unknown secrets (3.6)', async () => {
  const { outcome } = createTestAuthenticator(key('zeros', { key: `sha256:${UNKNOWN_KEY.digest}` }))
  expect(await outcome(secretOf('unknown'))).toBe('unknown')
})

test('a key in clear that begins like a digest, in any case, authenticates no caller (3.6)', async () => {
  for (const text of [`SHA256:${'0'.repeat(64)}`, `Sha256:${'a'.repeat(40)}`])
    expect(await createTestAuthenticator(key('a', { key: text })).outcome(text)).toBe('unknown')
})

test('the index is by a hash that can’t be computed without the secret of the process (C1)', () => {
  const digest = Buffer.from(secretDigest(secretOf('a')), 'hex')
  const foundBy = (secret: Uint8Array): number =>
    index.store.countBy('keyedDigest', hash('sha256', Buffer.concat([secret, digest]), 'binary'))
  const secret = Buffer.alloc(32, 7)
  const index = createKeyIndex(secret, NO_PEOPLE)
  index.store.put(key('a'))
  expect([foundBy(secret), foundBy(Buffer.alloc(32))]).toEqual([1, 0])
})

test('a key without a secret shares none with the key that was asked for before', () => {
  const index = indexOf(key('a'), keyObject({ metadata: { name: 'none' }, spec: { user: 'ada' } }))
  expect(index.findBySecret(secretOf('a')).name).toBe('a')
  const none = index.named('none')
  if (!none) throw new Error('the key is missing')
  expect(index.eldest(none)).toBeUndefined()
  index.findBySecret(secretOf('a'))
  expect(index.sharing(none)).toEqual([])
})

/** How many objects are looked up to check each of so many keys with the same secret. */
function lookUpsOf(count: number, spec: object): number {
  const index = indexOf(
    ...Array.from({ length: count }, (_, at) =>
      key(`twin-${at}`, { key: secretOf('twin') }, {}, at),
    ),
    key('eldest', { key: secretOf('twin'), ...spec }, {}, -1),
  )
  const looks = vi.spyOn(index.store, 'getByKey')
  for (const one of index.store.values())
    expect(checkKey(one, index, NO_CAPS, t0).ok).toBe(one.name === 'eldest' && !('key' in spec))
  index.findBySecret(secretOf('twin'))
  return looks.mock.calls.length
}

test.each([
  { name: 'the oldest wins', spec: {} },
  {
    name: 'the oldest holds only the digest',
    spec: { key: `sha256:${secretDigest(secretOf('twin'))}` },
  },
])(
  'checking keys with one secret costs look-ups in proportion to their number: $name (3.3)',
  ({ spec }) => {
    const few = lookUpsOf(50, spec)
    expect(lookUpsOf(200, spec) / few).toBeLessThan(6)
  },
)
