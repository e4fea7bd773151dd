// Settings copied from status, which shows secrets as REDACTED (contract 6.3).
import { describe, expect, test } from 'vitest'
import type { JsonMap } from '../../../../src/domain/json/json.ts'
import { type SettingsState, settled } from './settings-sources.ts'

const environment = { PLATFORM_CONFIG_A: 'value-a', PLATFORM_CONFIG_URL: 'https://u:p@h' }

const connectors = (...entries: readonly JsonMap[]) => ({ auth: { connectors: entries } })
const connector = (id: string, clientSecret: string, more: JsonMap = {}) => ({
  id,
  ...more,
  idpA: { clientId: 'c', scopes: ['a'], clientSecret },
})
const repositories = (...entries: readonly JsonMap[]) => ({ apps: { repositories: entries } })
const clients = (...entries: readonly JsonMap[]) => ({ oidc: { clients: entries } })
const extraArgs = (...args: readonly string[]) => ({ database: { extraArgs: args } })

/** The settings in force, or the faults as text. */
function inForce(state: SettingsState): unknown {
  const outcome = settled({ environment, ...state })
  if (outcome.ok) return outcome.settings
  return outcome.faults.map(({ path, source, message }) => `${path} (${source}): ${message}`)
}

interface Row {
  readonly name: string
  readonly secret: JsonMap
  readonly spec: JsonMap
  readonly settings: JsonMap
}

// biome-ignore format: a table
const STAYS: readonly Row[] = [
  { name: 'a connector of the same id, at any index',
    secret: connectors(connector('a', 's-a'), connector('b', 's-b')),
    spec: connectors(connector('b', 'REDACTED', { displayName: 'B' }), connector('a', 'REDACTED')),
    settings: connectors(connector('b', 's-b', { displayName: 'B' }), connector('a', 's-a')) },
  { name: 'beside a connector with its own value',
    secret: connectors(connector('a', 's-a')),
    spec: connectors(connector('new', '$PLATFORM_CONFIG_A'), connector('a', 'REDACTED')),
    settings: connectors(connector('new', 'value-a'), connector('a', 's-a')) },
  { name: 'a repository of the same name',
    secret: repositories({ name: 'r', password: 's' }),
    spec: repositories({ name: 'q' }, { name: 'r', username: 'u', password: 'REDACTED' }),
    settings: repositories({ name: 'q' }, { name: 'r', username: 'u', password: 's' }) },
  { name: 'a client of the same clientId under another name',
    secret: clients({ name: 'old', clientId: 'c', clientSecret: 's' }),
    spec: clients({ name: 'new', clientId: 'c', clientSecret: 'REDACTED' }),
    settings: clients({ name: 'new', clientId: 'c', clientSecret: 's' }) },
  { name: 'a client of the same clientId beside others of the same name',
    secret: clients({ name: 'n', clientId: 'c', clientSecret: 's-c' }, { name: 'n', clientId: 'd', clientSecret: 's-d' }),
    spec: clients({ name: 'n', clientId: 'd', clientSecret: 'REDACTED' }),
    settings: clients({ name: 'n', clientId: 'd', clientSecret: 's-d' }) },
  { name: 'a URL',
    secret: repositories({ name: 'r', url: 'https://u:p@h/x' }),
    spec: repositories({ name: 'r', url: 'https://REDACTED@h/x' }),
    settings: repositories({ name: 'r', url: 'https://u:p@h/x' }) },
  { name: 'an environment variable that the Secret names',
    secret: repositories({ name: 'r', url: '$PLATFORM_CONFIG_URL', password: '$PLATFORM_CONFIG_A' }),
    spec: repositories({ name: 'r', url: 'https://REDACTED@h', password: 'REDACTED' }),
    settings: repositories({ name: 'r', url: 'https://u:p@h', password: 'value-a' }) },
  { name: 'a list of texts equal to the redacted one of the Secret',
    secret: extraArgs('x', 'y'), spec: extraArgs('REDACTED', 'REDACTED'), settings: extraArgs('x', 'y') },
  { name: 'such a list in an entry of a list',
    secret: clients({ clientId: 'c', redirectURIs: ['https://u:p@h', 'https://i'] }),
    spec: clients({ clientId: 'c', name: 'n', redirectURIs: ['https://REDACTED@h', 'https://i'] }),
    settings: clients({ clientId: 'c', name: 'n', redirectURIs: ['https://u:p@h', 'https://i'] }) },
]

describe('REDACTED in a list stands for the value of the Secret (6.3)', () => {
  test.each(STAYS)('$name', ({ secret, spec, settings }) => {
    const outcome = settled({ environment, secret, spec })
    expect(outcome).toMatchObject({ ok: true, settings })
    expect(JSON.stringify(outcome.owned)).not.toMatch(/s-a|s-b|u:p|value-a/)
  })

  test('in a whole status copied into spec', () => {
    const secret = {
      ...connectors(connector('a', 's-a'), connector('b', 's-b')),
      ...repositories({ name: 'r', url: 'https://u:p@h/x', password: 's' }),
      ...extraArgs('x'),
      auth: {
        ...connectors(connector('a', 's-a'), connector('b', 's-b')).auth,
        oidc: { issuerUrl: 'https://i', clientId: 'c', clientSecret: 's' },
      },
    }
    const first = settled({ environment, secret })
    const copied = settled({ environment, secret, spec: first.owned })
    expect(copied).toMatchObject({ ok: true, owned: first.owned, settings: secret })
  })
})

