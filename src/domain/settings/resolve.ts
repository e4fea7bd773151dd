// Which settings are in force. Everything is computed from what the API server holds: the Config,
// its Secret, and the ConfigMap that keeps the settings in force; so a restart changes nothing.

import type { ConfigSettings } from '../../api/config.gen.ts'
import type { ManagedFieldsEntry } from '../../api/objects.ts'
import { type JsonMap, settingsToJson, jsonToSettings, isEmptyMap } from '../json/json.ts'
import { type SettingsByOwner, settingsByOwner } from '../managed-fields.ts'
import { withDefaults } from './defaults.ts'
import { type ConfigMapData, recordData } from './in-force.ts'
import {
  type LastKnownGood,
  carriedOverSettings,
  isAbsentSecretNeeded,
  recordOfLastKnownGood,
  lastKnownGood,
  secretForRecord,
  usableSettings,
} from './last-known-good.ts'
import { mergeSettings, withoutPathsOf, withoutEqualValues } from './merge.ts'
import {
  type SourceReading,
  type SchemaCheck,
  type UnknownField,
  mergeAndValidate,
  readSource,
  unreadableSource,
} from './read-source.ts'
import { redactSettings } from './redaction.ts'
import type { Environment } from './secret-values.ts'
import type { SettingFault } from './validation/faults.ts'

export type { SchemaCheck as ShapeCheck, UnknownField } from './read-source.ts'

/**
 * The Secret of the Config's name. `absent`: the API server says that there is none. `parsed`: the
 * value of its YAML. `unreadable`: anything else, such as no data key `config` or no valid YAML;
 * `because` is a clause without any of its text ("has no key config").
 */
export type SecretSource =
  | { readonly kind: 'absent' }
  | { readonly kind: 'parsed'; readonly value: unknown }
  | { readonly kind: 'unreadable'; readonly because: string }

/** Everything that decides which settings are in force. */
export interface ConfigSources {
  /** The Config with its managedFields, which tell whose the fields of status are. */
  readonly config: {
    readonly metadata: {
      readonly uid: string
      readonly managedFields?: readonly ManagedFieldsEntry[]
    }
    readonly spec?: unknown
    readonly status?: unknown
  }
  /** Our field manager. */
  readonly manager: string
  readonly secret: SecretSource
  /** Data of ConfigMap `platform-config-in-force`; null when there is none. */
  readonly record: ConfigMapData | null
  readonly environment: Environment
  readonly shapeCheck: SchemaCheck
}

/** What to do about the settings. `owned` is what our manager applies to status, secrets hidden. */
export type SettingsResolution = ResolvedSettings | KeptSettings

/** The sources are sound: these settings are in force. */
export interface ResolvedSettings {
  readonly ok: true
  /** With defaults and secrets, for use in memory only. */
  readonly settings: ConfigSettings
  readonly owned: JsonMap
  /**
   * Data of the ConfigMap. Write it before status: the record is then never behind what was
   * published, whatever is deleted next.
   */
  readonly record: ConfigMapData
  readonly unknown: readonly UnknownField[]
}

/** Something is at fault: the last good settings stay. */
export interface KeptSettings {
  readonly ok: false
  readonly faults: readonly SettingFault[]
  /**
   * The last good settings without their secrets, for a process that has none in memory; null when
   * nobody can tell what was in force: it keeps what it has and stays unready until it has some.
   */
  readonly lastGood: ConfigSettings | null
  readonly owned: JsonMap
  /** Data of the ConfigMap; null: it is left as it is. */
  readonly record: ConfigMapData | null
  readonly unknown: readonly UnknownField[]
}

