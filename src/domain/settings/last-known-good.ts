// The last known good settings: they stay in force while the declared settings have faults (contract 6.5).
import type { ConfigSettings } from '../../api/config.gen.ts'
import { type JsonMap, isEmptyMap, jsonToSettings, settingsToJson } from '../json/json.ts'
import { type SettingsByOwner, settingsOfStatus } from '../managed-fields.ts'
import {
  type ConfigMapData,
  type RecordOrigin,
  capsOfSettings,
  isSettledStatus,
  parseRecord,
  recordData,
} from './effective-settings.ts'
import {
  mergeSettings,
  withDefaults,
  withPlatformVersion,
  withoutEqualValues,
  withoutPathsOf,
} from './layers.ts'
import { type SourceReading, readSource } from './read-source.ts'
import { redactSettings } from './redaction.ts'
import type { SchemaCheck } from './schema.ts'

/**
 * The last known good settings, secrets redacted, by where they were found:
 *
 * - `this`: in the record of this Config, with the settings that its Secret had then;
 * - `earlier`: in the record of another Config, or in one that was written by hand;
 * - `status`: in the status of this Config, because its record is missing or was lost;
 * - `never`: nowhere, because no settings were ever in force; the defaults apply;
 * - `lost`: nowhere, because the record is unreadable and no status has settings.
 */
export type LastKnownGood =
  | {
      readonly from: 'this'
      readonly shown: JsonMap
      readonly secret: JsonMap
      readonly carried: JsonMap
    }
  | { readonly from: 'earlier' | 'never'; readonly shown: JsonMap }
  | {
      readonly from: 'status'
      readonly shown: JsonMap
      /** The part of these settings that our field manager owns. */
      readonly ours: JsonMap
      /** Whether the record was lost, and with it the settings that the Secret had. */
      readonly isRecordLost: boolean
    }
  | { readonly from: 'lost' }

/** What `lastKnownGood` reads. */
interface LastKnownGoodSources {
  readonly uid: string
  readonly status: unknown
  readonly byOwner: SettingsByOwner
  readonly record: ConfigMapData | null
  readonly platformVersion: string
  readonly shapeCheck: SchemaCheck
}

/**
 * Finds the last known good settings. The record takes precedence over status, except a record of another Config while
 * this Config has published settings: that record was restored from a backup.
 */
export function lastKnownGood({
  uid,
  status,
  byOwner,
  record,
  platformVersion,
  shapeCheck,
}: LastKnownGoodSources): LastKnownGood {
  const recorded = parseRecord(record)
  const isReadable = typeof recorded === 'object' && isValidRecord(recorded.settings, shapeCheck)
  if (isReadable && recorded.origin?.uid === uid)
    return fromRecord(recorded.settings, recorded.origin)
  const shown = redactSettings(settingsOfStatus(status))
  if (isSettledStatus(status) && isValidRecord(shown, shapeCheck))
    return { from: 'status', shown, ours: byOwner.ours, isRecordLost: !isReadable }
  if (isReadable) return { from: 'earlier', shown: recorded.settings }
  if (recorded !== 'none') return { from: 'lost' }
  const defaults = withPlatformVersion(withDefaults({}), platformVersion)
  return { from: 'never', shown: redactSettings(settingsToJson(defaults)) }
}

function fromRecord(shown: JsonMap, { secret, carried }: RecordOrigin): LastKnownGood {
  if (secret) return { from: 'this', shown, secret, carried }
  return { from: 'status', shown, ours: carried, isRecordLost: true }
}

/**
 * Settings that stay in force, with less precedence than every source, although no source of this Config has them
 * (contract 6.5): after the Config was created again without a spec, or its record was lost. Each stays until spec or
 * the Secret has a value at its path. Defaults are left out. null: these settings are lost.
 */
export function carriedOverSettings(
  last: LastKnownGood,
  spec: SourceReading,
  secret: SourceReading,
): JsonMap | null {
  if (last.from === 'lost') return isEmptyMap(spec.settings) ? null : {}
  const declared = mergeSettings(spec.settings, secret.settings)
  const remembered = withoutPathsOf(
    withoutVersion(rememberedSettings(last, spec.settings)),
    declared,
  )
  // Defaults of providers and the like depend on what is declared, which is not typed while it has faults.
  const isTyped = spec.faults.length + secret.faults.length === 0
  const defaults = withDefaults(isTyped ? jsonToSettings(declared) : {})
  return withoutEqualValues(remembered, settingsToJson(defaults))
}

// A record of another release has the version of that release, which must not stay.
const withoutVersion = (settings: JsonMap): JsonMap =>
  withoutPathsOf(settings, { uiSettings: { platformVersion: '' } })

function rememberedSettings(
  last: Exclude<LastKnownGood, { from: 'lost' }>,
  spec: JsonMap,
): JsonMap {
  switch (last.from) {
    case 'this':
      return last.carried
    case 'status':
      return isEmptyMap(spec) ? last.ours : {}
    case 'earlier':
      return isEmptyMap(spec) ? last.shown : {}
    case 'never':
      return {}
    default:
      return last satisfies never
  }
}

/**
 * Whether settings in force came from a Secret that is now absent. If the record is lost, for example because the
 * platform's namespace was deleted: whether the operator published more settings than spec has.
 */
export function isAbsentSecretNeeded(
  last: LastKnownGood,
  { settings, faults }: SourceReading,
): boolean {
  if (last.from === 'this') return !isEmptyMap(last.secret)
  if (last.from !== 'status' || !last.isRecordLost) return false
  if (isEmptyMap(settings) || faults.length > 0) return false
  return !isEmptyMap(
    withoutPathsOf(
      withoutVersion(last.ours),
      settingsToJson(withDefaults(jsonToSettings(settings))),
    ),
  )
}

/**
 * The Secret's settings as the record of valid settings stores them; null = unknown. They are unknown while the Secret
 * is absent and settings are carried over from a lost record, so that a Secret that returns does not count as changed.
 */
export function secretForRecord(
  last: LastKnownGood,
  secret: JsonMap,
  carried: JsonMap,
): JsonMap | null {
  const isUnknown = last.from === 'status' && last.isRecordLost && !isEmptyMap(carried)
  return isUnknown && isEmptyMap(secret) ? null : secret
}

/**
 * The record to write while the declared settings have faults: all settings in status, also of other
 * managers and of a lost record, so that the deletion of the Config loses none. null: the record is not
 * changed.
 */
export function recordOfLastKnownGood(
  last: LastKnownGood,
  uid: string,
  shown: JsonMap,
): ConfigMapData | null {
  if (last.from === 'this')
    return recordData(shown, { uid, secret: last.secret, carried: last.carried })
  if (last.from !== 'status' || !last.isRecordLost) return null
  return recordData(shown, { uid, secret: null, carried: last.ours })
}

// The record may have been edited by hand, and a malformed cap must not count as no cap.
const isValidRecord = (settings: JsonMap, shapeCheck: SchemaCheck): boolean =>
  capsOfSettings(settings) !== null &&
  readSource('ConfigMap', settings, shapeCheck).faults.length === 0

/** The settings for a process that has none in memory: redacted values are left out, defaults are added. */
export const usableSettings = (shown: JsonMap, shapeCheck: SchemaCheck): ConfigSettings =>
  withDefaults(jsonToSettings(readSource('ConfigMap', shown, shapeCheck).settings))
