import { type FieldPath, pathText } from '../../json/field-path.ts'

/**
 * Where a setting comes from: spec, the Secret of the same name, a field of status that another manager owns, or the
 * ConfigMap that records the settings in force (contract 6.2, 6.5).
 */
export type SettingSource = 'spec' | 'Secret' | 'status' | 'ConfigMap'

/**
 * A fault in the settings. `path` is a text such as `auth.connectors[0].id`, empty for the whole source. `message` is a
 * clause with the fault and how to correct it; it quotes no value, which may be a secret (contract 3.5, 6.5).
 */
export interface SettingFault {
  readonly path: string
  readonly source: SettingSource
  readonly message: string
}

/**
 * A fault in merged settings, before its source is looked up. `because` is the path whose source is reported when the
 * fault's own path has no value, such as for a missing field.
 */
export interface UnsourcedFault {
  readonly path: FieldPath
  readonly message: string
  readonly because?: FieldPath
  /** Whether the fault is in the last name of the path, whatever its value is. */
  readonly isOfName?: boolean
}

/** Maximum length of the message of a metav1.Condition, in characters. */
export const CONDITION_MESSAGE_LIMIT = 32_768

/** Maximum length of the note of an events.k8s.io/v1 Event, in characters. */
export const EVENT_NOTE_LIMIT = 1024

/** Creates a fault, with its path as text. */
export const settingFault = (
  path: FieldPath,
  source: SettingSource,
  message: string,
): SettingFault => ({
  path: pathText(path),
  source,
  message,
})

/**
 * A message with all faults, of at most `limit` characters, for condition Ready and event `InvalidConfig` (contract
 * 4.3). A list that is too long is cut between two faults and ends with the number of omitted faults.
 */
export function faultsMessage(faults: readonly SettingFault[], limit: number): string {
  const count = faults.length === 1 ? '1 fault' : `${faults.length} faults`
  const prefix = `${count}; the last good settings stay in force: `
  const all = faults.map(faultText)
  const whole = prefix + all.join('; ')
  if (whole.length <= limit) return whole
  const room = limit - prefix.length - omittedText(all.length).length
  const fittingCount = countFitting(all, room)
  if (fittingCount > 0)
    return prefix + all.slice(0, fittingCount).join('; ') + omittedText(all.length - fittingCount)
  return `${prefix}${(all[0] ?? '').slice(0, room - 1)}…${omittedText(all.length - 1)}`
}

const omittedText = (count: number): string => (count > 0 ? `; and ${count} more` : '')

function faultText({ path, source, message }: SettingFault): string {
  return path === '' ? `${source}: ${message}` : `${path} (${source}): ${message}`
}

function countFitting(texts: readonly string[], room: number): number {
  let used = 0
  const cut = texts.findIndex((text) => {
    used += text.length + '; '.length
    return used > room + '; '.length
  })
  return cut === -1 ? texts.length : cut
}

/**
 * The texts with commas between them, cut between two texts to at most `limit` characters, followed by the number of
 * omitted ones.
 */
export function joinWithin(texts: readonly string[], limit: number): string {
  let used = 0
  const cut = texts.findIndex((text) => {
    used += text.length + ', '.length
    return used > limit
  })
  if (cut === -1) return texts.join(', ')
  return `${texts.slice(0, cut).join(', ')} and ${texts.length - cut} more`
}
