// The caps on a token at its issue and afterwards (contract 2.4, 2.5), for waiting tokens and after a time without an
// operator too. Each test sets its own settings.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type OwnOperator, startOperator } from '../../support/command-process.ts'
import { type SeenStatus, isReadyBy, readyOf, settingsOf } from '../../support/config-client.ts'
import { privateControlPlane } from '../../support/control-plane.ts'
import { eventually } from '../../support/eventually.ts'
import { uniqueName } from '../../support/object-builder.ts'
import { conditionIn } from '../../support/object-client.ts'
import {
  SOON,
  type StoredKey,
  createdMs,
  keyClientOf,
  outlived,
  textAfter,
} from '../keys/key-client.ts'
import { claimsIn, platformStateOf } from './platform-state.ts'
import {
  FOREIGN,
  type StoredToken,
  bornMs,
  bornPlus,
  collectorReady,
  issuedInTime,
  tokenClientOf,
  under,
} from './token-client.ts'

const plane = await privateControlPlane()
const keys = keyClientOf(plane)
const tokens = tokenClientOf(plane)
const platform = platformStateOf(plane)
const settings = settingsOf(plane)
const kubeconfig = await plane.operatorKubeconfig()
let operator: OwnOperator
/** The oldest key object, without spec.key: the operator generates none for an object that is being deleted. */
let older: StoredKey

const HOUR = 3600
const HOST = 'platform.example.com'

const start = (...flags: readonly string[]) =>
  startOperator({ kubeconfig, flags: ['--token-max-ttl=1h', ...flags] })

beforeAll(async () => {
  older = await keys.create({}, { finalizers: [FOREIGN] })
  await keys.remove(older)
  operator = await start()
  await settings.settled('defaults are in force', isReadyBy('Applied'))
})
afterAll(() => operator?.stop())

/** Sets the cap, 0 = none, and the host of the issuer. */
async function cap(accessKeyMaxTTLSeconds: number, platformHost: string | null = HOST) {
  const auth = accessKeyMaxTTLSeconds === 0 ? {} : { auth: { accessKeyMaxTTLSeconds } }
  await settings.declare({ ...auth, ...(platformHost === null ? {} : { platformHost }) })
  return settings.settled('the cap is in force', ({ auth: now, ...status }) => {
    const isCapped = (now?.accessKeyMaxTTLSeconds ?? 0) === accessKeyMaxTTLSeconds
    return isCapped && readyOf(status).reason === 'Applied'
  })
}

/** Waits until the object is that many seconds old. */
const aged = (object: StoredToken, seconds: number) =>
  eventually(
    `it is ${seconds} s old`,
    () => Date.now() >= bornMs(object) + seconds * 1000 || undefined,
    SOON,
  )

const cappedBy = (token: StoredToken): readonly [string, string] => {
  const { reason, message } = conditionIn(token, 'LifetimeCapped')
  return [reason, message]
}

const BY_CONFIG = 'accessKeyMaxTTLSeconds of Config platform-manager-config'

