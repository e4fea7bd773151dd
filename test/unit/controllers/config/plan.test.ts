import { describe, expect, test } from 'vitest'
import type { Config } from '../../../../src/api/config.gen.ts'
import {
  planInForce,
  planNotInForce,
  planNotWritten,
} from '../../../../src/controllers/config/plan.ts'
import { configObject } from '../../../support/object-builder.ts'
import {
  after,
  type ConfigPlanInput,
  GATEWAY,
  initialState,
  NOW_MS,
  stepsOf,
  stored,
  textIn,
  withSpec,
} from './plan-builder.ts'

describe('the Config in force', () => {
  // biome-ignore format: a table
  test.each([
    { name: 'an empty Config: the record first, then status (6.5)', state: initialState(), kinds: ['record', 'publish'] },
    { name: 'a Config with settings', state: initialState({ config: withSpec({ platformHost: 'platform.example' }) }), kinds: ['record', 'publish'] },
    { name: 'a Config that was never valid: status first, with the defaults in force', state: initialState({ config: withSpec({ projectNamespacePrefix: 'p' }) }), kinds: ['publish', 'record'] },
  ])('$name', ({ state, kinds }) => {
    expect(stepsOf(state).kinds).toEqual(kinds)
  })

  test('the endpoint of the data store is in the Secret before status, changes with it, and stays while spec is invalid (6.8)', () => {
    const audited = (audit: Readonly<Record<string, unknown>>) => withSpec({ audit })
    const endpoint = 'postgres://audit:canary@db/audit'
    const given = initialState({
      config: audited({
        enabled: true,
        path: '/a',
        level: 1,
        dataStoreEndpoint: '$PLATFORM_CONFIG_DB',
      }),
      environment: () => endpoint,
    })
    const { kinds, end } = stepsOf(given)
    expect(kinds).toEqual(['record', 'secretSettings', 'publish'])
    expect(JSON.parse(textIn(end, GATEWAY.name) ?? '')).toEqual({
      audit: { dataStoreEndpoint: endpoint },
    })
    expect(JSON.stringify([end.record, end.config])).not.toContain('canary')
    const broken = stepsOf({ ...end, config: { ...end.config, spec: { audit: { level: 9 } } } })
    expect(broken.kinds).toEqual(['publish'])
    const lost = stepsOf({ ...end, settingsSecrets: stored(null) })
    expect(lost.kinds).toEqual(['secretSettings'])
    const off = stepsOf({ ...end, config: { ...end.config, spec: {} } })
    expect(off.kinds).toEqual(['record', 'secretSettings', 'publish'])
    expect(textIn(off.end, GATEWAY.name)).toBe('{}')
  })

  test('the record of a version that hid headers makes none of REDACTED (6.3)', () => {
    const auth = { customHttpHeaders: { 'X-A': 'REDACTED', 'X-B': 'b' } }
    const config = JSON.stringify({ auth, projectNamespacePrefix: 'p-' })
    const origin = JSON.stringify({ uid: 'earlier', secret: {}, carried: {} })
    const { end } = stepsOf(initialState({ record: { config, origin } }))
    expect(end.config.status?.auth?.customHttpHeaders).toEqual({ 'X-B': 'b' })
  })

  test('a settled Config needs no write a day later (8.4)', () => {
    const { end } = stepsOf(initialState())
    expect(planInForce({ ...end, nowMs: NOW_MS + 86_400_000 }).step).toEqual({ kind: 'nothing' })
  })

  test('a published cap stays while spec is invalid (6.5)', () => {
    const { end } = stepsOf(
      initialState({ config: withSpec({ auth: { accessKeyMaxTTLSeconds: 60 } }) }),
    )
    expect(end.config.status?.auth?.accessKeyMaxTTLSeconds).toBe(60)
    const faulty = { ...end.config, spec: { auth: { accessKeyMaxTTLSeconds: -1 } } }
    const broken = stepsOf({ ...end, config: faulty }).end
    expect(broken.config.status?.auth?.accessKeyMaxTTLSeconds).toBe(60)
    const [ready, stalled, ...others] = broken.config.status?.conditions ?? []
    expect(ready).toMatchObject({ type: 'Ready', status: 'False', reason: 'Invalid' })
    // Only a change of spec repairs it, so generic readers of status see a failure (4.3).
    expect(stalled).toEqual({ ...ready, type: 'Stalled', status: 'True' })
    expect(others).toEqual([])
    expect(end.config.status?.conditions?.map(({ type }) => type)).toEqual(['Ready'])
    expect(planInForce(broken).isValid).toBe(false)
  })

  test('each transition has one event with its own reason (4.5)', () => {
    const { end } = stepsOf(initialState())
    const changed = planInForce({
      ...end,
      config: { ...end.config, spec: { audit: { level: 9 } } },
    })
    expect(changed.step).toMatchObject({
      announce: [{ reason: 'InvalidConfig', note: expect.stringContaining('audit.level') }],
    })
  })

  test('PartsNotServed names settings without effect, also while spec is invalid, and goes with them (6.7)', () => {
    const served = (config: Config['spec']) => {
      const { conditions = [] } =
        stepsOf(initialState({ config: withSpec(config) })).end.config.status ?? {}
      return conditions.map(({ type, message }) => (type === 'PartsNotServed' ? message : type))
    }
    const on = { costControl: { enabled: true } }
    const message = 'Nothing in this product acts on these settings: costControl.enabled.'
    expect(served(on)).toEqual(['Ready', message])
    expect(served({ costControl: { enabled: false } })).toEqual(['Ready'])
    const { end } = stepsOf(initialState({ config: withSpec(on) }))
    const faulty = { ...end.config, spec: { ...on, platformHost: 'https://p' } }
    const broken = stepsOf({ ...end, config: faulty }).end.config.status?.conditions ?? []
    expect(broken.map(({ type }) => type)).toEqual(['Ready', 'Stalled', 'PartsNotServed'])
  })

  test('the message of Ready names unknown fields (6.5)', () => {
    const secret = { kind: 'parsed', value: { nonsense: 1 } } as const
    const { end } = stepsOf(initialState({ secret }))
    expect(end.config.status?.conditions?.[0]?.message).toBe(
      'The settings are in force; ignored, because this version does not know them: nonsense (Secret).',
    )
  })
})

