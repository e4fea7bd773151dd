import { describe, expect, test } from 'vitest'
import type { ConfigSettings } from '../../../../src/api/config.gen.ts'
import type { Secret } from '../../../../src/api/objects.ts'
import {
  type KnownStoreToken,
  readToken,
  refusedRef,
  syncIntervalMs,
  tokenDueMs,
  tokenReadingFor,
  tokenRefOf,
} from '../../../../src/domain/store/store-token.ts'

const CANARY = 'hvs.canary-0123456789'
const REF = { name: 'vault-token', key: 'token' }
const NOW_MS = Date.UTC(2026, 10, 21, 10)

const storeWith = (auth: object | undefined, differing: object = {}): ConfigSettings => ({
  secretStore: { enabled: true, ...(auth && { auth }), ...differing },
})
const BY_REF = storeWith({ tokenSecretRef: { name: 'vault-token' } })

describe('the Secret that has the token (36.1)', () => {
  // biome-ignore format: a table
  test.each([
    { name: 'settings without a store', settings: {}, ref: null },
    { name: 'a store that is off', settings: storeWith({ tokenSecretRef: { name: 'a' } }, { enabled: false }), ref: null },
    { name: 'a store without auth', settings: storeWith(undefined), ref: null },
    { name: 'a token beside it, which counts', settings: storeWith({ token: CANARY, tokenSecretRef: { name: 'a' } }), ref: null },
    { name: 'a Secret without a key', settings: BY_REF, ref: REF },
    { name: 'a Secret with a key', settings: storeWith({ tokenSecretRef: { name: 'a', key: 'b' } }), ref: { name: 'a', key: 'b' } },
  ])('of $name is $ref', ({ settings, ref }) => expect(tokenRefOf(settings)).toEqual(ref))

  // biome-ignore format: a table
  test.each([
    { name: 'one of its own', ref: REF, refused: null },
    { name: 'a name like ours', ref: { ...REF, name: 'platform-vault' }, refused: null },
    { name: 'a signing key', ref: { name: 'platform-signing-key-7', key: 'private.pem' }, refused: "is the platform's own" },
    { name: 'the settings of the gateway', ref: { name: 'platform-settings-gateway', key: 'config' }, refused: "is the platform's own" },
    { name: 'the settings of the delivery process', ref: { name: 'platform-settings-delivery', key: 'config' }, refused: "is the platform's own" },
    { name: 'the Secret of the Config', ref: { name: 'platform-manager-config', key: 'config' }, refused: "is the platform's own" },
    { name: 'the key of the gateway', ref: { name: 'platform-gateway-tls', key: 'tls.key' }, refused: "is the platform's own" },
    { name: 'the authority of the gateway', ref: { name: 'platform-gateway-ca', key: 'tls.key' }, refused: "is the platform's own" },
    { name: 'the keys of the sign-in process', ref: { name: 'platform-sign-in-keys', key: 'a' }, refused: "is the platform's own" },
    { name: 'the signing keys of apps', ref: { name: 'platform-app-signing-keys', key: 'a' }, refused: "is the platform's own" },
    { name: 'no name', ref: { ...REF, name: '' }, refused: 'a name that no Secret can have' },
    { name: 'a path', ref: { ...REF, name: '..' }, refused: 'a name that no Secret can have' },
    { name: 'a path of another namespace', ref: { ...REF, name: '../../kube-system/secrets/a' }, refused: 'a name that no Secret can have' },
    { name: 'a key with a line end', ref: { ...REF, key: 'a\nb' }, refused: 'a key that no Secret can have' },
  ])('is refused before it is read: $name', ({ ref, refused }) => {
    const fault = refusedRef(ref, 'platform-manager-config')
    expect(fault ?? 'not refused').toContain(refused ?? 'not refused')
  })
})

const secretWith = (
  token: string | Buffer,
  { type = 'Opaque', labels = {} }: { readonly type?: string; readonly labels?: object } = {},
) =>
  ({
    type,
    metadata: { name: 'vault-token', labels },
    data: { token: Buffer.from(token).toString('base64') },
  }) as unknown as Secret

