import { describe, expect, test } from 'vitest'
import { REASONS } from '../../../../src/api/reasons.ts'
import {
  SYNC_OUTCOMES,
  type SyncOutcome,
  isInStep,
  missingStatus,
  roundStatus,
} from '../../../../src/domain/store/round-status.ts'
import { type StoreSettings, storeSettingsOf } from '../../../../src/domain/store/store-settings.ts'
import { storeStatusIn, storeStatusText } from '../../../../src/domain/store/store-status.ts'
import type { DeliveryProcessSettings } from '../../../../src/domain/settings/secret-settings.ts'

type SecretStore = NonNullable<DeliveryProcessSettings['secretStore']>

const settingsOf = (
  secretStore: SecretStore = {},
  prefix: string | undefined = 'p-',
  environment = '',
): StoreSettings | null =>
  storeSettingsOf(
    {
      secretStore: {
        enabled: true,
        address: 'https://store',
        auth: { token: 't' },
        ...secretStore,
      },
      ...(prefix === undefined ? {} : { projectNamespacePrefix: prefix }),
    },
    environment,
  )
const INSECURE = 'skipTLSVerify is on: anybody on the way can read the token.'
const BECAUSE = 'No answer of the store: ECONNREFUSED.'
const SHORT = 'A syncInterval below 10s counts as 10s.'
const ref = (parts: object) => ({ auth: { tokenSecretRef: { name: 'store-token', ...parts } } })

describe('the settings (36.1)', () => {
  test('defaults fill what is not set', () => {
    expect(settingsOf()).toEqual({
      address: 'https://store',
      namespace: '',
      token: 't',
      tokenSecret: null,
      skipsVerification: false,
      intervalMs: 60_000,
      projectPrefix: 'p-',
      notes: [],
    })
  })

  // biome-ignore format: a table
  test.each<{ readonly name: string; readonly settings: StoreSettings | null; readonly differs: object }>([
    { name: 'the address of the environment', settings: settingsOf({ address: '' }, 'p-', 'https://env'), differs: { address: 'https://env' } },
    { name: "an address goes before the environment's", settings: settingsOf({}, 'p-', 'https://env'), differs: {} },
    { name: 'no address', settings: settingsOf({ address: '' }), differs: { address: null } },
    { name: 'a namespace of the store', settings: settingsOf({ namespace: 'team' }), differs: { namespace: 'team' } },
    { name: 'no token', settings: settingsOf({ auth: { token: '' } }), differs: { token: null } },
    { name: 'the Secret of a token', settings: settingsOf(ref({})), differs: { token: null, tokenSecret: { name: 'store-token', key: 'token', isOptional: false } } },
    { name: 'its key', settings: settingsOf(ref({ key: 'k', optional: true })), differs: { token: null, tokenSecret: { name: 'store-token', key: 'k', isOptional: true } } },
    { name: 'an empty key', settings: settingsOf(ref({ key: '' })), differs: { token: null, tokenSecret: { name: 'store-token', key: 'token', isOptional: false } } },
    { name: 'a Secret without a name', settings: settingsOf(ref({ name: '' })), differs: { token: null } },
    { name: 'an interval', settings: settingsOf({ syncInterval: '5m' }), differs: { intervalMs: 300_000 } },
    { name: 'the shortest', settings: settingsOf({ syncInterval: '10s' }), differs: { intervalMs: 10_000 } },
    { name: 'a shorter one', settings: settingsOf({ syncInterval: '9.999s' }), differs: { intervalMs: 10_000, notes: [SHORT] } },
    { name: 'none at all', settings: settingsOf({ syncInterval: '0' }), differs: { intervalMs: 10_000, notes: [SHORT] } },
    { name: 'a negative one', settings: settingsOf({ syncInterval: '-5m' }), differs: { intervalMs: 10_000, notes: [SHORT] } },
    { name: 'a malformed one', settings: settingsOf({ syncInterval: 'often' }), differs: {} },
    { name: 'an empty one', settings: settingsOf({ syncInterval: '' }), differs: {} },
    { name: 'no verification', settings: settingsOf({ skipTLSVerify: true }), differs: { skipsVerification: true, notes: [INSECURE] } },
    { name: 'no verification each second', settings: settingsOf({ skipTLSVerify: true, syncInterval: '1s' }), differs: { skipsVerification: true, intervalMs: 10_000, notes: [INSECURE, SHORT] } },
  ])('$name', ({ settings, differs }) => {
    expect(settings).toEqual({ ...settingsOf(), ...differs })
  })

  // biome-ignore format: a table
  test.each<{ readonly name: string; readonly settings: StoreSettings | null }>([
    { name: 'switched off', settings: settingsOf({ enabled: false }) },
    { name: 'without a prefix, as every namespace would be a project', settings: settingsOf({}, '') },
    { name: 'absent', settings: storeSettingsOf({ projectNamespacePrefix: 'p-' }, 'https://env') },
    { name: 'without anything', settings: storeSettingsOf({}, 'https://env') },
    { name: 'neither on nor off', settings: storeSettingsOf({ projectNamespacePrefix: 'p-', secretStore: {} }, '') },
  ])('none: $name', ({ settings }) => {
    expect(settings).toBeNull()
  })
})

