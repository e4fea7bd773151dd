// The look-ups that refuse a key, counted and not timed (contract 3.3, 10.2; threat C1).
import { expect, test, vi } from 'vitest'
import { secretDigest } from '../../../src/authn/credential-index.ts'
import { UNKNOWN_KEY, checkKey } from '../../../src/authn/key-validity.ts'
import { t0, textAfter } from '../../support/key-builder.ts'
import { createTestAuthenticator, indexOf, key, secretOf } from './test-authenticator.ts'

const NO_CAPS = { maxTtlSeconds: null, loginTtlSeconds: null }

/** The look-up methods of a store. */
const LOOK_UPS = ['by', 'firstBy', 'countBy', 'getByKey'] as const

test('unknown, malformed, disabled and deleted keys are refused by the same look-ups (10.2)', async () => {
  const { callers, index } = createTestAuthenticator(
    key('disabled', { disabled: true }),
    key('deleted', {}, { metadata: { deletionTimestamp: textAfter(0) } }),
    key('nobody', { user: '' }),
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
    ...['disabled', 'deleted', 'nobody', 'twin'].map(secretOf),
  ])
    expect([token, await lookUps(token)]).toEqual([token, unknown])
})

test('a key with the digest of the unknown key does not match unknown secrets (3.6)', async () => {
  const { outcome } = createTestAuthenticator(key('zeros', { key: `sha256:${UNKNOWN_KEY.digest}` }))
  expect(await outcome(secretOf('unknown'))).toBe('unknown')
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