describe('a waiting token', () => {
  test('without an issuer names the setting, and its lifetime counts from its creation under the cap at its issue (2.4, 7.2)', async () => {
    const created = await tokens.create({ ttl: HOUR })
    const waiting = await tokens.shown(created, 'IssuerUnknown')
    expect(waiting.status.conditions).toHaveLength(1)
    expect(conditionIn(waiting, 'Ready')).toMatchObject({
      status: 'False',
      message:
        "The issuer is not known: set platformHost in Config, or the operator's flag --issuer-url.",
    })
    expect(waiting.status).not.toHaveProperty('token')
    await cap(900, null)
    expect(await tokens.read(created)).toEqual(waiting)
    await cap(900)
    const token = await tokens.shown(created, 'Issued')
    expect(claimsIn(token)).toMatchObject({
      iss: `https://${HOST}/oidc`,
      aud: [`https://${HOST}/oidc`],
    })
    expect(claimsIn(token).exp).toBe(bornMs(token) / 1000 + 900)
    expect(cappedBy(token)).toEqual([
      'CappedByConfig',
      `The token has a lifetime of ${HOUR} s; ${BY_CONFIG} ends it 900 s after its creation.`,
    ])
  })

  test('without its owner gets the limits at the time of its issue (2.4)', async () => {
    await cap(0)
    const owner = await keys.shown(await keys.create({ disabled: true, ttl: 2 * HOUR }), 'Disabled')
    const [first, second] = [
      await tokens.create({}, under(owner)),
      await tokens.create({}, under(owner)),
    ]
    await tokens.shown(second, 'OwnerNotReady')
    await keys.shown(await keys.patch(owner, { spec: { ttl: 300 } }), 'Disabled')
    await cap(600)
    await keys.patch(owner, { spec: { disabled: false } })
    for (const created of [first, second]) {
      const token = await tokens.shown(created, 'Issued')
      expect(token.status.expirationTimestamp).toBe(textAfter(createdMs(owner), 300))
      expect(cappedBy(token)[0]).toBe('CappedByOwner')
    }
  })

  test('is never issued after its lifetime (2.4, 4.2)', async () => {
    await cap(0)
    const owner = await keys.shown(await keys.create({ disabled: true }), 'Disabled')
    const token = await tokens.shown(await tokens.create({ ttl: 1 }, under(owner)), 'OwnerNotReady')
    await aged(token, 1)
    await keys.patch(owner, { spec: { disabled: false } })
    const { status } = await tokens.shown(token, 'Expired')
    const reported = (status.conditions ?? []).map(({ type, reason }) => `${type} ${reason}`)
    expect(reported).toEqual(['Ready Expired', 'Stalled Expired'])
    expect(Object.keys(status).toSorted()).toEqual(['conditions', 'observedGeneration'])
    expect(conditionIn({ status }, 'Ready').message).toBe(
      `The token expired ${bornPlus(token, 1)}.`,
    )
  })
})

describe('the shortest of several limits', () => {
  // biome-ignore format: a table
  test.each([
    { name: 'the cap', cap: 600, ttl: 2 * HOUR, ends: 600, by: 'CappedByConfig', says: `${BY_CONFIG} ends it 600 s after its creation` },
    { name: '--token-max-ttl', cap: 2 * HOUR, ttl: 2 * HOUR, ends: HOUR, by: 'CappedByLimit', says: "the operator's --token-max-ttl ends it 3600 s after its creation" },
    { name: '--token-max-ttl, without a cap', cap: 0, ttl: 0, ends: HOUR, by: 'CappedByLimit', says: "the operator's --token-max-ttl ends it 3600 s after its creation" },
    { name: 'the cap, if it equals --token-max-ttl', cap: HOUR, ttl: 2 * HOUR, ends: HOUR, by: 'CappedByConfig', says: `${BY_CONFIG} ends it 3600 s after its creation` },
  ])('is $name, which LifetimeCapped reports (2.4, 4.2)', async (row) => {
    await cap(row.cap)
    const token = await tokens.issue({ ttl: row.ttl })
    expect(token.status.expirationTimestamp).toBe(bornPlus(token, row.ends))
    const says = `The token has a lifetime of ${row.ttl || 86_400} s; ${row.says}.`
    expect(cappedBy(token)).toEqual([row.by, says])
  })

  test('is the end of its owner, when the cap shortens that (2.2, 2.4)', async () => {
    await cap(600)
    const owner = await keys.shown(await keys.create(), 'Active')
    const end = textAfter(createdMs(owner), 600)
    await outlived(owner)
    const token = await tokens.issue({ ttl: HOUR }, under(owner))
    expect(token.status.expirationTimestamp).toBe(end)
    expect(cappedBy(token)).toEqual([
      'CappedByOwner',
      `The token has a lifetime of ${HOUR} s; access key ${owner.metadata.name} ends ${end}, and the token with it.`,
    ])
  })
})