describe('a store that cannot be asked (36.1)', () => {
  // biome-ignore format: a table
  test.each<{ readonly name: string; readonly store: SecretStore; readonly status: string; readonly reason: string; readonly says: string }>([
    { name: 'no address', store: { address: '' }, status: 'False', reason: 'AddressMissing', says: 'VAULT_ADDR' },
    { name: 'neither address nor token', store: { address: '', auth: {} }, status: 'False', reason: 'AddressMissing', says: 'secretStore.address' },
    { name: 'no token', store: { auth: {} }, status: 'False', reason: 'TokenMissing', says: 'secretStore.auth.token' },
    { name: 'no Secret of the token', store: ref({}), status: 'False', reason: 'TokenMissing', says: 'Secret store-token of the platform namespace has no token at key token.' },
    { name: 'no optional Secret of the token', store: ref({ optional: true, key: 'k' }), status: 'Unknown', reason: 'TokenMissing', says: 'at key k. The store waits for it.' },
    { name: 'http off loopback', store: { address: 'http://canary.example.com' }, status: 'False', reason: 'AddressMissing', says: 'The settings cannot be used: secretStore.address begins with http, which only a loopback host may: write https.' },
    { name: 'an address with a query', store: { address: 'https://store?canary' }, status: 'False', reason: 'AddressMissing', says: 'a query or a fragment' },
    { name: 'a namespace of the store with a space', store: { namespace: 'canary a' }, status: 'False', reason: 'AddressMissing', says: 'The settings cannot be used: secretStore.namespace has white space' },
    { name: 'a token with a space', store: { auth: { token: 'canary a' } }, status: 'False', reason: 'TokenMissing', says: 'The settings cannot be used: the token of the store has white space' },
  ])('$name', ({ store, status, reason, says }) => {
    const settings = settingsOf({ ...store, skipTLSVerify: true })
    const found = settings && missingStatus(settings)
    expect(found).toMatchObject({ status, reason })
    expect(found?.message).not.toContain('canary')
    expect(found?.message).toContain(says)
    expect(found?.message.endsWith(INSECURE)).toBe(true)
  })

  test('can be asked with address and token, wherever they are from', () => {
    for (const settings of [settingsOf(), settingsOf({ address: '' }, 'p-', 'https://env')])
      expect(settings && missingStatus(settings)).toBeNull()
  })
})

