import { expect, test } from 'vitest'
import { checkPatches } from '../../../../src/sync/patches/parse.ts'
import { canHoldSecret } from '../../../../src/sync/patches/secrecy.ts'

const PLAIN = { path: 'metadata.labels.a', expression: 'value' }
const READS = { path: 'metadata.labels.b', expression: 'context.virtualCluster.config.token' }
const WHOLE = { path: 'metadata.labels.b', expression: 'JSON.stringify(context)' }
const BACK = { path: 'metadata.labels.b', reverseExpression: 'context.virtualCluster.config.token' }
const REFERS = { path: 'data.c', reference: { kind: 'Secret' } }

test.each<{ name: string; kind: string; entries: readonly object[]; can: readonly boolean[] }>([
  { name: 'no secret', kind: 'Endpoints', entries: [PLAIN], can: [false] },
  { name: 'each patch of a Secret', kind: 'Secret', entries: [PLAIN, REFERS], can: [true, true] },
  { name: 'a patch that reads the configuration', kind: 'Service', entries: [READS], can: [true] },
  { name: 'a patch that reads all of its context', kind: 'Service', entries: [WHOLE], can: [true] },
  {
    name: 'those after one that does, not those before',
    kind: 'ConfigMap',
    entries: [PLAIN, READS, REFERS],
    can: [false, true, true],
  },
  {
    name: 'one that reads it on the way back',
    kind: 'ConfigMap',
    entries: [BACK, REFERS],
    can: [true, true],
  },
  {
    name: 'a reference names a Secret, and holds no value of it',
    kind: 'ConfigMap',
    entries: [REFERS],
    can: [false],
  },
])('$name (16.1, 19.8)', ({ kind, entries, can }) => {
  const { patches, faults } = checkPatches(entries as never, 'p', ['metadata.labels'])
  expect(faults).toEqual([])
  expect(patches.map((patch) => canHoldSecret({ kind }, patches, patch))).toEqual(can)
})
