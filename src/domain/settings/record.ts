// ConfigMap `platform-config-in-force`: the settings in force, without secrets (contract 6.5). It
// outlives the Config object, so that deleting that lifts no cap. Key `config` holds the settings
// and is what others read; key `origin` is the operator's own note on where they came from.

import { type Json, type JsonMap, isMap, stableText } from '../json/json.ts'

/** Data of a ConfigMap. */
export type ConfigMapData = Readonly<Record<string, string>>

/** Which Config the recorded settings were settled for, and what they came from. */
export interface Origin {
  /** metadata.uid of the Config. */
  readonly uid: string
  /**
   * The settings of the Secret, hidden: they tell whether it held any, and whether it was changed
   * since. null: nobody knows, since an earlier record was lost.
   */
  readonly secret: JsonMap | null
  /** Settings of an earlier Config that are in force until spec is set or the Secret changes. */
  readonly carried: JsonMap
}

/** What the ConfigMap says. `origin` is null where nobody knows it. */
export interface Recorded {
  readonly settings: JsonMap
  readonly origin: Origin | null
}

/**
 * Reads the ConfigMap's data. `none` when there is no such ConfigMap (null), `unreadable` when it is
 * there and holds no JSON object under `config`; a note that can't be read is no note.
 */
export function readRecord(data: ConfigMapData | null): Recorded | 'none' | 'unreadable' {
  if (data === null) return 'none'
  const settings = parsed(data['config'])
  if (!isMap(settings)) return 'unreadable'
  return { settings, origin: originOf(parsed(data['origin'])) }
}

/** The ConfigMap's data for settings that are already hidden. Equal settings give equal text. */
export const recordData = (hidden: JsonMap, origin: Origin): ConfigMapData => ({
  config: stableText(hidden),
  origin: stableText({ ...origin }),
})

function originOf(note: Json | undefined): Origin | null {
  if (!isMap(note)) return null
  const { uid, secret = null, carried } = note
  const isSound = typeof uid === 'string' && isMap(carried) && (isMap(secret) || secret === null)
  return isSound ? { uid, secret, carried } : null
}

function parsed(text: string | undefined): Json | undefined {
  try {
    return text === undefined ? undefined : (JSON.parse(text) as Json)
  } catch {
    return undefined
  }
}
