import { describe, expect, test } from 'vitest'
import type { JsonMap } from '../../../../src/domain/json/json.ts'
import { settled } from './settings-sources.ts'

const CANARY = 'cAnArY0123456789'
const environment = {
  PLATFORM_CONFIG_A: 'value-a',
  PLATFORM_CONFIG_EMPTY: '',
  PLATFORM_CONFIG_URL: `https://u:${CANARY}@charts.example.com`,
  PLATFORM_CONFIG_BAD_URL: `charts ${CANARY}`,
  PLATFORM_CONFIG_LINES: `a\r\nX-Evil: ${CANARY}`,
  OTHER: 'other',
}

const repository = (fields: object) => ({ apps: { repositories: [{ name: 'r', ...fields }] } })
const secretIs = (clientSecret: string) => ({
  auth: { oidc: { clientId: 'c', issuerUrl: 'https://i', clientSecret } },
})

describe('references to the environment', () => {
  test.each([
    {
      name: 'client secret',
      spec: secretIs('$PLATFORM_CONFIG_A'),
      settings: secretIs('value-a'),
      status: secretIs('REDACTED'),
    },
    {
      name: 'in a list of providers',
      spec: {
        auth: {
          connectors: [{ id: 'a', idpA: { clientId: 'c', clientSecret: '$PLATFORM_CONFIG_A' } }],
        },
      },
      settings: { auth: { connectors: [{ idpA: { clientId: 'c', clientSecret: 'value-a' } }] } },
      status: { auth: { connectors: [{ idpA: { clientId: 'c', clientSecret: 'REDACTED' } }] } },
    },
    {
      name: 'password',
      spec: repository({ password: '$PLATFORM_CONFIG_A' }),
      settings: repository({ password: 'value-a' }),
      status: repository({ password: 'REDACTED' }),
    },
    {
      name: 'header, which is no secret (6.3)',
      spec: { auth: { customHttpHeaders: { 'X-A': 'DENY', 'X-B': 'costs $5' } } },
      settings: { auth: { customHttpHeaders: { 'X-A': 'DENY', 'X-B': 'costs $5' } } },
      status: { auth: { customHttpHeaders: { 'X-A': 'DENY', 'X-B': 'costs $5' } } },
    },
    {
      name: 'argument',
      spec: { database: { extraArgs: ['$PLATFORM_CONFIG_A'] } },
      settings: { database: { extraArgs: ['value-a'] } },
      status: { database: { extraArgs: ['REDACTED'] } },
    },
    {
      name: 'whole URL',
      spec: repository({ url: '$PLATFORM_CONFIG_URL' }),
      settings: repository({ url: environment.PLATFORM_CONFIG_URL }),
      status: repository({ url: 'https://REDACTED@charts.example.com' }),
    },
    {
      name: 'data source name',
      spec: { database: { dataSource: '$PLATFORM_CONFIG_A' } },
      settings: { database: { dataSource: 'value-a' } },
      status: { database: { dataSource: 'REDACTED' } },
    },
    {
      name: 'another field is not expanded',
      spec: { auth: { oidc: { issuerUrl: 'https://i', clientId: '$PLATFORM_CONFIG_A' } } },
      settings: { auth: { oidc: { issuerUrl: 'https://i', clientId: '$PLATFORM_CONFIG_A' } } },
      status: { auth: { oidc: { issuerUrl: 'https://i', clientId: '$PLATFORM_CONFIG_A' } } },
    },
    {
      name: 'URL without user information is no secret',
      spec: repository({ url: 'https://charts.example.com' }),
      settings: repository({ url: 'https://charts.example.com' }),
      status: repository({ url: 'https://charts.example.com' }),
    },
  ])('$name', ({ spec, settings, status }) => {
    const outcome = { ok: true, settings, owned: status }
    expect(settled({ spec, environment })).toMatchObject(outcome)
    expect(settled({ secret: spec, environment })).toMatchObject(outcome)
  })
})

