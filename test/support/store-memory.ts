// Measures the memory of many keys in the operator's stores, compared with whole objects: run with --expose-gc and a
// number of keys, it prints both as JSON, in bytes for each key. docs/sizing.md has the figures.
import { CREATED_ANNOTATION, FIELD_MANAGER, REVOKE_FINALIZER } from '../../src/api/names.ts'
import type { KubeObject } from '../../src/api/objects.ts'
import { createStores } from '../../src/commands/manager/informers.ts'
import { plantCanary } from './canary.ts'
import { keyObject } from './object-builder.ts'

/** Bytes for each key, as this process measured them. */
export interface KeyMemory {
  /** In the operator's stores. */
  readonly view: number
  /** As objects that are kept whole. */
  readonly whole: number
  /** As JSON, as the API server sends it. */
  readonly json: number
}

/** A settled key as the API server sends it. */
function settled(index: number): string {
  const name = `key-${index}`
  const at = '2026-11-21T10:00:00Z'
  const message = 'The key works until 2026-12-21T10:00:00Z, 2592000 s after its creation.'
  const condition = { type: 'Ready', status: 'True', reason: 'Active', message } as const
  const base = { apiVersion: 'management.platform.sh/v1', time: at, fieldsType: 'FieldsV1' }
  const object = keyObject({
    metadata: {
      name,
      uid: `0f6c4f2e-5d0b-4d8e-9a51-${String(index).padStart(12, '0')}`,
      resourceVersion: String(index),
      finalizers: [REVOKE_FINALIZER],
      annotations: { [CREATED_ANNOTATION]: at },
      managedFields: [
        {
          ...base,
          manager: FIELD_MANAGER,
          operation: 'Apply',
          fieldsV1: {
            'f:metadata': {
              'f:annotations': { [`f:${CREATED_ANNOTATION}`]: {} },
              'f:finalizers': { [`v:"${REVOKE_FINALIZER}"`]: {} },
            },
            'f:spec': { 'f:key': {} },
          },
        },
        {
          ...base,
          manager: FIELD_MANAGER,
          operation: 'Apply',
          subresource: 'status',
          fieldsV1: {
            'f:status': {
              'f:conditions': {
                'k:{"type":"Ready"}': { '.': {}, 'f:message': {}, 'f:reason': {} },
              },
              'f:effectiveTTLSeconds': {},
              'f:expirationTimestamp': {},
              'f:identity': {},
              'f:keyID': {},
            },
          },
        },
      ],
    },
    spec: { user: `user-${index}`, ttl: 2_592_000, key: plantCanary(name).secret },
    status: {
      conditions: [{ ...condition, lastTransitionTime: at, observedGeneration: 2 }],
      observedGeneration: 2,
      effectiveTTLSeconds: 2_592_000,
      expirationTimestamp: '2026-12-21T10:00:00Z',
      identity: `user:user-${index}`,
      keyID: String(index).padStart(16, '0'),
    },
  })
  return JSON.stringify(object)
}

function used(): number {
  globalThis.gc?.()
  return process.memoryUsage().heapUsed
}

/** Heap growth per key of what `keep` retains, for that many keys. */
function grown(count: number, keep: (object: KubeObject) => void): number {
  const before = used()
  for (let index = 0; index < count; index += 1) keep(JSON.parse(settled(index)) as KubeObject)
  return Math.round((used() - before) / count)
}

if (import.meta.main) {
  const count = Number(process.argv[2])
  const { keys } = createStores()
  keys.begin()
  const view = grown(count, (object) => keys.put(object))
  keys.end()
  const objects: KubeObject[] = []
  const whole = grown(count, (object) => objects.push(object))
  if (keys.size !== count || objects.length !== count) throw new Error('not all were kept')
  const measured: KeyMemory = { view, whole, json: settled(count).length }
  console.log(JSON.stringify(measured))
}
