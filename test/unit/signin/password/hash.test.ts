// Hashes of passwords: one form, one set of parameters, and a second reader.
import { execFileSync, spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import {
  NO_HASH,
  SALT_BYTES,
  hasHash,
  hashPassword,
  passwordFault,
  passwordHashIn,
  passwordHashText,
} from '../../../../src/signin/password/hash.ts'

const PASSWORD = 'correct horse battery staple ✓'
const SALT = Buffer.from('000102030405060708090a0b0c0d0e0f', 'hex')
const TEXT = passwordHashText(await hashPassword(PASSWORD, SALT))

describe('the hash of a password (25.5)', () => {
  test('has parameters, salt and digest in base64 without padding', () => {
    expect(TEXT).toMatch(/^\$scrypt\$ln=17,r=8,p=1\$AAECAwQFBgcICQoLDA0ODw\$[A-Za-z0-9+/]{43}$/)
  })

  test('is found again in its text, and by its password alone', async () => {
    const hash = passwordHashIn(TEXT)
    if (hash === null) throw new Error('the text has no hash')
    expect(hash.salt).toEqual(SALT)
    expect(await hasHash(PASSWORD, hash)).toBe(true)
    expect(await hasHash(`${PASSWORD} `, hash)).toBe(false)
    expect(await hasHash(PASSWORD, { ...hash, salt: randomBytes(SALT_BYTES) })).toBe(false)
  })

  test('is what Python computes, by its own scrypt', ({ skip }) => {
    const found = spawnSync('python3', ['-c', 'import hashlib; hashlib.scrypt'])
    const reason = 'this machine has no python3 with hashlib.scrypt'
    if (found.status !== 0 && process.env['CI'] !== undefined) throw new Error(reason)
    skip(found.status !== 0, reason)
    const code = `
import base64, hashlib, sys
_, name, parameters, salt, digest = sys.argv[1].split('$')
assert name == 'scrypt'
ln, r, p = [int(one.split('=')[1]) for one in parameters.split(',')]
padded = lambda text: base64.b64decode(text + '=' * (-len(text) % 4))
computed = hashlib.scrypt(sys.argv[2].encode(), salt=padded(salt), n=2 ** ln, r=r, p=p, maxmem=2 ** 28, dklen=32)
print(computed == padded(digest))`
    const read = (password: string): string =>
      execFileSync('python3', ['-c', code, TEXT, password], { encoding: 'utf8' }).trim()
    expect(read(PASSWORD)).toBe('True')
    expect(read('another password')).toBe('False')
  })

  test.each([
    { name: 'the text alone', text: TEXT, isHash: true },
    { name: 'a line', text: `${TEXT}\n`, isHash: true },
    { name: 'a line of Windows', text: `${TEXT}\r\n`, isHash: true },
    { name: 'two line breaks', text: `${TEXT}\n\n`, isHash: false },
    { name: 'nothing', text: '', isHash: false },
    { name: 'a lower cost', text: TEXT.replace('ln=17', 'ln=4'), isHash: false },
    { name: 'a higher cost', text: TEXT.replace('ln=17', 'ln=20'), isHash: false },
    { name: 'another block size', text: TEXT.replace('r=8', 'r=1'), isHash: false },
    { name: 'another order', text: TEXT.replace('ln=17,r=8', 'r=8,ln=17'), isHash: false },
    { name: 'another function', text: TEXT.replace('scrypt', 'bcrypt'), isHash: false },
    { name: 'a password in clear', text: PASSWORD, isHash: false },
    { name: 'no digest', text: TEXT.slice(0, -44), isHash: false },
    { name: 'an empty digest', text: TEXT.slice(0, -43), isHash: false },
    { name: 'a short digest', text: TEXT.slice(0, -1), isHash: false },
    { name: 'padding', text: `${TEXT}=`, isHash: false },
    { name: 'one part more', text: `${TEXT}$`, isHash: false },
    { name: 'base64url', text: `${TEXT.slice(0, -2)}-_`, isHash: false },
    { name: 'a space in the salt', text: TEXT.replace('AAEC', 'AA C'), isHash: false },
    { name: 'bits after the salt', text: TEXT.replace('ODw$', 'ODx$'), isHash: false },
  ])('$name is read as a hash: $isHash', ({ text, isHash }) => {
    expect(passwordHashIn(text) !== null).toBe(isHash)
  })

  test('of attempts without one has a text of the same form', () => {
    expect(passwordHashIn(passwordHashText(NO_HASH))).toEqual(NO_HASH)
  })
})

test.each([
  { name: '12 characters', password: 'a'.repeat(12), fault: null },
  { name: '11 characters', password: 'a'.repeat(11), fault: 'has fewer than 12 characters' },
  { name: 'nothing', password: '', fault: 'has fewer than 12 characters' },
  { name: '256 characters', password: 'a'.repeat(256), fault: null },
  { name: '257 characters', password: 'a'.repeat(257), fault: 'has more than 256 characters' },
  { name: 'a megabyte', password: 'a'.repeat(1e6), fault: 'has more than 256 characters' },
  { name: '12 characters of two units', password: '😀'.repeat(12), fault: null },
  {
    name: '6 characters of two units',
    password: '😀'.repeat(6),
    fault: 'has fewer than 12 characters',
  },
  { name: '256 characters of two units', password: '😀'.repeat(256), fault: null },
  { name: 'spaces at both ends', password: ' twelve or more ', fault: null },
  { name: 'a tab', password: 'twelve\tor more', fault: 'has a control character' },
  { name: 'a line break', password: 'twelve or more\n', fault: 'has a control character' },
  { name: 'a C1 control', password: 'twelve or more\u0085', fault: 'has a control character' },
  { name: 'half of a pair', password: 'twelve or more\ud83d', fault: 'has half of a character' },
])('$name is a possible password, or says why not (25.5)', ({ password, fault }) => {
  expect(passwordFault(password)).toEqual(fault)
})