describe('faults of secrets outside the Secret', () => {
  test.each<{
    name: string
    spec?: unknown
    secret?: unknown
    foreign?: JsonMap
    path: string
    source?: string
    says: string
  }>([
    {
      name: 'variable that is not set',
      spec: secretIs('$PLATFORM_CONFIG_MISSING'),
      path: 'auth.oidc.clientSecret',
      says: 'PLATFORM_CONFIG_MISSING, which is not set',
    },
    {
      name: 'variable that is empty',
      spec: secretIs('$PLATFORM_CONFIG_EMPTY'),
      path: 'auth.oidc.clientSecret',
      says: 'not set',
    },
    {
      name: 'variable of another name',
      spec: secretIs('$OTHER'),
      path: 'auth.oidc.clientSecret',
      says: 'literal secret',
    },
    {
      name: 'variable in lower case',
      spec: secretIs('$PLATFORM_CONFIG_a'),
      path: 'auth.oidc.clientSecret',
      says: 'only A-Z',
    },
    {
      name: 'variable in braces',
      spec: secretIs('${PLATFORM_CONFIG_A}'),
      path: 'auth.oidc.clientSecret',
      says: 'no whole $PLATFORM_CONFIG',
    },
    {
      name: 'variable within a text',
      spec: secretIs('Bearer $PLATFORM_CONFIG_A'),
      path: 'auth.oidc.clientSecret',
      says: 'put it into the Secret',
    },
    {
      name: 'variable as a header, which everybody sees',
      spec: { auth: { customHttpHeaders: { 'X-A': '$PLATFORM_CONFIG_A' } } },
      path: 'auth.customHttpHeaders.X-A',
      says: 'write the value itself',
    },
    {
      name: 'variable as a header, in the Secret',
      secret: { auth: { customHttpHeaders: { 'X-A': '${PLATFORM_CONFIG_A}' } } },
      path: 'auth.customHttpHeaders.X-A',
      source: 'Secret',
      says: 'write the value itself',
    },
    {
      name: 'URL with user information in a header',
      spec: { auth: { customHttpHeaders: { 'X-A': `https://u:${CANARY}@h` } } },
      path: 'auth.customHttpHeaders.X-A',
      says: 'leave that out',
    },
    {
      name: 'literal client secret',
      spec: secretIs(CANARY),
      path: 'auth.oidc.clientSecret',
      says: 'put it into the Secret',
    },
    {
      name: 'literal token',
      spec: { secretStore: { auth: { token: CANARY } } },
      path: 'secretStore.auth.token',
      says: 'put it into the Secret',
    },
    {
      name: 'literal password',
      spec: repository({ password: CANARY }),
      path: 'apps.repositories[0].password',
      says: 'put it into the Secret',
    },
    {
      name: 'literal argument',
      spec: { database: { extraArgs: ['$PLATFORM_CONFIG_A', CANARY] } },
      path: 'database.extraArgs[1]',
      says: 'put it into the Secret',
    },
    {
      name: 'URL with user information',
      spec: repository({ url: `https://u:${CANARY}@h` }),
      path: 'apps.repositories[0].url',
      says: 'as a whole',
    },
    {
      name: 'URL with user information in a text',
      spec: { uiSettings: { legalTemplate: `<a href="https://u:${CANARY}@h">` } },
      path: 'uiSettings.legalTemplate',
      says: 'leave that out',
    },
    {
      name: 'data source name',
      spec: { database: { dataSource: `mysql://u:${CANARY}@tcp(h:1)/d` } },
      path: 'database.dataSource',
      says: 'as a whole',
    },
    {
      name: 'data source name with a password among the parameters',
      spec: { database: { dataSource: `postgres://h/d?password=${CANARY}` } },
      path: 'database.dataSource',
      says: 'as a whole',
    },
    {
      name: 'data source name that is no URL',
      spec: { audit: { dataStoreEndpoint: `u:${CANARY}@tcp(h)/d` } },
      path: 'audit.dataStoreEndpoint',
      says: 'as a whole',
    },
    {
      name: 'REDACTED beside others',
      spec: { database: { extraArgs: ['REDACTED', '$PLATFORM_CONFIG_A'] } },
      path: 'database.extraArgs[0]',
      says: 'is REDACTED',
    },
    {
      name: 'REDACTED beside others, in the Secret',
      secret: { database: { extraArgs: [CANARY, 'REDACTED'] } },
      path: 'database.extraArgs[1]',
      source: 'Secret',
      says: 'is REDACTED',
    },
    {
      name: 'missing variable, in the Secret',
      secret: secretIs('$PLATFORM_CONFIG_MISSING'),
      path: 'auth.oidc.clientSecret',
      source: 'Secret',
      says: 'not set',
    },
    {
      name: 'literal in status',
      foreign: secretIs(CANARY),
      path: 'auth.oidc.clientSecret',
      source: 'status',
      says: 'put it into the Secret',
    },
    {
      name: 'the only setting of a provider, which does not count as missing',
      spec: { auth: { connectors: [{ id: 'a', idpB: { clientId: 'c', clientSecret: CANARY } }] } },
      path: 'auth.connectors[0].idpB.clientSecret',
      says: 'put it into the Secret',
    },
    {
      name: 'missing variable for a URL among others',
      spec: { uiSettings: { customCss: ['https://a/b.css', '$PLATFORM_CONFIG_MISSING'] } },
      path: 'uiSettings.customCss[1]',
      says: 'not set',
    },
    {
      name: 'value that is no URL',
      spec: repository({ url: '$PLATFORM_CONFIG_BAD_URL' }),
      path: 'apps.repositories[0].url',
      says: 'is not a URL',
    },
    {
      name: 'value with a line break in a header',
      spec: { auth: { customHttpHeaders: { 'X-A': environment.PLATFORM_CONFIG_LINES } } },
      path: 'auth.customHttpHeaders.X-A',
      says: 'line breaks',
    },
  ])('$name', ({ spec, secret, foreign, path, source = 'spec', says }) => {
    const outcome = settled({ spec, secret, ...(foreign && { foreign }), environment })
    const faults = outcome.ok ? [] : outcome.faults
    expect(faults).toEqual([{ path, source, message: expect.stringContaining(says) }])
    expect(JSON.stringify(outcome)).not.toContain(CANARY)
  })
})

