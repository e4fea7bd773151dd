import { describe, expect, test } from 'vitest'
import type { Patch } from '../../../../src/sync/patches/parse.ts'
import { failed } from '../../../../src/sync/sandbox/protocol.ts'
import { findCanaries, plantCanary } from '../../../support/canary.ts'
import { refusal } from '../memory-cluster.ts'
import { KEY, PATCHES, objectOf, patchesOf, reportOf } from '../report-world.ts'

const failureOf = (patches: readonly Patch[], at: number, detail: string) => ({
  ok: false as const,
  patch: patches[at] as Patch,
  path: 'data.a',
  failure: { ...failed('it threw an error'), detail },
})

describe('states (20)', () => {
  type World = ReturnType<typeof reportOf>
  test.each<{
    name: string
    does: (world: World) => void
    states: Readonly<Record<string, number>>
  }>([
    { name: 'nothing has happened', does: () => undefined, states: {} },
    {
      name: 'in step',
      does: ({ report, pair }) => report.inStep(pair, true),
      states: { synced: 1 },
    },
    { name: 'waiting', does: ({ report }) => report.state(KEY, 'waiting'), states: { waiting: 1 } },
    {
      name: 'forgotten',
      does: ({ report, pair }) => {
        report.taken(pair, pair.virtual)
        report.forget(pair)
      },
      states: {},
    },
    {
      name: 'taken',
      does: ({ report, pair }) => report.taken(pair, pair.virtual),
      states: { taken: 1 },
    },
    {
      name: 'a Service without a refused address stays refused in step',
      does: ({ report, pair }) => {
        report.refused(pair, ['x'])
        report.inStep(pair, true)
      },
      states: { refused: 1 },
    },
    {
      name: 'an address is refused no more',
      does: ({ report, pair }) => {
        report.refused(pair, ['x'])
        report.refused(pair, [])
        report.inStep(pair, true)
      },
      states: { synced: 1 },
    },
    {
      name: 'no refusals leave another state',
      does: ({ report, pair }) => {
        report.notWritten(pair, { by: 'host', error: refusal(422, 'Invalid'), sent: null })
        report.refused(pair, [])
      },
      states: { 'not-written': 1 },
    },
    {
      name: 'failed',
      does: ({ report, pair }) => void report.patchFailed(pair, failureOf(PATCHES, 0, '')),
      states: { failed: 1 },
    },
    {
      name: 'unstable',
      does: ({ report, pair }) => report.unstable(pair, 'v'),
      states: { unstable: 1 },
    },
    {
      name: 'several objects',
      does: ({ report, pair }) => {
        report.inStep({ ...pair, key: 'a/b' }, true)
        report.inStep({ ...pair, key: 'a/c' }, false)
        report.state('a/d', 'delayed')
      },
      states: { synced: 2, delayed: 1 },
    },
  ])('$name', ({ does, states }) => {
    const world = reportOf()
    does(world)
    expect(world.report.countByState()).toEqual(states)
  })
})

