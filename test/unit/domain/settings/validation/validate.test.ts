import { describe, expect, test } from 'vitest'
import { settled } from '../settings-sources.ts'

const environment = { PLATFORM_CONFIG_A: 'a' }

describe('validation of all sources', () => {
  test('reports every fault with its path and source', () => {
    const spec = {
      auth: {
        accessKeyMaxTTLSeconds: -1,
        oidc: { clientSecret: 'literal', issuerUrl: 'x' },
        saml: { ca: 'a', caData: '!' },
        idpA: { serviceAccountFilePath: '/f' },
        connectors: [
          { id: 'a', saml: { ssoURL: 'https://s' } },
          { id: 'a', idpB: { clientId: 'c' }, oidc: { redirectURI: 'https://p/callback' } },
          {},
        ],
        groupsFilters: ['(', 'ok', '['],
        customHttpHeaders: {
          'X A': 'a',
          'X-B': '$PLATFORM_CONFIG_B',
          'X C': '$PLATFORM_CONFIG_B',
        },
      },
      audit: {
        path: 'logs',
        level: 7,
        policy: {
          omitStages: ['x'],
          rules: [{ nonResourceURLs: ['a'], resources: [{ group: 'A', resourceNames: ['b'] }] }],
        },
      },
      projectNamespacePrefix: '-',
      uiSettings: { primaryColor: 'red', logoURL: 'x', navBarButtons: [{ position: 'x' }] },
    }
    const secret = {
      platformHost: 5,
      audit: { enabled: true, level: 'x' },
      secretStore: { syncInterval: 'x', address: 'x' },
      cloud: { maintenanceWindow: { timeWindow: 'x', dayOfWeek: 'x' } },
      costControl: { global: { metrics: { retention: 'x' } } },
    }
    const foreign = { imageBuilder: { replicas: -1 } }
    const outcome = settled({ spec, secret, foreign, environment })
    const found = outcome.ok ? [] : outcome.faults.map(({ path, source }) => `${source}: ${path}`)
    expect(found.sort()).toEqual([
      'Secret: audit.level',
      'Secret: cloud.maintenanceWindow.dayOfWeek',
      'Secret: cloud.maintenanceWindow.timeWindow',
      'Secret: costControl.global.metrics.retention',
      'Secret: platformHost',
      'Secret: secretStore.address',
      'Secret: secretStore.syncInterval',
      'spec: audit.level',
      'spec: audit.level',
      'spec: audit.path',
      'spec: audit.policy.omitStages[0]',
      'spec: audit.policy.rules[0].level',
      'spec: audit.policy.rules[0].nonResourceURLs',
      'spec: audit.policy.rules[0].nonResourceURLs[0]',
      'spec: audit.policy.rules[0].resources[0].group',
      'spec: audit.policy.rules[0].resources[0].resourceNames',
      'spec: auth.accessKeyMaxTTLSeconds',
      'spec: auth.connectors[0].saml',
      'spec: auth.connectors[1]',
      'spec: auth.connectors[1].id',
      'spec: auth.connectors[1].oidc.clientId',
      'spec: auth.connectors[1].oidc.issuerUrl',
      'spec: auth.connectors[1].oidc.redirectURI',
      'spec: auth.connectors[2]',
      'spec: auth.connectors[2].id',
      'spec: auth.customHttpHeaders.X-B',
      'spec: auth.customHttpHeaders["X A"]',
      // Its value and its name.
      'spec: auth.customHttpHeaders["X C"]',
      'spec: auth.customHttpHeaders["X C"]',
      'spec: auth.groupsFilters[0]',
      'spec: auth.groupsFilters[2]',
      'spec: auth.idpA.adminEmail',
      'spec: auth.idpA.clientId',
      'spec: auth.oidc.clientId',
      'spec: auth.oidc.clientSecret',
      'spec: auth.oidc.issuerUrl',
      'spec: auth.saml',
      'spec: auth.saml.caData',
      'spec: auth.saml.ssoURL',
      'spec: projectNamespacePrefix',
      'spec: uiSettings.logoURL',
      'spec: uiSettings.navBarButtons[0].position',
      'spec: uiSettings.primaryColor',
      'status: imageBuilder.replicas',
    ])
  })

  test('reports one fault for a value of a wrong type, and hides no other fault', () => {
    const secret = {
      auth: {
        groupsFilters: ['(', 5],
        connectors: ['a', { id: 'b', idpB: { clientId: 'c' } }, { id: 'b', oidc: 'x' }],
        saml: [],
      },
      audit: { policy: { rules: 'x' }, level: true, enabled: 'yes' },
      uiSettings: { navBarButtons: 'x', primaryColor: 7 },
      imageBuilder: { resources: { limits: 'x', requests: { cpu: [] } } },
      costControl: 'x',
    }
    const outcome = settled({ secret })
    const found = outcome.ok ? [] : outcome.faults.map(({ path }) => path)
    expect([...new Set(found)].sort()).toEqual([
      'audit.enabled',
      'audit.level',
      'audit.policy.rules',
      'auth.connectors[0]',
      'auth.connectors[2].id',
      'auth.connectors[2].oidc',
      'auth.groupsFilters[0]',
      'auth.groupsFilters[1]',
      'auth.saml',
      'costControl',
      'imageBuilder.resources.limits',
      'imageBuilder.resources.requests.cpu',
      'uiSettings.navBarButtons',
      'uiSettings.primaryColor',
    ])
  })

  test('reports no missing value while the Secret is unreadable', () => {
    const spec = {
      audit: { enabled: true },
      auth: { saml: { ssoURL: 'https://s' }, groupsFilters: ['('] },
    }
    const outcome = settled({ spec, unreadableSecret: 'has no key config' })
    expect(outcome).toMatchObject({
      ok: false,
      faults: [
        {
          path: '',
          source: 'Secret',
          message: expect.stringContaining('has no key config: write YAML'),
        },
        { path: 'auth.groupsFilters[0]', source: 'spec' },
      ],
    })
  })
})
