import { expect, test } from 'vitest'
import { checkSyncConfig } from '../../../../src/sync/config/config.ts'

const IDLE = 'has no effect on the way to the host: label release has another key there'
const expression = 'value'
test.each<{
  name: string
  kind?: string
  patches: readonly object[]
  isMulti?: true
  warnings: readonly string[]
}>([
  {
    name: 'a label',
    patches: [
      { path: 'metadata.labels.app', expression },
      { path: 'metadata["labels"].release', expression },
    ],
    warnings: [`sync.toHost.services.patches[1] ${IDLE}`],
  },
  {
    name: 'a label that it names a Secret by',
    patches: [{ path: 'metadata.labels.release', reference: { kind: 'Secret' } }],
    warnings: [`sync.toHost.services.patches[0] ${IDLE}`],
  },
  {
    name: 'a key of a selector',
    patches: [{ path: 'spec.selector.release', expression }],
    warnings: [`sync.toHost.services.patches[0] ${IDLE}`],
  },
  {
    name: 'a key of a selector that a patch translates',
    patches: [
      { path: 'spec.selector.release', expression },
      { path: 'spec.selector', labels: {} },
    ],
    warnings: [],
  },
  {
    name: 'a label on the way back, which has its own key there',
    patches: [{ path: 'metadata.labels.release', reverseExpression: expression }],
    warnings: [],
  },
  {
    name: 'all labels, an annotation, and data',
    kind: 'configMaps',
    patches: [
      'metadata.labels',
      'metadata.labels.*',
      'metadata.annotations.release',
      'data.release',
    ].map((path) => ({ path, expression })),
    warnings: [],
  },
  {
    name: 'a label of a ConfigMap, whose labels all have other keys',
    kind: 'configMaps',
    patches: [{ path: 'metadata.labels.app', expression }],
    isMulti: true,
    warnings: [`sync.toHost.configMaps.patches[0] ${IDLE.replace('release', 'app')}`],
  },
  {
    name: 'an annotation that does not cross',
    patches: [{ path: 'metadata.annotations["argocd.argoproj.io/tracking-id"]', expression }],
    warnings: [
      'sync.toHost.services.patches[0] has no effect on the way to the host: annotation argocd.argoproj.io/tracking-id does not cross',
    ],
  },
  {
    name: 'a label in multi-namespace mode',
    patches: [{ path: 'metadata.labels.release', expression }],
    isMulti: true,
    warnings: [],
  },
])('a patch of $name (17.3)', ({ kind = 'services', patches, isMulti = false, warnings }) => {
  const toHost = { [kind]: { patches }, namespaces: { enabled: isMulti } }
  expect(checkSyncConfig({ sync: { toHost } })).toMatchObject({
    faults: [],
    warnings: warnings.map((text) => ({ reason: 'PatchesNotServed', text })),
  })
})
