import { describe, expect, test } from 'vitest'
import type { Config } from '../../../../src/api/config.gen.ts'
import {
  planInForce,
  planNotInForce,
  planNotWritten,
} from '../../../../src/controllers/config/plan.ts'
import { deliverySettingsIn } from '../../../../src/domain/settings/secret-settings.ts'
import type { ReportedStoreStatus } from '../../../../src/domain/store/store-status.ts'
import type { KnownStoreToken } from '../../../../src/domain/store/store-token.ts'
import { DELIVERY, initialState, NOW_MS, stepsOf, textIn, withSpec } from './plan-builder.ts'

const CANARY = 'hvs.canary-0123456789'
const STORE = { enabled: true, address: 'https://vault.example.com' }
const BY_REF = { secretStore: { ...STORE, auth: { tokenSecretRef: { name: 'vault-token' } } } }
const REF = { name: 'vault-token', key: 'token' }

const read = (token: string | null, fault: string | null = null): KnownStoreToken => ({
  ref: REF,
  reading: { token, fault },
  readMs: NOW_MS,
})
const given = (spec: object, differing: Partial<Parameters<typeof initialState>[0]> = {}) =>
  initialState({ config: withSpec(spec), environment: () => CANARY, ...differing })

describe('the Secret of the delivery process (6.8, 36.1)', () => {
  test('has the store with the token in clear, and is written before status', () => {
    const { kinds, end } = stepsOf(given(BY_REF, { storeToken: read(CANARY) }))
    expect(kinds).toEqual(['record', 'secretSettings', 'publish'])
    expect(deliverySettingsIn(textIn(end, DELIVERY.name) ?? '')).toEqual({
      projectNamespacePrefix: 'p-',
      secretStore: {
        ...STORE,
        syncInterval: '1m',
        auth: { token: CANARY, tokenSecretRef: REF },
      },
    })
    expect(JSON.stringify([end.record, end.config])).not.toContain('canary')
  })

  test('has auth.token, which no Secret need be read for, and nothing of other groups', () => {
    const auth = { token: '$PLATFORM_CONFIG_VAULT', tokenSecretRef: { name: 'vault-token' } }
    const spec = {
      secretStore: { ...STORE, auth },
      auth: { oidc: { issuerUrl: 'https://id.example.com', clientId: 'a' } },
    }
    const { kinds, end } = stepsOf(given(spec))
    expect(kinds).toEqual(['record', 'secretSettings', 'publish'])
    const settings = deliverySettingsIn(textIn(end, DELIVERY.name) ?? '') ?? {}
    expect(settings.secretStore?.auth?.token).toBe(CANARY)
    expect(Object.keys(settings).toSorted()).toEqual(['projectNamespacePrefix', 'secretStore'])
    expect(JSON.stringify([end.record, end.config])).not.toContain('canary')
  })

  test('is not written while there is no store', () => {
    expect(stepsOf(given({})).kinds).toEqual(['record', 'publish'])
    expect(stepsOf(given({ secretStore: { ...STORE, enabled: false } })).kinds).toEqual([
      'record',
      'publish',
    ])
  })

  test('loses the token once the store is off', () => {
    const { end } = stepsOf(given(BY_REF, { storeToken: read(CANARY) }))
    const off = stepsOf({ ...end, config: { ...end.config, spec: {} } })
    expect(off.kinds).toEqual(['record', 'secretSettings', 'publish'])
    expect(textIn(off.end, DELIVERY.name)).toBe('{}')
  })

  test('follows another token, a missing one and an edit', () => {
    const { end } = stepsOf(given(BY_REF, { storeToken: read(CANARY) }))
    for (const token of ['another', null]) {
      const next = stepsOf({ ...end, storeToken: read(token) })
      expect(next.kinds).toEqual(['secretSettings'])
      const text = textIn(next.end, DELIVERY.name) ?? ''
      expect(deliverySettingsIn(text)?.secretStore?.auth?.token ?? null).toBe(token)
    }
    const secrets = end.settingsSecrets.map((one) => ({ ...one, stored: null }))
    expect(stepsOf({ ...end, settingsSecrets: secrets }).kinds).toEqual(['secretSettings'])
  })

  test('stays as it is while the Secret with the token cannot be read, and the settings are in force', () => {
    const { end } = stepsOf(given(BY_REF, { storeToken: read(CANARY) }))
    const storeToken = { ...read(null), reading: null }
    expect(stepsOf({ ...end, storeToken }).kinds).toEqual([])
    const first = stepsOf(given(BY_REF, { storeToken }))
    expect(first.kinds).toEqual(['record', 'publish'])
    expect(textIn(first.end, DELIVERY.name)).toBeNull()
  })
})

