import { expect, test } from 'vitest'
import { secretDigest } from '../../../src/authn/credential-index.ts'

// The digests of "abc" and of the empty text are in FIPS 180-4, and every shasum prints them.
const ABC = 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad'
const EMPTY = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'

// biome-ignore format: a table
test.each([
  { name: 'a key in clear', key: 'abc', digest: ABC },
  { name: 'its digest form gives the same digest', key: `sha256:${ABC}`, digest: ABC },
  { name: 'the empty text', key: '', digest: EMPTY },
])('$name', ({ key, digest }) => {
  expect(secretDigest(key)).toBe(digest)
})

// biome-ignore format: a table
test.each([
  { name: 'bare hex', key: ABC },
  { name: 'a digit missing', key: `sha256:${ABC.slice(1)}` },
  { name: 'a digit too many', key: `sha256:${ABC}0` },
  { name: 'capital digits, which the schema refuses', key: `sha256:${ABC.toUpperCase()}` },
  { name: 'another algorithm', key: `sha512:${ABC}` },
  { name: 'a trailing line break', key: `sha256:${ABC}\n` },
])('secretDigest hashes $name as a key in clear', ({ key }) => {
  expect(secretDigest(key)).toMatch(/^[0-9a-f]{64}$/)
  expect(secretDigest(key)).not.toBe(ABC)
})
