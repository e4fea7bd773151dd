import { type FieldPath, pathText } from '../../json/field-path.ts'

/**
 * The source of a setting: spec, the Secret of the same name, a field of status that another
 * manager owns, or the ConfigMap that records the settings in force (contract 6.2, 6.5).
 */
export type SettingSource = 'spec' | 'Secret' | 'status' | 'ConfigMap'

/**
 * A fault in the settings. `path` is text such as `auth.connectors[0].id`, empty for the source as a whole; `message`
 * is a clause with the fault and the right form, and never quotes a value, which may be a secret (contract 3.5, 6.5).
 */
export interface SettingFault {
  readonly path: string
  readonly source: SettingSource
  readonly message: string
}

/**
 * A fault in merged settings, before the look-up of its source. `because` is the path whose source is reported when the
 * fault's own path has none, as for a missing field.
 */
export interface UnsourcedFault {
  readonly path: FieldPath
  readonly message: string
  readonly because?: FieldPath
}

/** metav1.Condition allows this many characters in a message. */
export const CONDITION_MESSAGE_LIMIT = 32_768

/** events.k8s.io/v1 allows this many characters in a note. */
export const EVENT_NOTE_LIMIT = 1024

/** A fault with its path as text. */
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
 * One message with every fault, of at most `limit` characters, for condition Ready and event `InvalidConfig`
 * (contract 4.3). A list that is too long is cut between faults and ends with the number of the others.
 */
export function faultsMessage(faults: readonly SettingFault[], limit: number): string {
  const count = faults.length === 1 ? '1 fault' : `${faults.length} faults`
  const head = `${count}; the last good settings stay in force: `
  const all = faults.map(faultText)
  const whole = head + all.join('; ')
  if (whole.length <= limit) return whole
  const room = limit - head.length - more(all.length).length
  const fit = fitting(all, room)
  if (fit > 0) return head + all.slice(0, fit).join('; ') + more(all.length - fit)
  return `${head}${(all[0] ?? '').slice(0, room - 1)}…${more(all.length - 1)}`
}

const more = (count: number): string => (count > 0 ? `; and ${count} more` : '')

function faultText({ path, source, message }: SettingFault): string {
  return path === '' ? `${source}: ${message}` : `${path} (${source}): ${message}`
}

function fitting(texts: readonly string[], room: number): number {
  let used = 0
  const cut = texts.findIndex((text) => {
    used += text.length + '; '.length
    return used > room + '; '.length
  })
  return cut === -1 ? texts.length : cut
}
