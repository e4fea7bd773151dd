import { describe, expect, test } from 'vitest'
import {
  jwksText,
  keyRecordsText,
  parseKeyRecords,
} from '../../../../src/domain/signingkey/published-keys.ts'
import type {
  PublishedKeyRecord,
  PublicJwk,
} from '../../../../src/domain/signingkey/signing-key.ts'

const KID = 'A'.repeat(43)
const AT_MS = Date.parse('2026-11-21T10:00:00.123Z')

const note: PublishedKeyRecord = {
  kid: KID,
  generation: 2,
  createdMs: AT_MS,
  publishedMs: AT_MS + 1,
  useFromMs: AT_MS + 2,
  withdrawnMs: null,
}

test('records of keys are written as indented JSON, and parse to the same records (7.3)', () => {
  const text = keyRecordsText([note, { ...note, kid: 'B'.repeat(43), withdrawnMs: AT_MS }])
  expect(JSON.parse(text)).toEqual({
    [KID]: {
      generation: 2,
      created: '2026-11-21T10:00:00.123Z',
      published: '2026-11-21T10:00:00.124Z',
      useFrom: '2026-11-21T10:00:00.125Z',
    },
    ['B'.repeat(43)]: expect.objectContaining({ withdrawn: '2026-11-21T10:00:00.123Z' }),
  })
  expect(parseKeyRecords(text)).toEqual({
    notes: [note, { ...note, kid: 'B'.repeat(43), withdrawnMs: AT_MS }],
    isSound: true,
  })
  expect(keyRecordsText(parseKeyRecords(text).notes)).toBe(text)
})

describe('malformed records of keys (7.3)', () => {
  const sound = JSON.parse(keyRecordsText([note]))[KID] as Record<string, unknown>
  test.each<{ readonly name: string; readonly text: string | undefined }>([
    { name: 'absent', text: undefined },
    { name: 'empty', text: '' },
    { name: 'not JSON', text: '{' },
    { name: 'a list', text: '[]' },
    { name: 'null', text: 'null' },
    ...[
      { name: 'a malformed note', kid: KID, entry: null },
      { name: 'a malformed kid', kid: 'k1', entry: sound },
      { name: 'a prototype', kid: '__proto__', entry: sound },
      { name: 'generation 0', kid: KID, entry: { ...sound, generation: 0 } },
      { name: 'a fractional generation', kid: KID, entry: { ...sound, generation: 1.5 } },
      { name: 'a generation as text', kid: KID, entry: { ...sound, generation: '1' } },
      { name: 'without a creation time', kid: KID, entry: { ...sound, created: undefined } },
      {
        name: 'an invalid date',
        kid: KID,
        entry: { ...sound, published: '2026-02-30T00:00:00Z' },
      },
      { name: 'a time as number', kid: KID, entry: { ...sound, useFrom: 5 } },
    ].map(({ name, kid, entry }) => ({
      name,
      text: `{${JSON.stringify(kid)}:${JSON.stringify(entry)}}`,
    })),
  ])('$name', ({ text }) => {
    expect(parseKeyRecords(text)).toEqual({ notes: [], isSound: false })
  })

  test('do not hide valid records', () => {
    const text = JSON.stringify({ [KID]: sound, other: {} })
    expect(parseKeyRecords(text)).toEqual({ notes: [note], isSound: false })
  })

  test('with a malformed withdrawal time count as withdrawn', () => {
    const text = JSON.stringify({ [KID]: { ...sound, withdrawn: 'yes' } })
    expect(parseKeyRecords(text).notes).toEqual([{ ...note, withdrawnMs: note.publishedMs }])
  })
})

test('equal keys give a byte-identical public key set (7.3)', () => {
  const jwk: PublicJwk = { kty: 'RSA', n: 'n', e: 'AQAB', kid: KID, alg: 'RS256', use: 'sig' }
  expect(jwksText([jwk])).toBe(
    `{"keys":[{"kty":"RSA","n":"n","e":"AQAB","kid":"${KID}","alg":"RS256","use":"sig"}]}`,
  )
  expect(jwksText([])).toBe('{"keys":[]}')
})
