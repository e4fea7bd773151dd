// Decides which settings are in force. The inputs are objects of the API server (the Config, its Secret, and the
// ConfigMap that records the settings in force) and the environment, so a restart changes nothing.

import type { ConfigSettings } from '../../api/config.gen.ts'
import type { ManagedFieldsEntry } from '../../api/objects.ts'
import { type JsonMap, jsonToSettings, settingsToJson } from '../json/json.ts'
import { type SettingsByOwner, settingsByOwner } from '../managed-fields.ts'
import { type ConfigMapData, recordData } from './effective-settings.ts'
import {
  type LastKnownGood,
  carriedOverSettings,
  isAbsentSecretNeeded,
  lastKnownGood,
  recordOfLastKnownGood,
  secretForRecord,
  usableSettings,
} from './last-known-good.ts'
import {
  mergeSettings,
  withDefaults,
  withPlatformVersion,
  withoutEqualValues,
  withoutPathsOf,
} from './layers.ts'
import {
  type SourceReading,
  type UnknownField,
  mergeAndValidate,
  readSource,
  unreadableSource,
} from './read-source.ts'
import { redactSettings } from './redaction.ts'
import type { SchemaCheck } from './schema.ts'
import type { Environment } from './secret-values.ts'
import type { SettingFault } from './validation/faults.ts'
import { pathsOfSettings } from './walk.ts'

/**
 * The Secret that has the Config's name. `absent`: it does not exist. `parsed`: the value of its YAML. `unreadable`:
 * anything else, such as invalid YAML; `because` is a clause such as "has no key config" that quotes nothing of it.
 */
export type SecretSource =
  | { readonly kind: 'absent' }
  | { readonly kind: 'parsed'; readonly value: unknown }
  | { readonly kind: 'unreadable'; readonly because: string }

/** All inputs of `resolveSettings`. */
export interface ConfigSources {
  /** The Config; its managedFields name the owners of the fields of status. */
  readonly config: {
    readonly metadata: {
      readonly uid: string
      readonly managedFields?: readonly ManagedFieldsEntry[]
    }
    readonly spec?: unknown
    readonly status?: unknown
  }
  /** Name of our field manager. */
  readonly manager: string
  readonly secret: SecretSource
  /** Data of ConfigMap `platform-config-in-force`; null when there is none. */
  readonly record: ConfigMapData | null
  readonly environment: Environment
  /** Version of this program, the default of uiSettings.platformVersion. */
  readonly platformVersion: string
  readonly shapeCheck: SchemaCheck
}

/** The settings in force. `owned` has the settings that our field manager applies to status, secrets redacted. */
export type SettingsResolution = ResolvedSettings | KeptSettings

/** The sources have no faults: their settings are in force. */
interface ResolvedSettings {
  readonly ok: true
  /** The settings with defaults and secrets, for use in memory only. */
  readonly settings: ConfigSettings
  readonly owned: JsonMap
  /**
   * Data for the ConfigMap. It must be written before status, so that the record is never older than status.
   */
  readonly record: ConfigMapData
  readonly unknown: readonly UnknownField[]
  /** Paths of the settings that no source has: they stay from before the Config was created again, sorted. */
  readonly kept: readonly string[]
}

/** The sources have faults: the last good settings stay in force. */
interface KeptSettings {
  readonly ok: false
  readonly faults: readonly SettingFault[]
  /**
   * The last good settings without their secrets, for a process that has no settings in memory. null when they are
   * unknown: such a process stays unready.
   */
  readonly lastGood: ConfigSettings | null
  readonly owned: JsonMap
  /** Data for the ConfigMap; null: the ConfigMap is not changed. */
  readonly record: ConfigMapData | null
  readonly unknown: readonly UnknownField[]
}

