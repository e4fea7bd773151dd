import { describe, expect, it } from 'vitest'
import { seal, type SealingKeys, unseal } from '../../../../src/signin/sealing/seal.ts'

const key = (id: string, fill: number) => ({ id, key: Buffer.alloc(32, fill) })
const OLD = key('00000001', 1)
const NEW = key('00000002', 2)
const KEYS: SealingKeys = [NEW, OLD]
let count = 0
const random = (bytes: number): Buffer => Buffer.alloc(bytes, (count += 1))
const VALUE = { name: 'login-a', text: 'ä"' }
const sealed = (keys: SealingKeys = KEYS): string => seal(VALUE, 'a cookie', keys, random)

describe('a sealed text (25.3)', () => {
  it('opens with its key, and is fit for a cookie', () => {
    expect(sealed()).toMatch(/^00000002\.[A-Za-z0-9_-]+$/)
    expect(unseal(sealed(), 'a cookie', KEYS)).toEqual(VALUE)
  })

  it('is new each time, and shows nothing of its value', () => {
    const [one, other] = [sealed(), sealed()]
    expect(one).not.toBe(other)
    expect(Buffer.from(one.slice(9), 'base64url').toString('latin1')).not.toContain('login-a')
  })

  it('opens with a key that was replaced, and not once that is gone', () => {
    const text = sealed([OLD])
    expect(unseal(text, 'a cookie', KEYS)).toEqual(VALUE)
    expect(unseal(text, 'a cookie', [NEW])).toBeNull()
    expect(unseal(text, 'a cookie', [key(OLD.id, 3)])).toBeNull()
  })

  it('opens for its own purpose alone', () => {
    for (const purpose of ['', 'a', 'a cookie ', 'A cookie', 'hand-over'])
      expect(unseal(sealed(), purpose, KEYS)).toBeNull()
  })

  it('does not open with any character changed', () => {
    const text = sealed()
    for (let at = 0; at < text.length; at += 1) {
      const other = text.charAt(at) === 'A' ? 'B' : 'A'
      expect(unseal(text.slice(0, at) + other + text.slice(at + 1), 'a cookie', KEYS)).toBeNull()
    }
  })

  it('does not open with any character more or less', () => {
    const text = sealed()
    for (let at = 0; at <= text.length; at += 1) {
      expect(unseal(text.slice(0, at), 'a cookie', KEYS)).toEqual(at === text.length ? VALUE : null)
      for (const more of ['A', '=', '!', ' ', '.', '+'])
        expect(unseal(text.slice(0, at) + more + text.slice(at), 'a cookie', KEYS)).toBeNull()
    }
  })

  it.each([
    '',
    '.',
    'x',
    '00000002.',
    `00000002.${'A'.repeat(37)}`,
    `00000002.${'A'.repeat(9000)}`,
  ])('is not %j', (text) => {
    expect(unseal(text, 'a cookie', KEYS)).toBeNull()
  })
})