describe('faults of secrets in the Secret', () => {
  test.each([
    {
      name: 'literals',
      secret: {
        ...secretIs(CANARY),
        database: { dataSource: `mysql://u:${CANARY}@tcp(h)/d`, extraArgs: [CANARY] },
        ...repository({ url: `https://u:${CANARY}@h`, password: CANARY }),
      },
    },
    { name: 'a literal that begins with $', secret: secretIs(`$${CANARY}`) },
    {
      name: 'a text with a URL',
      secret: { uiSettings: { legalTemplate: `https://u:${CANARY}@h` } },
    },
  ])('$name', ({ secret }) => {
    const outcome = settled({ secret, environment })
    expect(outcome).toMatchObject({ ok: true, settings: secret })
    const { owned, record } = outcome as Extract<typeof outcome, { ok: true }>
    expect(JSON.stringify([owned, record])).not.toContain(CANARY)
  })

  test('REDACTED is no value: a status copied into spec does not override the Secret', () => {
    const secret = {
      ...secretIs(CANARY),
      ...repository({ url: `https://u:${CANARY}@h` }),
      database: { extraArgs: [CANARY] },
    }
    const first = settled({ secret })
    const { apps: _, ...copied } = first.owned
    expect(settled({ secret, spec: copied })).toMatchObject({
      ok: true,
      settings: secret,
      owned: first.owned,
    })
  })
})
