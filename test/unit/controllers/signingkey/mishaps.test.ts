// What people and disks do to signing keys, and what becomes of it (contract 7.3, threats D6, F13).
import { generateKeyPairSync } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { CONFIG_MAPS, JWKS_CONFIG_MAP, WITHDRAW_ANNOTATION } from '../../../../src/api/names.ts'
import type { Secret } from '../../../../src/api/objects.ts'
import { DAY_MS, MINUTE_MS, T0, type World, twoKeys, world } from './signing-key-cluster.ts'

const FOREIGN = generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export({
  format: 'jwk',
})

const dropRecord = (w: World): void => w.put(CONFIG_MAPS, JWKS_CONFIG_MAP, null)

describe('lost Secrets', () => {
  test('of the key that signs: the waiting one signs, the public key stays (7.3)', async () => {
    const { w, m } = await twoKeys()
    w.putKey(1, null)
    await m.settle()
    expect([w.published(), w.held(), m.signs()]).toEqual([[1, 2], [2], 2])
    expect(m.told.at(-1)).toMatchObject({
      type: 'Normal',
      reason: 'SigningKeyRotated',
      note: `Signing key ${w.kid(2)} (generation 2) is published and signs from 2026-12-07T11:00:00Z.`,
    })
  })

  test('of the waiting key: another is made to wait, with the next number (7.3)', async () => {
    const { w, m } = await twoKeys()
    w.putKey(2, null)
    await m.settle()
    expect([w.published(), w.held(), m.signs()]).toEqual([[1, 2, 3], [1, 3], 1])
  })

  test('all of them: the next number signs at once, public keys stay their time (7.3)', async () => {
    const { w } = await twoKeys()
    w.putKey(1, null)
    w.putKey(2, null)
    const m = w.manager()
    await m.settle()
    expect([w.published(), w.held(), m.signs()]).toEqual([[1, 2, 3], [3], 3])
    const retiredMs = w.clock.nowMs() + 10 * MINUTE_MS
    w.clock.setNow(retiredMs + 2 * DAY_MS - 1)
    await m.settle()
    expect(w.published()).toEqual([1, 2, 3])
    w.clock.setNow(retiredMs + 2 * DAY_MS)
    await m.settle()
    expect(w.published()).toEqual([3])
  })

  test('restored from backup: the key is as old as it was (7.3)', async () => {
    const { w, m } = await twoKeys()
    const before = w.record()?.data
    const { type = '', data = {} } = w.secrets.get('platform-signing-key-1') as Secret
    w.putKey(1, null)
    w.putKey(1, { type, data })
    expect(w.secrets.get('platform-signing-key-1')?.metadata.creationTimestamp).not.toBe(
      '2026-11-21T10:00:00Z',
    )
    await m.settle()
    expect([w.record()?.data, m.signs()]).toEqual([before, 1])
    w.clock.setNow(T0 + 25 * DAY_MS)
    await m.settle()
    expect(m.signs()).toBe(2)
  })

  test('restored from backup when its time is over: gone again, and never published (7.3)', async () => {
    const { w, m } = await twoKeys()
    const { type = '', data = {} } = w.secrets.get('platform-signing-key-1') as Secret
    w.clock.setNow(T0 + 27 * DAY_MS)
    await m.settle()
    const before = w.record()?.data
    w.putKey(1, { type, data })
    m.writes.length = 0
    await m.settle()
    expect(m.writes).toEqual(['delete Secret platform-signing-key-1'])
    expect([w.record()?.data, w.held()]).toEqual([before, [2]])
  })

  test('restored from backup when its withdrawal is forgotten: never published (7.3)', async () => {
    const { w, m } = await twoKeys()
    const { type = '', data = {} } = w.secrets.get('platform-signing-key-1') as Secret
    const leaked = w.kid(1)
    w.annotate({ [WITHDRAW_ANNOTATION]: leaked })
    await m.settle()
    w.clock.setNow(T0 + 36 * DAY_MS)
    await m.settle()
    expect(w.withdrawn()).toEqual([])
    // Had it never been withdrawn, it would stay a while, since the one that signs is new.
    w.putKey(2, null)
    await m.settle()
    w.putKey(1, { type, data })
    m.sync()
    m.line.back = () => expect(w.record()?.data?.['jwks.json']).not.toContain(leaked)
    await m.settle()
    expect(w.held()).toEqual([3])
  })

  test('being deleted behind a finalizer: as good as lost, and not deleted again (7.3)', async () => {
    const { w, m } = await twoKeys()
    w.putKey(1, { metadata: { deletionTimestamp: '2026-12-07T10:00:00Z', finalizers: ['a/b'] } })
    await m.settle()
    expect([w.published(), m.signs(), m.keyring.faults()]).toEqual([[1, 2], 2, []])
    w.annotate({ [WITHDRAW_ANNOTATION]: w.kid(1) })
    await m.settle()
    expect(m.writes.filter((write) => write.startsWith('delete'))).toEqual([])
  })
})

