import { describe, expect, test } from 'vitest'
import type { JsonMap } from '../../../../src/domain/json/json.ts'
import { mergeSettings } from '../../../../src/domain/settings/layers.ts'
import {
  BROKEN,
  DEFAULTS,
  type SettingsState,
  cap,
  deleted,
  host,
  readCap,
  run,
  settled,
  shown,
} from './settings-sources.ts'

describe('resolveSettings with valid sources', () => {
  test.each<{ name: string; state: SettingsState; reads: number | null; owns: JsonMap }>([
    { name: 'nothing: defaults', state: {}, reads: null, owns: DEFAULTS },
    { name: 'spec', state: { spec: cap(60) }, reads: 60, owns: cap(60) },
    { name: 'the Secret', state: { secret: cap(60) }, reads: 60, owns: cap(60) },
    { name: 'an empty Secret', state: { secret: null }, reads: null, owns: DEFAULTS },
    { name: 'status of another manager', state: { foreign: cap(60) }, reads: 60, owns: DEFAULTS },
    {
      name: 'spec over the Secret',
      state: { spec: cap(60), secret: cap(90) },
      reads: 60,
      owns: cap(60),
    },
    {
      name: 'the Secret over status',
      state: { secret: cap(90), foreign: cap(120) },
      reads: 90,
      owns: cap(90),
    },
    {
      name: 'spec over all',
      state: { spec: cap(60), secret: cap(90), foreign: cap(120) },
      reads: 60,
      owns: cap(60),
    },
    {
      name: '0 in spec lifts the cap of the Secret',
      state: { spec: cap(0), secret: cap(90) },
      reads: null,
      owns: cap(0),
    },
    {
      name: 'null in spec counts as unset',
      state: { spec: { auth: { accessKeyMaxTTLSeconds: null } }, secret: cap(90) },
      reads: 90,
      owns: cap(90),
    },
    {
      name: 'maps merge',
      state: { spec: host, secret: cap(90), foreign: { cloud: { releaseChannel: 'x' } } },
      reads: 90,
      owns: { ...host, ...cap(90) },
    },
    {
      name: 'lists replace',
      state: {
        spec: { auth: { groupsFilters: ['a'] } },
        secret: { auth: { groupsFilters: ['b', 'c'] } },
      },
      reads: null,
      owns: { auth: { groupsFilters: ['a'] } },
    },
  ])('$name', ({ state, reads, owns }) => {
    const after = run(state)
    expect(readCap(after)).toBe(reads)
    expect(after.owned).toMatchObject(owns)
  })

  test('applies only fields that no other manager set', () => {
    const foreign = {
      auth: { accessKeyMaxTTLSeconds: 60, loginAccessKeyTTLSeconds: 30 },
      audit: { maxSize: 5 },
    }
    const after = run({ spec: host, foreign })
    expect(after.foreign).toEqual(foreign)
    const { auth: _, audit: __, ...others } = DEFAULTS
    expect(after.owned).toEqual({ ...others, ...host })
    expect(shown(after)).toEqual({ ...DEFAULTS, ...host, ...foreign })
  })

  test('puts defaults inside another manager’s list in force, and leaves the list to it', () => {
    const foreign = { uiSettings: { navBarButtons: [{ text: 'a' }] } }
    const outcome = settled({ foreign })
    expect(outcome).toMatchObject({
      ok: true,
      settings: { uiSettings: { navBarButtons: [{ position: 'BottomEnd' }] } },
    })
    expect(outcome.owned['uiSettings']).toEqual({ platformVersion: '1.2.3' })
  })

  test('removes a setting from status that is removed from spec', () => {
    const before = run({ spec: { ...cap(60), ...host } })
    const after = run({ ...before, spec: host })
    expect(readCap(after)).toBeNull()
    expect(shown(after)).toEqual({ ...DEFAULTS, ...host })
    expect(shown(run({ ...after, spec: {} }))).toEqual(DEFAULTS)
  })

  test('drops a value of another manager that spec replaces', () => {
    const taken = run({ spec: cap(60), foreign: { ...cap(120), ...host } })
    expect(taken.foreign).toEqual(host)
    expect(shown(run({ ...taken, spec: {} }))).toEqual({ ...DEFAULTS, ...host })
  })

  test('follows another manager that changes and removes its own field', () => {
    const before = run({ foreign: cap(60) })
    expect(readCap(run({ ...before, foreign: cap(30) }))).toBe(30)
    expect(readCap(run({ ...before, foreign: {} }))).toBeNull()
  })

  test('writes equal records for equal settings of any source', () => {
    const settings = { ...cap(60), ...host }
    const records = [
      { spec: settings },
      { spec: host, secret: cap(60) },
      { spec: { ...host, auth: {} }, foreign: cap(60) },
    ]
    const texts = records.map((state) => run(state).record?.['config'])
    expect(new Set(texts).size).toBe(1)
    expect(JSON.parse(texts[0] ?? '')).toEqual(mergeSettings(cap(60), host, DEFAULTS))
  })

  test('drops unknown fields and returns their paths', () => {
    const outcome = settled({
      spec: { ...host, telemetry: 1 },
      secret: { auth: { oidc: { secret: 's' } } },
    })
    expect(outcome.unknown).toEqual([
      { path: 'telemetry', source: 'spec' },
      { path: 'auth.oidc.secret', source: 'Secret' },
    ])
    expect(outcome).toMatchObject({ ok: true, settings: host })
  })
})

