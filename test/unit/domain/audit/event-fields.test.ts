// The fields by which an event is found (contract 22.3, 22.4).
import { expect, test } from 'vitest'
import { eventFieldsOf } from '../../../../src/domain/audit/event-fields.ts'
import { auditEvent } from '../../../support/audit-event-builder.ts'

test('an event of a resource has all its fields (22.3)', () => {
  const event = auditEvent({
    objectRef: {
      resource: 'deployments',
      subresource: 'scale',
      apiGroup: 'apps',
      namespace: 'shop',
      name: 'web',
      apiVersion: 'v1',
    },
  })
  expect(eventFieldsOf(event)).toEqual({
    auditID: 'b4f1d7c2-0000-4000-8000-000000000001',
    stage: 'ResponseComplete',
    stageTimeMs: Date.parse('2026-11-28T12:00:00.250Z'),
    verb: 'get',
    user: 'ada',
    keyName: 'ci',
    keyId: 'k1',
    target: 'Cluster',
    cluster: 'east',
    project: null,
    namespace: 'shop',
    group: 'apps',
    resource: 'deployments/scale',
    name: 'web',
    code: 200,
    source: null,
  })
})

test('an event of a path, as an API server writes it, has none of the others (22.3)', () => {
  const event = auditEvent({ objectRef: undefined, responseStatus: undefined, annotations: null })
  expect(eventFieldsOf(event)).toMatchObject({
    keyName: null,
    target: null,
    namespace: null,
    group: null,
    resource: null,
    name: null,
    code: null,
  })
})

test.each([
  { name: 'no object', event: 'Event' },
  { name: 'null', event: null },
  { name: 'a list', event: [auditEvent()] },
  { name: 'another kind', event: auditEvent({ kind: 'EventList' }) },
  { name: 'another version', event: auditEvent({ apiVersion: 'audit.k8s.io/v1beta1' }) },
  { name: 'an unknown stage', event: auditEvent({ stage: 'Done' }) },
  { name: 'no time', event: auditEvent({ stageTimestamp: undefined }) },
  { name: 'a time that is none', event: auditEvent({ stageTimestamp: 'noon' }) },
  { name: 'no auditID', event: auditEvent({ auditID: 7 }) },
])('$name is no event (22.4)', ({ event }) => {
  expect(eventFieldsOf(event)).toBeNull()
})

test.each([
  { user: 'ada', objectRef: 'pods', annotations: 'x', responseStatus: [], verb: 7 },
  { objectRef: { resource: 7, name: {} }, annotations: { 'platform.sh/access-key': 7 } },
  { responseStatus: { code: '200' } },
  { responseStatus: { code: 200.5 } },
])('fields of other types count as absent: %j (22.4)', (fields) => {
  const read = eventFieldsOf(auditEvent(fields))
  expect(read).not.toBeNull()
  for (const value of Object.values(read ?? {}))
    expect(value === null || typeof value === 'string' || Number.isInteger(value)).toBe(true)
})
