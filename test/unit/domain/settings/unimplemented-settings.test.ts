import { describe, expect, test } from 'vitest'
import type { ConfigSettings } from '../../../../src/api/config.gen.ts'
import { withDefaults } from '../../../../src/domain/settings/layers.ts'
import { unimplementedConditions } from '../../../../src/domain/settings/unimplemented.ts'

const conditionsOf = (settings: ConfigSettings) => unimplementedConditions(withDefaults(settings))

describe('the condition that lists unimplemented settings (6.7)', () => {
  // biome-ignore format: a table
  test.each<{ name: string; settings: ConfigSettings; paths: readonly string[] }>([
    { name: 'cost control', settings: { costControl: { enabled: true } }, paths: ['costControl.enabled'] },
    { name: 'the image builder', settings: { imageBuilder: { enabled: true } }, paths: ['imageBuilder.enabled'] },
    { name: 'the database', settings: { database: { enabled: true } }, paths: ['database.enabled'] },
    { name: 'apps', settings: { apps: { noDefault: true, repositories: [{ name: 'r' }], predefinedApps: [{ chart: 'r/c' }] } },
      paths: ['apps.noDefault', 'apps.predefinedApps', 'apps.repositories'] },
    { name: 'hosted deployments', settings: { cloud: { releaseChannel: 'x', maintenanceWindow: { dayOfWeek: 'Monday' } } },
      paths: ['cloud.maintenanceWindow', 'cloud.releaseChannel'] },
    { name: 'the UI', settings: { uiSettings: { customCss: ['https://a/b.css'], sidebarColor: '#fff', navBarButtons: [{ text: 'a' }] } },
      paths: ['uiSettings.customCss', 'uiSettings.navBarButtons', 'uiSettings.sidebarColor'] },
    { name: 'storage of the database', settings: { platformDB: { storageClass: 'fast' } }, paths: ['platformDB.storageClass'] },
    { name: 'a domain', settings: { devPodSubDomain: '*.workspace.a' }, paths: ['devPodSubDomain'] },
    { name: 'several', settings: { imageBuilder: { enabled: true }, costControl: { enabled: true }, auth: { idpB: {} } },
      paths: ['costControl.enabled', 'imageBuilder.enabled'] },
  ])('$name', ({ settings, paths }) => {
    expect(conditionsOf(settings)).toEqual([
      {
        type: 'PartsNotServed',
        status: 'True',
        reason: 'NotBuilt',
        message: `Nothing in this product acts on these settings: ${paths.join(', ')}.`,
      },
    ])
  })

  // biome-ignore format: a table
  test.each<{ name: string; settings: ConfigSettings }>([
    { name: 'defaults', settings: {} },
    { name: 'apps that sign people in through the platform', settings: { oidc: { enabled: true, clients: [{ name: 'a' }] } } },
    { name: 'audit to files', settings: { audit: { enabled: true, path: '/a', level: 1, dataStoreEndpoint: 'sqlite:///a', dataStoreTTL: 24 } } },
    { name: 'implemented settings', settings: { auth: { accessKeyMaxTTLSeconds: 60, loginAccessKeyTTLSeconds: 0 }, platformHost: 'p',
      projectNamespacePrefix: 'q-', disableConfigEndpoint: true, authenticateVersionEndpoint: true, secretStore: { enabled: true } } },
    { name: 'what the sign-in process serves', settings: { auth: { oidc: { clientId: 'c' }, sourceHostA: { clientId: 'c' }, sourceHostB: {}, idpA: {}, idpB: {}, saml: { ssoURL: 'https://a' }, connectors: [{ id: 'a', saml: {} }], password: {}, customHttpHeaders: { 'X-A': 'a' } },
      uiSettings: { logoURL: 'https://a/l.svg', legalTemplate: 'a', primaryColor: '#fff', accentColor: '#000' } } },
    { name: 'configured but switched off', settings: { audit: { path: '/a', level: 1, dataStoreEndpoint: 'sqlite:///a' }, secretStore: { address: 'https://v' }, oidc: { clients: [{ name: 'a' }] },
      imageBuilder: { replicas: 2 }, database: { dataSource: 'x' }, costControl: { settings: { priceCurrency: 'EUR' } } } },
    { name: 'restricted sign-in that is not enabled', settings: { auth: { groupsFilters: ['a'], password: { disabled: true }, disableUserCreation: true } } },
    { name: 'a connector without provider', settings: { auth: { connectors: [{ id: 'c' }] } } },
    { name: 'empty lists and groups', settings: { apps: { repositories: [] }, uiSettings: { customCss: [] }, auth: { customHttpHeaders: {} } } },
  ])('is absent: $name', ({ settings }) => {
    expect(conditionsOf(settings)).toEqual([])
  })
})