describe('resolveSettings with faults keeps the settings in force', () => {
  const good = run({ spec: cap(60), secret: host })
  test.each<{ name: string; change: Partial<SettingsState>; fault: object }>([
    { name: 'invalid spec', change: { spec: { ...cap(0), ...BROKEN } }, fault: { source: 'spec' } },
    { name: 'invalid Secret', change: { secret: BROKEN }, fault: { source: 'Secret' } },
    {
      name: 'the Secret is not a map',
      change: { secret: 'auth' },
      fault: { source: 'Secret', path: '' },
    },
    {
      name: 'the Secret is unreadable',
      change: { unreadableSecret: 'has no key config' },
      fault: { source: 'Secret', path: '' },
    },
    {
      name: 'the Secret is deleted',
      change: { secret: undefined },
      fault: { source: 'Secret', path: '', message: expect.stringContaining('create it again') },
    },
    {
      name: 'an environment variable is unset',
      change: {
        secret: {
          auth: {
            oidc: { issuerUrl: 'https://i', clientId: 'c', clientSecret: '$PLATFORM_CONFIG_A' },
          },
        },
      },
      fault: { source: 'Secret' },
    },
  ])('$name', ({ change, fault }) => {
    const broken = { ...good, ...change }
    const outcome = settled(broken)
    expect(outcome).toMatchObject({
      ok: false,
      faults: [fault],
      record: good.record,
      lastGood: { ...cap(60), ...host },
      owned: good.owned,
    })
    const after = run(broken)
    expect(shown(after)).toEqual(shown(good))
    expect(after.record).toEqual(good.record)
    expect(
      run({ ...after, spec: good.spec, secret: host, unreadableSecret: undefined }),
    ).toMatchObject({ owned: good.owned })
  })

  test('starts with defaults, and leaves fields of other managers unchanged', () => {
    const outcome = settled({ spec: BROKEN, foreign: cap(60) })
    expect(outcome).toMatchObject({ ok: false, lastGood: DEFAULTS, owned: DEFAULTS })
    expect(run({ spec: BROKEN, foreign: cap(60) }).foreign).toEqual(cap(60))
  })

  test('changes of another manager are reverted while the settings are invalid', () => {
    const before = run({ spec: cap(60) })
    const tampered = { ...before, spec: BROKEN, owned: DEFAULTS, foreign: cap(0) }
    const after = run(tampered)
    expect(readCap(after)).toBe(60)
    expect(after.foreign).toEqual({})
  })

  test('additions of another manager come into force, also when the Config is deleted then', () => {
    const broken = run({ ...run({ spec: host }), spec: BROKEN, foreign: cap(5) })
    expect(settled(broken)).toMatchObject({ ok: false, lastGood: { ...cap(5), ...host } })
    expect(broken.foreign).toEqual(cap(5))
    expect(readCap(run(deleted(broken)))).toBe(5)
  })

  test('invalid additions of another manager are ignored', () => {
    const broken = run({ ...run({ spec: host }), foreign: { ...cap(5), ...BROKEN } })
    const outcome = settled(broken)
    expect(outcome).toMatchObject({ ok: false, lastGood: host })
    expect(JSON.stringify(outcome.record)).not.toMatch(/red|5/)
  })

  test('values redacted in status are kept, and a new process never uses the redacted text', () => {
    const secret = { auth: { oidc: { issuerUrl: 'https://i', clientId: 'c', clientSecret: 's' } } }
    const before = run({ secret })
    const outcome = settled({ ...before, spec: BROKEN })
    expect(outcome.owned).toEqual(before.owned)
    expect(outcome.owned).toMatchObject({
      auth: { oidc: { issuerUrl: 'https://i', clientId: 'c', clientSecret: 'REDACTED' } },
    })
    expect(outcome.ok ? null : outcome.lastGood?.auth?.oidc).toEqual({
      issuerUrl: 'https://i',
      clientId: 'c',
      scopes: ['email', 'profile'],
    })
  })
})
