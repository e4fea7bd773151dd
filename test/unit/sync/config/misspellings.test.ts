import { describe, expect, test } from 'vitest'
import { checkSyncConfig } from '../../../../src/sync/config/config.ts'
import { slipOf } from '../../../../src/sync/config/misspellings.ts'

const meant = (given: string, other: string): string =>
  `${given} has no meaning here, did you mean ${other}?`

describe('a key of the configuration that is probably meant to be another', () => {
  test.each([
    { name: 'case', file: { sync: { tohost: {} } }, warns: meant('sync.tohost', 'sync.toHost') },
    { name: 'the first key', file: { Sync: {} }, warns: meant('Sync', 'sync') },
    {
      name: 'a letter too few',
      file: { sync: { toHost: { endpoint: { patches: [{}] } } } },
      warns: meant('sync.toHost.endpoint', 'sync.toHost.endpoints'),
    },
    {
      name: 'case of a kind',
      file: { sync: { toHost: { configmaps: {} } } },
      warns: meant('sync.toHost.configmaps', 'sync.toHost.configMaps'),
    },
    {
      name: 'a letter too many',
      file: { sync: { toHost: { servicess: {} } } },
      warns: meant('sync.toHost.servicess', 'sync.toHost.services'),
    },
    {
      name: 'two letters swapped',
      file: { sync: { toHost: { secrtes: {} } } },
      warns: meant('sync.toHost.secrtes', 'sync.toHost.secrets'),
    },
    {
      name: 'an unknown key of namespaces',
      file: { sync: { toHost: { namespaces: { enable: true } } } },
      warns:
        'sync.toHost.namespaces has no key "enable" for this syncer, it knows enabled, mappings',
    },
    {
      name: 'an unknown key of mappings',
      file: { sync: { toHost: { namespaces: { mappings: { byname: {} } } } } },
      warns: 'sync.toHost.namespaces.mappings has no key "byname" for this syncer, it knows byName',
    },
  ])('is a warning: $name (16.1)', ({ file, warns }) => {
    expect(checkSyncConfig(file)).toMatchObject({ faults: [], warnings: [{ text: warns }] })
  })

  test('is none of those that the virtual cluster itself has (16.1)', () => {
    const toHost = Object.fromEntries(
      [
        'pods,ingresses,networkPolicies,persistentVolumeClaims,persistentVolumes,storageClasses',
        'serviceAccounts,podDisruptionBudgets,priorityClasses,customResources,volumeSnapshots',
      ]
        .join(',')
        .split(',')
        .map((name) => [name, {}]),
    )
    const file = { controlPlane: {}, policies: {}, sync: { fromHost: {}, toHost } }
    expect(checkSyncConfig(file)).toMatchObject({ faults: [], warnings: [] })
  })

  test.each([
    { key: 'secrets', slip: null },
    { key: 'secretsss', slip: null },
    { key: 'pods', slip: null },
    { key: '', slip: null },
    { key: 'SECRETS', slip: 'secrets' },
    { key: 'xsecrets', slip: 'secrets' },
    { key: 'secreta', slip: 'secrets' },
  ])('$key is meant to be $slip (16.1)', ({ key, slip }) => {
    expect(slipOf(key, ['secrets'])).toBe(slip)
  })
})
