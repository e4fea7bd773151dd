/** @module-tag no-retry */
// An authenticator without a fresh watch of the keys accepts none on stale data (contract 10.4).
import { cp, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { API_VERSION, HEARTBEAT_NAME, TEAMS, USERS } from '../../../src/api/names.ts'
import { isWatchOf } from '../../faults/operator-observations.ts'
import { settingsOf } from '../../support/config-client.ts'
import { ownControlPlane } from '../../support/control-plane.ts'
import { eventually, eventuallyPasses, staysTrue } from '../../support/eventually.ts'
import { objectClientOf, type StoredObject } from '../../support/object-client.ts'
import {
  type AuthenticatorUnderTest,
  heartbeatOf,
  SOON,
  startTwoAuthenticators,
} from './in-process-gateway.ts'

const plane = await ownControlPlane()
const settings = settingsOf(plane)
const { keys, authenticators, createKey, expectOutcome } = startTwoAuthenticators(plane)

const RECOVERED = { withinMs: 40_000 }
/** A watch that waits for future versions is found stale and relists, and the settings after it. */
const RESTORED = { withinMs: 60_000 }

describe('authentication without fresh data (10.4, F5)', () => {
  test('reads each key from the API server while the watch of the keys is silent', async () => {
    const [stale, fresh] = authenticators()
    const [good, bad] = [await createKey(), await createKey()]
    await expectOutcome(good.secret, 'ada')
    await expectOutcome(bad.secret, 'ada')
    stale.proxy.freeze(isWatchOf('ownedaccesskeys'))
    // Keeps the watch from being opened again, so that it stays stale.
    const rule = stale.proxy.on(isWatchOf('ownedaccesskeys'), { kind: 'hold' })
    await keys.patch(bad.key, { spec: { disabled: true } })
    const late = await createKey()
    await eventuallyPasses(
      'the watch is stale',
      () => expect(stale.authenticator.ageMs()).toBeGreaterThan(15_000),
      { withinMs: 25_000 },
    )
    expect(fresh.authenticator.ageMs()).toBeLessThan(15_000)
    // A read fails after two seconds: then the next one counts.
    let requestsBefore = 0
    await eventuallyPasses(
      'the key is read',
      async () => {
        requestsBefore = stale.proxy.requests.length
        expect(await stale.outcome(good.secret)).toBe('ada')
      },
      SOON,
    )
    expect(['disabled', 'unavailable']).toContain(await stale.outcome(bad.secret))
    await eventuallyPasses(
      'the disabled key is read',
      async () => expect(await stale.outcome(bad.secret)).toBe('disabled'),
      SOON,
    )
    expect(await stale.outcome(late.secret)).toBe('unavailable')
    expect(await stale.outcome('pak_made-up')).toBe('unavailable')
    const read = stale.proxy.requests.slice(requestsBefore).map(({ path }) => path)
    expect(read.filter((path) => path.endsWith(`/${good.key.metadata.name}`))).toHaveLength(1)
    expect(await fresh.outcome(late.secret)).toBe('ada')
    await eventuallyPasses(
      'all open streams are checked',
      () => expect(stale.changedUids).toContain(null),
      SOON,
    )
    rule.release()
    await eventuallyPasses(
      'the watch delivers again',
      async () => expect(await stale.outcome(late.secret)).toBe('ada'),
      RECOVERED,
    )
    expect(stale.warnings()).toContain('the watch missed a write, listing the objects again')
  })

  test.each([
    { kind: USERS, end: { spec: { disabled: true } }, outcome: 'userDisabled' },
    { kind: TEAMS, end: { spec: { users: ['somebody'] } }, outcome: 'pat without the team' },
  ])(
    'reads people and teams from the API server while the watch of the $kind.plural is silent (24.5)',
    async (row) => {
      const [stale, fresh] = authenticators()
      const objects = objectClientOf<StoredObject>(plane, row.kind)
      const name = row.kind === USERS ? 'pat' : 'sre'
      const spec = row.kind === USERS ? {} : { users: ['pat'] }
      await objects.create({
        apiVersion: API_VERSION,
        kind: row.kind.kind,
        metadata: { name },
        spec,
      })
      const { secret } = await createKey({ user: 'pat' })
      const outcomeOf = async ({ authenticator }: AuthenticatorUnderTest): Promise<string> => {
        const found = await authenticator.authenticate(secret)
        if (!found.ok) return found.because
        const isInTeam = found.caller.identity.groups.includes('platform:team:sre')
        return row.kind === TEAMS && !isInTeam ? 'pat without the team' : 'pat'
      }
      const untilOutcome = (of: AuthenticatorUnderTest, outcome: string, withinMs: number) =>
        eventuallyPasses(
          `the outcome is ${outcome}`,
          async () => expect(await outcomeOf(of)).toBe(outcome),
          { withinMs },
        )
      for (const one of [stale, fresh]) await untilOutcome(one, 'pat', SOON.withinMs)
      const isWatch = isWatchOf(row.kind.plural)
      stale.proxy.freeze(isWatch)
      const rule = stale.proxy.on(isWatch, { kind: 'hold' })
      await objects.patch(name, row.end)
      await untilOutcome(fresh, row.outcome, SOON.withinMs)
      expect(await outcomeOf(stale), 'its watch is silent').toBe('pat')
      // 15 s, and 2 s for the read (10.4).
      await untilOutcome(stale, row.outcome, 25_000)
      rule.release()
      await eventuallyPasses(
        'the watch delivers again',
        () => expect(stale.authenticator.ageMs()).toBeLessThan(15_000),
        RECOVERED,
      )
      expect(await outcomeOf(stale)).toBe(row.outcome)
      await objects.remove(name)
      await objects.gone(name)
    },
  )

  test('refuses all keys while the settings cannot be read', async () => {
    const [withoutSettings, fresh] = authenticators()
    const { secret } = await createKey()
    await expectOutcome(secret, 'ada')
    const failing = withoutSettings.proxy.on(({ path }) => path.includes('/configs/'), {
      kind: 'destroy',
    })
    await eventuallyPasses(
      'the key is refused',
      async () => expect(await withoutSettings.outcome(secret)).toBe('unavailable'),
      { withinMs: 25_000 },
    )
    expect(await fresh.outcome(secret)).toBe('ada')
    failing.release()
    await expectOutcome(secret, 'ada', { withinMs: 10_000 })
  })

  test('refuses keys with roles, and no others, while the roles cannot be read', async () => {
    const [withoutRoles] = authenticators()
    const withRoles = await createKey({ scope: { roles: [{ role: 'agent' }] } })
    const { secret } = await createKey()
    await expectOutcome(withRoles.secret, 'ada')
    const failing = withoutRoles.proxy.on(({ path }) => path.includes('/clusterroles/'), {
      kind: 'destroy',
    })
    await eventuallyPasses(
      'the key with a role is refused',
      async () => expect(await withoutRoles.outcome(withRoles.secret)).toBe('unavailable'),
      { withinMs: 25_000 },
    )
    expect(await withoutRoles.outcome(secret)).toBe('ada')
    failing.release()
    await expectOutcome(withRoles.secret, 'ada', { withinMs: 10_000 })
  })

  test('refuses all keys while the API server is stopped', async () => {
    const { key, secret } = await createKey()
    await expectOutcome(secret, 'ada')
    await plane.apiServer.stop()
    await expectOutcome(secret, 'unavailable', { withinMs: 30_000 })
    await staysTrue(
      'all keys are refused',
      async () => {
        for (const { outcome } of authenticators())
          expect(await outcome(secret)).toBe('unavailable')
      },
      { forMs: 3000 },
    )
    await plane.apiServer.start()
    await expectOutcome(secret, 'ada', RECOVERED)
    await keys.patch(key, { spec: { disabled: true } })
    await expectOutcome(secret, 'disabled', RECOVERED)
    await eventually(
      'both watches are fresh',
      () =>
        authenticators().every(({ authenticator }) => authenticator.ageMs() < 15_000) || undefined,
      RECOVERED,
    )
  })

  test('refuses all keys while the API server is frozen', async () => {
    const { secret } = await createKey()
    await expectOutcome(secret, 'ada')
    signalApiServer('SIGSTOP')
    try {
      await expectOutcome(secret, 'unavailable', { withinMs: 30_000 })
    } finally {
      signalApiServer('SIGCONT')
    }
    await expectOutcome(secret, 'ada', RECOVERED)
  })

  test.each([
    {
      name: 'resourceVersions behind those that the watch has seen',
      advance: async () => undefined,
    },
    {
      name: 'resourceVersions beyond those that the watch has seen',
      advance: async () => {
        for (let at = 0; at < 60; at += 1) await keys.remove(await keys.create())
      },
    },
  ])('follows the restored state after etcd was set back, with $name (C4)', async ({ advance }) => {
    const { key, secret } = await createKey()
    const data = join(plane.dataDir, 'etcd')
    await whileStopped(() => cp(data, `${data}.snapshot`, { recursive: true }))
    await expectOutcome(secret, 'ada', RECOVERED)
    await keys.patch(key, { spec: { disabled: true } })
    const createdSince = await createKey()
    await expectOutcome(secret, 'disabled', RECOVERED)
    await expectOutcome(createdSince.secret, 'ada', RECOVERED)
    await settings.declare({ auth: { accessKeyMaxTTLSeconds: 30 * 86_400 } })
    const { metadata } = (await keys.read(HEARTBEAT_NAME)) ?? createdSince.key
    await keys.until(
      HEARTBEAT_NAME,
      'gets a heartbeat',
      (now) => heartbeatOf(now) !== heartbeatOf({ metadata }),
    )
    await whileStopped(async () => {
      await rm(data, { recursive: true })
      await rename(`${data}.snapshot`, data)
    })
    await advance()
    await expectOutcome(secret, 'ada', RESTORED)
    await expectOutcome(createdSince.secret, 'unknown', RESTORED)
    await keys.patch(key, { spec: { disabled: true } })
    // The key may still be read per request, and the result reused for a second.
    await expectOutcome(secret, 'disabled', RECOVERED)
    await eventuallyPasses(
      'both watches are fresh',
      () => {
        for (const { authenticator } of authenticators())
          expect(authenticator.ageMs()).toBeLessThan(15_000)
      },
      RESTORED,
    )
    await expectOutcome(createdSince.secret, 'unknown')
  })
})

function signalApiServer(signal: NodeJS.Signals): void {
  const { pid } = plane.apiServer
  if (pid === null) throw new Error('the API server does not run')
  process.kill(pid, signal)
}

/** Stops the control plane in order, acts, and starts it again. */
async function whileStopped(act: () => Promise<void>): Promise<void> {
  const { controllerManager, apiServer, etcd } = plane
  for (const daemon of [controllerManager, apiServer, etcd]) await daemon.stop()
  await act()
  for (const daemon of [etcd, apiServer, controllerManager]) await daemon.start()
}
