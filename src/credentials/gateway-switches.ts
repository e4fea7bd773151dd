import { type GatewaySwitches, gatewaySwitchesOf } from '../domain/settings/observed.ts'
import { type SettingsSources, followSettings } from './observed-settings.ts'

/**
 * Follows the switches in force. Settings that can't be read change nothing: a fault opens no endpoint
 * (contract 6.5).
 *
 * @returns the present switches; null until settings in force have been seen
 */
export function followGatewaySwitches(sources: SettingsSources): () => GatewaySwitches | null {
  let current: GatewaySwitches | null = null
  followSettings(sources, (observed) => {
    current = gatewaySwitchesOf(observed) ?? current
  })
  return () => current
}
