import { CompactEncrypt } from 'jose'
import { describe, expect, it } from 'vitest'
import { openCode, sealCode } from '../../../../src/signin/apps/codes.ts'
import { sealingKeys } from '../../../support/signin/world.ts'

const KEYS = sealingKeys()
const START_MS = Date.UTC(2026, 10, 21)
const CODE: Parameters<typeof sealCode>[0] = {
  id: 'an id',
  clientId: 'app',
  redirectUri: 'https://app.example/cb',
  challenge: null,
  scope: 'openid',
  nonce: null,
  user: 'ada',
  userUid: 'uid-ada',
  session: `login-${'a'.repeat(26)}`,
  authMs: START_MS,
  madeMs: START_MS,
}

/** A text by the same key, with another header or content. */
const encrypted = (
  header: object,
  content: object = CODE,
  key: Uint8Array = KEYS[0].key,
): Promise<string> =>
  new CompactEncrypt(Buffer.from(JSON.stringify(content)))
    .setProtectedHeader({
      alg: 'dir',
      enc: 'A256GCM',
      typ: 'app-code',
      kid: KEYS[0].id,
      ...header,
    })
    .encrypt(key)

describe('a code (26.3)', () => {
  it('is opened as it was sealed, for a minute, also with clocks that differ', async () => {
    const code = await sealCode(CODE, KEYS)
    for (const [afterMs, opened] of [
      [-60_001, null],
      [-60_000, CODE],
      [60_000, CODE],
      [60_001, null],
    ] as const)
      expect(await openCode(code, KEYS, START_MS + afterMs)).toEqual(opened)
  })

  it.each([
    ['was encrypted for something else', () => encrypted({ typ: 'other' })],
    ['names another key', () => encrypted({ kid: '00000002' })],
    ['has another algorithm', () => encrypted({ enc: 'A128GCM' }, CODE, Buffer.alloc(16, 1))],
    ['lacks a person', () => encrypted({}, { ...CODE, user: undefined })],
    ['lacks a time', () => encrypted({}, { ...CODE, madeMs: 'now' })],
    ['is longer than any', () => encrypted({}, { ...CODE, scope: 'a'.repeat(8192) })],
  ])('is none that %s', async (_, make) => {
    expect(await openCode(await make(), KEYS, START_MS)).toBeNull()
  })
})
