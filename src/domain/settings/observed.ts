// The settings in force as any process sees them that follows the API server (contract 6.2, 6.5).
import { type JsonMap, isList, isMap } from '../json/json.ts'
import { type ConfigMapData, readRecord } from './record.ts'

/** The settings in force, secrets hidden, or why they can't be told. */
export type ObservedSettings =
  | { readonly known: true; readonly settings: JsonMap; readonly from: 'record' | 'status' }
  | { readonly known: false; readonly because: string }

/** The Config in force, as far as its status goes. */
export interface ObservedConfig {
  readonly uid: string
  readonly status: unknown
}

/**
 * The settings in force, from the ConfigMap that keeps them (contract 6.5). It is written before status
 * and by nobody else, so what somebody writes into a Config's status counts for nothing before it is in
 * force. Without one that can be read, or with one of an earlier Config, a status that the operator has
 * settled tells.
 *
 * Pass null for a missing Config or ConfigMap; what could not be fetched is neither, and a reason to
 * keep the settings one has. Before any settings were ever in force nothing is known.
 */
export function observedSettings(
  config: ObservedConfig | null,
  record: ConfigMapData | null,
): ObservedSettings {
  const recorded = readRecord(record)
  const settled = isSettled(config?.status) ? config.status : null
  if (typeof recorded !== 'object') {
    if (settled) return { known: true, settings: settled, from: 'status' }
    const because =
      recorded === 'none' ? 'no settings were in force yet' : 'the record is unreadable'
    return { known: false, because }
  }
  const isEarlier = recorded.origin !== null && recorded.origin.uid !== config?.uid
  return settled && isEarlier
    ? { known: true, settings: settled, from: 'status' }
    : { known: true, settings: recorded.settings, from: 'record' }
}

/**
 * Whether this status shows settings that the operator put in force: it names the generation that it
 * was computed from and says Ready, True or False, but not that another object is in force.
 */
export function isSettled(status: unknown): status is JsonMap {
  if (!isMap(status) || typeof status['observedGeneration'] !== 'number') return false
  const conditions = status['conditions']
  if (!isList(conditions)) return false
  const ready = conditions.find((one) => isMap(one) && one['type'] === 'Ready')
  return isMap(ready) && ready['reason'] !== 'NotInForce'
}
