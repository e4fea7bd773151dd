import { lookup } from 'node:dns'
import { describe, expect, it } from 'vitest'
import { systemClock } from '../../../../src/runtime/clock.ts'
import { PUBLIC_ADDRESSES } from '../../../../src/signin/providers/addresses.ts'
import { providersIn } from '../../../../src/signin/providers/in-settings.ts'
import { NO_END } from '../../../support/oidc/sign-in.ts'

const CONTEXT = {
  publicUrl: 'https://platform.example.com',
  filesDir: null,
  addresses: PUBLIC_ADDRESSES,
  resolve: lookup,
  clock: systemClock(),
  signal: NO_END,
}

const saml = { ssoURL: 'https://sso.example.com/saml', caData: 'AAAA' }
const oidc = { issuerUrl: 'https://id.example.com', clientId: 'platform' }

describe('the providers of settings (25.2, 25.6)', () => {
  it('stand in the order of auth, then of the connectors, each with its own name', () => {
    const connectors = [
      { id: 'staff', displayName: 'Staff', oidc },
      { id: 'guests', oidc: { ...oidc, type: 'Guests' } },
      { id: 'partners', saml },
    ]
    const found = providersIn({ oidc, saml, connectors }, CONTEXT)
    expect(found.map(({ id, kind, label }) => [id, kind, label])).toEqual([
      ['oidc', 'oidc', 'OpenID Connect (id.example.com)'],
      ['saml', 'saml', 'SAML (sso.example.com)'],
      ['staff', 'oidc', 'Staff'],
      ['guests', 'oidc', 'Guests'],
      ['partners', 'saml', 'SAML (sso.example.com)'],
    ])
  })

  it.each([{}, { connectors: [] }, { connectors: [{ oidc }] }, { connectors: [{ id: 'staff' }] }])(
    'are none in %j',
    (auth) => expect(providersIn(auth, CONTEXT)).toEqual([]),
  )
})
