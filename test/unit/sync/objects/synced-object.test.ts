import { expect, test } from 'vitest'
import type { KubeObject } from '../../../../src/api/objects.ts'
import { syncedObject } from '../../../../src/sync/objects/synced-object.ts'

const service = (managedFields: unknown): KubeObject =>
  ({
    metadata: { name: 'web', namespace: 'shop', uid: 'u', resourceVersion: '1', managedFields },
    spec: { ipFamilies: ['IPv4'] },
  }) as unknown as KubeObject

test.each([
  { name: 'no manager', managedFields: undefined, chooses: false },
  { name: 'an empty entry', managedFields: [{}], chooses: false },
  {
    name: 'a manager of other fields',
    managedFields: [{ fieldsV1: { 'f:spec': { 'f:ports': {}, 'f:ipFamilyPolicy': {} } } }],
    chooses: false,
  },
  {
    name: 'a manager of the families',
    managedFields: [{ fieldsV1: {} }, { fieldsV1: { 'f:spec': { 'f:ipFamilies': {} } } }],
    chooses: true,
  },
])('IP families that $name has: $chooses (18.4)', ({ managedFields, chooses }) => {
  expect(syncedObject('Service')(service(managedFields))).toMatchObject({
    choosesIpFamilies: chooses,
    object: { metadata: { name: 'web' }, kind: 'Service' },
  })
})
