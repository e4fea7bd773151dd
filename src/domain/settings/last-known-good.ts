import type { ConfigSettings } from '../../api/config.gen.ts'
import { type JsonMap, settingsToJson, jsonToSettings, isEmptyMap, sameJson } from '../json/json.ts'
import { type SettingsByOwner, settingsOfStatus } from '../managed-fields.ts'
import { withDefaults } from './defaults.ts'
import {
  type ConfigMapData,
  type RecordOrigin,
  capsOfSettings,
  isSettledStatus,
  parseRecord,
  recordData,
} from './in-force.ts'
import { withoutPathsOf } from './merge.ts'
import { type SourceReading, type SchemaCheck, readSource } from './read-source.ts'
import { redactSettings } from './redaction.ts'

/**
 * The settings that were in force last, secrets hidden.
 *
 * - `this`: recorded for this Config, with the settings of its Secret then;
 * - `earlier`: recorded for another Config, or by hand;
 * - `status`: there is or was no record of this Config, but its status shows them;
 * - `never`: no settings were ever seen;
 * - `lost`: the record is there and can't be read, and no status shows them.
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
      /** Those of them that our manager owns. */
      readonly ours: JsonMap
      /** The record was lost, and with it what the Secret held. */
      readonly isRecordLost: boolean
    }
  | { readonly from: 'lost' }

/** What to look at for the last settings. */
export interface LastKnownGoodSources {
  readonly uid: string
  readonly status: unknown
  readonly shares: SettingsByOwner
  readonly record: ConfigMapData | null
  readonly shapeCheck: SchemaCheck
}

/**
 * Finds the settings that were in force last. The record comes first, unless it is of another
 * Config while this one was settled already: then the record is an old copy that somebody restored.
 */
export function lastKnownGood({
  uid,
  status,
  shares,
  record,
  shapeCheck,
}: LastKnownGoodSources): LastKnownGood {
  const recorded = parseRecord(record)
  const isReadable = typeof recorded === 'object' && isSound(recorded.settings, shapeCheck)
  if (isReadable && recorded.origin?.uid === uid) return noted(recorded.settings, recorded.origin)
  const shown = redactSettings(settingsOfStatus(status))
  if (isSettledStatus(status) && isSound(shown, shapeCheck))
    return { from: 'status', shown, ours: shares.ours, isRecordLost: !isReadable }
  if (isReadable) return { from: 'earlier', shown: recorded.settings }
  if (recorded !== 'none') return { from: 'lost' }
  return { from: 'never', shown: redactSettings(settingsToJson(withDefaults({}))) }
}

function noted(shown: JsonMap, { secret, carried }: RecordOrigin): LastKnownGood {
  if (secret) return { from: 'this', shown, secret, carried }
  return { from: 'status', shown, ours: carried, isRecordLost: true }
}

/**
 * Settings that stay in force below the Secret although no source of this Config says so, while its
 * spec is empty (contract 6.5): it was created anew, or its record was lost, and neither spec nor the
 * Secret, whose hidden settings these are, was set since. Null: they should stay, but are lost.
 */
export function carriedOverSettings(last: LastKnownGood, secret: JsonMap): JsonMap | null {
  if (last.from === 'lost') return null
  if (last.from === 'this') return sameJson(secret, last.secret) ? last.carried : {}
  if (last.from === 'status') return last.ours
  return last.from === 'earlier' ? last.shown : {}
}

/**
 * Whether a Secret that is absent held settings that are in force. Where the record is lost, as
 * after the platform's namespace was deleted, that is so when we published more than spec says.
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
 * What to note of the Secret with settings that are sound. While settings are carried over from a
 * record that was lost and there is no Secret, nobody knows what it held; when it comes back, it is
 * then not taken for one that is first set.
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
 * The record of the last settings while the declared ones are at fault: what status shows goes into
 * it, also what another manager added there or what was only there since an earlier record was
 * lost, so that deleting the Config loses none. Null: the record is left as it is.
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

// Somebody may have edited the record by hand. A cap that can't be read must not read as none.
const isSound = (settings: JsonMap, shapeCheck: SchemaCheck): boolean =>
  capsOfSettings(settings) !== null &&
  readSource('ConfigMap', settings, shapeCheck).faults.length === 0

/** The settings as a process may use them that starts from them: without what is hidden. */
export const usableSettings = (shown: JsonMap, shapeCheck: SchemaCheck): ConfigSettings =>
  withDefaults(jsonToSettings(readSource('ConfigMap', shown, shapeCheck).settings))
