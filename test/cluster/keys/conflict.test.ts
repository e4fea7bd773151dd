// Two objects with the same spec.key: the older one works until it is deleted (contract 3.3).
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

/** Two objects with the same key, the first at least a second older. */
async function pair(
  olderSpec: OwnedAccessKeySpec,
  youngerSpec: OwnedAccessKeySpec,
  metadata: Partial<ObjectMeta> = {},
): Promise<{ readonly older: StoredKey; readonly younger: StoredKey }> {
  const older = await keys.create(olderSpec, metadata)
  await outlived(older)
  return { older, younger: await keys.create(youngerSpec) }
}

describe.concurrent('the younger of two objects with the same key', () => {
  // biome-ignore format: a table
  test.each([
    { name: 'both in clear', youngerForm: String },
    { name: 'the younger as a digest', youngerForm: digestForm },
  ])('does not work while the older one exists, $name (3.3, 3.6, 4.1)', async ({ youngerForm }) => {
    const secret = newSecret()
    const pairOf = await pair({ key: secret }, { key: youngerForm(secret) })
    const older = await keys.shown(pairOf.older, 'Active')
    const younger = await keys.shown(pairOf.younger, 'KeyConflict')
    const message = `${older.metadata.name} has the same key and is older: this object does not work; delete one of the two.`
    const reported = { reason: 'KeyConflict', message }
    expect(condition(younger, 'Ready')).toMatchObject({ status: 'False', ...reported })
    expect(condition(younger, 'Stalled')).toMatchObject({ status: 'True', ...reported })
    expect(younger.status.keyID).toBe(older.status.keyID)
    await eventually('an event', () => conflictEventOf(younger), EVENT_WITHIN)
    await keys.remove(older)
    const alone = await keys.shown(younger, 'Active')
    expect(alone.status.conditions).toHaveLength(1)
  })

  test.each([
    { name: 'in clear', youngerForm: String },
    { name: 'as a digest', youngerForm: digestForm },
  ])(
    'does not work $name, nor does the older one if it holds only a digest (3.3, 4.1)',
    async (row) => {
      const secret = newSecret()
      const { older, younger } = await pair(
        { key: digestForm(secret) },
        { key: row.youngerForm(secret) },
      )
      const names = `${older.metadata.name}, ${younger.metadata.name}`
      for (const one of [older, younger]) {
        const shown = await keys.shown(one, 'KeyConflict')
        const message = expect.stringContaining(
          `${names} have the same key, and the oldest holds only`,
        )
        expect(condition(shown, 'Ready')).toMatchObject({ status: 'False', message })
        expect(condition(shown, 'Stalled')).toMatchObject({ status: 'True', message })
        await eventually('an event', () => conflictEventOf(shown), EVENT_WITHIN)
      }
      await keys.remove(older)
      await keys.shown(younger, 'Active')
    },
  )

  // biome-ignore format: a table
  test.each([
    { name: 'disabled', spec: { disabled: true }, metadata: {}, reason: 'Disabled' },
    { name: 'without an identity', spec: { user: '' }, metadata: {}, reason: 'NoIdentity' },
    { name: 'expired', spec: { ttl: 60 }, metadata: createdAgo(60), reason: 'Expired' },
  ])('does not work even if the older one is $name (3.3)', async ({ spec, metadata, reason }) => {
    const key = newSecret()
    const { older, younger } = await pair({ key, ...spec }, { key }, metadata)
    await keys.shown(older, reason)
    expect(condition(await keys.shown(younger, 'KeyConflict'), 'Stalled').message).toContain(
      `${older.metadata.name} has the same key`,
    )
  })

  test('does not work while the older one is being deleted (3.3, 5.1)', async () => {
    const key = newSecret()
    const { older, younger } = await pair({ key }, { key }, HELD)
    await keys.shown(younger, 'KeyConflict')
    await keys.remove(older)
    await keys.shown(older, 'Terminating')
    const { metadata } = await keys.patch(younger, { spec: { displayName: 'reconciled again' } })
    const reconciled = await keys.shown(younger, 'KeyConflict')
    expect(reconciled.status.observedGeneration).toBe(metadata.generation)
    await keys.patch(older, { metadata: { finalizers: [] } })
    await keys.shown(younger, 'Active')
  })

  test('is in conflict with a generated key too (3.3)', async () => {
    const older = await keys.shown(await keys.create(), 'Active')
    const key = older.spec.key ?? ''
    const { younger } = await pair({ key: newSecret() }, { key })
    const { status } = await keys.shown(younger, 'KeyConflict')
    expect(status.keyID).toBe(older.status.keyID)
  })
})

test('the lower uid works of two keys created in the same second (3.3)', async () => {
  const twins = await eventually('two keys of the same second', twinsOfOneSecond, SOON)
  const [winner, loser] = twins.toSorted((a, b) => (a.metadata.uid < b.metadata.uid ? -1 : 1))
  await keys.shown(winner?.metadata.name ?? '', 'Active')
  const lost = await keys.shown(loser?.metadata.name ?? '', 'KeyConflict')
  expect(condition(lost, 'Ready').message).toContain(`${winner?.metadata.name} has the same key`)
})

async function twinsOfOneSecond(): Promise<readonly StoredKey[] | undefined> {
  const key = newSecret()
  const twins = await Promise.all([1, 2].map(() => keys.create({ key })))
  return new Set(twins.map(createdMs)).size === 1 ? twins : undefined
}

async function conflictEventOf(key: StoredKey) {
  return (await keys.events(key)).find(
    ({ reason, type }) => reason === 'KeyConflict' && type === 'Warning',
  )
}