describe('the state after a round (36.1)', () => {
  const status = (
    outcomes: readonly SyncOutcome[],
    answer: 'answers' | 'denied' | 'unreachable' = 'answers',
  ) => roundStatus({ notes: [] }, { outcomes, because: '' }, answer)

  // biome-ignore format: a table
  test.each<{ readonly outcomes: readonly SyncOutcome[]; readonly answer?: 'answers' | 'denied' | 'unreachable'; readonly reason: string; readonly says: string }>([
    { outcomes: [], reason: 'Synced', says: 'store: 0.' },
    { outcomes: [], answer: 'denied', reason: 'Denied', says: 'refuses the token' },
    { outcomes: [], answer: 'unreachable', reason: 'Unreachable', says: 'does not answer' },
    { outcomes: ['unchanged', 'written'], reason: 'Synced', says: 'store: 2.' },
    { outcomes: ['unreachable', 'unreachable'], reason: 'Unreachable', says: 'stays as it is' },
    { outcomes: ['unreachable', 'denied'], reason: 'Unreachable', says: 'does not answer' },
    { outcomes: ['denied'], reason: 'Denied', says: 'stays as it is' },
    { outcomes: ['unreachable', 'failed'], reason: 'Unreachable', says: 'does not answer' },
    { outcomes: ['denied', 'unchanged'], reason: 'Partly', says: '1 of 2' },
    { outcomes: ['unreachable', 'written', 'unchanged'], reason: 'Partly', says: '1 of 3' },
    { outcomes: ['not_found'], reason: 'Partly', says: '1 of 1' },
    { outcomes: ['refused', 'conflict', 'not_found', 'unchanged'], reason: 'Partly', says: '3 of 4' },
    { outcomes: ['failed'], reason: 'Partly', says: '1 of 1' },
    { outcomes: ['denied', 'not_found'], reason: 'Denied', says: 'refuses the token' },
  ])('$outcomes $answer: $reason', ({ outcomes, answer, reason, says }) => {
    const found = status(outcomes, answer)
    expect(found).toMatchObject({ status: reason === 'Synced' ? 'True' : 'False', reason })
    expect(found.message).toContain(says)
    const noted = roundStatus(
      { notes: [INSECURE, SHORT] },
      { outcomes, because: '' },
      answer ?? 'answers',
    )
    expect(noted).toEqual({ ...found, message: `${found.message} ${INSECURE} ${SHORT}` })
  })

  test('says of how many Secrets Events say why, the store or the API server does not serve, and why', () => {
    const outcomes = [
      'denied',
      'unreachable',
      'unreachable',
      'not_found',
      'failed',
      'written',
    ] as const
    const { message } = roundStatus({ notes: [] }, { outcomes, because: BECAUSE }, 'answers')
    expect(message).toBe(
      `Secrets not in step with the store: 5 of 6. Events say why for 1 of them. The store refuses the token for 1 of them. The store does not answer for 2 of them. The API server does not serve 1 of them. ${BECAUSE}`,
    )
  })

  test('says why the store does not answer, or refuses the token', () => {
    for (const [outcome, answer] of [
      ['unreachable', 'answers'],
      ['denied', 'answers'],
      [null, 'denied'],
      [null, 'unreachable'],
    ] as const) {
      const outcomes = outcome === null ? [] : [outcome]
      const { message } = roundStatus({ notes: [INSECURE] }, { outcomes, because: BECAUSE }, answer)
      expect(message.endsWith(`stays as it is. ${BECAUSE} ${INSECURE}`)).toBe(true)
    }
  })

  test('is True only where every Secret is in step', () => {
    for (const one of SYNC_OUTCOMES)
      for (const other of SYNC_OUTCOMES)
        expect(status([one, other]).status === 'True').toBe(isInStep(one) && isInStep(other))
  })
})

describe('the state in the ConfigMap (36.1)', () => {
  test('is read as it was written, for each reason', () => {
    for (const reason of REASONS.secretStoreReady)
      for (const status of ['True', 'False', 'Unknown'] as const) {
        const written = { status, reason, message: 'As "it" is.', settingsVersion: '12' }
        expect(storeStatusIn(storeStatusText(written))).toEqual(written)
      }
    expect(storeStatusIn(storeStatusText(null))).toBeNull()
  })

  test('of an older delivery process says nothing of the settings', () => {
    const status = { status: 'True', reason: 'Synced', message: '' }
    for (const settingsVersion of [undefined, null, 7, {}])
      expect(storeStatusIn(JSON.stringify({ ...status, settingsVersion }))).toEqual({
        ...status,
        settingsVersion: null,
      })
  })

  test.each([
    '',
    '{',
    '[]',
    'null',
    '{}',
    '{"status":"True"}',
    '{"status":"true","reason":"Synced","message":""}',
    '{"status":"True","reason":"Other","message":""}',
    '{"status":"True","reason":"Synced"}',
    '{"status":"True","reason":"Synced","message":1}',
    '{"status":["True"],"reason":"Synced","message":""}',
    '{"status":"True","reason":"__proto__","message":""}',
  ])('is none in %j', (text) => {
    expect(storeStatusIn(text)).toBeNull()
  })
})
