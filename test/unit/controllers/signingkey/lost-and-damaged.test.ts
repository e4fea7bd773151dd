// Recovery from lost Secrets and from a lost or damaged ConfigMap of signing keys (contract 7.3, threats D6, F13).
import { generateKeyPairSync } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { CONFIG_MAPS, JWKS_CONFIG_MAP, WITHDRAW_ANNOTATION } from '../../../../src/api/names.ts'
import type { Secret } from '../../../../src/api/objects.ts'
import {
  DAY_MS,
  MINUTE_MS,
  T0,
  type Cluster,
  clusterWithTwoKeys,
  newCluster,
} from './signing-key-cluster.ts'

const FOREIGN = generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export({
  format: 'jwk',
})

const deleteConfigMap = (cluster: Cluster): void => cluster.put(CONFIG_MAPS, JWKS_CONFIG_MAP, null)

describe('lost Secrets', () => {
  test('of the signing key: the next key signs, the lost public key stays published (7.3)', async () => {
    const { cluster, manager } = await clusterWithTwoKeys()
    cluster.putSecret(1, null)
    await manager.settle()
    expect([
      cluster.publishedGenerations(),
      cluster.secretGenerations(),
      manager.signingGeneration(),
    ]).toEqual([[1, 2], [2], 2])
    expect(manager.events.at(-1)).toMatchObject({
      type: 'Normal',
      reason: 'SigningKeyRotated',
      note: `Signing key ${cluster.kidOf(2)} (generation 2) is published and signs from 2026-12-07T11:00:00Z.`,
    })
  })

  test('of the next key: another one is created with the next generation (7.3)', async () => {
    const { cluster, manager } = await clusterWithTwoKeys()
    cluster.putSecret(2, null)
    await manager.settle()
    expect([
      cluster.publishedGenerations(),
      cluster.secretGenerations(),
      manager.signingGeneration(),
    ]).toEqual([[1, 2, 3], [1, 3], 1])
  })

  test('of all keys: a new generation signs at once, old public keys stay until their tokens end (7.3)', async () => {
    const { cluster } = await clusterWithTwoKeys()
    cluster.putSecret(1, null)
    cluster.putSecret(2, null)
    const manager = cluster.startManager()
    await manager.settle()
    expect([
      cluster.publishedGenerations(),
      cluster.secretGenerations(),
      manager.signingGeneration(),
    ]).toEqual([[1, 2, 3], [3], 3])
    const retiredMs = cluster.clock.nowMs() + 10 * MINUTE_MS
    cluster.clock.setNow(retiredMs + 2 * DAY_MS - 1)
    await manager.settle()
    expect(cluster.publishedGenerations()).toEqual([1, 2, 3])
    cluster.clock.setNow(retiredMs + 2 * DAY_MS)
    await manager.settle()
    expect(cluster.publishedGenerations()).toEqual([3])
  })

  test('keep the age of their key when they are restored from backup (7.3)', async () => {
    const { cluster, manager } = await clusterWithTwoKeys()
    const before = cluster.configMap()?.data
    const { type = '', data = {} } = cluster.secrets.get('platform-signing-key-1') as Secret
    cluster.putSecret(1, null)
    cluster.putSecret(1, { type, data })
    expect(cluster.secrets.get('platform-signing-key-1')?.metadata.creationTimestamp).not.toBe(
      '2026-11-21T10:00:00Z',
    )
    await manager.settle()
    expect([cluster.configMap()?.data, manager.signingGeneration()]).toEqual([before, 1])
    cluster.clock.setNow(T0 + 25 * DAY_MS)
    await manager.settle()
    expect(manager.signingGeneration()).toBe(2)
  })

  test('are deleted again and never published when they are restored from backup after retirement (7.3)', async () => {
    const { cluster, manager } = await clusterWithTwoKeys()
    const { type = '', data = {} } = cluster.secrets.get('platform-signing-key-1') as Secret
    cluster.clock.setNow(T0 + 27 * DAY_MS)
    await manager.settle()
    const before = cluster.configMap()?.data
    cluster.putSecret(1, { type, data })
    manager.writes.length = 0
    await manager.settle()
    expect(manager.writes).toEqual(['delete Secret platform-signing-key-1'])
    expect([cluster.configMap()?.data, cluster.secretGenerations()]).toEqual([before, [2]])
  })

  test('are never published when they are restored from backup after the withdrawal note is gone (7.3)', async () => {
    const { cluster, manager } = await clusterWithTwoKeys()
    const { type = '', data = {} } = cluster.secrets.get('platform-signing-key-1') as Secret
    const withdrawnKids = cluster.kidOf(1)
    cluster.annotateConfigMap({ [WITHDRAW_ANNOTATION]: withdrawnKids })
    await manager.settle()
    cluster.clock.setNow(T0 + 36 * DAY_MS)
    await manager.settle()
    expect(cluster.withdrawnGenerations()).toEqual([])
    // A key that was never withdrawn would stay a while here, since the signing key is new.
    cluster.putSecret(2, null)
    await manager.settle()
    cluster.putSecret(1, { type, data })
    manager.sync()
    manager.writeHooks.after = () =>
      expect(cluster.configMap()?.data?.['jwks.json']).not.toContain(withdrawnKids)
    await manager.settle()
    expect(cluster.secretGenerations()).toEqual([3])
  })

  test('include a Secret in deletion that a foreign finalizer keeps, and it is not deleted again (7.3)', async () => {
    const { cluster, manager } = await clusterWithTwoKeys()
    cluster.putSecret(1, {
      metadata: { deletionTimestamp: '2026-12-07T10:00:00Z', finalizers: ['a/b'] },
    })
    await manager.settle()
    expect([
      cluster.publishedGenerations(),
      manager.signingGeneration(),
      manager.keyring.faults(),
    ]).toEqual([[1, 2], 2, []])
    cluster.annotateConfigMap({ [WITHDRAW_ANNOTATION]: cluster.kidOf(1) })
    await manager.settle()
    expect(manager.writes.filter((write) => write.startsWith('delete'))).toEqual([])
  })
})