describe('the cap', () => {
  test('revokes a token for good when it is lowered below the age of the token (2.5, 5.4, 7.4)', async () => {
    await cap(0)
    const issued = await tokens.issue({ ttl: 600 })
    await aged(issued, 2)
    await cap(2)
    const token = await tokens.shown(issued, 'Revoked')
    expect(conditionIn(token, 'Ready').message).toBe(
      `The token was revoked for good, because ${BY_CONFIG} ended it 2 s after its creation; make a new object for another token.`,
    )
    expect(cappedBy(token)).toEqual([
      'CappedByConfig',
      `The token was issued until ${bornPlus(token, 600)}; ${BY_CONFIG} ends it 2 s after its creation.`,
    ])
    expect(token.status).not.toHaveProperty('token')
    const records = await platform.revokedAt(token.metadata.resourceVersion)
    expect(records[token.metadata.uid]).toBe(bornPlus(token, 600))
    await cap(0)
    await tokens.issue()
    expect(await tokens.read(token)).toEqual(token)
  })

  test('is reported when it is lowered to a future end, which ends the token then (2.5, 4.2)', async () => {
    await cap(0)
    const issued = await tokens.issue({ ttl: 600 })
    await cap(300)
    const isCapped = ({ status }: StoredToken) => status.conditions?.length === 2
    const capped = await tokens.until(issued, 'is capped', isCapped)
    expect(cappedBy(capped)).toEqual([
      'CappedByConfig',
      `The token was issued until ${bornPlus(issued, 600)}; ${BY_CONFIG} ends it 300 s after its creation.`,
    ])
    expect(capped.status.token).toBe(issued.status.token)
    expect(capped.status.expirationTimestamp).toBe(bornPlus(issued, 600))
    await cap(0)
    const uncapped = await tokens.until(issued, 'is not capped', (one) => !isCapped(one))
    expect(uncapped.status.token).toBe(issued.status.token)
    const seconds = Math.ceil((Date.now() - bornMs(issued)) / 1000) + 3
    await cap(seconds)
    const revoked = await tokens.shown(issued, 'Revoked')
    expect(Date.now()).toBeGreaterThanOrEqual(bornMs(issued) + seconds * 1000)
    const records = await platform.revokedAt(revoked.metadata.resourceVersion)
    expect(records[issued.metadata.uid]).toBe(bornPlus(issued, 600))
  })

  test('revokes the tokens of an owner that it expires (2.5, 5.4)', async () => {
    await cap(0)
    const owner = await keys.shown(await keys.create(), 'Active')
    await eventually(
      'it is a second old',
      () => Date.now() >= createdMs(owner) + 2000 || undefined,
      SOON,
    )
    const token = await tokens.issue({}, under(owner))
    await cap(1)
    const revoked = await tokens.shown(token, 'Revoked')
    expect(conditionIn(revoked, 'Ready').message).toContain(
      `access key ${owner.metadata.name} has expired`,
    )
    expect(await platform.revoked()).toHaveProperty(token.metadata.uid)
    await cap(0)
    await keys.shown(owner, 'Active')
    expect(await tokens.read(token)).toEqual(revoked)
  })
})

describe('an owner', () => {
  test('in conflict with an older key revokes its tokens, even if the conflict ends (3.3, 5.4)', async () => {
    await cap(0)
    const key = uniqueName('k'.repeat(32))
    const owner = await keys.shown(await keys.create({ key }), 'Active')
    expect(createdMs(owner)).toBeGreaterThan(createdMs(older))
    const token = await tokens.issue({}, under(owner))
    await keys.patch(older, { spec: { key } })
    await keys.shown(owner, 'KeyConflict')
    const revoked = await tokens.shown(token, 'Revoked')
    expect(conditionIn(revoked, 'Ready').message).toContain(
      `access key ${owner.metadata.name} has the same key as another object`,
    )
    const records = await platform.revokedAt(revoked.metadata.resourceVersion)
    expect(records).toHaveProperty(token.metadata.uid)
    const later = await tokens.shown(await tokens.create({}, under(owner)), 'OwnerNotReady')
    await keys.patch(older, { metadata: { finalizers: null } })
    await keys.gone(older)
    await tokens.shown(later, 'Issued')
    expect(await tokens.read(token)).toEqual(revoked)
  })
})

