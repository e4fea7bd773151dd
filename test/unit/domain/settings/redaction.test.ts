import { describe, expect, test } from 'vitest'
import { type SettingsSchema, configSettingsSchema } from '../../../../src/api/config.schema.gen.ts'
import type { Json, JsonMap } from '../../../../src/domain/json/json.ts'
import { redactSettings } from '../../../../src/domain/settings/redaction.ts'
import { picker } from './settings-sources.ts'

const CANARY = 'cAnArY0123456789'

const provider = (name: string) => ({ [name]: { clientId: 'id', clientSecret: CANARY } })
const providerHidden = (name: string) => ({ [name]: { clientId: 'id', clientSecret: 'REDACTED' } })

describe('redaction of whole values', () => {
  test.each<{ name: string; settings: JsonMap; shows: JsonMap }>([
    ...['oidc', 'sourceHostA', 'sourceHostB', 'idpA', 'idpB'].flatMap((name) => [
      { name, settings: { auth: provider(name) }, shows: { auth: providerHidden(name) } },
      {
        name: `connector of ${name}`,
        settings: { auth: { connectors: [provider(name)] } },
        shows: { auth: { connectors: [providerHidden(name)] } },
      },
    ]),
    {
      name: 'OIDC client',
      settings: { oidc: { clients: [{ name: 'a', clientSecret: CANARY }] } },
      shows: { oidc: { clients: [{ name: 'a', clientSecret: 'REDACTED' }] } },
    },
    {
      name: 'repository',
      settings: { apps: { repositories: [{ username: 'u', password: CANARY }] } },
      shows: { apps: { repositories: [{ username: 'u', password: 'REDACTED' }] } },
    },
    {
      name: 'token',
      settings: { secretStore: { auth: { token: CANARY } } },
      shows: { secretStore: { auth: { token: 'REDACTED' } } },
    },
    {
      name: 'reference to a token',
      settings: { secretStore: { auth: { tokenSecretRef: { name: 'n', key: 'k' } } } },
      shows: { secretStore: { auth: { tokenSecretRef: { name: 'n', key: 'k' } } } },
    },
    {
      name: 'headers, which every browser sees, but for the user information of URLs (6.3)',
      settings: { auth: { customHttpHeaders: { 'X-A': 'a', 'X-B': `see https://u:${CANARY}@h` } } },
      shows: { auth: { customHttpHeaders: { 'X-A': 'a', 'X-B': 'see https://REDACTED@h' } } },
    },
    {
      name: 'arguments',
      settings: { database: { extraArgs: ['--a', CANARY] } },
      shows: { database: { extraArgs: ['REDACTED', 'REDACTED'] } },
    },
    {
      name: 'the password sign-in switch',
      settings: { auth: { password: { disabled: true } } },
      shows: { auth: { password: { disabled: true } } },
    },
    {
      name: 'a secret that is a number',
      settings: { secretStore: { auth: { token: 12345 } } },
      shows: { secretStore: { auth: { token: 'REDACTED' } } },
    },
    {
      name: 'a secret by its name, in free form',
      settings: {
        costControl: { settings: { averageCPUPricePerNode: { clientSecret: [{ a: CANARY }] } } },
      },
      shows: {
        costControl: {
          settings: { averageCPUPricePerNode: { clientSecret: [{ a: 'REDACTED' }] } },
        },
      },
    },
  ])('$name', ({ settings, shows }) => {
    expect(redactSettings(settings)).toEqual(shows)
    expect(redactSettings(shows)).toEqual(shows)
  })
})

describe('redaction of URLs in texts', () => {
  test.each([
    { text: `https://user:${CANARY}@host/a`, shows: 'https://REDACTED@host/a' },
    { text: `https://${CANARY}@host`, shows: 'https://REDACTED@host' },
    { text: `https://u@x:${CANARY}@host`, shows: 'https://REDACTED@host' },
    { text: `HTTPS:\\\\u:${CANARY}@host`, shows: 'HTTPS:\\\\REDACTED@host' },
    { text: `https:////u:${CANARY}@host`, shows: 'https:////REDACTED@host' },
    { text: `https://u:"${CANARY}@host`, shows: 'https://REDACTED@host' },
    { text: `git+ssh://${CANARY}@host:x/y.git`, shows: 'git+ssh://REDACTED@host:x/y.git' },
    {
      text: `<a href="https://u:${CANARY}@h/">x</a> https://v:${CANARY}@i`,
      shows: '<a href="https://REDACTED@h/">x</a> https://REDACTED@i',
    },
    {
      text: `a: 1\nurl: postgres://u:${CANARY}@h/db\n`,
      shows: 'a: 1\nurl: postgres://REDACTED@h/db\n',
    },
    { text: `https://h/?to=https://u:${CANARY}@i/`, shows: 'https://h/?to=https://REDACTED@i/' },
    {
      text: 'https://cdn.example.com/pkg@1.2.3/a.css',
      shows: 'https://cdn.example.com/pkg@1.2.3/a.css',
    },
    { text: 'https://host?mail=a@example.com', shows: 'https://host?mail=a@example.com' },
    {
      text: '<a href="https://host">a@example.com</a>',
      shows: '<a href="https://host">a@example.com</a>',
    },
    { text: 'see https://host or a@example.com', shows: 'see https://host or a@example.com' },
    { text: 'mailto:a@example.com', shows: 'mailto:a@example.com' },
  ])('$text', ({ text, shows }) => {
    expect(redactSettings({ uiSettings: { legalTemplate: text } })).toEqual({
      uiSettings: { legalTemplate: shows },
    })
  })

  test('takes linear time for a long text without URLs', () => {
    for (const part of ['a', 'a:/', 'https://', 'a:a']) {
      const settings = { uiSettings: { legalTemplate: part.repeat(200_000 / part.length) } }
      expect(redactSettings(settings)).toEqual(settings)
    }
  })
})