describe('a lost or damaged ConfigMap', () => {
  test('is restored as it was after a deletion (7.3)', async () => {
    const { cluster, manager } = await clusterWithTwoKeys()
    cluster.putSecret(2, null)
    await manager.settle()
    const before = cluster.configMap()?.data
    deleteConfigMap(cluster)
    manager.sync()
    expect(manager.keyring.current()).toBeNull()
    await manager.settle()
    expect(cluster.configMap()?.data).toEqual(before)
    expect(manager.signingGeneration()).toBe(1)
  })

  test('leaves a withdrawn key withdrawn after a deletion (7.3)', async () => {
    const { cluster, manager } = await clusterWithTwoKeys()
    const withdrawnKids = cluster.kidOf(1)
    const backup = cluster.secrets.get('platform-signing-key-1') as Secret
    cluster.annotateConfigMap({ [WITHDRAW_ANNOTATION]: withdrawnKids })
    await manager.settle()
    deleteConfigMap(cluster)
    cluster.putSecret(1, backup)
    await manager.settle()
    expect([
      cluster.publishedGenerations(),
      cluster.withdrawnGenerations(),
      cluster.secretGenerations(),
    ]).toEqual([[2], [1], [2]])
  })

  test('of an older version leaves keys withdrawn that were withdrawn since then (7.3)', async () => {
    const { cluster, manager } = await clusterWithTwoKeys()
    const older = cluster.configMap()?.data ?? {}
    cluster.annotateConfigMap({ [WITHDRAW_ANNOTATION]: cluster.kidOf(1) })
    await manager.settle()
    cluster.editConfigMap(older)
    await manager.settle()
    expect([
      cluster.publishedGenerations(),
      cluster.withdrawnGenerations(),
      manager.signingGeneration(),
    ]).toEqual([[2], [1], 2])
  })

  test('is rebuilt from the Secrets after a deletion while no manager runs (7.3)', async () => {
    const { cluster } = await clusterWithTwoKeys()
    deleteConfigMap(cluster)
    const manager = cluster.startManager()
    await manager.settle()
    expect([
      cluster.publishedGenerations(),
      cluster.secretGenerations(),
      manager.signingGeneration(),
    ]).toEqual([[1, 2], [1, 2], 1])
    cluster.clock.setNow(T0 + 25 * DAY_MS)
    await manager.settle()
    expect(manager.signingGeneration()).toBe(2)
  })

  test('lets the newer key sign after a deletion and a rotation while no manager runs (7.3)', async () => {
    const { cluster } = await clusterWithTwoKeys()
    cluster.clock.setNow(T0 + 26 * DAY_MS)
    deleteConfigMap(cluster)
    const manager = cluster.startManager()
    await manager.settle()
    expect([cluster.publishedGenerations(), manager.signingGeneration()]).toEqual([[1, 2], 2])
  })

  test('starts again with generation 1 after the deletion of all Secrets while no manager runs (7.3)', async () => {
    const { cluster } = await clusterWithTwoKeys()
    deleteConfigMap(cluster)
    cluster.putSecret(1, null)
    cluster.putSecret(2, null)
    const manager = cluster.startManager()
    await manager.settle()
    expect([
      cluster.publishedGenerations(),
      cluster.secretGenerations(),
      manager.signingGeneration(),
    ]).toEqual([[1], [1], 1])
  })

  test.each([
    { name: 'the JWKS', data: { 'jwks.json': 'gone' } },
    { name: 'the notes', data: { 'keys.json': '[' } },
    { name: 'both', data: { 'jwks.json': '{}', 'keys.json': '' } },
    { name: 'a key of the JWKS', data: { 'jwks.json': '{"keys":[{"kty":"oct","k":"AAAA"}]}' } },
  ])(
    'is restored as it was, or rebuilt after a restart, when damaged: $name (7.3, D6)',
    async ({ data }) => {
      const { cluster, manager } = await clusterWithTwoKeys()
      const before = cluster.configMap()?.data
      cluster.editConfigMap(data)
      await manager.settle()
      expect(cluster.configMap()?.data).toEqual(before)
      cluster.editConfigMap(data)
      const restarted = cluster.startManager()
      await restarted.settle()
      expect([
        cluster.publishedGenerations(),
        cluster.secretGenerations(),
        restarted.signingGeneration(),
      ]).toEqual([[1, 2], [1, 2], 1])
    },
  )

  test.each<{ readonly name: string; readonly note: object[]; readonly set: object }>([
    { name: 'damaged', note: [{}], set: {} },
    { name: 'and the JWKS damaged', note: [{}], set: { 'jwks.json': '{' } },
    { name: 'removed', note: [], set: {} },
  ])(
    'the note of one key $name while no manager runs: written again, the key stays published (7.3)',
    async ({ note, set }) => {
      const { cluster } = await clusterWithTwoKeys()
      const kid = cluster.kidOf(1)
      const notes = JSON.parse(cluster.configMap()?.data?.['keys.json'] ?? '') as Record<
        string,
        object
      >
      const others = Object.entries(notes).filter(([other]) => other !== kid)
      const changed = Object.fromEntries([...others, ...note.map((one) => [kid, one] as const)])
      cluster.editConfigMap({ 'keys.json': JSON.stringify(changed), ...set })
      await cluster.startManager().settle()
      expect([
        cluster.publishedGenerations(),
        cluster.secretGenerations(),
        cluster.kidOf(1),
      ]).toEqual([[1, 2], [1, 2], kid])
    },
  )

  test('a foreign key in the JWKS is removed, valid or not (7.3, D6)', async () => {
    const { cluster, manager } = await clusterWithTwoKeys()
    const before = cluster.configMap()?.data
    const { keys } = JSON.parse(before?.['jwks.json'] ?? '') as { keys: unknown[] }
    for (const entry of [{ ...FOREIGN }, null, { kty: 'AKP' }, { kty: 'OKP', crv: 'X25519' }]) {
      cluster.editConfigMap({ 'jwks.json': JSON.stringify({ keys: [...keys, entry] }) })
      await manager.settle()
      expect(cluster.configMap()?.data).toEqual(before)
    }
  })

  test('other data of the ConfigMap stays (7.3)', async () => {
    const { cluster, manager } = await clusterWithTwoKeys()
    cluster.editConfigMap({ README: 'Do not edit.', 'jwks.json': '' })
    await manager.settle()
    expect(cluster.configMap()?.data?.['README']).toBe('Do not edit.')
    expect(cluster.publishedGenerations()).toEqual([1, 2])
  })
})

test('withdrawal of an unknown kid: the annotation is removed, an event lists the known kids (7.3, 4.5)', async () => {
  const { cluster, manager } = await clusterWithTwoKeys()
  const before = cluster.configMap()?.data
  const pasted = '-----BEGIN PRIVATE KEY-----'
  cluster.annotateConfigMap({ [WITHDRAW_ANNOTATION]: pasted })
  await manager.settle()
  expect(cluster.configMap()).toMatchObject({ data: before, metadata: { annotations: {} } })
  const { type, reason, note } = manager.events.at(-1) ?? {}
  expect([type, reason]).toEqual(['Warning', 'UnknownSigningKey'])
  expect(note).toContain(`There are: ${cluster.kidOf(1)}, ${cluster.kidOf(2)}.`)
  expect(note).not.toContain(pasted)
})

test('a generation whose Secret name is taken by another Secret is skipped (7.3)', async () => {
  const cluster = newCluster()
  const manager = cluster.startManager()
  cluster.putSecret(1, { type: 'Opaque', data: {} })
  await manager.settle()
  expect([cluster.publishedGenerations(), manager.signingGeneration()]).toEqual([[2], 2])
})
