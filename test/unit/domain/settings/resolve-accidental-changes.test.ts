import { describe, expect, test } from 'vitest'
import type { JsonMap } from '../../../../src/domain/json/json.ts'
import { withoutPathsOf } from '../../../../src/domain/settings/layers.ts'
import { repeated } from '../../../support/tier.ts'
import {
  BROKEN,
  DEFAULTS,
  type SettingsState,
  cap,
  deleted,
  host,
  picker,
  readCap,
  reconciled,
  run,
  settled,
  shown,
} from './settings-sources.ts'

describe('a Config that was deleted', () => {
  test.each<{ name: string; before: SettingsState }>([
    { name: 'cap of spec', before: { spec: cap(60) } },
    { name: 'cap of another manager', before: { foreign: cap(60) } },
    { name: 'cap of the Secret, which remains', before: { secret: cap(60) } },
    { name: 'cap of spec beside a Secret, which remains', before: { spec: cap(60), secret: host } },
  ])('keeps the $name after restarts', ({ before }) => {
    const gone = deleted(run(before))
    expect(readCap(gone)).toBe(60)
    const recreated = run(gone)
    expect(readCap(recreated)).toBe(60)
    expect(recreated.owned).toMatchObject(cap(60))
    expect(readCap(run(deleted(recreated)))).toBe(60)
  })

  const carried = run(deleted(run({ spec: { ...cap(60), ...host } })))
  const kept = { ...DEFAULTS, ...host, auth: { ...(DEFAULTS['auth'] as JsonMap), ...cap(60).auth } }
  test('keeps each setting when spec gets an unrelated one, and forgets it once spec has had it (6.5)', () => {
    const other = { cloud: { releaseChannel: 'x' } }
    const set = run({ ...carried, spec: other })
    expect(shown(set)).toEqual({ ...kept, ...other })
    expect(settled(set)).toMatchObject({
      kept: ['auth.accessKeyMaxTTLSeconds', 'platformHost'],
    })
    const lifted = run({ ...set, spec: { ...other, ...cap(0) } })
    expect(readCap(lifted)).toBeNull()
    expect(shown(lifted)).toMatchObject(host)
    expect(settled(lifted)).toMatchObject({ kept: ['platformHost'] })
    expect(readCap(run({ ...lifted, spec: {} }))).toBeNull()
    expect(shown(run({ ...lifted, spec: {} }))).toMatchObject(host)
  })
  test('keeps each setting when the Secret gets an unrelated one (6.5)', () => {
    const other = { cloud: { releaseChannel: 'x' } }
    const set = run({ ...carried, secret: other })
    expect(shown(set)).toEqual({ ...kept, ...other })
    expect(readCap(run({ ...set, secret: cap(30) }))).toBe(30)
    expect(readCap(run({ ...run({ ...set, secret: cap(30) }), secret: other }))).toBeNull()
  })
  test('keeps what the remaining Secret does not have, and follows the Secret (6.5)', () => {
    const beside = run(deleted(run({ spec: cap(60), secret: host })))
    expect(readCap(beside)).toBe(60)
    const changed = run({ ...beside, secret: { platformHost: 'q.example.com' } })
    expect(shown(changed)).toEqual({ ...kept, platformHost: 'q.example.com' })
    expect(settled(changed)).toMatchObject({ kept: ['auth.accessKeyMaxTTLSeconds'] })
    expect(shown(run({ ...changed, secret: {} }))).not.toHaveProperty('platformHost')
  })
  test('ignores unset values', () => {
    expect(
      readCap(
        run({ ...carried, spec: { auth: { oidc: null }, audit: { enabled: false } }, secret: {} }),
      ),
    ).toBe(60)
  })
  test('ignores invalid settings', () => {
    const broken = run({ ...carried, spec: BROKEN })
    expect(readCap(broken)).toBe(60)
    expect(readCap(run({ ...broken, spec: {} }))).toBe(60)
  })
  test('follows another manager that writes and removes its fields', () => {
    const written = run({ ...carried, owned: { ...carried.owned, auth: {} }, foreign: cap(30) })
    expect(readCap(written)).toBe(30)
    expect(readCap(run({ ...written, foreign: {} }))).toBe(60)
  })
  test('uses the record when recreated with faults, and its own settings once they are valid', () => {
    const recreated = { ...deleted(run({ spec: cap(60) })), spec: { ...host, ...BROKEN } }
    const broken = run(recreated)
    expect(readCap(broken)).toBe(60)
    expect(shown(run({ ...broken, spec: host }))).toEqual({ ...DEFAULTS, ...host })
    expect(readCap(run({ ...broken, spec: {} }))).toBe(60)
  })
  test('uses its own settings when recreated with a spec', () => {
    expect(readCap(run({ ...deleted(run({ spec: cap(60) })), spec: host }))).toBeNull()
  })
  test('gets no secrets back from the record, and shows none', () => {
    const secret = {
      auth: {
        accessKeyMaxTTLSeconds: 60,
        oidc: { issuerUrl: 'https://i', clientId: 'c', clientSecret: 's' },
      },
      apps: { repositories: [{ name: 'r', url: 'https://u:p@h' }] },
    }
    const { secret: _, ...gone } = deleted(run({ secret }))
    const recreated = run(gone)
    expect(readCap(recreated)).toBe(60)
    expect(shown(recreated)).toMatchObject({
      auth: { oidc: { issuerUrl: 'https://i', clientId: 'c' } },
      apps: { repositories: [{ name: 'r' }] },
    })
    expect(JSON.stringify(recreated.owned)).not.toMatch(/REDACTED/)
  })
})