describe('a ConfigMap that is gone or garbled', () => {
  test('deleted: put back as it was (7.3)', async () => {
    const { w, m } = await twoKeys()
    w.putKey(2, null)
    await m.settle()
    const before = w.record()?.data
    dropRecord(w)
    m.sync()
    expect(m.keyring.current()).toBeNull()
    await m.settle()
    expect(w.record()?.data).toEqual(before)
    expect(m.signs()).toBe(1)
  })

  test('deleted, with a withdrawn key: that stays withdrawn (7.3)', async () => {
    const { w, m } = await twoKeys()
    const leaked = w.kid(1)
    const backup = w.secrets.get('platform-signing-key-1') as Secret
    w.annotate({ [WITHDRAW_ANNOTATION]: leaked })
    await m.settle()
    dropRecord(w)
    w.putKey(1, backup)
    await m.settle()
    expect([w.published(), w.withdrawn(), w.held()]).toEqual([[2], [1], [2]])
  })

  test('replaced by an older version of it: what was withdrawn since stays so (7.3)', async () => {
    const { w, m } = await twoKeys()
    const older = w.record()?.data ?? {}
    w.annotate({ [WITHDRAW_ANNOTATION]: w.kid(1) })
    await m.settle()
    w.edit(older)
    await m.settle()
    expect([w.published(), w.withdrawn(), m.signs()]).toEqual([[2], [1], 2])
  })

  test('deleted while no manager runs: rebuilt from the Secrets (7.3)', async () => {
    const { w } = await twoKeys()
    dropRecord(w)
    const m = w.manager()
    await m.settle()
    expect([w.published(), w.held(), m.signs()]).toEqual([[1, 2], [1, 2], 1])
    w.clock.setNow(T0 + 25 * DAY_MS)
    await m.settle()
    expect(m.signs()).toBe(2)
  })

  test('deleted while no manager runs, after the hand-over: the newer goes on signing (7.3)', async () => {
    const { w } = await twoKeys()
    w.clock.setNow(T0 + 26 * DAY_MS)
    dropRecord(w)
    const m = w.manager()
    await m.settle()
    expect([w.published(), m.signs()]).toEqual([[1, 2], 2])
  })

  test('deleted with all Secrets while no manager runs: a new beginning (7.3)', async () => {
    const { w } = await twoKeys()
    dropRecord(w)
    w.putKey(1, null)
    w.putKey(2, null)
    const m = w.manager()
    await m.settle()
    expect([w.published(), w.held(), m.signs()]).toEqual([[1], [1], 1])
  })

  test.each([
    { name: 'the set', data: { 'jwks.json': 'gone' } },
    { name: 'the notes', data: { 'keys.json': '[' } },
    { name: 'both', data: { 'jwks.json': '{}', 'keys.json': '' } },
    { name: 'an entry of the set', data: { 'jwks.json': '{"keys":[{"kty":"oct","k":"AAAA"}]}' } },
  ])('garbled, $name: put back as it was, or rebuilt (7.3, D6)', async ({ data }) => {
    const { w, m } = await twoKeys()
    const before = w.record()?.data
    w.edit(data)
    await m.settle()
    expect(w.record()?.data).toEqual(before)
    w.edit(data)
    const restarted = w.manager()
    await restarted.settle()
    expect([w.published(), w.held(), restarted.signs()]).toEqual([[1, 2], [1, 2], 1])
  })

  test.each<{ readonly name: string; readonly note: object[]; readonly set: object }>([
    { name: 'garbled', note: [{}], set: {} },
    { name: 'garbled, with the set', note: [{}], set: { 'jwks.json': '{' } },
    { name: 'taken out', note: [], set: {} },
  ])(
    'the note on one key $name while no manager runs: noted anew, still published (7.3)',
    async ({ note, set }) => {
      const { w } = await twoKeys()
      const kid = w.kid(1)
      const notes = JSON.parse(w.record()?.data?.['keys.json'] ?? '') as Record<string, object>
      const others = Object.entries(notes).filter(([other]) => other !== kid)
      const changed = Object.fromEntries([...others, ...note.map((one) => [kid, one] as const)])
      w.edit({ 'keys.json': JSON.stringify(changed), ...set })
      await w.manager().settle()
      expect([w.published(), w.held(), w.kid(1)]).toEqual([[1, 2], [1, 2], kid])
    },
  )

  test('a foreign key in the set goes, whether sound or not (7.3, D6)', async () => {
    const { w, m } = await twoKeys()
    const before = w.record()?.data
    const { keys } = JSON.parse(before?.['jwks.json'] ?? '') as { keys: unknown[] }
    for (const entry of [{ ...FOREIGN }, null, { kty: 'AKP' }, { kty: 'OKP', crv: 'X25519' }]) {
      w.edit({ 'jwks.json': JSON.stringify({ keys: [...keys, entry] }) })
      await m.settle()
      expect(w.record()?.data).toEqual(before)
    }
  })

  test('people may keep more in it (7.3)', async () => {
    const { w, m } = await twoKeys()
    w.edit({ README: 'Do not edit.', 'jwks.json': '' })
    await m.settle()
    expect(w.record()?.data?.['README']).toBe('Do not edit.')
    expect(w.published()).toEqual([1, 2])
  })
})

test('a kid that nobody knows: the annotation goes, people are told which there are (7.3, 4.5)', async () => {
  const { w, m } = await twoKeys()
  const before = w.record()?.data
  const pasted = '-----BEGIN PRIVATE KEY-----'
  w.annotate({ [WITHDRAW_ANNOTATION]: pasted })
  await m.settle()
  expect(w.record()).toMatchObject({ data: before, metadata: { annotations: {} } })
  const { type, reason, note } = m.told.at(-1) ?? {}
  expect([type, reason]).toEqual(['Warning', 'UnknownSigningKey'])
  expect(note).toContain(`There are: ${w.kid(1)}, ${w.kid(2)}.`)
  expect(note).not.toContain(pasted)
})

test('a name that something else has is passed over (7.3)', async () => {
  const w = world()
  const m = w.manager()
  w.putKey(1, { type: 'Opaque', data: {} })
  await m.settle()
  expect([w.published(), m.signs()]).toEqual([[2], 2])
})
