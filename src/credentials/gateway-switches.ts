import { type GatewaySwitches, gatewaySwitchesOf } from '../domain/config/gateway-switches.ts'
import { followSettings, type SettingsSources } from './observed-settings.ts'

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
