// A Config with its sources on a simulated API server, reconciled by the operator's rules.
import { expect, test } from 'vitest'
import type { ConfigSettings } from '../../../../src/api/config.gen.ts'
import type { ManagedFieldsEntry } from '../../../../src/api/objects.ts'
import {
  type Json,
  type JsonMap,
  isList,
  isMap,
  mapFromEntries,
  settingsToJson,
} from '../../../../src/domain/json/json.ts'
import {
  type ConfigMapData,
  capsInForce,
  settingsInForce,
} from '../../../../src/domain/settings/effective-settings.ts'
import {
  mergeSettings,
  withDefaults,
  withPlatformVersion,
  withoutEqualValues,
  withoutPathsOf,
} from '../../../../src/domain/settings/layers.ts'
import {
  type SecretSource,
  type SettingsResolution,
  resolveSettings,
} from '../../../../src/domain/settings/resolve.ts'
import { checkSettingsSchema } from '../../../../src/domain/settings/schema.ts'
import type { SettingFault } from '../../../../src/domain/settings/validation/faults.ts'

const MANAGER = 'ours'

/** The state of the API server as far as settings go. Everything left out is absent. */
export interface SettingsState {
  readonly uid?: string
  readonly spec?: unknown
  /** Parsed text of the Secret, or why it can't be read; absent: there is none. */
  readonly secret?: unknown
  readonly unreadableSecret?: string | undefined
  /** What our manager owns in status. */
  readonly owned?: JsonMap
  /** What another manager owns in status. */
  readonly foreign?: JsonMap
  readonly settled?: boolean
  readonly record?: ConfigMapData | null
  readonly environment?: Readonly<Record<string, string>>
}

export function settled(current: SettingsState): SettingsResolution {
  const { uid = 'uid-1', owned = {}, foreign = {}, environment = {} } = current
  const ready = { type: 'Ready', status: 'True', reason: 'Applied' }
  const noted = current.settled ? { observedGeneration: 1, conditions: [ready] } : {}
  return resolveSettings({
    config: {
      metadata: { uid, managedFields: [entry(MANAGER, owned), entry('kubectl', foreign)] },
      spec: current.spec ?? {},
      status: { ...mergeSettings(owned, foreign), ...noted },
    },
    manager: MANAGER,
    secret: secretOf(current),
    record: current.record ?? null,
    environment: (name) => environment[name],
    platformVersion: '1.2.3',
    shapeCheck: checkSettingsSchema,
  })
}

/** One round of the operator: record and status are written, as server-side apply by force does. */
export function reconciled(current: SettingsState): {
  readonly current: SettingsState
  readonly outcome: SettingsResolution
} {
  const outcome = settled(current)
  const shared = withoutEqualValues(current.foreign ?? {}, outcome.owned)
  const lost = withoutPathsOf(shared, withoutPathsOf(shared, outcome.owned))
  const foreign = withoutPathsOf(current.foreign ?? {}, lost)
  const record = outcome.record ?? current.record ?? null
  return { current: { ...current, owned: outcome.owned, foreign, record, settled: true }, outcome }
}

/** The status that the API server serves. */
export const shown = ({ owned = {}, foreign = {} }: SettingsState): JsonMap =>
  mergeSettings(owned, foreign)

export const entry = (manager: string, settings: JsonMap): ManagedFieldsEntry => ({
  manager,
  operation: 'Apply',
  subresource: 'status',
  fieldsV1: { 'f:status': fieldsOf(settings) },
})

function fieldsOf(value: Json): JsonMap {
  if (!isMap(value)) return {}
  return mapFromEntries(
    Object.entries(value).map(([name, inner]) => [`f:${name}`, fieldsOf(inner)]),
  )
}

function secretOf({ secret, unreadableSecret }: SettingsState): SecretSource {
  if (unreadableSecret !== undefined) return { kind: 'unreadable', because: unreadableSecret }
  return secret === undefined ? { kind: 'absent' } : { kind: 'parsed', value: secret }
}