/**
 * Decides which settings are in force (contract 6.2 to 6.5): spec over the Secret over fields of
 * status that another manager owns over defaults.
 *
 * - With any fault, nothing changes: the last good settings are those of the ConfigMap, else those
 *   that this Config's status shows, else defaults. Values of status that another manager changed
 *   against them are taken back; sound values it added are in force, as status shows them.
 * - A Config that is created anew with an empty spec starts from the ConfigMap, below its Secret if
 *   there is one, and stays so over restarts, until spec is set or the Secret changes; then only the
 *   sources count. So deleting a Config lifts no cap, be it that its Secret remains.
 * - A setting that leaves spec, or the Secret's text, leaves status. A Secret that held settings of
 *   this Config and is gone is a fault, not a change: an unreadable source never lifts a cap. To drop
 *   its settings, empty its text first; then it may go.
 * - REDACTED, null, empty texts and false say nothing, in whatever source.
 */
export function resolveSettings(sources: ConfigSources): SettingsResolution {
  const { config, record, shapeCheck } = sources
  const { uid, managedFields } = config.metadata
  const shares = settingsByOwner(config.status, managedFields, sources.manager)
  const last = lastKnownGood({ uid, status: config.status, shares, record, shapeCheck })
  const knowledge = { uid, last, shapeCheck }
  const spec = readSource('spec', config.spec ?? null, shapeCheck)
  const secret = readSecret(sources.secret, spec, knowledge)
  const foreign = readSource('status', shares.foreign, shapeCheck)
  const secretShown = redactSettings(secret.settings)
  const carried = carriedOver(spec, secretShown, knowledge)
  const readings = [spec, secret, foreign, carried]
  const unknown = readings.flatMap((reading) => reading.unknown)
  const { settings, faults } = mergeAndValidate(readings, sources.environment)
  if (faults.length > 0)
    return { ok: false, faults, unknown, ...keeping(knowledge, faults, shares) }
  const inForce = withDefaults(jsonToSettings(settings))
  const shown = redactSettings(settingsToJson(inForce))
  return {
    ok: true,
    settings: inForce,
    owned: withoutPathsOf(
      shown,
      withoutPathsOf(foreign.settings, mergeSettings(spec.settings, secret.settings)),
    ),
    record: recordData(shown, {
      uid,
      secret: secretForRecord(last, secretShown, carried.settings),
      carried: carried.settings,
    }),
    unknown,
  }
}

interface Knowledge {
  readonly uid: string
  readonly last: LastKnownGood
  readonly shapeCheck: SchemaCheck
}

const YAML_ADVICE = 'write YAML in the shape of spec under the key config'

const GONE =
  'is gone, and settings in force came from it: create it again, or with an empty config to drop them'

function readSecret(
  secret: SecretSource,
  spec: SourceReading,
  { last, shapeCheck }: Knowledge,
): SourceReading {
  if (secret.kind === 'parsed') return readSource('Secret', secret.value, shapeCheck)
  if (secret.kind === 'unreadable')
    return unreadableSource('Secret', `${secret.because}: ${YAML_ADVICE}`)
  return isAbsentSecretNeeded(last, spec)
    ? unreadableSource('Secret', GONE)
    : readSource('Secret', null, shapeCheck)
}

const LOST =
  'holds no settings that can be read, and nothing else tells what was in force: ' +
  'mend it, set spec, or delete it to start from defaults'

function carriedOver(
  spec: SourceReading,
  secretShown: JsonMap,
  { last }: Knowledge,
): SourceReading {
  const carried = isEmptyMap(spec.settings) ? carriedOverSettings(last, secretShown) : {}
  return carried === null
    ? unreadableSource('ConfigMap', LOST)
    : readSource('ConfigMap', carried, () => [])
}

function keeping(
  { uid, last, shapeCheck }: Knowledge,
  faults: readonly SettingFault[],
  shares: SettingsByOwner,
) {
  if (last.from === 'lost') return { lastGood: null, owned: shares.ours, record: null }
  const isSound = faults.every(({ source }) => source !== 'status')
  const shown = isSound ? mergeSettings(last.shown, redactSettings(shares.foreign)) : last.shown
  const leave = last.from === 'never' ? withoutPathsOf : withoutEqualValues
  return {
    lastGood: usableSettings(shown, shapeCheck),
    owned: leave(last.shown, shares.foreign),
    record: recordOfLastKnownGood(last, uid, shown),
  }
}