describe('the Secret with the token is read (36.1)', () => {
  const { end } = stepsOf(given(BY_REF, { storeToken: read(CANARY) }))
  const OTHER = { secretStore: { ...STORE, auth: { tokenSecretRef: { name: 'b', key: 'c' } } } }

  // biome-ignore format: a table
  test.each([
    { name: 'at the first settings that name it', state: { ...end, storeToken: null }, ref: REF, againMs: 0 },
    { name: 'not within half an interval', state: { ...end, nowMs: NOW_MS + 29_999 }, ref: null, againMs: NOW_MS + 30_000 },
    { name: 'after half an interval', state: { ...end, nowMs: NOW_MS + 30_000 }, ref: REF, againMs: NOW_MS + 30_000 },
    { name: 'not while the settings are invalid', state: { ...end, storeToken: null, config: { ...end.config, spec: { ...BY_REF, projectNamespacePrefix: 'p' } } }, ref: null, againMs: null },
    { name: 'not once the store is off', state: { ...stepsOf({ ...end, config: { ...end.config, spec: {} } }).end, storeToken: null }, ref: null, againMs: null },
  ])('$name', ({ state, ref, againMs }) => {
    const { step, againMs: again } = planInForce(state)
    expect(again).toBe(againMs)
    expect(step.kind === 'storeToken' ? step.ref : null).toEqual(ref)
  })

  test('when the settings name another, once they are recorded', () => {
    const changed = { ...end, config: { ...end.config, spec: OTHER } }
    const { step } = planInForce(changed)
    expect(step.kind).toBe('record')
    const record = step.kind === 'record' ? step.data : null
    expect(planInForce({ ...changed, record }).step).toEqual({
      kind: 'storeToken',
      ref: { name: 'b', key: 'c' },
    })
  })
})

const storeConditionIn = ({ config }: { config: Config }) =>
  config.status?.conditions?.find(({ type }) => type === 'SecretStoreReady')
/** Of the Secret of the delivery process. */
const versionIn = ({ settingsSecrets }: Parameters<typeof planInForce>[0]): string =>
  settingsSecrets.find(({ name }) => name === DELIVERY.name)?.storedVersion ?? ''

const conditionIn = (
  secretStore: ReportedStoreStatus | null,
  spec: object = BY_REF,
  fault?: string,
) =>
  storeConditionIn(
    stepsOf(
      given(spec, { secretStore, storeToken: read(fault === undefined ? CANARY : null, fault) }),
    ).end,
  )

const reported = (
  status: ReportedStoreStatus['status'],
  reason: ReportedStoreStatus['reason'],
  message: string,
): ReportedStoreStatus => ({ status, reason, message, settingsVersion: null })
const PARTLY = reported('False', 'Partly', '2 Secrets fail.')
const MISSING = reported('False', 'TokenMissing', 'No token.')