describe('a failure that lasts', () => {
  test('is one Event and one line, and counts each time (19.8, 20)', () => {
    const { report, events, counts, lines, pair } = reportOf()
    for (let times = 0; times < 3; times += 1)
      report.notWritten(pair, { by: 'host', error: refusal(422, 'Invalid'), sent: null })
    expect(events).toHaveLength(1)
    expect(lines).toHaveLength(1)
    expect(counts).toEqual(['NotWritten', 'NotWritten', 'NotWritten'])
  })

  test.each<{
    name: string
    between: (world: ReturnType<typeof reportOf>) => void
    again: string
    uid?: string
  }>([
    {
      name: 'after the object was in step',
      between: ({ report, pair }) => report.inStep(pair, true),
      again: 'Invalid',
    },
    {
      name: 'after the object was gone',
      between: ({ report, pair }) => report.forget(pair),
      again: 'Invalid',
    },
    { name: 'with another message', between: () => undefined, again: 'Other' },
    { name: 'of another object', between: () => undefined, again: 'Invalid', uid: 'u2' },
  ])('is reported again $name (19.8)', ({ between, again, uid }) => {
    const world = reportOf()
    world.report.notWritten(world.pair, {
      by: 'host',
      error: refusal(422, 'Invalid'),
      sent: null,
    })
    between(world)
    world.report.notWritten(
      { ...world.pair, virtual: objectOf('Endpoints', uid) },
      {
        by: 'host',
        error: refusal(422, again),
        sent: null,
      },
    )
    expect(world.events).toHaveLength(2)
  })

  test.each<{ name: string; ends: (world: ReturnType<typeof reportOf>) => void; sentence: string }>(
    [
      {
        name: 'is in step again',
        ends: ({ report, pair }) => report.inStep(pair, false),
        sentence: 'an object is in step again',
      },
      {
        name: 'is gone',
        ends: ({ report, pair }) => report.forget(pair),
        sentence: 'an object that was not in step is not synced any more',
      },
    ],
  )('is one line when it begins, and one when the object $name (19.8)', ({ ends, sentence }) => {
    const world = reportOf()
    const { report, lines, pair } = world
    ends(world)
    for (let times = 0; times < 3; times += 1) report.patchFailed(pair, failureOf(PATCHES, 0, ''))
    ends(world)
    ends(world)
    const object = { name: 'web', namespace: 'shop' }
    expect(lines).toMatchObject([
      { level: 'warn', fields: { object, reason: 'PatchFailed' } },
      { level: 'info', sentence, fields: { kind: 'Endpoints', object } },
    ])
  })

  test('is said no second time by a run with another configuration, and its end once (19.8)', () => {
    const reported = new Map<string, string>()
    const before = reportOf('Endpoints', PATCHES, reported)
    before.report.patchFailed(before.pair, failureOf(PATCHES, 0, ''))
    const still = reportOf('Endpoints', PATCHES, reported)
    still.report.patchFailed(still.pair, failureOf(PATCHES, 0, ''))
    expect({ lines: still.lines, events: still.events }).toEqual({ lines: [], events: [] })
    const mended = reportOf('Endpoints', PATCHES, reported)
    mended.report.inStep(mended.pair, true)
    mended.report.inStep(mended.pair, true)
    expect(mended.lines).toMatchObject([{ level: 'info', sentence: 'an object is in step again' }])
  })

  test('a Service whose addresses are left out says so once, in step as it is (18.6)', () => {
    const { report, events, pair } = reportOf()
    for (let times = 0; times < 3; times += 1) {
      report.refused(pair, ['x'])
      report.inStep(pair, false)
    }
    expect(events).toHaveLength(1)
  })
})

describe('a verdict (19.7)', () => {
  test('is reported once, again when it is another one, and forgotten in step', () => {
    const { report, events, pair } = reportOf()
    report.unstable(pair, 'one')
    report.unstable(pair, 'one')
    expect(events).toHaveLength(1)
    expect([report.isUnstable(KEY, 'one'), report.isUnstable(KEY, 'two')]).toEqual([true, false])
    report.unstable(pair, 'two')
    expect(events).toHaveLength(2)
    report.inStep(pair, true)
    expect(report.isUnstable(KEY, 'two')).toBe(false)
  })

  test('names the entries', () => {
    const { report, events, pair } = reportOf()
    report.unstable(pair, 'one')
    expect(events[0]?.note).toMatch(/ p\[0\], p\[1\]\.$/)
  })
})

