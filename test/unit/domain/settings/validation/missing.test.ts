import { describe, expect, test } from 'vitest'
import type { Connector } from '../../../../../src/api/config.gen.ts'
import {
  type FaultRow,
  type SoundRow,
  settled,
  testFaultsInEverySource,
} from '../settings-sources.ts'

const inConnector = (provider: Omit<Connector, 'id'>) => ({
  auth: { connectors: [{ id: 'a', ...provider }] },
})
const issuerUrl = 'https://issuer.example.com'
const claim = (fields: object) => ({ resources: { claims: [{ name: 'gpu' }, fields] } })

// biome-ignore format: a table
const FAULTS: readonly FaultRow[] = [
  { name: 'oidc without clientId', spec: { auth: { oidc: { issuerUrl } } }, path: 'auth.oidc.clientId', says: 'is missing' },
  { name: 'oidc without issuerUrl', spec: { auth: { oidc: { clientId: 'c' } } }, path: 'auth.oidc.issuerUrl', says: 'signs ID tokens' },
  { name: 'oidc of a connector', spec: inConnector({ oidc: { clientId: 'c' } }), path: 'auth.connectors[0].oidc.issuerUrl', says: 'is missing' },
  { name: 'oidc with an empty clientId', spec: { auth: { oidc: { issuerUrl, clientId: '' } } }, path: 'auth.oidc.clientId', says: 'is missing' },
  ...(['sourceHostA', 'sourceHostB', 'idpA', 'idpB'] as const).flatMap((name): FaultRow[] => [
    { name: `${name} without clientId`, spec: { auth: { [name]: { redirectURI: `https://p/auth/${name}/callback` } } },
      path: `auth.${name}.clientId`, says: 'is missing: set the client' },
    { name: `${name} of a connector`, spec: inConnector({ [name]: { redirectURI: 'https://p/auth/a/callback' } }),
      path: `auth.connectors[0].${name}.clientId`, says: 'is missing' },
  ]),
  { name: 'saml without ssoURL', spec: { auth: { saml: { ca: 'a' } } }, path: 'auth.saml.ssoURL', says: 'is missing' },
  { name: 'saml of a connector', spec: inConnector({ saml: { ca: 'a' } }), path: 'auth.connectors[0].saml.ssoURL', says: 'is missing' },
  { name: 'an organization', spec: { auth: { sourceHostA: { clientId: 'c', orgs: [{ name: 'o' }, { teams: ['t'] }] } } },
    path: 'auth.sourceHostA.orgs[1].name', says: 'full name of the organization' },
  { name: 'an organization of a connector', spec: inConnector({ sourceHostA: { clientId: 'c', orgs: [{}] } }),
    path: 'auth.connectors[0].sourceHostA.orgs[0].name', says: 'is missing' },
  { name: 'the Secret of a token', spec: { secretStore: { auth: { tokenSecretRef: { key: 'k' } } } },
    path: 'secretStore.auth.tokenSecretRef.name', says: 'name of the Secret' },
  { name: 'a claim of the image builder', spec: { imageBuilder: claim({ request: 'r' }) },
    path: 'imageBuilder.resources.claims[1].name', says: 'is missing' },
  { name: 'a claim of global metrics', spec: { costControl: { global: { metrics: claim({}) } } },
    path: 'costControl.global.metrics.resources.claims[1].name', says: 'is missing' },
  { name: 'a claim of cluster metrics', spec: { costControl: { cluster: { metrics: claim({}) } } },
    path: 'costControl.cluster.metrics.resources.claims[1].name', says: 'is missing' },
  { name: 'a claim of the estimator', spec: { costControl: { cluster: { costEstimator: claim({}) } } },
    path: 'costControl.cluster.costEstimator.resources.claims[1].name', says: 'is missing' },
  { name: 'an OIDC client without name', spec: { oidc: { clients: [{ clientId: 'c' }] } }, path: 'oidc.clients[0].name', says: 'is missing' },
  { name: 'a predefined app without chart', spec: { apps: { predefinedApps: [{ title: 't' }] } },
    path: 'apps.predefinedApps[0].chart', says: 'write repository/chart' },
]

// biome-ignore format: a table
const SOUND: readonly SoundRow[] = [
  { name: 'the needed fields alone, of every provider', spec: { auth: {
      oidc: { issuerUrl, clientId: 'c' }, sourceHostA: { clientId: 'c', orgs: [{ name: 'o' }] }, sourceHostB: { clientId: 'c' },
      idpA: { clientId: 'c' }, idpB: { clientId: 'c' }, saml: { ssoURL: 'https://s', ca: 'a' } } } },
  { name: 'empty blocks, which equal absent ones', spec: {
      auth: { oidc: {}, sourceHostA: {}, sourceHostB: { clientId: '' }, idpA: {}, idpB: {}, saml: {} },
      secretStore: { auth: { tokenSecretRef: {} } } } },
  { name: 'what no rule asks for', spec: {
      apps: { repositories: [{ url: 'https://r' }], predefinedApps: [{ chart: 'r/c' }] }, oidc: { clients: [{ name: 'n' }, { name: 'n' }] },
      secretStore: { enabled: true, auth: { tokenSecretRef: { name: 's' } } }, uiSettings: { navBarButtons: [{}] } } },
]

describe('settings with and without the fields that they need (6.5)', () => {
  testFaultsInEverySource(FAULTS, SOUND)

  test('a needed field may come from another source', () => {
    const spec = { auth: { oidc: { issuerUrl } } }
    expect(settled({ spec, secret: { auth: { oidc: { clientId: 'c' } } } })).toMatchObject({
      ok: true,
    })
  })
})