/**
 * Decides which settings are in force (contract 6.2 to 6.5). In order of precedence: spec, the Secret, fields of status
 * that another manager owns, defaults.
 *
 * - With any fault, the last good settings stay in force: the ConfigMap's, else this Config's status,
 *   else defaults. In status, changes of other managers to them are reverted; valid settings that they add are in
 *   force.
 * - A Config that is created again with an empty spec keeps each setting of the ConfigMap until spec or its Secret has
 *   a value for that very setting. So the deletion of a Config lifts no cap, whatever is set afterwards.
 * - A setting that is removed from spec, or from the Secret's text, is removed from status. The deletion of a Secret
 *   that had settings of this Config is a fault: an unreadable source never lifts a cap. To drop them, empty its text
 *   first.
 * - REDACTED, null, empty texts and false are unset values in every source.
 */
export function resolveSettings(sources: ConfigSources): SettingsResolution {
  const { config, record, platformVersion, shapeCheck } = sources
  const { uid, managedFields } = config.metadata
  const byOwner = settingsByOwner(config.status, managedFields, sources.manager)
  const last = lastKnownGood({
    uid,
    status: config.status,
    byOwner,
    record,
    platformVersion,
    shapeCheck,
  })
  const previous = { uid, last, shapeCheck }
  const spec = readSource('spec', config.spec ?? null, shapeCheck)
  const secret = readSecret(sources.secret, spec, previous)
  const foreign = readSource('status', byOwner.foreign, shapeCheck)
  const redactedSecret = redactSettings(secret.settings)
  const carried = carriedOverSource(spec, secret, previous)
  const readings = [spec, secret, foreign, carried]
  const unknown = readings.flatMap((reading) => reading.unknown)
  const { settings, faults } = mergeAndValidate(readings, sources.environment)
  if (faults.length > 0)
    return { ok: false, faults, unknown, ...keepLastKnownGood(previous, faults, byOwner) }
  const inForce = withPlatformVersion(withDefaults(jsonToSettings(settings)), platformVersion)
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
      secret: secretForRecord(last, redactedSecret, carried.settings),
      carried: carried.settings,
    }),
    unknown,
    kept: pathsOfSettings(withoutPathsOf(carried.settings, foreign.settings)),
  }
}

interface PreviousSettings {
  readonly uid: string
  readonly last: LastKnownGood
  readonly shapeCheck: SchemaCheck
}

const YAML_ADVICE = 'write YAML in the shape of spec under the key config'

const SECRET_GONE =
  'is gone, and settings in force came from it: create it again, or with an empty config to drop them'

function readSecret(
  secret: SecretSource,
  spec: SourceReading,
  { last, shapeCheck }: PreviousSettings,
): SourceReading {
  if (secret.kind === 'parsed') return readSource('Secret', secret.value, shapeCheck)
  if (secret.kind === 'unreadable')
    return unreadableSource('Secret', `${secret.because}: ${YAML_ADVICE}`)
  return isAbsentSecretNeeded(last, spec)
    ? unreadableSource('Secret', SECRET_GONE)
    : readSource('Secret', null, shapeCheck)
}

const RECORD_LOST =
  'holds no settings that can be read, and nothing else tells what was in force: ' +
  'mend it, set spec, or delete it to start from defaults'

function carriedOverSource(
  spec: SourceReading,
  secret: SourceReading,
  { last }: PreviousSettings,
): SourceReading {
  const carried = carriedOverSettings(last, spec, secret)
  return carried === null
    ? unreadableSource('ConfigMap', RECORD_LOST)
    : readSource('ConfigMap', carried, () => [])
}

function keepLastKnownGood(
  { uid, last, shapeCheck }: PreviousSettings,
  faults: readonly SettingFault[],
  byOwner: SettingsByOwner,
) {
  if (last.from === 'lost') return { lastGood: null, owned: byOwner.ours, record: null }
  const isStatusValid = faults.every(({ source }) => source !== 'status')
  const shown = isStatusValid
    ? mergeSettings(last.shown, redactSettings(byOwner.foreign))
    : last.shown
  const withoutForeign = last.from === 'never' ? withoutPathsOf : withoutEqualValues
  return {
    lastGood: usableSettings(shown, shapeCheck),
    owned: withoutForeign(last.shown, byOwner.foreign),
    record: recordOfLastKnownGood(last, uid, shown),
  }
}
