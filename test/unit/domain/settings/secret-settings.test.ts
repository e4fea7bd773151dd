import { expect, test } from 'vitest'
import {
  dataStoreEndpointIn,
  gatewaySecretSettings,
  NO_SECRET_SETTINGS,
} from '../../../../src/domain/settings/secret-settings.ts'

// biome-ignore format: a table
test.each([
  { name: 'an endpoint', settings: { audit: { enabled: true, dataStoreEndpoint: 'sqlite:///a' } }, endpoint: 'sqlite:///a' },
  { name: 'no endpoint', settings: { audit: { enabled: true } }, endpoint: '' },
  { name: 'no audit', settings: { platformHost: 'p' }, endpoint: '' },
])('the gateway reads what the manager wrote: $name (6.8)', ({ settings, endpoint }) => {
  const text = gatewaySecretSettings(settings)
  expect(dataStoreEndpointIn(text)).toBe(endpoint)
  expect(text === NO_SECRET_SETTINGS).toBe(endpoint === '')
})

test.each(['', '[]', 'null', '{', '"a"'])(
  'a text that is no JSON object says nothing: %j',
  (text) => {
    expect(dataStoreEndpointIn(text)).toBeNull()
  },
)

test.each(['{"audit":{"dataStoreEndpoint":1}}', '{"audit":[]}'])(
  'an endpoint of another type is none: %j',
  (text) => {
    expect(dataStoreEndpointIn(text)).toBe('')
  },
)
