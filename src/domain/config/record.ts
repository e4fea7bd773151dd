// ConfigMap `platform-config-in-force`: the settings in force, without secrets (contract 6.5). It
// outlives the Config object, so that deleting that lifts no cap. Key `config` holds the settings
// and is what others read; key `origin` is the operator's own note on where they came from.

import { isMap, type Json, type JsonMap, stableText } from './json.ts'

/** Data of a ConfigMap. */
export type ConfigMapData = Readonly<Record<string, string>>

/** Which Config the recorded settings were settled for, and which of its sources held any. */
export interface Origin {
  /** metadata.uid of the Config. */
  readonly uid: string
  readonly spec: boolean
  readonly secret: boolean
  /** Settings of an earlier Config that are in force until spec or the Secret is first set. */
  readonly carried: JsonMap
}

/** What the ConfigMap says. `origin` is null where somebody else wrote the settings. */
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
  const { uid, spec, secret, carried } = note
  if (typeof uid !== 'string' || !isMap(carried)) return null
  return { uid, spec: spec === true, secret: secret === true, carried }
}

function parsed(text: string | undefined): Json | undefined {
  try {
    return text === undefined ? undefined : (JSON.parse(text) as Json)
  } catch {
    return undefined
  }
}