interface FaultRow {
  readonly name: string
  readonly state: SettingsState
  readonly path: string
  readonly source?: string
}

const HELD = connectors(connector('a', 's-a'))

// biome-ignore format: a table
const FAULTS: readonly FaultRow[] = [
  { name: 'of another id', state: { secret: HELD, spec: connectors(connector('b', 'REDACTED')) },
    path: 'auth.connectors[0].idpA.clientSecret' },
  { name: 'of the same id, with another provider', state: { secret: HELD, spec: connectors({ id: 'a', idpB: { clientId: 'c', clientSecret: 'REDACTED' } }) },
    path: 'auth.connectors[0].idpB.clientSecret' },
  { name: 'without a Secret', state: { spec: connectors(connector('a', 'REDACTED')) },
    path: 'auth.connectors[0].idpA.clientSecret' },
  { name: 'without that list in the Secret', state: { secret: {}, spec: repositories({ name: 'r', password: 'REDACTED' }) },
    path: 'apps.repositories[0].password' },
  { name: 'where the Secret has no secret', state: { secret: repositories({ name: 'r' }), spec: repositories({ name: 'r', password: 'REDACTED' }) },
    path: 'apps.repositories[0].password' },
  { name: 'a URL of another host', state: { secret: repositories({ name: 'r', url: 'https://u:p@h' }), spec: repositories({ name: 'r', url: 'https://REDACTED@evil' }) },
    path: 'apps.repositories[0].url' },
  { name: 'of a name that is not unique',
    state: { secret: repositories({ name: 'r', password: 's' }, { name: 'r', password: 't' }), spec: repositories({ name: 'r', password: 'REDACTED' }) },
    path: 'apps.repositories[0].password' },
  { name: 'the name of an object property', state: { secret: repositories({ name: 'r', password: 's' }), spec: repositories({ name: 'constructor', password: 'REDACTED' }) },
    path: 'apps.repositories[0].password' },
  { name: 'fewer texts than in the Secret', state: { secret: extraArgs('x', 'y'), spec: extraArgs('REDACTED') }, path: 'database.extraArgs[0]' },
  { name: 'texts in place of a variable', state: { spec: extraArgs('REDACTED') }, path: 'database.extraArgs[0]' },
  { name: 'in the Secret itself', state: { secret: connectors(connector('a', 'REDACTED')) },
    path: 'auth.connectors[0].idpA.clientSecret', source: 'Secret' },
  { name: 'in status, by another manager', state: { foreign: repositories({ name: 'r', password: 'REDACTED' }) },
    path: 'apps.repositories[0].password', source: 'status' },
]

describe('REDACTED in a list without a counterpart is a fault with its path (6.3)', () => {
  test.each(FAULTS)('$name', ({ state, path, source = 'spec' }) => {
    const [fault, ...others] = inForce(state) as readonly string[]
    expect(others).toEqual([])
    expect(fault?.startsWith(`${path} (${source}): is REDACTED`)).toBe(true)
    expect(fault).toContain(': write ')
  })

  test('the message names path, source and reason', () => {
    expect(inForce({ spec: repositories({ name: 'r', password: 'REDACTED' }) })).toEqual([
      'apps.repositories[0].password (spec): is REDACTED, which stands for a hidden value and is no value: ' +
        'write $PLATFORM_CONFIG_<NAME>, a variable of the operator, or put the value into the Secret, ' +
        'into an entry of the same id, name or clientId',
    ])
  })

  test('the last valid settings stay in force with their secrets', () => {
    const outcome = settled({ secret: HELD, spec: connectors(connector('b', 'REDACTED')) })
    expect(outcome).toMatchObject({ ok: false })
    expect(JSON.stringify(outcome)).not.toContain('s-a')
  })

  test('an unset variable of the Secret is named', () => {
    const secret = repositories({ name: 'r', password: '$PLATFORM_CONFIG_MISSING' })
    expect(inForce({ secret, spec: repositories({ name: 'r', password: 'REDACTED' }) })).toEqual([
      expect.stringMatching(
        /^apps\.repositories\[0\]\.password \(Secret\): names PLATFORM_CONFIG_MISSING, which is not set/,
      ),
    ])
  })
})

test('a list that a higher source replaces is not checked (6.3)', () => {
  const state = {
    secret: HELD,
    foreign: connectors(connector('z', 'REDACTED')),
  }
  expect(inForce(state)).toMatchObject(HELD)
})

test('settings carried over without their secrets are in force without them (6.5)', () => {
  const uid = 'earlier'
  const first = settled({ uid, secret: repositories({ name: 'r', password: 's' }) })
  const recreated = settled({ uid: 'anew', record: first.record })
  expect(recreated).toMatchObject({ ok: true, settings: repositories({ name: 'r' }) })
})

test('two lists of 4,000 entries are compared in one pass (6.3)', () => {
  const many = (clientSecret: (at: number) => string) =>
    clients(
      ...Array.from({ length: 4_000 }, (_, at) => ({
        name: `n-${at}`,
        clientId: `c-${at}`,
        clientSecret: clientSecret(at),
      })),
    )
  const secret = many((at) => `s-${at}`)
  const { oidc } = many(() => 'REDACTED')
  const spec = { oidc: { clients: oidc.clients.toReversed() } }
  expect(settled({ secret, spec })).toMatchObject({ ok: true })
})
