// Secrets of signing keys with invalid contents (contract 7.3, threats F13).
import { generateKeyPairSync } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { SECRETS, SIGNING_KEY_TYPE, WITHDRAW_ANNOTATION } from '../../../../src/api/names.ts'
import type { Secret } from '../../../../src/api/objects.ts'
import { DAY_MS, HOUR_MS, T0, clusterWithTwoKeys, newCluster } from './signing-key-cluster.ts'

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
    '$name: the key does not sign, stays published for its tokens, and one event reports it (7.3, 4.5)',
    async ({ change }) => {
      const { cluster, manager } = await clusterWithTwoKeys()
      const { data = {} } = cluster.secrets.get('platform-signing-key-1') as Secret
      cluster.putSecret(1, { data: change(data) })
      await manager.settle()
      expect([
        cluster.publishedGenerations(),
        cluster.secretGenerations(),
        manager.signingGeneration(),
      ]).toEqual([[1, 2], [1, 2], 2])
      expect(manager.keyring.faults()).toEqual([
        expect.stringMatching(/^Secret platform-signing-key-1 \w.*; nothing is signed with it\.$/),
      ])
      await manager.settle()
      const corrupt = manager.events.filter(({ reason }) => reason === 'SigningKeyCorrupt')
      expect(corrupt).toEqual([
        expect.objectContaining({
          type: 'Warning',
          regarding: {
            apiVersion: 'v1',
            kind: 'ConfigMap',
            name: 'platform-jwks',
            namespace: 'platform-system',
            uid: cluster.configMap()?.metadata.uid,
          },
        }),
      ])
      // The Secret stays for administrators to examine, even after its retirement.
      cluster.clock.setNow(T0 + 40 * DAY_MS)
      await manager.settle()
      expect([
        cluster.secretGenerations().includes(1),
        cluster.publishedGenerations().includes(1),
      ]).toEqual([true, false])
    },
  )

  test('the only key: a new key is created, and signs at once (7.3)', async () => {
    const cluster = newCluster()
    const manager = cluster.startManager()
    await manager.settle()
    cluster.putSecret(1, { data: {} })
    await manager.settle()
    expect([
      cluster.publishedGenerations(),
      cluster.secretGenerations(),
      manager.signingGeneration(),
    ]).toEqual([[1, 2], [1, 2], 2])
    cluster.putSecret(1, null)
    await manager.settle()
    expect(manager.keyring.faults()).toEqual([])
  })

  test('of a withdrawn key is deleted too (7.3)', async () => {
    const { cluster, manager } = await clusterWithTwoKeys()
    const { data = {} } = cluster.secrets.get('platform-signing-key-1') as Secret
    cluster.putSecret(1, { data: { kid: data['kid'] ?? '' } })
    cluster.annotateConfigMap({ [WITHDRAW_ANNOTATION]: cluster.kidOf(1) })
    await manager.settle()
    expect([
      cluster.publishedGenerations(),
      cluster.secretGenerations(),
      cluster.withdrawnGenerations(),
    ]).toEqual([[2], [2], [1]])
  })

  test('with another name is reported, and left alone (7.3)', async () => {
    const { cluster, manager } = await clusterWithTwoKeys()
    const copy = {
      type: SIGNING_KEY_TYPE,
      data: cluster.secrets.get('platform-signing-key-1')?.data ?? {},
    }
    cluster.put(SECRETS, 'my-key', copy)
    await manager.settle()
    expect(manager.writes).toEqual([])
    expect(manager.keyring.faults()).toEqual([
      'Secret my-key is not named platform-signing-key-<number>; nothing is signed with it.',
    ])
  })

  test('that copies another key is reported, and deleted with the original, so that it restores nothing (7.3)', async () => {
    const { cluster, manager } = await clusterWithTwoKeys()
    const { data = {} } = cluster.secrets.get('platform-signing-key-1') as Secret
    cluster.putSecret(7, { type: SIGNING_KEY_TYPE, data })
    await manager.settle()
    expect([cluster.publishedGenerations(), manager.signingGeneration()]).toEqual([[1, 2], 1])
    expect(manager.keyring.faults()).toEqual([
      'Secret platform-signing-key-7 holds the same key as an older Secret; nothing is signed with it.',
    ])
    cluster.clock.setNow(T0 + 27 * DAY_MS)
    await manager.settle()
    expect([cluster.publishedGenerations(), cluster.secretGenerations()]).toEqual([[2], [2]])
  })

  test('of every new key: the manager creates at most three keys an hour (7.3)', async () => {
    const cluster = newCluster()
    const manager = cluster.startManager()
    manager.writeHooks.after = (write) => {
      if (write.startsWith('create Secret'))
        cluster.putSecret(cluster.secretGenerations().at(-1) ?? 0, { data: {} })
    }
    const nextMs = await manager.settle()
    expect([cluster.secretGenerations(), manager.signingGeneration()]).toEqual([[1, 2, 3], null])
    expect(nextMs).toBe(T0 + HOUR_MS)
    cluster.clock.setNow(nextMs)
    await manager.settle()
    expect(cluster.secretGenerations()).toEqual([1, 2, 3, 4, 5, 6])
    delete manager.writeHooks.after
    cluster.clock.setNow(nextMs + HOUR_MS)
    await manager.settle()
    expect(manager.signingGeneration()).toBe(7)
  })
})
