// Two objects with the same key: the older one wins until it is gone (contract 3.3).
import { describe, expect, test } from 'vitest'
import type { ObjectMeta } from '../../../src/api/objects.ts'
import type { OwnedAccessKeySpec } from '../../../src/api/ownedaccesskey.gen.ts'
import { secretDigest } from '../../../src/authn/credential-index.ts'
import { sharedControlPlane } from '../../support/control-plane.ts'
import { eventually } from '../../support/eventually.ts'
import { uniqueName } from '../../support/object-builder.ts'
import {
  EVENT_WITHIN,
  SOON,
  type StoredKey,
  condition,
  createdAgo,
  createdMs,
  keyClientOf,
  outlived,
} from './key-client.ts'

const plane = await sharedControlPlane()
const keys = keyClientOf(plane)

const newSecret = (): string => uniqueName('k'.repeat(32))
const digestForm = (secret: string): string => `sha256:${secretDigest(secret)}`
const HELD = { finalizers: ['example.com/backup'] }

/** Two objects with a key, the first of them a second older at least. */
async function pair(
  elderSpec: OwnedAccessKeySpec,
  youngerSpec: OwnedAccessKeySpec,
  metadata: Partial<ObjectMeta> = {},
): Promise<{ readonly elder: StoredKey; readonly younger: StoredKey }> {
  const elder = await keys.create(elderSpec, metadata)
  await outlived(elder)
  return { elder, younger: await keys.create(youngerSpec) }
}

describe.concurrent('the younger of two objects with the same key', () => {
  // biome-ignore format: a table
  test.each([
    { name: 'both in clear', formOfYounger: String },
    { name: 'the younger as a digest', formOfYounger: digestForm },
  ])('does not work while the elder exists, $name (3.3, 3.6, 4.1)', async ({ formOfYounger }) => {
    const secret = newSecret()
    const pairOf = await pair({ key: secret }, { key: formOfYounger(secret) })
    const elder = await keys.shown(pairOf.elder, 'Active')
    const younger = await keys.shown(pairOf.younger, 'KeyConflict')
    const message = `${elder.metadata.name} has the same key and is older: this object does not work; delete one of the two.`
    const reported = { reason: 'KeyConflict', message }
    expect(condition(younger, 'Ready')).toMatchObject({ status: 'False', ...reported })
    expect(condition(younger, 'Stalled')).toMatchObject({ status: 'True', ...reported })
    expect(younger.status.keyID).toBe(elder.status.keyID)
    await eventually('an event', () => conflictToldOf(younger), EVENT_WITHIN)
    await keys.remove(elder)
    const alone = await keys.shown(younger, 'Active')
    expect(alone.status.conditions).toHaveLength(1)
  })

  test.each([
    { name: 'in clear', formOfYounger: String },
    { name: 'as a digest', formOfYounger: digestForm },
  ])('$name: nor does the elder, where that holds a digest only (3.3, 4.1)', async (row) => {
    const secret = newSecret()
    const { elder, younger } = await pair(
      { key: digestForm(secret) },
      { key: row.formOfYounger(secret) },
    )
    const names = `${elder.metadata.name}, ${younger.metadata.name}`
    for (const one of [elder, younger]) {
      const shown = await keys.shown(one, 'KeyConflict')
      const message = expect.stringContaining(
        `${names} have the same key, and the oldest holds only`,
      )
      expect(condition(shown, 'Ready')).toMatchObject({ status: 'False', message })
      expect(condition(shown, 'Stalled')).toMatchObject({ status: 'True', message })
      await eventually('an event', () => conflictToldOf(shown), EVENT_WITHIN)
    }
    await keys.remove(elder)
    await keys.shown(younger, 'Active')
  })

  // biome-ignore format: a table
  test.each([
    { name: 'disabled', spec: { disabled: true }, metadata: {}, reason: 'Disabled' },
    { name: 'nobody’s', spec: { user: '' }, metadata: {}, reason: 'NoIdentity' },
    { name: 'expired', spec: { ttl: 60 }, metadata: createdAgo(60), reason: 'Expired' },
  ])('does not work although the elder is $name (3.3)', async ({ spec, metadata, reason }) => {
    const key = newSecret()
    const { elder, younger } = await pair({ key, ...spec }, { key }, metadata)
    await keys.shown(elder, reason)
    expect(condition(await keys.shown(younger, 'KeyConflict'), 'Stalled').message).toContain(
      `${elder.metadata.name} has the same key`,
    )
  })

  test('does not work until an elder that is being deleted is gone (3.3, 5.1)', async () => {
    const key = newSecret()
    const { elder, younger } = await pair({ key }, { key }, HELD)
    await keys.shown(younger, 'KeyConflict')
    await keys.remove(elder)
    await keys.shown(elder, 'Terminating')
    const { metadata } = await keys.patch(younger, { spec: { displayName: 'looked at again' } })
    const looked = await keys.shown(younger, 'KeyConflict')
    expect(looked.status.observedGeneration).toBe(metadata.generation)
    await keys.patch(elder, { metadata: { finalizers: [] } })
    await keys.shown(younger, 'Active')
  })

  test('is one to which a user gave a key that was generated for another (3.3)', async () => {
    const elder = await keys.shown(await keys.create(), 'Active')
    const key = elder.spec.key ?? ''
    const { younger } = await pair({ key: newSecret() }, { key })
    const { status } = await keys.shown(younger, 'KeyConflict')
    expect(status.keyID).toBe(elder.status.keyID)
  })
})

test('of two that are as old as each other the lower uid wins (3.3)', async () => {
  const twins = await eventually('two keys of the same second', twinsOrNone, SOON)
  const [winner, loser] = twins.toSorted((a, b) => (a.metadata.uid < b.metadata.uid ? -1 : 1))
  await keys.shown(winner?.metadata.name ?? '', 'Active')
  const lost = await keys.shown(loser?.metadata.name ?? '', 'KeyConflict')
  expect(condition(lost, 'Ready').message).toContain(`${winner?.metadata.name} has the same key`)
})

async function twinsOrNone(): Promise<readonly StoredKey[] | undefined> {
  const key = newSecret()
  const twins = await Promise.all([1, 2].map(() => keys.create({ key })))
  return new Set(twins.map(createdMs)).size === 1 ? twins : undefined
}

async function conflictToldOf(key: StoredKey) {
  return (await keys.events(key)).find(
    ({ reason, type }) => reason === 'KeyConflict' && type === 'Warning',
  )
}
