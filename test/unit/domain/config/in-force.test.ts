import { describe, expect, test } from 'vitest'
import { capsInForce } from '../../../../src/domain/config/caps.ts'
import { asJson, type JsonMap } from '../../../../src/domain/config/json.ts'
import { withDefaults } from '../../../../src/domain/config/defaults.ts'
import { merge, without } from '../../../../src/domain/config/merge.ts'
import { picker, reconciled, settled, shown, type World } from './world.ts'

const cap = (seconds: number) => ({ auth: { accessKeyMaxTTLSeconds: seconds } })
const BROKEN = { uiSettings: { primaryColor: 'red' } }
const host = { platformHost: 'p.example.com' }
const DEFAULTS = asJson(withDefaults({}))

/** Runs the operator until nothing changes, which must be soon. */
function run(world: World): World {
  const first = reconciled(world).world
  const second = reconciled(first).world
  const third = reconciled(second).world
  expect(third).toEqual(second)
  return third
}

/** The cap that everybody reads; status is what the API server serves. */
function readCap(world: World): number | null {
  const ready = { type: 'Ready', status: 'True', reason: 'Applied' }
  const status = world.settled && { ...shown(world), observedGeneration: 1, conditions: [ready] }
  const reading = capsInForce(status || undefined, world.record ?? null)
  return reading.known ? reading.caps.maxTtlSeconds : Number.NaN
}

const deleted = ({ uid = 'uid-1', ...world }: World): World => ({
  ...world,
  uid: `${uid}+`,
  spec: {},
  owned: {},
  foreign: {},
  settled: false,
})