describe('a started operator', () => {
  test('expires, revokes and records the tokens that ended meanwhile (2.7, 5.1, 5.4, 7.4)', async () => {
    await cap(0)
    const [owner, other] = [await keys.create(), await keys.create()]
    await Promise.all([owner, other].map((key) => keys.shown(key, 'Active')))
    const issue = (ttl: number, key: StoredKey, metadata = {}) =>
      tokens.issue({ ttl }, { ...under(key), ...metadata })
    const disabled = await issue(600, owner)
    const stripped = await issue(600, other)
    const deleted = await issue(600, other)
    const left = await issue(600, other)
    const short = await issuedInTime(tokens, () => tokens.create({ ttl: 6 }, under(other)))
    await operator.stop()
    await keys.patch(owner, { spec: { disabled: true } })
    await tokens.patch(stripped, { metadata: { ownerReferences: null } })
    await tokens.remove(deleted)
    await aged(short, 6)
    operator = await start()
    await Promise.all([disabled, stripped].map((token) => tokens.shown(token, 'Revoked')))
    await tokens.shown(short, 'Expired')
    await tokens.gone(deleted)
    const records = await platform.revoked()
    for (const token of [disabled, stripped, deleted])
      expect(records[token.metadata.uid]).toBe(token.status.expirationTimestamp)
    expect(records).not.toHaveProperty(short.metadata.uid)
    expect(await tokens.read(left)).toEqual(left)
  })

  test('records and deletes tokens whose owner was removed by hand (5.1, 7.4)', async () => {
    await cap(0)
    await collectorReady(tokens)
    const owner = await keys.shown(await keys.create(), 'Active')
    const token = await tokens.issue({}, under(owner))
    await operator.stop()
    await keys.remove(owner)
    await keys.patch(owner, { metadata: { finalizers: null } })
    await keys.gone(owner)
    expect((await tokens.read(token))?.status.token).toBe(token.status.token)
    operator = await start()
    await tokens.gone(token)
    expect(await platform.revoked()).toHaveProperty(token.metadata.uid)
  })

  test('applies another --token-max-ttl and another issuer to new tokens only (2.4, 7.2)', async () => {
    await cap(0)
    const before = await tokens.issue()
    const next = `next.${HOST}`
    await cap(0, next)
    // The new host is in force with the settings and reported by a separate write.
    const isReported = (status: SeenStatus) =>
      readyOf(status).message.includes('platformHost has changed')
    const { conditions = [] } = await settings.settled('the change is reported', isReported)
    expect(readyOf({ conditions }).message).toContain(
      `platformHost has changed, but tokens are issued by https://${HOST}/oidc until operator and gateways are restarted, then by https://${next}/oidc`,
    )
    expect(claimsIn(await tokens.issue()).iss).toBe(`https://${HOST}/oidc`)
    await operator.stop()
    operator = await start('--token-max-ttl=10m')
    const token = await tokens.issue()
    expect(claimsIn(token)).toMatchObject({
      iss: `https://${next}/oidc`,
      exp: bornMs(token) / 1000 + 600,
    })
    expect(cappedBy(token)).toEqual([
      'CappedByLimit',
      "The token has a lifetime of 86400 s; the operator's --token-max-ttl ends it 600 s after its creation.",
    ])
    expect(await tokens.read(before)).toEqual(before)
  })
})
