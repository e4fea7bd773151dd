import { expect, test } from 'vitest'
import type { ConfigSettings } from '../../../../src/api/config.gen.ts'
import { settingsToJson } from '../../../../src/domain/json/json.ts'
import { mergeSettings, withDefaults } from '../../../../src/domain/settings/layers.ts'

const ALWAYS: ConfigSettings = {
  auth: { loginAccessKeyTTLSeconds: 1_728_000 },
  projectNamespacePrefix: 'p-',
  audit: { maxSize: 100 },
  secretStore: { syncInterval: '1m' },
  costControl: {
    global: { metrics: { retention: '1y' } },
    cluster: { metrics: { retention: '1y' } },
  },
}

const metrics = { retention: '30d', replicas: 2 }

const PERSISTENT = 'urn:oasis:names:tc:SAML:2.0:nameid-format:persistent'

test.each<{ name: string; given: ConfigSettings; adds?: ConfigSettings }>([
  { name: 'nothing set', given: {} },
  {
    name: 'explicit values stay',
    given: {
      ...ALWAYS,
      auth: { loginAccessKeyTTLSeconds: 60 },
      projectNamespacePrefix: 'team-',
      audit: { maxSize: 5 },
      secretStore: { syncInterval: '9s' },
      costControl: { global: { metrics }, cluster: { metrics } },
    },
  },
  { name: '0 means no lifetime and stays', given: { auth: { loginAccessKeyTTLSeconds: 0 } } },
  {
    name: 'oidc scopes',
    given: { auth: { oidc: { clientId: 'c' } } },
    adds: { auth: { oidc: { scopes: ['email', 'profile'] } } },
  },
  {
    name: 'empty oidc scopes',
    given: { auth: { oidc: { scopes: [] } } },
    adds: { auth: { oidc: { scopes: ['email', 'profile'] } } },
  },
  { name: 'explicit scopes', given: { auth: { oidc: { scopes: ['openid'] } } } },
  {
    name: 'idpA scopes',
    given: { auth: { idpA: {} } },
    adds: { auth: { idpA: { scopes: ['profile', 'email'] } } },
  },
  {
    name: 'idpB tenant',
    given: { auth: { idpB: {} } },
    adds: { auth: { idpB: { tenant: 'common' } } },
  },
  { name: 'explicit tenant', given: { auth: { idpB: { tenant: 'consumers' } } } },
  {
    name: 'connectors',
    given: {
      auth: {
        connectors: [
          { id: 'a', idpB: {} },
          { id: 'b', saml: {} },
        ],
      },
    },
    adds: {
      auth: {
        connectors: [
          { id: 'a', idpB: { tenant: 'common' } },
          { id: 'b', saml: { nameIDPolicyFormat: PERSISTENT } },
        ],
      },
    },
  },
  {
    name: 'buttons',
    given: { uiSettings: { navBarButtons: [{ text: 'a' }, { position: 'TopEnd' }] } },
    adds: {
      uiSettings: { navBarButtons: [{ text: 'a', position: 'BottomEnd' }, { position: 'TopEnd' }] },
    },
  },
  {
    name: 'the format of names, unless one is given',
    given: { auth: { saml: {}, connectors: [{ id: 'a', saml: { nameIDPolicyFormat: 'email' } }] } },
    adds: { auth: { saml: { nameIDPolicyFormat: PERSISTENT } } },
  },
  {
    name: 'the title of an app: the name of its chart',
    given: { apps: { predefinedApps: [{ chart: 'repo/web' }, { chart: 'web', title: 'Shop' }] } },
    adds: {
      apps: {
        predefinedApps: [
          { chart: 'repo/web', title: 'web' },
          { chart: 'web', title: 'Shop' },
        ],
      },
    },
  },
  {
    name: 'the key of a Secret with a token',
    given: { secretStore: { auth: { tokenSecretRef: { name: 's' } } } },
    adds: { secretStore: { auth: { tokenSecretRef: { key: 'token' } } } },
  },
  {
    name: 'requests: the limits',
    given: {
      imageBuilder: { resources: { limits: { cpu: 1 } } },
      costControl: {
        global: { metrics: { resources: { limits: { cpu: 2 } } } },
        cluster: {
          metrics: { resources: { limits: { cpu: 3 }, requests: { memory: '1Gi' } } },
          costEstimator: { resources: { limits: { cpu: 4 } } },
        },
      },
    },
    adds: {
      imageBuilder: { resources: { requests: { cpu: 1 } } },
      costControl: {
        global: { metrics: { resources: { requests: { cpu: 2 } } } },
        cluster: { costEstimator: { resources: { requests: { cpu: 4 } } } },
      },
    },
  },
  { name: 'no buttons', given: { uiSettings: { platformVersion: '1' } } },
])('$name', ({ given, adds = {} }) => {
  expect(withDefaults(given)).toEqual(
    mergeSettings(settingsToJson(adds), settingsToJson(given), settingsToJson(ALWAYS)),
  )
})