describe('the Secret of a Config', () => {
  const before = run({ spec: host, secret: cap(60) })
  test('removes a setting from status that is removed from its text', () => {
    expect(readCap(run({ ...before, secret: {} }))).toBeNull()
  })
  test('can be deleted after it was emptied', () => {
    const { secret: _, ...gone } = run({ ...before, secret: null })
    expect(reconciled(gone).outcome.ok).toBe(true)
  })
  test('can be deleted and created again', () => {
    const { secret: _, ...gone } = before
    const after = run(gone)
    expect(readCap(after)).toBe(60)
    expect(reconciled({ ...after, secret: cap(60) }).outcome.ok).toBe(true)
  })
  test('can be lost together with the record, as when the namespace is deleted', () => {
    const { secret: _, record: __, ...gone } = before
    const after = run(gone)
    expect(reconciled(after).outcome).toMatchObject({ ok: false, faults: [{ source: 'Secret' }] })
    expect(readCap(after)).toBe(60)
    expect(readCap(run({ ...after, secret: {} }))).toBeNull()
  })
})

describe('the record of the settings in force', () => {
  const before = run({ spec: cap(60) })
  test('is written again after it was lost', () => {
    expect(run({ ...before, record: null }).record).toEqual(before.record)
  })
  test('is restored from status when it is lost while the settings are invalid', () => {
    const broken = run({ ...before, spec: BROKEN, record: null })
    expect(JSON.parse(broken.record?.['config'] ?? '')).toMatchObject(cap(60))
    expect(readCap(run(deleted(broken)))).toBe(60)
    expect(shown(run({ ...broken, spec: cap(90) }))).toMatchObject(cap(90))
  })
  test('has no secret that another manager wrote into the status from which it is restored', () => {
    const foreign = {
      auth: { oidc: { issuerUrl: 'https://i', clientId: 'c', clientSecret: 'cAnArY' } },
    }
    const outcome = settled({ ...before, foreign, record: null })
    expect(outcome).toMatchObject({ ok: false, record: { config: expect.stringMatching('60') } })
    expect(JSON.stringify(outcome)).not.toContain('cAnArY')
  })
  test.each([
    { name: 'not JSON', record: { config: '{' } },
    { name: 'not settings', record: { config: '{"auth":5}' } },
    { name: 'a cap below 0', record: { config: '{"auth":{"accessKeyMaxTTLSeconds":-1}}' } },
    { name: 'without its key', record: {} },
  ])('is a fault when it is malformed ($name) and the Config is new', ({ record }) => {
    const outcome = settled({ record })
    expect(outcome).toMatchObject({
      ok: false,
      lastGood: null,
      owned: {},
      record: null,
      faults: [{ source: 'ConfigMap' }],
    })
    expect(settled({ record, spec: cap(60) })).toMatchObject({ ok: true, settings: cap(60) })
    expect(settled({ ...before, record })).toMatchObject({ ok: true, settings: cap(60) })
    expect(settled({ ...before, spec: BROKEN, record })).toMatchObject({
      ok: false,
      lastGood: cap(60),
      owned: before.owned,
    })
  })
  test('can be written manually, without origin', () => {
    const record = { config: JSON.stringify(cap(60)) }
    expect(readCap(run({ record }))).toBe(60)
    const broken = run({ record, spec: BROKEN })
    expect(readCap(broken)).toBe(60)
    expect(shown(run({ ...broken, spec: host }))).toEqual({ ...DEFAULTS, ...host })
  })
  test('keeps settings of an earlier Config in force, also against a newer rule', () => {
    const record = { config: JSON.stringify({ ...cap(60), ...BROKEN }) }
    expect(settled({ record })).toMatchObject({ ok: true, settings: { ...cap(60), ...BROKEN } })
  })
  test('of another Config is ignored beside a settled one', () => {
    const old = run({ uid: 'old', spec: cap(5) }).record ?? null
    expect(readCap(run({ ...before, spec: BROKEN, record: old }))).toBe(60)
    expect(readCap(run({ ...before, record: old }))).toBe(60)
  })
  test('does not change the prototype of objects', () => {
    const record = {
      config:
        '{"__proto__":{"auth":{"accessKeyMaxTTLSeconds":7}},"auth":{"accessKeyMaxTTLSeconds":60}}',
    }
    const after = run({ record })
    expect(readCap(after)).toBe(60)
    expect(Object.hasOwn(after.owned ?? {}, '__proto__')).toBe(false)
    expect(({} as { auth?: unknown }).auth).toBeUndefined()
  })
})

