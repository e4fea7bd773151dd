// Signing keys: created, rotated, withdrawn, lost and damaged (contract 7.3). Operators with a clock ahead show what
// takes weeks; test/unit/controllers/signingkey has all states. Each test continues with the keys of the one before.
import { describe, expect, test } from 'vitest'
import { ROTATE_ANNOTATION, WITHDRAW_ANNOTATION } from '../../../src/api/names.ts'
import type { ConfigMap } from '../../../src/api/objects.ts'
import { type SeenStatus, settingsOf } from '../../support/config-client.ts'
import { privateControlPlane } from '../../support/control-plane.ts'
import { conditionIn } from '../../support/object-client.ts'
import { jwksIn, notesIn, platformStateOf } from './platform-state.ts'
import {
  kidInUse,
  kidsIn,
  managersOf,
  secretName,
  signingKeyClientOf,
} from './signing-key-client.ts'
import { tokenClientOf } from './token-client.ts'

const plane = await privateControlPlane()
const tokens = tokenClientOf(plane)
const platform = platformStateOf(plane)
const settings = settingsOf(plane)
const signingKeys = signingKeyClientOf(plane)
const managers = managersOf(await plane.operatorKubeconfig())

const MINUTE_MS = 60_000
const DAY_MS = 24 * 60 * MINUTE_MS

const text = (base64 = ''): string => Buffer.from(base64, 'base64').toString('utf8')

describe('on an empty cluster', () => {
  test('two managers that start together create one key (7.3)', async () => {
    const two = await Promise.all([managers.start(), managers.start()])
    const record = await signingKeys.published(1)
    const [secret] = await platform.secretsUntil([1])
    const [jwk] = jwksIn(record)
    expect(text(secret?.data?.['kid'])).toBe(jwk?.kid)
    expect(secret).toMatchObject({ type: 'management.platform.sh/signing-key', immutable: true })
    // The public members of a P-256 JWK and no others.
    const members = ['alg', 'crv', 'kid', 'kty', 'use', 'x', 'y']
    expect(Object.keys(jwk ?? {}).toSorted()).toEqual(members)
    expect(await signingKeys.issueToken()).toMatchObject({ kid: jwk?.kid, alg: 'ES256' })
    for (const operator of two) expect(kidInUse(operator)).toBe(jwk?.kid)
    expect((await platform.record())?.data).toEqual(record.data)
  })

  test('two managers with leader election create one key, of the configured algorithm (7.1, 7.3, 8.2)', async () => {
    await managers.stopAll()
    await signingKeys.empty()
    const flags = ['--leader-elect', '--token-signing-algorithm=RS256']
    const two = await Promise.all([managers.start({ flags }), managers.start({ flags })])
    const [jwk] = jwksIn(await signingKeys.published(1))
    await platform.secretsUntil([1])
    expect(Object.keys(jwk ?? {}).toSorted()).toEqual(['alg', 'e', 'kid', 'kty', 'n', 'use'])
    expect(Buffer.from(jwk?.n ?? '', 'base64url')).toHaveLength(3072 / 8)
    expect(await signingKeys.issueToken()).toMatchObject({ kid: jwk?.kid, alg: 'RS256' })
    // The standby has loaded the key and is ready too.
    for (const operator of two)
      expect((await operator.health('/readyz?verbose')).body).toContain('signing-key-loaded ok')
    const created = two.flatMap((operator) =>
      operator.logs().filter(({ msg }) => msg === 'signing key created'),
    )
    expect(created).toHaveLength(1)
  })
})

