import { expect, test } from 'vitest'
import { CONFIG_MAPS } from '../../../../src/api/names.ts'
import { refusal } from '../memory-cluster.ts'
import { setupWorld } from '../setup-world.ts'
import { webOf } from '../synced-pair.ts'

const WEB = { namespace: 'shop', name: 'web' }
const A_UUID = /^[0-9a-f-]{36}$/

const configMapWorld = () => setupWorld({ configMaps: { all: true } })
const FORBIDDEN = refusal(403, 'Forbidden')

test('the line and the Event of a failure have the ID of their reconcile and the object, and its end another ID (19.8)', async () => {
  const { virtual, host, settle, lines, events } = configMapWorld()
  host.refuse(FORBIDDEN)
  virtual.put(CONFIG_MAPS, webOf('configMaps'))
  await settle()
  host.refuse(null)
  virtual.put(CONFIG_MAPS, webOf('configMaps', { data: {} }))
  await settle()
  const [failed, ended] = lines.map(({ fields }) => fields)
  const reconcileID = failed?.['reconcileID']
  expect(reconcileID).toMatch(A_UUID)
  expect(events).toMatchObject([{ reason: 'NotWritten', reconcileID }])
  const object = { ...WEB, uid: 'v-web' }
  expect(failed).toEqual({
    controller: 'sync-configmaps',
    kind: 'ConfigMap',
    object: { ...object, resourceVersion: '1' },
    reason: 'NotWritten',
    note: 'The host refuses the object: Forbidden.',
    reconcileID,
  })
  expect(ended).toEqual({
    controller: 'sync-configmaps',
    kind: 'ConfigMap',
    object: { ...object, resourceVersion: '2' },
    reconcileID: expect.stringMatching(A_UUID) as unknown,
  })
  expect(ended?.['reconcileID']).not.toBe(reconcileID)
})

test('the line about an object that is gone has its namespace and name (19.8)', async () => {
  const { virtual, host, settle, lines, events } = configMapWorld()
  virtual.put(CONFIG_MAPS, webOf('configMaps'))
  await settle()
  host.refuse(FORBIDDEN)
  virtual.remove(CONFIG_MAPS, WEB)
  await settle()
  expect(lines).toMatchObject([{ sentence: 'an object is not in step' }])
  expect(lines[0]?.fields['object']).toEqual(WEB)
  expect(events).toEqual([])
})
