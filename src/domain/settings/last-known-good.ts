// The settings that were in force last: they stay in force while the declared ones have faults (contract 6.5).
import type { ConfigSettings } from '../../api/config.gen.ts'
import { type JsonMap, isEmptyMap, jsonToSettings, sameJson, settingsToJson } from '../json/json.ts'
import { type SettingsByOwner, settingsOfStatus } from '../managed-fields.ts'
import {
  type ConfigMapData,
  type RecordOrigin,
  capsOfSettings,
  isSettledStatus,
  parseRecord,
  recordData,
} from './in-force.ts'
import { withDefaults, withoutPathsOf } from './layers.ts'
import { type SourceReading, readSource } from './read-source.ts'
import { redactSettings } from './redaction.ts'
import type { SchemaCheck } from './schema.ts'

/**
 * The settings that were in force last, secrets redacted.
 *
 * - `this`: recorded for this Config, with the settings of its Secret then;
 * - `earlier`: recorded for another Config, or by hand;
 * - `status`: there is no record of this Config, or it was lost, but its status shows the settings;
 * - `never`: no settings were ever in force;
 * - `lost`: the record exists and is unreadable, and no status shows the settings.
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
      /** The part of `shown` that our manager owns. */
      readonly ours: JsonMap
      /** The record was lost, and with it the settings that the Secret had. */
      readonly isRecordLost: boolean
    }
  | { readonly from: 'lost' }

/** The objects from which the last settings are found. */
interface LastKnownGoodSources {
  readonly uid: string
  readonly status: unknown
  readonly byOwner: SettingsByOwner
  readonly record: ConfigMapData | null
  readonly shapeCheck: SchemaCheck
}

/**
 * Finds the settings that were in force last. The record has precedence, unless it is of another Config while this one
 * is settled already: then the record was restored from a backup.
 */
export function lastKnownGood({
  uid,
  status,
  byOwner,
  record,
  shapeCheck,
}: LastKnownGoodSources): LastKnownGood {
  const recorded = parseRecord(record)
  const isReadable = typeof recorded === 'object' && isSound(recorded.settings, shapeCheck)
  if (isReadable && recorded.origin?.uid === uid)
    return fromRecord(recorded.settings, recorded.origin)
  const shown = redactSettings(settingsOfStatus(status))
  if (isSettledStatus(status) && isSound(shown, shapeCheck))
    return { from: 'status', shown, ours: byOwner.ours, isRecordLost: !isReadable }
  if (isReadable) return { from: 'earlier', shown: recorded.settings }
  if (recorded !== 'none') return { from: 'lost' }
  return { from: 'never', shown: redactSettings(settingsToJson(withDefaults({}))) }
}

function fromRecord(shown: JsonMap, { secret, carried }: RecordOrigin): LastKnownGood {
  if (secret) return { from: 'this', shown, secret, carried }
  return { from: 'status', shown, ours: carried, isRecordLost: true }
}

/**
 * Settings that stay in force below the Secret although no source of this Config has them (contract 6.5). They are
 * carried over while its spec is empty and the Secret is unchanged, after the Config was created again or its record
 * was lost. null: the settings to carry over are lost.
 *
 * @param secret the Secret's settings now, redacted
 */
export function carriedOverSettings(last: LastKnownGood, secret: JsonMap): JsonMap | null {
  if (last.from === 'lost') return null
  if (last.from === 'this') return sameJson(secret, last.secret) ? last.carried : {}
  if (last.from === 'status') return last.ours
  return last.from === 'earlier' ? last.shown : {}
}

/**
 * Whether a Secret that is now absent had settings that are in force. If the record is lost, as after the deletion of
 * the platform's namespace: whether the operator published more settings than spec has.
 */
export function isAbsentSecretNeeded(
  last: LastKnownGood,
  { settings, faults }: SourceReading,
): boolean {
  if (last.from === 'this') return !isEmptyMap(last.secret)
  if (last.from !== 'status' || !last.isRecordLost) return false
  if (isEmptyMap(settings) || faults.length > 0) return false
  return !isEmptyMap(
    withoutPathsOf(last.ours, settingsToJson(withDefaults(jsonToSettings(settings)))),
  )
}

/**
 * The Secret's settings for the record of valid settings; null = unknown. They are unknown while the Secret is absent
 * and settings are carried over after the record was lost: a Secret that returns then does not count as changed.
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
 * The record of the last settings while the declared ones have faults: all settings in status, also those of other
 * managers and those that were only in status since the record was lost, so that the deletion of the Config loses
 * none. null: the record stays as it is.
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

// The record may have been edited by hand. A malformed cap must not read as no cap.
const isSound = (settings: JsonMap, shapeCheck: SchemaCheck): boolean =>
  capsOfSettings(settings) !== null &&
  readSource('ConfigMap', settings, shapeCheck).faults.length === 0

/** The last settings for a process that starts without any in memory: redacted values are left out. */
export const usableSettings = (shown: JsonMap, shapeCheck: SchemaCheck): ConfigSettings =>
  withDefaults(jsonToSettings(readSource('ConfigMap', shown, shapeCheck).settings))