describe('the next key', () => {
  /** Expects that the newest key signs ten minutes after its publication; returns that time. */
  function expectDelayedUse(record: ConfigMap): string {
    const kid = kidsIn(record).at(-1) ?? ''
    const { published: at = '', useFrom = '' } = notesIn(record)[kid] ?? {}
    expect(Date.parse(useFrom) - Date.parse(at)).toBe(10 * MINUTE_MS)
    return useFrom
  }

  test('of another algorithm is published at once, and signs ten minutes later (7.1, 7.3)', async () => {
    await managers.restart()
    const record = await signingKeys.published(2)
    expect(jwksIn(record).map(({ alg }) => alg)).toEqual(['RS256', 'ES256'])
    expectDelayedUse(record)
    const old = await signingKeys.issueToken()
    expect(old.alg).toBe('RS256')
    await managers.restart({ aheadMs: 11 * MINUTE_MS })
    expect((await signingKeys.issueToken()).alg).toBe('ES256')
    expect(await signingKeys.verifiedBy(old.token)).toBe(old.kid)
  })

  test('is published after a rotation by annotation, and signs ten minutes later (7.3)', async () => {
    const old = await signingKeys.issueToken()
    await platform.annotate(ROTATE_ANNOTATION, 'now')
    const record = await signingKeys.annotationHandled(ROTATE_ANNOTATION)
    const useFrom = expectDelayedUse(record)
    const [, , next] = kidsIn(record)
    const event = `Signing key ${next} (generation 3) is published and signs from ${useFrom}.`
    expect(await signingKeys.event('SigningKeyRotated', event)).toMatchObject({
      type: 'Normal',
      message: event,
    })
    expect((await signingKeys.issueToken()).kid).toBe(old.kid)
    await managers.restart({ aheadMs: 22 * MINUTE_MS })
    expect((await signingKeys.issueToken()).kid).toBe(next)
    // The old keys still verify their tokens.
    expect(kidsIn(await platform.record())).toEqual(kidsIn(record))
    expect(await signingKeys.verifiedBy(old.token)).toBe(old.kid)
    expect(await tokens.read(old.token)).toEqual(old.token)
    await platform.secretsUntil([1, 2, 3])
  })

  test('is published at half life, signs from five sixths of it, and replaces the old key (7.3)', async () => {
    const first = (await signingKeys.issueToken()).kid
    const { created = '' } = notesIn(await platform.record())[first] ?? {}
    const handOver = new Date(Date.parse(created) + 25 * DAY_MS).toISOString().replace('.000Z', 'Z')
    await managers.restart({ aheadMs: 16 * DAY_MS })
    await platform.secretsUntil([3, 4])
    const [, second] = kidsIn(await signingKeys.published(2))
    expect(notesIn(await platform.record())[second ?? '']?.useFrom).toBe(handOver)
    await managers.untilSigningWith(first)
    await managers.restart({ aheadMs: 25.5 * DAY_MS })
    await managers.untilSigningWith(second)
    // The old key stays for a day for its last token, and another one for late verifiers.
    expect(kidsIn(await platform.record())).toEqual([first, second])
    await managers.restart({ aheadMs: 27.5 * DAY_MS })
    await platform.secretsUntil([4])
    expect(kidsIn(await platform.record())).toEqual([second])
    await managers.untilSigningWith(second)
  })
})

describe('a leaked key', () => {
  test('is withdrawn by annotation: its tokens are revoked and the next key signs (7.3, 7.4)', async () => {
    await managers.stopAll()
    await signingKeys.empty()
    await managers.start()
    const leaked = await signingKeys.issueToken()
    const ownerless = await tokens.issue()
    const [backup] = await platform.secrets()
    await platform.annotate(WITHDRAW_ANNOTATION, leaked.kid)
    const revoked = await tokens.shown(leaked.token, 'Revoked')
    expect(conditionIn(revoked, 'Ready').message).toContain(
      `signing key ${leaked.kid} was withdrawn`,
    )
    await tokens.shown(ownerless, 'Revoked')
    const records = await platform.revokedAt(revoked.metadata.resourceVersion)
    expect(records[revoked.metadata.uid]).toBe(leaked.token.status.expirationTimestamp)
    await platform.secretsUntil([2])
    const record = await signingKeys.annotationHandled(WITHDRAW_ANNOTATION)
    const next = await signingKeys.issueToken()
    expect(kidsIn(record)).toEqual([next.kid])
    expect(notesIn(record)[leaked.kid]).toHaveProperty('withdrawn')
    await expect(signingKeys.verifiedBy(leaked.token)).rejects.toThrow(/no applicable key/)
    const event = `Signing key ${leaked.kid} was withdrawn; `
    expect(await signingKeys.event('SigningKeyRotated', event)).toMatchObject({
      type: 'Normal',
      message: expect.stringMatching(/ Its tokens are revoked\.$/),
    })

    // A restored backup does not bring it back.
    await signingKeys.restoreSecret(1, backup)
    await platform.secretsUntil([2])
    expect(kidsIn(await platform.record())).toEqual([next.kid])
  })

  test('is replaced at once by a key that is already published (7.3)', async () => {
    const { kid } = await signingKeys.issueToken()
    await platform.annotate(ROTATE_ANNOTATION, '')
    const [, next] = kidsIn(await signingKeys.published(2))
    await platform.annotate(WITHDRAW_ANNOTATION, kid)
    await signingKeys.published(1)
    expect((await signingKeys.issueToken()).kid).toBe(next)
    await platform.secretsUntil([3])
  })

  test('with an unknown kid in the annotation is reported, and no key is withdrawn (7.3)', async () => {
    const { kid, token } = await signingKeys.issueToken()
    await platform.annotate(WITHDRAW_ANNOTATION, 'no-such-kid')
    await signingKeys.annotationHandled(WITHDRAW_ANNOTATION)
    const event = 'No signing key has the kid that the annotation names.'
    expect(await signingKeys.event('UnknownSigningKey', event)).toMatchObject({
      type: 'Warning',
      message: expect.stringContaining(`There are: ${kid}.`),
    })
    expect(await tokens.read(token)).toEqual(token)
    await platform.secretsUntil([3])
  })
})

