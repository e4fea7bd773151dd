import { describe, expect, test } from 'vitest'
import type { Config } from '../../../../src/api/config.gen.ts'
import {
  type ConfigInForce,
  type ConfigStep,
  planInForce,
  planOther,
} from '../../../../src/controllers/config/plan.ts'
import { statusEntry } from '../../../support/key-builder.ts'
import { configObject } from '../../../support/object-builder.ts'

const NOW_MS = Date.UTC(2026, 10, 21, 10)

const found = (differing: Partial<ConfigInForce> = {}): ConfigInForce => ({
  config: configObject(),
  secret: { kind: 'absent' },
  record: null,
  environment: () => undefined,
  shapeCheck: () => [],
  issuerToCome: null,
  signingKeyFaults: [],
  nowMs: NOW_MS,
  ...differing,
})

/** What the API server holds after the step was done: our apply owns all of status. */
function after(world: ConfigInForce, { step }: { readonly step: ConfigStep }): ConfigInForce {
  if (step.kind === 'record') return { ...world, record: step.data }
  if (step.kind !== 'publish') return world
  const metadata = { ...world.config.metadata, managedFields: [statusEntry(step.status)] }
  return {
    ...world,
    config: { ...world.config, metadata, status: step.status },
  }
}

/** The steps until nothing is left to do. */
function stepsOf(start: ConfigInForce): {
  readonly kinds: readonly string[]
  readonly end: ConfigInForce
} {
  const kinds: string[] = []
  let world = start
  for (
    let planned = planInForce(world);
    planned.step.kind !== 'nothing';
    planned = planInForce(world)
  ) {
    kinds.push(planned.step.kind)
    if (kinds.length > 5) throw new Error(`no end: ${kinds.join(', ')}`)
    world = after(world, planned)
  }
  return { kinds, end: world }
}

const withSpec = (spec: Config['spec'], generation = 2): Config =>
  configObject({ metadata: { generation }, spec: spec ?? {} })

describe('the Config in force', () => {
  // biome-ignore format: a table
  test.each([
    { name: 'an empty one: the record first, then status (6.5)', world: found(), kinds: ['record', 'publish'] },
    { name: 'one with settings', world: found({ config: withSpec({ platformHost: 'platform.example' }) }), kinds: ['record', 'publish'] },
    { name: 'one that was never sound has defaults in force', world: found({ config: withSpec({ projectNamespacePrefix: 'p' }) }), kinds: ['publish', 'record'] },
  ])('$name', ({ world, kinds }) => {
    expect(stepsOf(world).kinds).toEqual(kinds)
  })

  test('settled, it costs nothing, also much later (8.4)', () => {
    const { end } = stepsOf(found())
    expect(planInForce({ ...end, nowMs: NOW_MS + 86_400_000 }).step).toEqual({ kind: 'nothing' })
  })

  test('a cap is published, and stays while spec is at fault (6.5)', () => {
    const { end } = stepsOf(found({ config: withSpec({ auth: { accessKeyMaxTTLSeconds: 60 } }) }))
    expect(end.config.status?.auth?.accessKeyMaxTTLSeconds).toBe(60)
    const faulty = { ...end.config, spec: { auth: { accessKeyMaxTTLSeconds: -1 } } }
    const broken = stepsOf({ ...end, config: faulty }).end
    expect(broken.config.status?.auth?.accessKeyMaxTTLSeconds).toBe(60)
    const [ready, stalled, ...others] = broken.config.status?.conditions ?? []
    expect(ready).toMatchObject({ type: 'Ready', status: 'False', reason: 'Invalid' })
    // Nothing mends it by itself, so plain readers of status see a failure (4.3).
    expect(stalled).toEqual({ ...ready, type: 'Stalled', status: 'True' })
    expect(others).toEqual([])
    expect(end.config.status?.conditions?.map(({ type }) => type)).toEqual(['Ready'])
    expect(planInForce(broken).isValid).toBe(false)
  })

  test('each transition is told once, by its own name (4.5)', () => {
    const { end } = stepsOf(found())
    const changed = planInForce({
      ...end,
      config: { ...end.config, spec: { audit: { level: 9 } } },
    })
    expect(changed.step).toMatchObject({
      announce: [{ reason: 'InvalidConfig', note: expect.stringContaining('audit.level') }],
    })
  })

  test('what nothing acts on is told beside Ready, also while spec is at fault, and goes with its settings (6.7)', () => {
    const served = (config: Config['spec']) => {
      const { conditions = [] } =
        stepsOf(found({ config: withSpec(config) })).end.config.status ?? {}
      return conditions.map(({ type, message }) => (type === 'PartsNotServed' ? message : type))
    }
    const on = { secretStore: { enabled: true } }
    const told = 'Nothing in this product acts on these settings: secretStore.enabled.'
    expect(served(on)).toEqual(['Ready', told])
    expect(served({ secretStore: { enabled: false } })).toEqual(['Ready'])
    const { end } = stepsOf(found({ config: withSpec(on) }))
    const faulty = { ...end.config, spec: { ...on, platformHost: 'https://p' } }
    const broken = stepsOf({ ...end, config: faulty }).end.config.status?.conditions ?? []
    expect(broken.map(({ type }) => type)).toEqual(['Ready', 'Stalled', 'PartsNotServed'])
  })

  test('an unknown field is part of the message, so it is told (6.5)', () => {
    const secret = { kind: 'parsed', value: { nonsense: 1 } } as const
    const { end } = stepsOf(found({ secret }))
    expect(end.config.status?.conditions?.[0]?.message).toBe(
      'The settings are in force; ignored, because this version does not know them: nonsense (Secret).',
    )
  })
})

describe('another Config', () => {
  test('is told that it is not in force, once (4.3, 6.1)', () => {
    const config = configObject({ metadata: { name: 'other' } })
    const step = planOther(config, 'platform-manager-config', NOW_MS)
    expect(step).toMatchObject({
      kind: 'publish',
      status: {
        observedGeneration: 1,
        conditions: [
          { type: 'Ready', status: 'False', reason: 'NotInForce' },
          { type: 'Stalled', status: 'True', reason: 'NotInForce' },
        ],
      },
    })
    const told = after(found({ config }), { step }).config
    expect(planOther(told, 'platform-manager-config', NOW_MS + 1000)).toEqual({ kind: 'nothing' })
  })
})
