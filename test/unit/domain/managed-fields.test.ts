import { describe, expect, test } from 'vitest'
import type { Condition, ManagedFieldsEntry } from '../../../src/api/objects.ts'
import { ownedFieldsOf } from '../../../src/domain/managed-fields.ts'
import { statusEntry, viewOf } from '../../support/key-builder.ts'

const ready: Condition = {
  type: 'Ready',
  status: 'True',
  reason: 'Active',
  message: 'The key works and never expires.',
  lastTransitionTime: '2026-11-21T10:00:00Z',
  observedGeneration: 1,
}
const stalled: Condition = { ...ready, type: 'Stalled' }
const ours = statusEntry({ keyID: 'a', conditions: [ready] })

// biome-ignore format: a table
describe.each<{ name: string; entry: ManagedFieldsEntry; isOurs: boolean }>([
  { name: 'our apply of status', entry: ours, isOurs: true },
  { name: "another manager's apply", entry: { ...ours, manager: 'kubectl' }, isOurs: false },
  { name: 'an update under our field manager', entry: { ...ours, operation: 'Update' }, isOurs: false },
  { name: 'our apply of the object', entry: { manager: 'management-operator', operation: 'Apply', fieldsV1: { 'f:status': {} } }, isOurs: false },
])('$name', ({ entry, isOurs }) => {
  const owned = ownedFieldsOf([entry], 'status')

  test(`owns its fields: ${isOurs}`, () => expect(owned.has('status', 'keyID')).toBe(isOurs))
  test(`owns its conditions: ${isOurs}`, () => expect(owned.conditions([ready])).toEqual(isOurs ? [ready] : []))
  test('our manager owns no field that it did not set', () => {
    expect(owned.has('status', 'identity')).toBe(false)
    expect(owned.has('status', 'constructor')).toBe(false)
    expect(owned.conditions([stalled])).toEqual([])
  })
})

test('we do not own a condition when another manager owns one of its fields', () => {
  const { message: _, ...rest } = ready
  const entry = statusEntry({ conditions: [rest] })
  expect(ownedFieldsOf([entry], 'status').conditions([ready])).toEqual([])
})

test('a status that another manager wrote does not count as published by us (4.1, 5.2)', () => {
  const status = { identity: 'user:eve', keyID: 'a', conditions: [ready, stalled] }
  const view = viewOf({ metadata: { managedFields: [ours] }, status })
  expect(view.published).toMatchObject({ keyID: 'a', conditions: [ready] })
  expect(view.published.identity).toBeUndefined()
})
