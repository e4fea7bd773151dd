/** @module-tag no-retry */
// What gateways that hear nothing any more take for true: nothing (contract 10.4).
import { cp, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { HEARTBEAT_KEY } from '../../../src/api/names.ts'
import { isWatchOf } from '../../faults/observed-writes.ts'
import { settingsOf } from '../../support/config-client.ts'
import { ownControlPlane } from '../../support/control-plane.ts'
import { eventually, eventuallyPasses, staysTrue } from '../../support/eventually.ts'
import { SOON, heartbeatOf, startTwoGateways } from './two-gateways.ts'

const plane = await ownControlPlane()
const settings = settingsOf(plane)
const { keys, stands, given, check } = startTwoGateways(plane)

const RECOVERED = { withinMs: 40_000 }
/** A watch that waits for versions that will not come is doubted, lists anew, and the settings after it. */
const RESTORED = { withinMs: 60_000 }

describe('when nothing is heard any more (10.4, F5)', () => {
  test('the watch of the keys is cut without a word: nothing is good on stale knowledge', async () => {
    const [deaf, hearing] = stands()
    const [good, bad] = [await given(), await given()]
    await check(good.secret, 'ada')
    await check(bad.secret, 'ada')
    deaf.line.freeze(isWatchOf('ownedaccesskeys'))
    // Kept from being opened anew, so that what is stale stays so.
    const kept = deaf.line.on(isWatchOf('ownedaccesskeys'), { kind: 'hold' })
    await keys.patch(bad.key, { spec: { disabled: true } })
    const late = await given()
    await eventuallyPasses(
      'it is stale',
      () => expect(deaf.callers.ageMs()).toBeGreaterThan(15_000),
      { withinMs: 25_000 },
    )
    expect(hearing.callers.ageMs()).toBeLessThan(15_000)
    // A read that takes two seconds has failed: then the next one counts.
    let asked = 0
    await eventuallyPasses(
      'it reads the key',
      async () => {
        asked = deaf.line.requests.length
        expect(await deaf.outcome(good.secret)).toBe('ada')
      },
      SOON,
    )
    expect(['disabled', 'unavailable']).toContain(await deaf.outcome(bad.secret))
    await eventuallyPasses(
      'it reads the key that was disabled',
      async () => expect(await deaf.outcome(bad.secret)).toBe('disabled'),
      SOON,
    )
    expect(await deaf.outcome(late.secret)).toBe('unavailable')
    expect(await deaf.outcome('pak_made-up')).toBe('unavailable')
    const read = deaf.line.requests.slice(asked).map(({ path }) => path)
    expect(read.filter((path) => path.endsWith(`/${good.key.metadata.name}`))).toHaveLength(1)
    expect(await hearing.outcome(late.secret)).toBe('ada')
    await eventuallyPasses(
      'open streams are looked at',
      () => expect(deaf.news).toContain(null),
      SOON,
    )
    kept.release()
    await eventuallyPasses(
      'it hears again',
      async () => expect(await deaf.outcome(late.secret)).toBe('ada'),
      RECOVERED,
    )
    expect(deaf.warnings()).toContain(
      'the watch of the access keys missed a write, listing them again',
    )
  })

  test('the settings can not be read: nobody passes', async () => {
    const [cut, hearing] = stands()
    const { secret } = await given()
    await check(secret, 'ada')
    const gone = cut.line.on(({ path }) => path.includes('/configs/'), { kind: 'destroy' })
    await eventuallyPasses(
      'nobody passes',
      async () => expect(await cut.outcome(secret)).toBe('unavailable'),
      { withinMs: 25_000 },
    )
    expect(await hearing.outcome(secret)).toBe('ada')
    gone.release()
    await check(secret, 'ada', { withinMs: 10_000 })
  })

  test('the roles can not be read: keys with roles do not pass, others do', async () => {
    const [cut] = stands()
    const withRoles = await given({ scope: { roles: [{ role: 'agent' }] } })
    const { secret } = await given()
    await check(withRoles.secret, 'ada')
    const gone = cut.line.on(({ path }) => path.includes('/clusterroles/'), { kind: 'destroy' })
    await eventuallyPasses(
      'it does not pass',
      async () => expect(await cut.outcome(withRoles.secret)).toBe('unavailable'),
      { withinMs: 25_000 },
    )
    expect(await cut.outcome(secret)).toBe('ada')
    gone.release()
    await check(withRoles.secret, 'ada', { withinMs: 10_000 })
  })

  test('the API server stands still, and is stopped: nobody passes, until it is back', async () => {
    const { key, secret } = await given()
    await check(secret, 'ada')
    await plane.apiServer.stop()
    await check(secret, 'unavailable', { withinMs: 30_000 })
    await staysTrue(
      'nobody passes',
      async () => {
        for (const { outcome } of stands()) expect(await outcome(secret)).toBe('unavailable')
      },
      { forMs: 3000 },
    )
    await plane.apiServer.start()
    await check(secret, 'ada', RECOVERED)
    await keys.patch(key, { spec: { disabled: true } })
    await check(secret, 'disabled', RECOVERED)
    await eventually(
      'both are fresh',
      () => stands().every(({ callers }) => callers.ageMs() < 15_000) || undefined,
      RECOVERED,
    )
  })

  test('the API server is frozen: nobody passes, until it goes on', async () => {
    const { secret } = await given()
    await check(secret, 'ada')
    signalled('SIGSTOP')
    try {
      await check(secret, 'unavailable', { withinMs: 30_000 })
    } finally {
      signalled('SIGCONT')
    }
    await check(secret, 'ada', RECOVERED)
  })

  test.each([
    { name: 'while the watch waits for versions to come', push: async () => undefined },
    {
      name: 'and has come to versions again that the watch waits for',
      push: async () => {
        for (let at = 0; at < 60; at += 1) await keys.remove(await keys.create())
      },
    },
  ])(
    'etcd is restored to an earlier state, $name: what it says now holds (C4)',
    async ({ push }) => {
      const { key, secret } = await given()
      const data = join(plane.dataDir, 'etcd')
      await whileStopped(() => cp(data, `${data}.snapshot`, { recursive: true }))
      await check(secret, 'ada', RECOVERED)
      await keys.patch(key, { spec: { disabled: true } })
      const since = await given()
      await check(secret, 'disabled', RECOVERED)
      await check(since.secret, 'ada', RECOVERED)
      await settings.declare({ auth: { accessKeyMaxTTLSeconds: 30 * 86_400 } })
      const { metadata } = (await keys.read(HEARTBEAT_KEY)) ?? since.key
      await keys.until(
        HEARTBEAT_KEY,
        'beats',
        (now) => heartbeatOf(now) !== heartbeatOf({ metadata }),
      )
      await whileStopped(async () => {
        await rm(data, { recursive: true })
        await rename(`${data}.snapshot`, data)
      })
      await push()
      await check(secret, 'ada', RESTORED)
      await check(since.secret, 'unknown', RESTORED)
      await keys.patch(key, { spec: { disabled: true } })
      // It may still be read for each request, and what was read be used for a second.
      await check(secret, 'disabled', RECOVERED)
      await eventuallyPasses(
        'both are fresh',
        () => {
          for (const { callers } of stands()) expect(callers.ageMs()).toBeLessThan(15_000)
        },
        RESTORED,
      )
      await check(since.secret, 'unknown')
    },
  )
})

function signalled(signal: NodeJS.Signals): void {
  const { pid } = plane.apiServer
  if (pid === null) throw new Error('the API server does not run')
  process.kill(pid, signal)
}

/** As an administrator does: all stop, in order, and start again. */
async function whileStopped(act: () => Promise<void>): Promise<void> {
  const { controllerManager, apiServer, etcd } = plane
  for (const daemon of [controllerManager, apiServer, etcd]) await daemon.stop()
  await act()
  for (const daemon of [etcd, apiServer, controllerManager]) await daemon.start()
}