describe('sources', () => {
  test.each<{ name: string; world: World; reads: number | null; owns: JsonMap }>([
    { name: 'nothing: defaults', world: {}, reads: null, owns: DEFAULTS },
    { name: 'spec', world: { spec: cap(60) }, reads: 60, owns: cap(60) },
    { name: 'the Secret', world: { secret: cap(60) }, reads: 60, owns: cap(60) },
    { name: 'an empty Secret', world: { secret: null }, reads: null, owns: DEFAULTS },
    { name: 'status of another manager', world: { foreign: cap(60) }, reads: 60, owns: DEFAULTS },
    {
      name: 'spec over the Secret',
      world: { spec: cap(60), secret: cap(90) },
      reads: 60,
      owns: cap(60),
    },
    {
      name: 'the Secret over status',
      world: { secret: cap(90), foreign: cap(120) },
      reads: 90,
      owns: cap(90),
    },
    {
      name: 'spec over all',
      world: { spec: cap(60), secret: cap(90), foreign: cap(120) },
      reads: 60,
      owns: cap(60),
    },
    {
      name: '0 in spec lifts the cap of the Secret: it has a meaning',
      world: { spec: cap(0), secret: cap(90) },
      reads: null,
      owns: cap(0),
    },
    {
      name: 'null in spec says nothing',
      world: { spec: { auth: { accessKeyMaxTTLSeconds: null } }, secret: cap(90) },
      reads: 90,
      owns: cap(90),
    },
    {
      name: 'maps merge',
      world: { spec: host, secret: cap(90), foreign: { cloud: { releaseChannel: 'x' } } },
      reads: 90,
      owns: { ...host, ...cap(90) },
    },
    {
      name: 'lists replace',
      world: {
        spec: { auth: { groupsFilters: ['a'] } },
        secret: { auth: { groupsFilters: ['b', 'c'] } },
      },
      reads: null,
      owns: { auth: { groupsFilters: ['a'] } },
    },
  ])('$name', ({ world, reads, owns }) => {
    const after = run(world)
    expect(readCap(after)).toBe(reads)
    expect(after.owned).toMatchObject(owns)
  })

  test('only what nobody else set is ours', () => {
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

  test('defaults inside a list that another manager owns are in force, the list stays theirs', () => {
    const foreign = { uiSettings: { navBarButtons: [{ text: 'a' }] } }
    const outcome = settled({ foreign })
    expect(outcome).toMatchObject({
      ok: true,
      settings: { uiSettings: { navBarButtons: [{ position: 'BottomEnd' }] } },
    })
    expect(outcome.owned).not.toHaveProperty('uiSettings')
  })

  test('a setting that leaves spec leaves status', () => {
    const before = run({ spec: { ...cap(60), ...host } })
    const after = run({ ...before, spec: host })
    expect(readCap(after)).toBeNull()
    expect(shown(after)).toEqual({ ...DEFAULTS, ...host })
    expect(shown(run({ ...after, spec: {} }))).toEqual(DEFAULTS)
  })

  test('what spec took over from another manager is gone for good', () => {
    const taken = run({ spec: cap(60), foreign: { ...cap(120), ...host } })
    expect(taken.foreign).toEqual(host)
    expect(shown(run({ ...taken, spec: {} }))).toEqual({ ...DEFAULTS, ...host })
  })

  test('another manager changes and removes its own field', () => {
    const before = run({ foreign: cap(60) })
    expect(readCap(run({ ...before, foreign: cap(30) }))).toBe(30)
    expect(readCap(run({ ...before, foreign: {} }))).toBeNull()
  })

  test('the same settings make the same record, whichever source they came from', () => {
    const settings = { ...cap(60), ...host }
    const records = [
      { spec: settings },
      { spec: host, secret: cap(60) },
      { spec: { ...host, auth: {} }, foreign: cap(60) },
    ]
    const texts = records.map((world) => run(world).record?.['config'])
    expect(new Set(texts).size).toBe(1)
    expect(JSON.parse(texts[0] ?? '')).toEqual(merge(cap(60), host, DEFAULTS))
  })

  test('unknown fields are dropped and named', () => {
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

describe('faults change nothing', () => {
  const good = run({ spec: cap(60), secret: host })
  test.each<{ name: string; change: Partial<World>; fault: object }>([
    { name: 'invalid spec', change: { spec: { ...cap(0), ...BROKEN } }, fault: { source: 'spec' } },
    { name: 'invalid Secret', change: { secret: BROKEN }, fault: { source: 'Secret' } },
    {
      name: 'the Secret is no map',
      change: { secret: 'auth' },
      fault: { source: 'Secret', path: '' },
    },
    {
      name: 'the Secret is unreadable',
      change: { unreadableSecret: 'has no key config' },
      fault: { source: 'Secret', path: '' },
    },
    {
      name: 'the Secret is gone',
      change: { secret: undefined },
      fault: { source: 'Secret', path: '', message: expect.stringContaining('create it again') },
    },
    {
      name: 'a variable is gone',
      change: { secret: { auth: { oidc: { clientSecret: '$PLATFORM_CONFIG_A' } } } },
      fault: { source: 'Secret' },
    },
  ])('$name', ({ change, fault }) => {
    const broken = { ...good, ...change }
    const outcome = settled(broken)
    expect(outcome).toMatchObject({
      ok: false,
      faults: [fault],
      record: null,
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

  test('at the very first: defaults, and what others wrote stays theirs', () => {
    const outcome = settled({ spec: BROKEN, foreign: cap(60) })
    expect(outcome).toMatchObject({ ok: false, lastGood: DEFAULTS, owned: DEFAULTS })
    expect(run({ spec: BROKEN, foreign: cap(60) }).foreign).toEqual(cap(60))
  })

  test('another manager can not change what was in force behind invalid settings', () => {
    const before = run({ spec: cap(60) })
    const tampered = { ...before, spec: BROKEN, owned: DEFAULTS, foreign: cap(0) }
    const after = run(tampered)
    expect(readCap(after)).toBe(60)
    expect(after.foreign).toEqual({})
  })

  test('hidden values stay hidden in status, and are no values for who starts from them', () => {
    const secret = { auth: { oidc: { clientSecret: 's', clientId: 'c' } } }
    const before = run({ secret })
    const outcome = settled({ ...before, spec: BROKEN })
    expect(outcome.owned).toEqual(before.owned)
    expect(outcome.owned).toMatchObject({ auth: { oidc: { clientSecret: 'REDACTED' } } })
    expect(outcome.ok ? null : outcome.lastGood?.auth?.oidc).toEqual({
      clientId: 'c',
      scopes: ['email', 'profile'],
    })
  })
})

describe('a Config that was deleted', () => {
  test.each<{ name: string; before: World }>([
    { name: 'cap of spec', before: { spec: cap(60) } },
    { name: 'cap of another manager', before: { foreign: cap(60) } },
    { name: 'cap of the Secret, which remains', before: { secret: cap(60) } },
    { name: 'cap of spec beside a Secret, which remains', before: { spec: cap(60), secret: host } },
  ])('keeps the $name, over restarts', ({ before }) => {
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
  test('what says nothing is no setting', () => {
    expect(
      readCap(
        run({ ...carried, spec: { auth: { oidc: null }, audit: { enabled: false } }, secret: {} }),
      ),
    ).toBe(60)
  })
  test('invalid settings are no setting either', () => {
    const broken = run({ ...carried, spec: BROKEN })
    expect(readCap(broken)).toBe(60)
    expect(readCap(run({ ...broken, spec: {} }))).toBe(60)
  })
  test('another manager may still write and remove its fields', () => {
    const written = run({ ...carried, owned: { ...carried.owned, auth: {} }, foreign: cap(30) })
    expect(readCap(written)).toBe(30)
    expect(readCap(run({ ...written, foreign: {} }))).toBe(60)
  })
  test('created anew and invalid: the record; mended: what is declared', () => {
    const anew = { ...deleted(run({ spec: cap(60) })), spec: { ...host, ...BROKEN } }
    const broken = run(anew)
    expect(readCap(broken)).toBe(60)
    expect(shown(run({ ...broken, spec: host }))).toEqual({ ...DEFAULTS, ...host })
    expect(readCap(run({ ...broken, spec: {} }))).toBe(60)
  })
  test('created anew with a spec: what is declared', () => {
    expect(readCap(run({ ...deleted(run({ spec: cap(60) })), spec: host }))).toBeNull()
  })
  test('its secrets do not come back from the record, and are not shown', () => {
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

describe('the Secret', () => {
  const before = run({ spec: host, secret: cap(60) })
  test('a setting that leaves its text leaves status', () => {
    expect(readCap(run({ ...before, secret: {} }))).toBeNull()
  })
  test('emptied, it may go', () => {
    const { secret: _, ...gone } = run({ ...before, secret: null })
    expect(reconciled(gone).outcome.ok).toBe(true)
  })
  test('gone and back, all is well', () => {
    const { secret: _, ...gone } = before
    const after = run(gone)
    expect(readCap(after)).toBe(60)
    expect(reconciled({ ...after, secret: cap(60) }).outcome.ok).toBe(true)
  })
  test('gone together with the record, as with their namespace', () => {
    const { secret: _, record: __, ...gone } = before
    const after = run(gone)
    expect(reconciled(after).outcome).toMatchObject({ ok: false, faults: [{ source: 'Secret' }] })
    expect(readCap(after)).toBe(60)
    expect(readCap(run({ ...after, secret: {} }))).toBeNull()
  })
})

describe('the record', () => {
  const before = run({ spec: cap(60) })
  test('lost: it is written again', () => {
    expect(run({ ...before, record: null }).record).toEqual(before.record)
  })
  test('lost while the settings are invalid: it is taken from status', () => {
    const broken = run({ ...before, spec: BROKEN, record: null })
    expect(JSON.parse(broken.record?.['config'] ?? '')).toMatchObject(cap(60))
    expect(readCap(run(deleted(broken)))).toBe(60)
    expect(shown(run({ ...broken, spec: cap(90) }))).toMatchObject(cap(90))
  })
  test.each([
    { name: 'no JSON', record: { config: '{' } },
    { name: 'no settings', record: { config: '{"auth":5}' } },
    { name: 'a cap below 0', record: { config: '{"auth":{"accessKeyMaxTTLSeconds":-1}}' } },
    { name: 'no key', record: {} },
  ])('unreadable ($name), and the Config is new: a fault, and nothing is known', ({ record }) => {
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
  test('written by hand, without origin', () => {
    const record = { config: JSON.stringify(cap(60)) }
    expect(readCap(run({ record }))).toBe(60)
    const broken = run({ record, spec: BROKEN })
    expect(readCap(broken)).toBe(60)
    expect(shown(run({ ...broken, spec: host }))).toEqual({ ...DEFAULTS, ...host })
  })
  test('an old copy of another Config, restored beside a settled one, does not count', () => {
    const old = run({ uid: 'old', spec: cap(5) }).record ?? null
    expect(readCap(run({ ...before, spec: BROKEN, record: old }))).toBe(60)
    expect(readCap(run({ ...before, record: old }))).toBe(60)
  })
  test('it holds no prototype', () => {
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
  mendSpec: ({ spec, ...world }) => ({ ...world, spec: without(spec as JsonMap, BROKEN) }),
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
