import { expect, test } from 'vitest'
import { type NamedVersions, versionFaults } from '../../../../tools/release/versions.ts'

const MANIFESTS = `labels:
- pairs:
    app.kubernetes.io/version: 1.2.3
images:
- name: management-operator
  newTag: 1.2.3
`
const CHANGELOG = '# Changelog\n\n## Unreleased\n\n## 1.2.3 - 2026-11-28\n\n## 1.2.2 - 2026-10-01\n'

const named = (change: Partial<NamedVersions> = {}): NamedVersions => ({
  package: '1.2.3',
  charts: [{ name: 'mo', version: '1.2.3', appVersion: '1.2.3' }],
  manifests: MANIFESTS,
  changelog: CHANGELOG,
  ...change,
})

test('files that name one version have no fault (34.4)', () => {
  expect(versionFaults(named())).toEqual([])
})

test.each([
  {
    name: 'a chart of another version',
    change: { charts: [{ name: 'mo', version: '1.2.2', appVersion: '1.2.3' }] },
    fault: 'charts/mo/Chart.yaml: version is 1.2.2, write 1.2.3',
  },
  {
    name: 'a chart for another image',
    change: { charts: [{ name: 'mo', version: '1.2.3', appVersion: '1.2.2' }] },
    fault: 'charts/mo/Chart.yaml: appVersion is 1.2.2, write 1.2.3',
  },
  {
    name: 'manifests with another image',
    change: { manifests: MANIFESTS.replace('newTag: 1.2.3', 'newTag: 1.2.4') },
    fault: 'config/components/release/kustomization.yaml: newTag is 1.2.4, write 1.2.3',
  },
  {
    name: 'manifests with another label',
    change: { manifests: MANIFESTS.replace('version: 1.2.3', 'version: 1.2.4') },
    fault:
      'config/components/release/kustomization.yaml: app.kubernetes.io/version is 1.2.4, write 1.2.3',
  },
  {
    name: 'a changelog that is not cut',
    change: { changelog: '# Changelog\n\n## Unreleased\n\n## 1.2.2 - 2026-10-01\n' },
    fault: 'CHANGELOG.md: the newest version is 1.2.2, cut 1.2.3',
  },
  {
    name: 'a changelog without a version',
    change: { changelog: '# Changelog\n\n## Unreleased\n' },
    fault: 'CHANGELOG.md: the newest version is none, cut 1.2.3',
  },
])('$name is a fault that says what to write (34.4)', ({ change, fault }) => {
  expect(versionFaults(named(change))).toEqual([fault])
})

test('all faults are named at once (34.4)', () => {
  const faults = versionFaults(named({ package: '2.0.0' }))
  expect(faults).toHaveLength(5)
})
