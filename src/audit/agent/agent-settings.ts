// How the platform's settings of audit apply at an agent (contract 23.1). Pure.
import type { AuditSettings } from '../../api/config.gen.ts'
import { canonicalJson, isMap, type JsonMap } from '../../domain/json/json.ts'
import {
  auditSettingsInForce,
  type SettingsInForce,
} from '../../domain/settings/effective-settings.ts'
import { checkSettingsSchema } from '../../domain/settings/schema.ts'

/** Events are sent, wait for the settings of the platform, or are never sent. */
export type SyncBack = 'send' | 'hold' | 'discard'

/** Settings of audit at an agent. */
export interface AgentSettings {
  /** With the agent's own path, for its recorder. */
  readonly audit: AuditSettings
  readonly syncBack: SyncBack
}

/** Without settings of the platform: Metadata for everything, with the stages of the levels that ship. */
const UNKNOWN: AuditSettings = {
  enabled: true,
  policy: { omitStages: ['RequestReceived'], rules: [{ level: 'Metadata' }] },
}

/**
 * The settings that apply at an agent.
 *
 * @param seen the last that the platform had; null = none were ever seen
 * @param path the agent's own directory, or `-`
 */
export function agentSettingsOf(seen: AuditSettings | null, path: string): AgentSettings {
  if (seen === null) return { audit: { ...UNKNOWN, path }, syncBack: 'hold' }
  return {
    audit: { ...seen, path },
    syncBack: seen.disableAgentSyncBack === true ? 'discard' : 'send',
  }
}

/** The part of the platform's settings that an agent uses; null = they are unknown, have a fault, or another shape. */
export function seenSettingsOf(inForce: SettingsInForce): AuditSettings | null {
  if (!inForce.known) return null
  const { audit = {} } = inForce.settings
  if (!isMap(audit) || checkSettingsSchema({ audit }).length > 0) return null
  const { dataStoreEndpoint: _endpoint, dataStoreTTL: _ttl, path: _path, ...seen } = audit
  // An agent has a path of its own.
  const settings = { audit: { ...seen, path: ANY_PATH } }
  return auditSettingsInForce({ ...inForce, settings }) === null ? null : seen
}

const ANY_PATH = '-'

/** The text of a file that keeps settings; equal settings have equal texts. */
export const keptText = (seen: AuditSettings): string =>
  `${canonicalJson({ audit: seen as JsonMap })}\n`