describe('another Config', () => {
  test('is published as NotInForce, once (4.3, 6.1)', () => {
    const config = configObject({ metadata: { name: 'other' } })
    const step = planNotInForce(config, 'platform-manager-config', NOW_MS)
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
    const message = after(initialState({ config }), { step }).config
    expect(planNotInForce(message, 'platform-manager-config', NOW_MS + 1000)).toEqual({
      kind: 'nothing',
    })
  })
})

describe('a refused write of the settings (6.5)', () => {
  const before = stepsOf(
    initialState({ config: configObject({ spec: { platformHost: 'p' } }) }),
  ).end

  test('is Ready False NotWritten with the words of the server; the settings stay', () => {
    const step = planNotWritten(
      before.config,
      { objectName: 'status of this Config', words: 'yaml: no' },
      null,
      NOW_MS,
    )
    expect(step).toMatchObject({
      kind: 'publish',
      announce: [],
      status: { platformHost: 'p', projectNamespacePrefix: 'p-' },
    })
    const conditions = step.kind === 'publish' ? step.status.conditions : []
    const message =
      'The API server refused the status of this Config, so the settings before stay in force: yaml: no'
    const [ready, stalled] = conditions
    expect(ready).toMatchObject({ type: 'Ready', status: 'False', reason: 'NotWritten', message })
    expect(stalled).toMatchObject({ type: 'Stalled', status: 'True', reason: 'NotWritten' })
  })

  test('is reported once', () => {
    const write = (state: ConfigPlanInput) =>
      planNotWritten(state.config, { objectName: 'ConfigMap x', words: 'no' }, null, NOW_MS)
    const reported = after(before, { step: write(before) })
    expect(write(reported)).toEqual({ kind: 'nothing' })
  })

  test('with other words at each retry is published once a minute, and at once for another generation (6.5)', () => {
    const write = (state: ConfigPlanInput, lastMs: number | null, afterMs: number) => {
      const refused = { objectName: 'ConfigMap x', words: `request ${afterMs} denied` }
      return planNotWritten(state.config, refused, lastMs, NOW_MS + afterMs)
    }
    const reported = after(before, { step: write(before, null, 0) })
    const writes = [1, 30_000, 59_999, 60_000].map((ms) => write(reported, NOW_MS, ms).kind)
    expect(writes).toEqual(['nothing', 'nothing', 'nothing', 'publish'])
    expect(write(reported, null, 1).kind).toBe('publish')
    const metadata = { ...reported.config.metadata, generation: 99 }
    const edited = { ...reported, config: { ...reported.config, metadata } }
    expect(write(edited, NOW_MS, 1).kind).toBe('publish')
    expect(write(before, NOW_MS, 1).kind).toBe('publish')
  })
})