describe('its token (36.1)', () => {
  // biome-ignore format: a table
  test.each([
    { name: 'a token', secret: secretWith(CANARY), token: CANARY },
    { name: 'a token and a line end', secret: secretWith(`${CANARY}\n`), token: CANARY },
    { name: 'a token and a line end of Windows', secret: secretWith(`${CANARY}\r\n`), token: CANARY },
    { name: 'a long token', secret: secretWith('a'.repeat(8192)), token: 'a'.repeat(8192) },
    { name: 'a label of others', secret: secretWith(CANARY, { labels: { 'app.kubernetes.io/name': 'vault' } }), token: CANARY },
    { name: 'no Secret', secret: null, says: 'does not exist' },
    { name: 'another key', secret: { ...secretWith(CANARY), data: { other: 'YQ==' } }, says: 'has no key token' },
    { name: 'no data', secret: { type: 'Opaque', metadata: {} } as Secret, says: 'has no key token' },
    { name: 'an empty key', secret: secretWith(''), says: 'has no token at key token' },
    { name: 'a line end alone', secret: secretWith('\n'), says: 'has no token at key token' },
    { name: 'two line ends', secret: secretWith(`${CANARY}\n\n`), says: 'has no token at key token' },
    { name: 'a line break', secret: secretWith(`${CANARY}\nx`), says: 'has no token at key token' },
    { name: 'a header after it', secret: secretWith(`${CANARY}\r\nx: y`), says: 'has no token at key token' },
    { name: 'a space', secret: secretWith(`${CANARY} `), says: 'has no token at key token' },
    { name: 'a control character', secret: secretWith(`${CANARY}\u0000`), says: 'has no token at key token' },
    { name: 'bytes that are no UTF-8', secret: secretWith(Buffer.from([0x68, 0xff, 0xfe])), says: 'has no token at key token' },
    { name: 'letters that no header has', secret: secretWith('hvs.ä'), says: 'has no token at key token' },
    { name: 'a token that is too long', secret: secretWith('a'.repeat(8193)), says: 'has no token at key token' },
    { name: 'the token of a ServiceAccount', secret: secretWith(CANARY, { type: 'kubernetes.io/service-account-token' }), says: 'has another type than Opaque' },
    { name: 'a signing key', secret: secretWith(CANARY, { type: 'management.platform.sh/signing-key' }), says: 'has another type than Opaque' },
    { name: 'a session', secret: secretWith(CANARY, { type: 'management.platform.sh/session' }), says: 'has another type than Opaque' },
    { name: 'the credential of a claim', secret: secretWith(CANARY, { labels: { 'management.platform.sh/claim': 'u' } }), says: 'has a label of management.platform.sh' },
    { name: 'a target', secret: secretWith(CANARY, { labels: { 'management.platform.sh/target': 'Cluster' } }), says: 'has a label of management.platform.sh' },
  ])('is read of $name', ({ secret, token = null, says }) => {
    const reading = readToken(REF, secret)
    const fault = says && `Secret vault-token of tokenSecretRef ${says}`
    expect(reading.token).toBe(token)
    expect(reading.fault ?? 'no fault').toContain(fault ?? 'no fault')
    expect(reading.fault ?? '').not.toContain('canary')
  })

  test('of a key that every object has is none', () => {
    expect(readToken({ ...REF, key: 'constructor' }, secretWith(CANARY))).toMatchObject({
      token: null,
      fault: expect.stringContaining('has no key constructor'),
    })
  })
})

describe('when it is read again (36.1)', () => {
  // biome-ignore format: a table
  test.each([
    { interval: undefined, ms: 60_000 },
    { interval: '90s', ms: 90_000 },
    { interval: '10s', ms: 10_000 },
    { interval: '9.999s', ms: 10_000 },
    { interval: '0', ms: 10_000 },
    { interval: '-5m', ms: 10_000 },
  ])('an interval of $interval counts as $ms ms', ({ interval, ms }) => {
    const secretStore = interval === undefined ? {} : { syncInterval: interval }
    expect(syncIntervalMs({ secretStore })).toBe(ms)
  })

  const followed: KnownStoreToken = {
    ref: REF,
    reading: { token: CANARY, fault: null },
    readMs: NOW_MS,
  }
  const other = { ...followed, ref: { ...REF, key: 'other' } }

  // biome-ignore format: a table
  test.each([
    { name: 'a store that is off', settings: {}, known: followed, dueMs: null, reading: { token: null, fault: null } },
    { name: 'a token in the settings', settings: storeWith({ token: 'x' }), known: null, dueMs: null, reading: { token: null, fault: null } },
    { name: 'a Secret that was not read yet', settings: BY_REF, known: null, dueMs: 0, reading: null },
    { name: 'another key than the one that was read', settings: BY_REF, known: other, dueMs: 0, reading: null },
    { name: 'a Secret that was read', settings: BY_REF, known: followed, dueMs: NOW_MS + 30_000, reading: followed.reading },
    { name: 'a Secret that could not be read', settings: BY_REF, known: { ...followed, reading: null }, dueMs: NOW_MS + 30_000, reading: null },
  ])('$name: due at $dueMs', ({ settings, known, dueMs, reading }) => {
    expect(tokenDueMs(settings, known)).toBe(dueMs)
    expect(tokenReadingFor(settings, known)).toEqual(reading)
  })
})
