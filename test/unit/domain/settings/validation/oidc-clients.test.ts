import { describe, expect, test } from 'vitest'
import type { OidcClient, OidcServer } from '../../../../../src/api/config.gen.ts'
import { oidcClientFaults } from '../../../../../src/domain/settings/validation/oidc-clients.ts'
import { type FaultRow, type SoundRow, testFaultsInEverySource } from '../settings-sources.ts'

const server = (clients: readonly OidcClient[], more: OidcServer = {}) => ({
  oidc: { ...more, clients: clients.map((client) => ({ name: 'n', ...client })) },
})
const redirects = (...redirectURIs: readonly string[]) => [{ redirectURIs }]

// biome-ignore format: a table
const FAULTS: readonly FaultRow[] = [
  { name: '* alone', spec: server(redirects('https://a', '*')), path: 'oidc.clients[0].redirectURIs[1]', says: 'contains *: write the whole URI' },
  { name: '* in a path', spec: server(redirects('https://a/*')), path: 'oidc.clients[0].redirectURIs[0]', says: 'oidc.wildcardRedirect' },
  { name: '* in a host, switched off', spec: server(redirects('https://*.a'), { wildcardRedirect: false }),
    path: 'oidc.clients[0].redirectURIs[0]', says: 'contains *' },
  { name: 'a clientId twice', spec: server([{ clientId: 'a' }, { clientId: 'b' }, { clientId: 'a' }]),
    path: 'oidc.clients[2].clientId', says: 'the clientId of clients[0] too' },
]

// biome-ignore format: a table
const SOUND: readonly SoundRow[] = [
  { name: 'wildcards that are allowed', spec: server(redirects('*', 'https://*.a/callback'), { wildcardRedirect: true }) },
  { name: 'ids that differ by case, and clients without one', spec: server([{ clientId: 'a' }, { clientId: 'A' }, {}, {}]) },
]

describe('clients of the OIDC server (6.5)', () => {
  testFaultsInEverySource(FAULTS, SOUND)

  test('each client is looked up once, however many there are', () => {
    let reads = 0
    const clients = Array.from({ length: 500 }, (_, at) => ({
      get clientId() {
        reads += 1
        return `c${at % 400}`
      },
    }))
    expect(oidcClientFaults({ clients })).toHaveLength(100)
    expect(reads).toBe(500)
  })
})
