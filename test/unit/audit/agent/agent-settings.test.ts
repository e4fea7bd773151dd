import { describe, expect, test } from 'vitest'
import { agentSettingsOf, seenSettingsOf } from '../../../../src/audit/agent/agent-settings.ts'
import type { AuditSettings } from '../../../../src/api/config.gen.ts'
import { auditPolicyOf } from '../../../../src/domain/audit/policy.ts'
import { auditFaults } from '../../../../src/domain/settings/validation/audit.ts'
import type { SettingsInForce } from '../../../../src/domain/settings/effective-settings.ts'

const PATH = '/var/log/agent'
const known = (settings: unknown): SettingsInForce =>
  ({ known: true, settings, from: 'status' }) as SettingsInForce

describe('the settings of an agent (23.1)', () => {
  test('with none ever seen name everything at Metadata, and nothing is sent yet', () => {
    const { audit, syncBack } = agentSettingsOf(null, PATH)
    expect(auditFaults(audit)).toEqual([])
    const policy = auditPolicyOf(audit)
    expect(policy?.rules).toHaveLength(1)
    expect(audit).toEqual({
      enabled: true,
      path: PATH,
      policy: { omitStages: ['RequestReceived'], rules: [{ level: 'Metadata' }] },
    })
    expect(syncBack).toBe('hold')
  })

  test('that say disabled record nothing', () => {
    expect(auditPolicyOf(agentSettingsOf({}, PATH).audit)).toBeNull()
    expect(auditPolicyOf(agentSettingsOf({ enabled: false, level: 2 }, PATH).audit)).toBeNull()
  })

  // biome-ignore format: a table
  test.each<{ seen: AuditSettings, syncBack: string }>([
    { seen: {}, syncBack: 'send' },
    { seen: { enabled: true, level: 2 }, syncBack: 'send' },
    { seen: { enabled: true, level: 2, disableAgentSyncBack: false }, syncBack: 'send' },
    { seen: { enabled: true, level: 2, disableAgentSyncBack: true }, syncBack: 'discard' },
    { seen: { disableAgentSyncBack: true }, syncBack: 'discard' },
  ])('$seen has the path of the agent, and its events: $syncBack', ({ seen, syncBack }) => {
    expect(agentSettingsOf(seen, PATH)).toEqual({ audit: { ...seen, path: PATH }, syncBack })
  })
})

describe('settings of the platform (23.1)', () => {
  test('lose what an agent has no use for', () => {
    const audit = {
      enabled: true,
      level: 3,
      maxSize: 5,
      path: '-',
      dataStoreEndpoint: 'postgres://REDACTED@db/audit',
      dataStoreTTL: 24,
    }
    expect(seenSettingsOf(known({ audit }))).toEqual({ enabled: true, level: 3, maxSize: 5 })
  })

  test('without a group for audit say that it is off', () => {
    expect(seenSettingsOf(known({ platformHost: 'a.example' }))).toEqual({})
  })

  // biome-ignore format: a table
  test.each([
    { name: 'unknown settings', inForce: { known: false, because: 'none' } as const },
    { name: 'a list', inForce: known({ audit: [] }) },
    { name: 'null', inForce: known({ audit: null }) },
    { name: 'a text', inForce: known({ audit: 'on' }) },
    { name: 'a text for enabled', inForce: known({ audit: { enabled: 'yes' } }) },
    { name: 'a text for disableAgentSyncBack', inForce: known({ audit: { disableAgentSyncBack: 'true' } }) },
    { name: 'a level as text', inForce: known({ audit: { enabled: true, level: '2' } }) },
    { name: 'a level that there is not', inForce: known({ audit: { enabled: true, level: 5 } }) },
    { name: 'level beside policy', inForce: known({ audit: { enabled: true, level: 2, policy: { rules: [] } } }) },
    { name: 'rules that are a map', inForce: known({ audit: { enabled: true, policy: { rules: { level: 'None' } } } }) },
    { name: 'a rule that is a text', inForce: known({ audit: { enabled: true, policy: { rules: ['None'] } } }) },
    { name: 'a rule without level', inForce: known({ audit: { enabled: true, policy: { rules: [{ users: ['ada'] }] } } }) },
    { name: 'users that are a text', inForce: known({ audit: { enabled: true, policy: { rules: [{ level: 'None', users: 'ada' }] } } }) },
    { name: 'a stage that there is not', inForce: known({ audit: { enabled: true, policy: { omitStages: ['End'], rules: [] } } }) },
  ])('with a fault are ignored: $name', ({ inForce }) => {
    expect(seenSettingsOf(inForce)).toBeNull()
  })
})