describe('the lag (20)', () => {
  type World = ReturnType<typeof reportOf>
  const after = async ({ clock }: World, ms: number): Promise<void> => clock.advance(ms)
  test.each<{ name: string; does: (world: World) => Promise<void>; seconds: readonly number[] }>([
    {
      name: 'is from the first change to the write',
      does: async (world) => {
        world.report.changed(KEY)
        await after(world, 1000)
        world.report.changed(KEY)
        await after(world, 500)
        world.report.inStep(world.pair, true)
      },
      seconds: [1.5],
    },
    {
      name: 'is none without a write',
      does: async (world) => {
        world.report.changed(KEY)
        await after(world, 1000)
        world.report.inStep(world.pair, false)
        world.report.inStep(world.pair, true)
      },
      seconds: [],
    },
    {
      name: 'is none without a change',
      does: async ({ report, pair }) => report.inStep(pair, true),
      seconds: [],
    },
    ...(['taken', 'unstable'] as const).map((state) => ({
      name: `is none of an object that was ${state} in between`,
      does: async (world: World) => {
        const { report, pair } = world
        report.unstable(pair, 'v')
        report.changed(KEY)
        if (state === 'taken') report.taken(pair, pair.virtual)
        else report.unstable(pair, 'v')
        await after(world, 86_400_000)
        report.inStep(pair, true)
      },
      seconds: [],
    })),
    {
      name: 'includes a delay',
      does: async (world) => {
        world.report.changed(KEY)
        world.report.state(KEY, 'delayed')
        await after(world, 60_000)
        world.report.inStep(world.pair, true)
      },
      seconds: [60],
    },
  ])('$name', async ({ does, seconds }) => {
    const world = reportOf()
    await does(world)
    expect(world.counts.filter((one) => typeof one === 'number')).toEqual(seconds)
  })
})

describe('secrets (19.8)', () => {
  const { secret } = plantCanary('token')
  const reading = patchesOf(
    { path: 'data.a', expression: 'value' },
    { path: 'data.b', expression: 'context.virtualCluster.config.token' },
    { path: 'data.c', expression: 'value' },
  )
  test.each([
    { name: 'of a Secret, in an error', kind: 'Secret', patches: PATCHES, at: 0, isShown: false },
    {
      name: 'of the configuration, in an error',
      kind: 'Endpoints',
      patches: reading,
      at: 1,
      isShown: false,
    },
    {
      name: 'of the configuration, in an error of a later patch',
      kind: 'Endpoints',
      patches: reading,
      at: 2,
      isShown: false,
    },
    {
      name: 'of no secret, before the configuration is read',
      kind: 'Endpoints',
      patches: reading,
      at: 0,
      isShown: true,
    },
    { name: 'of no secret at all', kind: 'ConfigMap', patches: PATCHES, at: 1, isShown: true },
  ])('$name', ({ kind, patches, at, isShown }) => {
    const { report, events, lines, pair } = reportOf(kind, patches)
    const error = report.patchFailed(pair, failureOf(patches, at, secret))
    const sinks = {
      events: JSON.stringify(events),
      lines: JSON.stringify(lines),
      error,
    }
    expect(findCanaries(sinks, [{ label: 'token', secret }]).length > 0).toBe(isShown)
    expect(error).toContain(`p[${at}] at data.a: it threw an error`)
  })

  test.each([
    { name: 'a Secret', kind: 'Secret', patches: PATCHES, isShown: false },
    {
      name: 'patches that read the configuration',
      kind: 'Endpoints',
      patches: reading,
      isShown: false,
    },
    { name: 'others', kind: 'Endpoints', patches: PATCHES, isShown: true },
  ])('are hidden in what a cluster says of $name', ({ kind, patches, isShown }) => {
    const { report, events, lines, pair } = reportOf(kind, patches)
    report.notWritten(pair, {
      by: 'host',
      error: refusal(403, 'Forbidden', `no ${secret}`),
      sent: null,
    })
    const sinks = { events: JSON.stringify(events), lines: JSON.stringify(lines) }
    expect(findCanaries(sinks, [{ label: 'token', secret }]).length > 0).toBe(isShown)
    expect(events[0]?.note).toContain(isShown ? 'no ' : '403 Forbidden')
  })
})