/** Random numbers below n, the same for the same seed. */
export function picker(seed: number): (n: number) => number {
  let state = seed
  return (n) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0
    return (state >>> 8) % n
  }
}

/** Settings with one fault. */
export interface FaultRow {
  readonly name: string
  readonly spec: ConfigSettings
  readonly path: string
  /** Part of the message. */
  readonly says: string
}

/** Settings without any fault. */
export interface SoundRow {
  readonly name: string
  readonly spec: ConfigSettings
}

const environment = { PLATFORM_CONFIG_A: 'a' }

/**
 * Tests settings as the spec, as the Secret and as the status. Each source has the fault of the row and no other, and
 * no message quotes a text of the settings.
 */
export function testFaultsInEverySource(
  withFault: readonly FaultRow[],
  withoutFault: readonly SoundRow[],
): void {
  test.each(withFault)('$name has one fault in every source', ({ spec, path, says }) => {
    const faultIn = (source: string) => [{ path, source, message: expect.stringContaining(says) }]
    expect(faultsBySource(spec)).toEqual({
      spec: faultIn('spec'),
      Secret: faultIn('Secret'),
      status: faultIn('status'),
    })
    expect(isQuoted(spec)).toBe(false)
  })

  test.each(withoutFault)('$name has no fault in any source', ({ spec }) => {
    expect(faultsBySource(spec)).toEqual({ spec: [], Secret: [], status: [] })
  })
}

/** The faults of these settings in each source. */
const faultsBySource = (
  settings: ConfigSettings,
): Readonly<Record<string, readonly SettingFault[]>> => ({
  spec: faultsIn({ spec: settings, environment }),
  Secret: faultsIn({ secret: settings, environment }),
  status: faultsIn({ foreign: settingsToJson(settings), environment }),
})

/** Whether an outcome repeats a text of the settings, after a secret was put into each of them. */
const isQuoted = (settings: ConfigSettings): boolean =>
  JSON.stringify(settled({ secret: planted(settingsToJson(settings)) })).includes(CANARY)

function faultsIn(current: SettingsState): readonly SettingFault[] {
  const outcome = settled(current)
  return outcome.ok ? [] : outcome.faults
}

const CANARY = 'cAnArY0123456789'

function planted(value: Json): Json {
  if (isList(value)) return value.map(planted)
  if (!isMap(value)) return typeof value === 'string' ? `${CANARY} ${value} (` : value
  return mapFromEntries(Object.entries(value).map(([name, inner]) => [name, planted(inner)]))
}

// Changes of a Config and its sources over time.

/** Settings with a cap of that many seconds. */
export const cap = (seconds: number) => ({ auth: { accessKeyMaxTTLSeconds: seconds } })
/** Invalid settings. */
export const BROKEN = { uiSettings: { primaryColor: 'red' } }
/** Settings without caps. */
export const host = { platformHost: 'p.example.com' }
/** The status without any settings. */
export const DEFAULTS = settingsToJson(withPlatformVersion(withDefaults({}), '1.2.3'))

/** Reconciles until nothing changes, which takes at most two rounds. */
export function run(current: SettingsState): SettingsState {
  const first = reconciled(current).current
  const second = reconciled(first).current
  const third = reconciled(second).current
  expect(third).toEqual(second)
  return third
}

/** The cap in the status that the API server serves. */
export function readCap(current: SettingsState): number | null {
  const ready = { type: 'Ready', status: 'True', reason: 'Applied' }
  const status = current.settled && {
    ...shown(current),
    observedGeneration: 1,
    conditions: [ready],
  }
  const config = { uid: current.uid ?? 'uid-1', status: status || undefined }
  const reading = capsInForce(settingsInForce(config, current.record ?? null))
  return reading.known ? reading.caps.maxTtlSeconds : Number.NaN
}

/** The Config is deleted and created again with an empty spec. */
export const deleted = ({ uid = 'uid-1', ...current }: SettingsState): SettingsState => ({
  ...current,
  uid: `${uid}+`,
  spec: {},
  owned: {},
  foreign: {},
  settled: false,
})
