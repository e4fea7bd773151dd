/** @module-tag no-retry */
import { describe, expect, test } from 'vitest'
import type { Change } from '../../../../support/saml/forger.ts'
import { samlSignIn } from '../../../../support/saml/sign-in.ts'

describe('a Status', () => {
  const SUCCESS = '<samlp:StatusCode Value="urn:oasis:names:tc:SAML:2.0:status:Success"/>'
  const code = (name: string, inner = ''): string =>
    `<samlp:StatusCode Value="urn:oasis:names:tc:SAML:2.0:status:${name}">${inner}</samlp:StatusCode>`
  test.each<{ name: string; status: string; detail: string | null }>([
    {
      name: 'of the person',
      status: code('Responder', code('AuthnFailed')),
      detail: 'authn_failed',
    },
    {
      name: 'of the request',
      status: code('Requester', code('InvalidNameIDPolicy')),
      detail: 'invalid_name_id_policy',
    },
    { name: 'of one code', status: code('Requester'), detail: 'requester' },
    {
      name: 'of an unknown inner code',
      status: code('Responder', code('secret')),
      detail: 'responder',
    },
    { name: 'of an unknown code', status: code('secret'), detail: null },
    { name: 'without a code', status: '', detail: null },
    { name: 'with two codes', status: SUCCESS + SUCCESS, detail: null },
    {
      name: 'whose inner code alone is Success',
      status: code('Responder', SUCCESS),
      detail: 'responder',
    },
  ])('$name refuses, and quotes nothing (25.5, 25.6, SF)', async ({ status, detail }) => {
    for (const parts of [[], ['Assertion'], ['Response']] as const) {
      const refused = samlSignIn({ changes: [[SUCCESS, status]], parts })
      await expect(refused).rejects.toMatchObject({ reason: 'provider_refused', detail })
      await expect(refused).rejects.not.toThrow('secret')
    }
  })

  test('that is absent refuses (25.6)', async () => {
    const changes: readonly Change[] = [[/<samlp:Status>.*<\/samlp:Status>/s, '']]
    await expect(samlSignIn({ changes })).rejects.toMatchObject({ reason: 'provider_refused' })
  })
})
