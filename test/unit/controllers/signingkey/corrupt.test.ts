// Secrets of signing keys that hold what they should not (contract 7.3, threats F13).
import { generateKeyPairSync } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { SECRETS, SIGNING_KEY_TYPE, WITHDRAW_ANNOTATION } from '../../../../src/api/names.ts'
import type { Secret } from '../../../../src/api/objects.ts'
import { DAY_MS, HOUR_MS, T0, twoKeys, world } from './signing-key-cluster.ts'

describe('a corrupt Secret', () => {
  const pem = (type: 'ec' | 'rsa' | 'ed25519') => {
    const pair =
      type === 'ec'
        ? generateKeyPairSync('ec', { namedCurve: 'P-384' })
        : type === 'rsa'
          ? generateKeyPairSync('rsa', { modulusLength: 1024 })
          : generateKeyPairSync('ed25519')
    return pair.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
  }
  const base64 = (text: string) => Buffer.from(text).toString('base64')
  const keyOf = (data: Secret['data']) =>
    Buffer.from(data?.['private-key.pem'] ?? '', 'base64').toString()

  test.each<{
    readonly name: string
    readonly change: (data: Readonly<Record<string, string>>) => Record<string, string>
  }>([
    {
      name: 'truncated key',
      change: (data) => ({ ...data, 'private-key.pem': base64(keyOf(data).slice(0, 90)) }),
    },
    { name: 'no key', change: ({ kid = '' }) => ({ kid }) },
    { name: 'empty key', change: (data) => ({ ...data, 'private-key.pem': '' }) },
    { name: 'another kid', change: (data) => ({ ...data, kid: base64('A'.repeat(43)) }) },
    { name: 'no kid', change: (data) => ({ 'private-key.pem': data['private-key.pem'] ?? '' }) },
    {
      name: 'another curve',
      change: (data) => ({ ...data, 'private-key.pem': base64(pem('ec')) }),
    },
    {
      name: 'a short RSA key',
      change: (data) => ({ ...data, 'private-key.pem': base64(pem('rsa')) }),
    },
    {
      name: 'another kind of key',
      change: (data) => ({ ...data, 'private-key.pem': base64(pem('ed25519')) }),
    },
  ])(
    '$name: nothing is signed with it, its tokens still verify, people are told once (7.3, 4.5)',
    async ({ change }) => {
      const { w, m } = await twoKeys()
      const { data = {} } = w.secrets.get('platform-signing-key-1') as Secret
      w.putKey(1, { data: change(data) })
      await m.settle()
      expect([w.published(), w.held(), m.signs()]).toEqual([[1, 2], [1, 2], 2])
      expect(m.keyring.faults()).toEqual([
        expect.stringMatching(/^Secret platform-signing-key-1 \w.*; nothing is signed with it\.$/),
      ])
      await m.settle()
      const corrupt = m.told.filter(({ reason }) => reason === 'SigningKeyCorrupt')
      expect(corrupt).toEqual([
        expect.objectContaining({
          type: 'Warning',
          regarding: {
            apiVersion: 'v1',
            kind: 'ConfigMap',
            name: 'platform-jwks',
            namespace: 'platform-system',
            uid: w.record()?.metadata.uid,
          },
        }),
      ])
      // The Secret stays for people to look at, also when its time is over.
      w.clock.setNow(T0 + 40 * DAY_MS)
      await m.settle()
      expect([w.held().includes(1), w.published().includes(1)]).toEqual([true, false])
    },
  )

  test('the only one: a new key is made, and signs at once (7.3)', async () => {
    const w = world()
    const m = w.manager()
    await m.settle()
    w.putKey(1, { data: {} })
    await m.settle()
    expect([w.published(), w.held(), m.signs()]).toEqual([[1, 2], [1, 2], 2])
    w.putKey(1, null)
    await m.settle()
    expect(m.keyring.faults()).toEqual([])
  })

  test('withdrawn: it goes as well (7.3)', async () => {
    const { w, m } = await twoKeys()
    const { data = {} } = w.secrets.get('platform-signing-key-1') as Secret
    w.putKey(1, { data: { kid: data['kid'] ?? '' } })
    w.annotate({ [WITHDRAW_ANNOTATION]: w.kid(1) })
    await m.settle()
    expect([w.published(), w.held(), w.withdrawn()]).toEqual([[2], [2], [1]])
  })

  test('of another name: told, and left alone (7.3)', async () => {
    const { w, m } = await twoKeys()
    const copy = {
      type: SIGNING_KEY_TYPE,
      data: w.secrets.get('platform-signing-key-1')?.data ?? {},
    }
    w.put(SECRETS, 'my-key', copy)
    await m.settle()
    expect(m.writes).toEqual([])
    expect(m.keyring.faults()).toEqual([
      'Secret my-key is not named platform-signing-key-<number>; nothing is signed with it.',
    ])
  })

  test('a copy of another: told, and gone before its original, so that it brings nothing back (7.3)', async () => {
    const { w, m } = await twoKeys()
    const { data = {} } = w.secrets.get('platform-signing-key-1') as Secret
    w.putKey(7, { type: SIGNING_KEY_TYPE, data })
    await m.settle()
    expect([w.published(), m.signs()]).toEqual([[1, 2], 1])
    expect(m.keyring.faults()).toEqual([
      'Secret platform-signing-key-7 holds the same key as one before it; nothing is signed with it.',
    ])
    w.clock.setNow(T0 + 27 * DAY_MS)
    await m.settle()
    expect([w.published(), w.held()]).toEqual([[2], [2]])
  })

  test('each as soon as it is made: three an hour, and no more (7.3)', async () => {
    const w = world()
    const m = w.manager()
    m.line.back = (write) => {
      if (write.startsWith('create Secret')) w.putKey(w.held().at(-1) ?? 0, { data: {} })
    }
    const nextMs = await m.settle()
    expect([w.held(), m.signs()]).toEqual([[1, 2, 3], null])
    expect(nextMs).toBe(T0 + HOUR_MS)
    w.clock.setNow(nextMs)
    await m.settle()
    expect(w.held()).toEqual([1, 2, 3, 4, 5, 6])
    delete m.line.back
    w.clock.setNow(nextMs + HOUR_MS)
    await m.settle()
    expect(m.signs()).toBe(7)
  })
})