describe('SecretStoreReady (36.1)', () => {
  // biome-ignore format: a table
  test.each([
    { name: 'a store that is in step', report: reported('True', 'Synced', 'All are in step.'), says: 'All are in step.' },
    { name: 'a fault', report: PARTLY, says: '2 Secrets fail.' },
    { name: 'a token that is waited for', report: reported('Unknown', 'TokenMissing', 'No token.'), says: 'No token.' },
    { name: 'a token that is missing', report: MISSING, fault: 'Secret vault-token does not exist.', says: 'No token. Secret vault-token does not exist.' },
    { name: 'another fault while it is missing', report: PARTLY, fault: 'Secret vault-token does not exist.', says: '2 Secrets fail.' },
    { name: 'no sentence', report: { ...PARTLY, message: '' }, says: 'Partly' },
    { name: 'control characters and line ends', report: { ...PARTLY, message: 'a\n\u001b[31mb\u0085c\u2028d' }, says: 'a [31mb c d' },
    { name: 'half a character', report: { ...PARTLY, message: 'a\ud800' }, says: 'a\ufffd' },
  ] as const)('of $name says so', ({ report, says, ...more }) => {
    const { status, reason } = report
    const fault = 'fault' in more ? more.fault : undefined
    expect(conditionIn(report, BY_REF, fault)).toMatchObject({ status, reason, message: says })
  })

  test('has a message of bounded length, and settles', () => {
    const message = `${'x'.repeat(32_767)}\u{1f600}`.repeat(3)
    expect(conditionIn({ ...PARTLY, message })?.message.length).toBeLessThanOrEqual(32_768)
  })

  test('keeps its generation until the state of the present settings is reported', () => {
    const start = stepsOf(given(BY_REF, { storeToken: read(CANARY) })).end
    const first = versionIn(start)
    const before = stepsOf({ ...start, secretStore: { ...PARTLY, settingsVersion: first } }).end
    expect(storeConditionIn(before)).toMatchObject({ reason: 'Partly', observedGeneration: 2 })
    const spec = { secretStore: { ...BY_REF.secretStore, namespace: 'other' } }
    const changed = stepsOf({
      ...before,
      config: { ...withSpec(spec, 3), status: before.config.status ?? {} },
    })
    expect(storeConditionIn(changed.end)).toEqual(storeConditionIn(before))
    expect(changed.end.config.status?.observedGeneration).toBe(3)
    const second = versionIn(changed.end)
    const reportedNow = { ...PARTLY, settingsVersion: second }
    expect(
      storeConditionIn(stepsOf({ ...changed.end, secretStore: reportedNow }).end),
    ).toMatchObject({
      reason: 'Partly',
      observedGeneration: 3,
    })
  })

  test('keeps its generation while the token of other settings cannot be read', () => {
    const start = stepsOf(given(BY_REF, { storeToken: read(CANARY) })).end
    const secretStore = { ...PARTLY, settingsVersion: versionIn(start) }
    const before = stepsOf({ ...start, secretStore }).end
    const storeToken = { ...read(null), reading: null }
    const config = { ...before.config, metadata: { ...before.config.metadata, generation: 3 } }
    expect(storeConditionIn(stepsOf({ ...before, config, storeToken }).end)).toEqual(
      storeConditionIn(before),
    )
  })

  test('is absent while the first report is of other settings', () => {
    expect(conditionIn({ ...PARTLY, settingsVersion: 'other' })).toBeUndefined()
  })

  test('is absent without a report, while the store is off, and in a Config that is not in force', () => {
    expect(conditionIn(null)).toBeUndefined()
    expect(conditionIn(PARTLY, {})).toBeUndefined()
    expect(conditionIn(PARTLY, { secretStore: { ...STORE, enabled: false } })).toBeUndefined()
    const other = planNotInForce(withSpec(BY_REF), 'platform-manager-config', NOW_MS)
    expect(JSON.stringify(other)).not.toContain('SecretStoreReady')
  })

  test('follows the settings in force while spec is invalid, and stays while they cannot be written', () => {
    const { end } = stepsOf(given(BY_REF, { secretStore: PARTLY, storeToken: read(CANARY) }))
    const spec = { projectNamespacePrefix: 'p' }
    const broken = stepsOf({ ...end, config: { ...end.config, spec } }).end.config.status
    expect(broken?.conditions).toContainEqual(expect.objectContaining({ reason: 'Partly' }))
    const refused = { objectName: 'ConfigMap x', words: 'no' }
    expect(JSON.stringify(planNotWritten(end.config, refused, null, NOW_MS))).toContain('"Partly"')
  })
})
