import { describe, expect, test } from 'vitest'
import { planNotInForce, planNotWritten } from '../../../../src/controllers/config/plan.ts'
import type { ProviderStatus } from '../../../../src/domain/signin/provider-status.ts'
import { signInSettingsIn } from '../../../../src/domain/settings/secret-settings.ts'
import { initialState, NOW_MS, SIGN_IN, stepsOf, stored, textIn, withSpec } from './plan-builder.ts'

const CANARY = 'canary-0123456789'
const OIDC = {
  issuerUrl: 'https://id.example.com',
  clientId: 'platform',
  clientSecret: '$PLATFORM_CONFIG_OIDC',
}
const given = (differing: Partial<Parameters<typeof initialState>[0]> = {}) =>
  initialState({
    config: withSpec({ platformHost: 'platform.example.com', auth: { oidc: OIDC } }),
    environment: () => CANARY,
    settingsSecrets: stored(null, null),
    ...differing,
  })

describe('the Secret of the sign-in process (6.8)', () => {
  const { kinds, end } = stepsOf(given())

  test('is written after status, with auth and platformHost in clear', () => {
    expect(kinds).toEqual(['record', 'publish', 'secretSettings'])
    expect(signInSettingsIn(textIn(end, SIGN_IN.name) ?? '')).toMatchObject({
      platformHost: 'platform.example.com',
      auth: { oidc: { ...OIDC, clientSecret: CANARY }, loginAccessKeyTTLSeconds: 1_728_000 },
    })
    expect(JSON.stringify([end.record, end.config])).not.toContain(CANARY)
  })

  test('has nothing of other groups than auth, oidc, platformHost and uiSettings', () => {
    const spec = {
      audit: { enabled: true, path: '/a', level: 1 },
      secretStore: { enabled: true },
      apps: { noDefault: true },
      oidc: { enabled: true },
    }
    const text = textIn(stepsOf(given({ config: withSpec(spec) })).end, SIGN_IN.name) ?? ''
    expect(Object.keys(signInSettingsIn(text) ?? {}).toSorted()).toEqual([
      'auth',
      'oidc',
      'uiSettings',
    ])
  })

  // biome-ignore format: a table
  test.each([
    { name: 'a namespace that is unknown', secrets: stored('{}'), kinds: [] },
    { name: 'settings that are stored already', secrets: end.settingsSecrets, kinds: [] },
    { name: 'an edited Secret', secrets: stored('{}', '{"auth":{}}'), kinds: ['secretSettings'] },
    { name: 'a Secret without its data key', secrets: stored('{}', ''), kinds: ['secretSettings'] },
    { name: 'a deleted Secret', secrets: stored('{}', null), kinds: ['secretSettings'] },
  ])('follows $name by $kinds', ({ secrets, kinds: expected }) => {
    expect(stepsOf({ ...end, settingsSecrets: secrets }).kinds).toEqual(expected)
  })

  test('changes with the settings, and not while they are invalid (6.5)', () => {
    const spec = { ...end.config.spec, platformHost: 'other.example.com' }
    const changed = stepsOf({ ...end, config: { ...end.config, spec } })
    expect(changed.kinds).toEqual(['record', 'publish', 'secretSettings'])
    const broken = { ...end.config, spec: { auth: { accessKeyMaxTTLSeconds: -1 } } }
    expect(stepsOf({ ...end, config: broken }).kinds).toEqual(['publish'])
  })
})

const conditionIn = (providers: ProviderStatus | null, spec = {}) =>
  stepsOf(given({ providers, config: withSpec(spec) })).end.config.status?.conditions?.find(
    ({ type }) => type === 'SignInReady',
  )

describe('SignInReady (27.1)', () => {
  // biome-ignore format: a table
  test.each([
    { name: 'providers that work', isReady: true, message: '', status: 'True', reason: 'Ready', says: 'Every sign-in provider works.' },
    { name: 'a provider with a warning', isReady: true, message: 'oidc admits everybody.', status: 'True', reason: 'Ready', says: 'oidc admits everybody.' },
    { name: 'a provider that does not work', isReady: false, message: 'oidc: no answer.', status: 'False', reason: 'Unusable', says: 'oidc: no answer.' },
    { name: 'a fault without a sentence', isReady: false, message: '', status: 'False', reason: 'Unusable', says: 'A provider does not work.' },
    { name: 'control characters and line ends', isReady: false, message: 'a\n\u001b[31mb\u0085c\u2028d', status: 'False', reason: 'Unusable', says: 'a [31mb c d' },
    { name: 'half a character', isReady: false, message: 'a\ud800', status: 'False', reason: 'Unusable', says: 'a\ufffd' },
  ])('of $name says so', ({ isReady, message, status, reason, says }) => {
    expect(conditionIn({ isReady, message })).toMatchObject({ status, reason, message: says })
  })

  test('has a message of bounded length, and settles', () => {
    const message = `${'x'.repeat(32_767)}\u{1f600}`.repeat(3)
    expect(conditionIn({ isReady: false, message })?.message.length).toBeLessThanOrEqual(32_768)
  })

  test('is absent where nothing is set up, and in a Config that is not in force', () => {
    expect(conditionIn(null)).toBeUndefined()
    const other = planNotInForce(withSpec({}), 'platform-manager-config', NOW_MS)
    expect(JSON.stringify(other)).not.toContain('SignInReady')
  })

  test('stays while spec is invalid, and while the settings cannot be written', () => {
    const providers = { isReady: false, message: 'oidc: no answer.' }
    expect(conditionIn(providers, { projectNamespacePrefix: 'p' })).toMatchObject({
      reason: 'Unusable',
    })
    const { config } = stepsOf(given({ providers })).end
    const refused = { objectName: 'ConfigMap x', words: 'no' }
    expect(JSON.stringify(planNotWritten(config, refused, null, NOW_MS))).toContain('"Unusable"')
  })
})
