import { createHash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { secretDigest } from '../../../src/authn/credential-index.ts'
import { UNKNOWN_KEY } from '../../../src/authn/key-validity.ts'
import { indexOf, key, ownedBy, secretOf } from './test-authenticator.ts'

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')
const LONG = 'k'.repeat(256)

describe('the index finds the key of a presented secret by its digest (10.3)', () => {
  const index = indexOf(
    key('clear'),
    key('digest', { key: `sha256:${sha256(secretOf('digest'))}` }),
    key('twin-a', { key: secretOf('twin') }, {}, 1),
    key('twin-b', { key: secretOf('twin') }),
    key('long', { key: LONG }),
    key('of-nothing', { key: `sha256:${sha256('')}` }),
    key('without', { key: '' }),
    key('too-long', { key: `sha256:${sha256(`${LONG}k`)}` }),
    key('spaced', { key: `sha256:${sha256('two words')}` }),
    key('accented', { key: `sha256:${sha256('café')}` }),
    key('double', { key: `sha256:${sha256(`sha256:${sha256('x')}`)}` }),
  )
  test.each([
    { name: 'a key in clear', token: secretOf('clear'), found: 'clear' },
    { name: 'a key stored as its digest (3.6)', token: secretOf('digest'), found: 'digest' },
    {
      name: 'the oldest of several keys with one secret (3.3)',
      token: secretOf('twin'),
      found: 'twin-b',
    },
    { name: 'the longest secret', token: LONG, found: 'long' },
    { name: 'no key for an unknown secret', token: secretOf('other'), found: '' },
    {
      name: 'no key for a secret without its last letter',
      token: secretOf('clear').slice(0, -1),
      found: '',
    },
    { name: 'no key for the empty text', token: '', found: '' },
    {
      name: 'no key for the digest form of a key',
      token: `sha256:${sha256(secretOf('digest'))}`,
      found: '',
    },
    {
      name: 'no key for the digest form in capitals',
      token: `SHA256:${sha256(secretOf('digest'))}`,
      found: '',
    },
    { name: 'no key for another digest', token: `sha256:${sha256('x')}`, found: '' },
    {
      name: 'no key for a digest without its prefix',
      token: secretDigest(secretOf('clear')),
      found: '',
    },
    { name: 'no key for more than 256 bytes (C2)', token: `${LONG}k`, found: '' },
    { name: 'no key for two words', token: 'two words', found: '' },
    { name: 'no key for non-ASCII letters', token: 'café', found: '' },
    { name: 'no key for the name of an object property', token: '__proto__', found: '' },
  ])('$name', ({ token, found }) => {
    expect(index.findBySecret(token).name).toBe(found)
  })
})

test('the index follows the watch', () => {
  const index = indexOf(key('a'), key('b', {}, ownedBy('a')))
  expect(index.ownedBy('uid-a').map(({ name }) => name)).toEqual(['b'])
  index.store.remove(key('b', {}, { metadata: { resourceVersion: '2' } }))
  expect(index.ownedBy('uid-a')).toEqual([])
  expect(index.findBySecret(secretOf('b'))).toBe(UNKNOWN_KEY)
  expect(index.findBySecret(secretOf('a')).name).toBe('a')
})
