// A Config with its sources, and what an API server and the operator make of them, for tables.
import { expect } from 'vitest'
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
import type { ConfigMapData } from '../../../../src/domain/settings/in-force.ts'
import {
  mergeSettings,
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
export interface World {
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

export function settled(world: World): SettingsResolution {
  const { uid = 'uid-1', owned = {}, foreign = {}, environment = {} } = world
  const ready = { type: 'Ready', status: 'True', reason: 'Applied' }
  const noted = world.settled ? { observedGeneration: 1, conditions: [ready] } : {}
  return resolveSettings({
    config: {
      metadata: { uid, managedFields: [entry(MANAGER, owned), entry('kubectl', foreign)] },
      spec: world.spec ?? {},
      status: { ...mergeSettings(owned, foreign), ...noted },
    },
    manager: MANAGER,
    secret: secretOf(world),
    record: world.record ?? null,
    environment: (name) => environment[name],
    shapeCheck: checkSettingsSchema,
  })
}

/** One round of the operator: record and status are written, as server-side apply by force does. */
export function reconciled(world: World): {
  readonly world: World
  readonly outcome: SettingsResolution
} {
  const outcome = settled(world)
  const shared = withoutEqualValues(world.foreign ?? {}, outcome.owned)
  const lost = withoutPathsOf(shared, withoutPathsOf(shared, outcome.owned))
  const foreign = withoutPathsOf(world.foreign ?? {}, lost)
  const record = outcome.record ?? world.record ?? null
  return { world: { ...world, owned: outcome.owned, foreign, record, settled: true }, outcome }
}

/** What everybody reads in status. */
export const shown = ({ owned = {}, foreign = {} }: World): JsonMap => mergeSettings(owned, foreign)

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

function secretOf({ secret, unreadableSecret }: World): SecretSource {
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

/** The faults of these settings in each source, where they should be told alike. */
export const faultsBySource = (
  settings: ConfigSettings,
): Readonly<Record<string, readonly SettingFault[]>> => ({
  spec: faultsIn({ spec: settings, environment }),
  Secret: faultsIn({ secret: settings, environment }),
  status: faultsIn({ foreign: settingsToJson(settings), environment }),
})

/** One fault in each source. */
export const inEverySource = ({ path, says }: FaultRow): object =>
  Object.fromEntries(
    ['spec', 'Secret', 'status'].map((source) => [
      source,
      [{ path, source, message: expect.stringContaining(says) }],
    ]),
  )

/** Whether an outcome repeats a text of the settings, after a secret was put into each of them. */
export const quotes = (settings: ConfigSettings): boolean =>
  JSON.stringify(settled({ secret: planted(settingsToJson(settings)) })).includes(CANARY)

/** No faults in any source. */
export const NONE = { spec: [], Secret: [], status: [] }

function faultsIn(world: World): readonly SettingFault[] {
  const outcome = settled(world)
  return outcome.ok ? [] : outcome.faults
}

const CANARY = 'cAnArY0123456789'

function planted(value: Json): Json {
  if (isList(value)) return value.map(planted)
  if (!isMap(value)) return typeof value === 'string' ? `${CANARY} ${value} (` : value
  return mapFromEntries(Object.entries(value).map(([name, inner]) => [name, planted(inner)]))
}
