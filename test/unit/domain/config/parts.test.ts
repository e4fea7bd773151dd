import { expect, test } from 'vitest'
import type { ConfigSettings } from '../../../../src/api/config.gen.ts'
import { withDefaults } from '../../../../src/domain/config/defaults.ts'
import { partConditions } from '../../../../src/domain/config/parts.ts'

test.each<{ name: string; settings: ConfigSettings; types: readonly string[] }>([
  { name: 'defaults', settings: {}, types: [] },
  {
    name: 'audit on',
    settings: { audit: { enabled: true, path: '/a' } },
    types: ['AuditNotWritten'],
  },
  { name: 'audit configured, off', settings: { audit: { path: '/a' } }, types: [] },
  {
    name: 'a provider',
    settings: { auth: { idpB: { clientId: 'c' } } },
    types: ['SignInNotServed'],
  },
  {
    name: 'a connector',
    settings: { auth: { connectors: [{ id: 'c', saml: {} }] } },
    types: ['SignInNotServed'],
  },
  {
    name: 'a connector without provider',
    settings: { auth: { connectors: [{ id: 'c' }] } },
    types: [],
  },
  {
    name: 'the secret store',
    settings: { secretStore: { enabled: true } },
    types: ['SecretStoreNotSynced'],
  },
])('$name', ({ settings, types }) => {
  const conditions = partConditions(withDefaults(settings))
  expect(conditions.map(({ type }) => type)).toEqual(types)
  for (const { status, reason, message } of conditions) {
    expect(status).toBe('True')
    expect(reason).toMatch(/^[A-Z][A-Za-z]+$/)
    expect(message).toMatch(/^\S.*\.$/)
  }
})