/** An accidental change; `start` is the state before any. */
type AccidentalChange = (current: SettingsState, start: SettingsState) => SettingsState

const breakSpec: AccidentalChange = (current) => ({
  ...current,
  spec: { ...(current.spec as object), ...BROKEN },
})

// A Secret that comes back to a Config created without any is a source that is first set: it counts.
// So a Secret is never away while a Config is created.
const deleteConfig: AccidentalChange = (current, start) =>
  current.secret === undefined && start.secret !== undefined ? current : deleted(current)

const ACCIDENTAL_CHANGES: Readonly<Record<string, AccidentalChange>> = {
  restart: (current) => current,
  breakSpec,
  mendSpec: ({ spec, ...current }) => ({
    ...current,
    spec: withoutPathsOf(spec as JsonMap, BROKEN),
  }),
  unreadableSecret: (current) => ({ ...current, unreadableSecret: 'has no key config' }),
  withoutSecret: (current) =>
    current.uid === undefined ? { ...current, secret: undefined } : current,
  secretBack: (current, { secret }) => ({ ...current, secret, unreadableSecret: undefined }),
  loseRecord: (current) => ({ ...current, record: null }),
  corruptRecord: (current) => ({ ...current, record: { config: '{"auth":' } }),
  deleteConfig,
  deleteAndBreak: (current, start) => breakSpec(deleteConfig(current, start), start),
  loseNamespace: (current) => ({ ...current, secret: undefined, record: null }),
}

describe('no sequence of accidental changes lifts a cap', () => {
  test.each<{ name: string; start: SettingsState }>([
    { name: 'of spec', start: { spec: cap(60) } },
    { name: 'of the Secret', start: { spec: {}, secret: cap(60) } },
    { name: 'of spec beside a Secret', start: { spec: cap(60), secret: host } },
    { name: 'of the Secret beside spec', start: { spec: host, secret: cap(60) } },
    { name: 'of another manager', start: { spec: {}, foreign: cap(60) } },
  ])('$name', ({ start }) => {
    const names = Object.keys(ACCIDENTAL_CHANGES)
    const pick = picker(1)
    for (let round = 0; round < repeated(50, 100); round += 1) {
      let current = run(start)
      const steps: string[] = []
      for (let step = 0; step < 6; step += 1) {
        const name = names[pick(names.length)] ?? ''
        steps.push(name)
        current = ACCIDENTAL_CHANGES[name]?.(current, start) ?? current
        expect({ steps, cap: readCap(current) }).toEqual({ steps, cap: 60 })
        current = run(current)
        expect({ steps, cap: readCap(current) }).toEqual({ steps, cap: 60 })
      }
    }
  })
})
