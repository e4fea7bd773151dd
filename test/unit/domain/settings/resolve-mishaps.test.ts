import { describe, expect, test } from 'vitest'
import type { JsonMap } from '../../../../src/domain/json/json.ts'
import { withoutPathsOf } from '../../../../src/domain/settings/layers.ts'
import { BROKEN, DEFAULTS, cap, deleted, host, readCap, run } from './settings-history.ts'
import { type World, picker, reconciled, settled, shown } from './settings-sources.ts'

describe('a Config that was deleted', () => {
  test.each<{ name: string; before: World }>([
    { name: 'cap of spec', before: { spec: cap(60) } },
    { name: 'cap of another manager', before: { foreign: cap(60) } },
    { name: 'cap of the Secret, which remains', before: { secret: cap(60) } },
    { name: 'cap of spec beside a Secret, which remains', before: { spec: cap(60), secret: host } },
  ])('keeps the $name after restarts', ({ before }) => {
    const gone = deleted(run(before))
    expect(readCap(gone)).toBe(60)
    const anew = run(gone)
    expect(readCap(anew)).toBe(60)
    expect(anew.owned).toMatchObject(cap(60))
    expect(readCap(run(deleted(anew)))).toBe(60)
  })

  const carried = run(deleted(run({ spec: { ...cap(60), ...host } })))
  test('starts from the record until spec is first set', () => {
    const set = run({ ...carried, spec: { cloud: { releaseChannel: 'x' } } })
    expect(shown(set)).toEqual({ ...DEFAULTS, cloud: { releaseChannel: 'x' } })
    expect(shown(run({ ...set, spec: {} }))).toEqual(DEFAULTS)
  })
  test('starts from the record until the Secret is first set', () => {
    const set = run({ ...carried, secret: { cloud: { releaseChannel: 'x' } } })
    expect(shown(set)).toEqual({ ...DEFAULTS, cloud: { releaseChannel: 'x' } })
  })
  test('starts from the record until the Secret that remained is changed', () => {
    const beside = run(deleted(run({ spec: cap(60), secret: host })))
    expect(readCap(beside)).toBe(60)
    expect(shown(run({ ...beside, secret: { platformHost: 'q.example.com' } }))).toEqual({
      ...DEFAULTS,
      platformHost: 'q.example.com',
    })
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
  test('uses the record while it is created again with faults, and its own settings once they are valid', () => {
    const anew = { ...deleted(run({ spec: cap(60) })), spec: { ...host, ...BROKEN } }
    const broken = run(anew)
    expect(readCap(broken)).toBe(60)
    expect(shown(run({ ...broken, spec: host }))).toEqual({ ...DEFAULTS, ...host })
    expect(readCap(run({ ...broken, spec: {} }))).toBe(60)
  })
  test('uses its own settings when it is created again with a spec', () => {
    expect(readCap(run({ ...deleted(run({ spec: cap(60) })), spec: host }))).toBeNull()
  })
  test('does not get its secrets back from the record, and does not show them', () => {
    const secret = {
      auth: { accessKeyMaxTTLSeconds: 60, oidc: { clientId: 'c', clientSecret: 's' } },
      apps: { repositories: [{ name: 'r', url: 'https://u:p@h' }] },
    }
    const { secret: _, ...gone } = deleted(run({ secret }))
    const anew = run(gone)
    expect(readCap(anew)).toBe(60)
    expect(shown(anew)).toMatchObject({
      auth: { oidc: { clientId: 'c' } },
      apps: { repositories: [{ name: 'r' }] },
    })
    expect(JSON.stringify(anew.owned)).not.toMatch(/REDACTED/)
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
  test('can be deleted by mistake and created again', () => {
    const { secret: _, ...gone } = before
    const after = run(gone)
    expect(readCap(after)).toBe(60)
    expect(reconciled({ ...after, secret: cap(60) }).outcome.ok).toBe(true)
  })
  test('can be lost together with the record, as with their namespace', () => {
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
  test('restored from status has no secret that another manager wrote there', () => {
    const foreign = { auth: { oidc: { clientSecret: 'cAnArY' } } }
    const outcome = settled({ ...before, foreign, record: null })
    expect(outcome).toMatchObject({ ok: false, record: { config: expect.stringMatching('60') } })
    expect(JSON.stringify(outcome)).not.toContain('cAnArY')
  })
  test.each([
    { name: 'no JSON', record: { config: '{' } },
    { name: 'no settings', record: { config: '{"auth":5}' } },
    { name: 'a cap below 0', record: { config: '{"auth":{"accessKeyMaxTTLSeconds":-1}}' } },
    { name: 'no key', record: {} },
  ])('is a fault when it is unreadable ($name) and the Config is new', ({ record }) => {
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
  test('can be written by hand, without origin', () => {
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
  test('of another Config, restored beside a settled one, does not count', () => {
    const old = run({ uid: 'old', spec: cap(5) }).record ?? null
    expect(readCap(run({ ...before, spec: BROKEN, record: old }))).toBe(60)
    expect(readCap(run({ ...before, record: old }))).toBe(60)
  })
  test('changes no prototype', () => {
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

/** A change that nobody meant; `start` is the world before any. */
type Mishap = (world: World, start: World) => World

const breakSpec: Mishap = (world) => ({ ...world, spec: { ...(world.spec as object), ...BROKEN } })

// A Secret that comes back to a Config created without any is a source that is first set: it counts.
// So a Secret is never away while a Config is created.
const deleteConfig: Mishap = (world, start) =>
  world.secret === undefined && start.secret !== undefined ? world : deleted(world)

const MISHAPS: Readonly<Record<string, Mishap>> = {
  restart: (world) => world,
  breakSpec,
  mendSpec: ({ spec, ...world }) => ({ ...world, spec: withoutPathsOf(spec as JsonMap, BROKEN) }),
  unreadableSecret: (world) => ({ ...world, unreadableSecret: 'has no key config' }),
  withoutSecret: (world) => (world.uid === undefined ? { ...world, secret: undefined } : world),
  secretBack: (world, { secret }) => ({ ...world, secret, unreadableSecret: undefined }),
  loseRecord: (world) => ({ ...world, record: null }),
  corruptRecord: (world) => ({ ...world, record: { config: '{"auth":' } }),
  deleteConfig,
  deleteAndBreak: (world, start) => breakSpec(deleteConfig(world, start), start),
  loseNamespace: (world) => ({ ...world, secret: undefined, record: null }),
}

describe('no sequence of mishaps lifts a cap', () => {
  test.each<{ name: string; start: World }>([
    { name: 'of spec', start: { spec: cap(60) } },
    { name: 'of the Secret', start: { spec: {}, secret: cap(60) } },
    { name: 'of spec beside a Secret', start: { spec: cap(60), secret: host } },
    { name: 'of the Secret beside spec', start: { spec: host, secret: cap(60) } },
    { name: 'of another manager', start: { spec: {}, foreign: cap(60) } },
  ])('$name', ({ start }) => {
    const names = Object.keys(MISHAPS)
    const pick = picker(1)
    for (let round = 0; round < 100; round += 1) {
      let world = run(start)
      const story: string[] = []
      for (let step = 0; step < 6; step += 1) {
        const name = names[pick(names.length)] ?? ''
        story.push(name)
        world = MISHAPS[name]?.(world, start) ?? world
        expect({ story, cap: readCap(world) }).toEqual({ story, cap: 60 })
        world = run(world)
        expect({ story, cap: readCap(world) }).toEqual({ story, cap: 60 })
      }
    }
  })
})