describe('redaction of data source names', () => {
  test.each([
    { dsn: `postgres://u:${CANARY}@h:5432/db`, shows: 'postgres://REDACTED@h:5432/db' },
    { dsn: `mysql://u:${CANARY}@tcp(h:3306)/db`, shows: 'mysql://REDACTED@tcp(h:3306)/db' },
    { dsn: `postgres://u:a/${CANARY}?#@h/db`, shows: 'postgres://REDACTED@h/db' },
    { dsn: `postgres://h/db?user=u&password=${CANARY}`, shows: 'postgres://h/db?REDACTED' },
    { dsn: `u:${CANARY}@tcp(h:3306)/db`, shows: 'REDACTED' },
    { dsn: `host=h password=${CANARY}`, shows: 'REDACTED' },
    { dsn: 'postgres://h:5432/db', shows: 'postgres://h:5432/db' },
  ])('$dsn', ({ dsn, shows }) => {
    const settings = { database: { dataSource: dsn }, audit: { dataStoreEndpoint: dsn } }
    const hidden = { database: { dataSource: shows }, audit: { dataStoreEndpoint: shows } }
    expect(redactSettings(settings)).toEqual(hidden)
    expect(redactSettings(hidden)).toEqual(hidden)
  })
})

describe('redaction leaves no secret at any path', () => {
  const SECRET_FIELDS = new Set(['clientSecret', 'password', 'token', 'extraArgs'])
  const userinfos = [`u:${CANARY}`, CANARY, `u:${CANARY}%40`, `a@${CANARY}:`, `:${CANARY}`]
  const schemes = ['https', 'http', 'postgres', 'ftp', 'x-y+z.1']

  /** Random settings by the schema, a secret in every text; the same for the same seed. */
  function planted(
    schema: SettingsSchema,
    isSecret: boolean,
    pick: (n: number) => number,
  ): Json | undefined {
    if (schema.properties) return plantedMap(Object.entries(schema.properties), isSecret, pick)
    if (schema.additionalProperties)
      return plantedMap(
        ['X-A', '__proto__', 'constructor'].map((name) => [
          name,
          schema.additionalProperties ?? {},
        ]),
        isSecret,
        pick,
      )
    if (schema.items)
      return Array.from(
        { length: 1 + pick(3) },
        () => planted(schema.items ?? {}, isSecret, pick) ?? '',
      )
    if (schema.type === 'boolean') return pick(2) === 0
    if (schema.type === 'object') return { any: textWith(isSecret, pick) }
    return schema.type === 'string' || schema.anyOf ? textWith(isSecret, pick) : pick(100)
  }

  function plantedMap(
    fields: readonly (readonly [string, SettingsSchema])[],
    isSecret: boolean,
    pick: (n: number) => number,
  ): Json {
    return Object.fromEntries(
      fields
        .filter(() => pick(4) > 0)
        .map(([name, schema]) => [
          name,
          planted(schema, isSecret || SECRET_FIELDS.has(name), pick) ?? null,
        ]),
    )
  }

  function textWith(isSecret: boolean, pick: (n: number) => number): string {
    if (isSecret) return [CANARY, `--password=${CANARY}`, `Bearer ${CANARY}`][pick(3)] ?? CANARY
    const url = `${schemes[pick(schemes.length)]}://${userinfos[pick(userinfos.length)]}@host:${pick(9999)}/p@th`
    return (
      [url, `see ${url} and ${url}`, `<a href="${url}">`, `a: ${url}\nb: ${url}`][pick(4)] ?? url
    )
  }

  test('in 500 random settings', () => {
    const prototypeNames = Object.getOwnPropertyNames(Object.prototype)
    for (let seed = 1; seed <= 500; seed += 1) {
      const settings = planted(configSettingsSchema, false, picker(seed)) as JsonMap
      const hidden = redactSettings(settings)
      const isHidden = !JSON.stringify(hidden).includes(CANARY)
      const isStable = JSON.stringify(redactSettings(hidden)) === JSON.stringify(hidden)
      const wasPlanted = JSON.stringify(settings).includes(CANARY)
      expect({ seed, wasPlanted, isHidden, isStable }).toEqual({
        seed,
        wasPlanted: true,
        isHidden: true,
        isStable: true,
      })
    }
    expect(Object.getOwnPropertyNames(Object.prototype)).toEqual(prototypeNames)
  })

  test('in fields that have the name of a secret', () => {
    const secrets: string[] = []
    const collect = (schema: SettingsSchema, path: string): void => {
      for (const [name, field] of Object.entries(schema.properties ?? {})) {
        if (/secret|password|token|credential/i.test(name) && field.type === 'string')
          secrets.push(`${path}.${name}`)
        collect(field, `${path}.${name}`)
      }
      if (schema.items) collect(schema.items, `${path}[]`)
    }
    collect(configSettingsSchema, '')
    expect(secrets.length).toBeGreaterThan(10)
    expect(secrets.filter((path) => !/\.(clientSecret|password|token)$/.test(path))).toEqual([])
  })
})
