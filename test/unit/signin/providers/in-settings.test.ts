import { describe, expect, it } from 'vitest'
import { providersIn } from '../../../../src/signin/providers/in-settings.ts'
import { contextWith } from '../../../support/providers/options.ts'

const CONTEXT = contextWith()

const saml = { ssoURL: 'https://sso.example.com/saml', caData: 'AAAA' }
const oidc = { issuerUrl: 'https://id.example.com', clientId: 'platform' }
const sourceHostA = { clientId: 'platform', clientSecret: 'a secret' }

describe('the providers of settings (25.2, 25.6)', () => {
  it('stand in the order of auth, then of the connectors, each with its own name', () => {
    const connectors = [
      { id: 'staff', displayName: 'Staff', oidc },
      { id: 'guests', oidc: { ...oidc, type: 'Guests' } },
      { id: 'open-source', sourceHostA },
    ]
    const found = providersIn({ sourceHostA, oidc, connectors }, CONTEXT)
    expect(found.map(({ id, kind, label }) => [id, kind, label])).toEqual([
      ['oidc', 'oidc', 'OpenID Connect (id.example.com)'],
      ['sourceHostA', 'sourceHostA', 'GitHub (github.com)'],
      ['staff', 'oidc', 'Staff'],
      ['guests', 'oidc', 'Guests'],
      ['open-source', 'sourceHostA', 'GitHub (github.com)'],
    ])
  })

  it('are of every kind, in auth and in connectors (25.6)', () => {
    const kinds = { sourceHostB: {}, idpA: {}, idpB: {}, saml }
    const connectors = Object.entries(kinds).map(([kind, settings]) => ({
      id: `c-${kind}`,
      [kind]: settings,
    }))
    const found = providersIn({ oidc, ...kinds, connectors }, CONTEXT)
    expect(found.map(({ id, kind, label }) => [id, kind, label])).toEqual([
      ['oidc', 'oidc', 'OpenID Connect (id.example.com)'],
      ['sourceHostB', 'sourceHostB', 'GitLab (gitlab.com)'],
      ['idpA', 'idpA', 'Google (accounts.google.com)'],
      ['idpB', 'idpB', 'Microsoft (login.microsoftonline.com)'],
      ['saml', 'saml', 'SAML (sso.example.com)'],
      ['c-sourceHostB', 'sourceHostB', 'GitLab (gitlab.com)'],
      ['c-idpA', 'idpA', 'Google (accounts.google.com)'],
      ['c-idpB', 'idpB', 'Microsoft (login.microsoftonline.com)'],
      ['c-saml', 'saml', 'SAML (sso.example.com)'],
    ])
  })

  it.each([{}, { connectors: [] }, { connectors: [{ oidc }] }, { connectors: [{ id: 'staff' }] }])(
    'are none in %j',
    (auth) => expect(providersIn(auth, CONTEXT)).toEqual([]),
  )
})
