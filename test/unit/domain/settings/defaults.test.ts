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
          { id: 'b', saml: {} },
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
  { name: 'no buttons', given: { uiSettings: { platformVersion: '1' } } },
])('$name', ({ given, adds = {} }) => {
  expect(withDefaults(given)).toEqual(
    mergeSettings(settingsToJson(adds), settingsToJson(given), settingsToJson(ALWAYS)),
  )
})