describe('when a user', () => {
  test('the operator restores published keys that a user deletes or damages (7.3)', async () => {
    await platform.annotate(ROTATE_ANNOTATION, '')
    const { data = {} } = await signingKeys.published(2)
    // By then the operator's store has the published keys, so that it can restore them.
    const old = await signingKeys.issueToken()
    const restored = () =>
      platform.recordUntil('the keys are back', (record) =>
        ['jwks.json', 'keys.json'].every((key) => record.data?.[key] === data[key]),
      )
    await signingKeys.removeRecord()
    await restored()
    const foreign = { kty: 'oct', k: 'c2VjcmV0', kid: 'foreign' }
    const set = JSON.parse(data['jwks.json'] ?? '')
    for (const damage of [
      { 'jwks.json': '{' },
      { 'jwks.json': null },
      { 'jwks.json': '{"keys":[]}' },
      { 'jwks.json': JSON.stringify({ keys: [...set.keys, foreign] }) },
      { 'keys.json': 'nonsense' },
      { 'keys.json': null },
      { 'jwks.json': null, 'keys.json': null },
    ]) {
      await signingKeys.damage(damage)
      await restored()
    }
    expect((await signingKeys.issueToken()).kid).toBe(old.kid)
    expect(await tokens.read(old.token)).toEqual(old.token)
    await platform.secretsUntil([3, 4])
  })

  test('the next key signs after a user deletes the Secret of the current one, which still verifies (7.3)', async () => {
    const old = await signingKeys.issueToken()
    await signingKeys.removeSecret(3)
    await platform.secretsUntil([4])
    const [, next] = kidsIn(await platform.record())
    await managers.untilSigningWith(next)
    expect((await signingKeys.issueToken()).kid).toBe(next)
    expect(await signingKeys.verifiedBy(old.token)).toBe(old.kid)
    expect(await tokens.read(old.token)).toEqual(old.token)
  })

  test('the next generation number is used after a user deletes all Secrets without a running operator (7.3)', async () => {
    const old = await signingKeys.issueToken()
    await managers.stopAll()
    await signingKeys.removeSecret(4)
    await managers.start()
    await platform.secretsUntil([5])
    const record = await signingKeys.published(3)
    expect((await signingKeys.issueToken()).kid).toBe(kidsIn(record).at(-1))
    expect(await signingKeys.verifiedBy(old.token)).toBe(old.kid)
    expect(await tokens.read(old.token)).toEqual(old.token)
  })

  test('a key signs nothing after a user damages its Secret, and Config and an event report it (7.3)', async () => {
    const old = await signingKeys.issueToken()
    const [secret] = await platform.secretsUntil([5])
    const pem = Buffer.from('-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n')
    await signingKeys.removeSecret(5)
    await signingKeys.restoreSecret(5, secret, { 'private-key.pem': pem.toString('base64') })
    const because = `Secret ${secretName(5)} holds no private key in PKCS #8 PEM under private-key.pem`
    const corrupt = ({ conditions = [] }: SeenStatus) =>
      conditions.some((condition) => condition.type === 'SigningKeyCorrupt')
    const status = await settings.settled('the condition is there', corrupt)
    expect(conditionIn({ status }, 'SigningKeyCorrupt')).toMatchObject({
      status: 'True',
      message: `${because}; nothing is signed with it.`,
    })
    expect(await signingKeys.event('SigningKeyCorrupt', because)).toMatchObject({ type: 'Warning' })
    await platform.secretsUntil([5, 6])
    expect((await signingKeys.issueToken()).kid).toBe(kidsIn(await platform.record()).at(-1))
    expect(await signingKeys.verifiedBy(old.token)).toBe(old.kid)
    await signingKeys.removeSecret(5)
    await settings.settled('the condition is gone', (now) => !corrupt(now))
    await platform.secretsUntil([6])
  })

  test('the generation after the next is used when a user has created another Secret under the next name (7.3)', async () => {
    const old = await signingKeys.issueToken()
    await signingKeys.restoreSecret(7, undefined, { foreign: 'b3du' })
    await platform.annotate(ROTATE_ANNOTATION, '')
    await platform.secretsUntil([6, 8])
    const record = await signingKeys.annotationHandled(ROTATE_ANNOTATION)
    const note = notesIn(record)[kidsIn(record).at(-1) ?? '']
    expect(note).toMatchObject({ generation: 8 })
    expect(kidsIn(record)).toContain(old.kid)
  })
})
