// Either API server is down or has lost its watch history: no change is lost, and nothing is deleted meanwhile.
import { beforeAll, describe, expect, test } from 'vitest'
import { ENDPOINTS, SERVICES } from '../../src/api/names.ts'
import { staysTrue } from '../support/eventually.ts'
import { metric } from '../support/metrics-page.ts'
import { type SeenObject, createPair, endpointsAt } from '../support/sync-side.ts'
import {
  type Syncer,
  expectUntouched,
  leads,
  ownSyncPlanes,
  syncWorld,
} from '../support/sync-world.ts'
import { inWhole, repeated, sampled } from '../support/tier.ts'

const planes = await ownSyncPlanes()
const world = await syncWorld(planes)
const { virtual, host, hostRef } = world
const namespace = await world.namespace()
let syncer: Syncer
beforeAll(async () => {
  // The Lease is on the host: it outlives the time that its API server is away.
  syncer = await world.start({
    flags: ['--leader-elect-lease-duration=300s', '--leader-elect-renew-deadline=240s'],
  })
  await leads(syncer)
})

const AWAY_MS = repeated(1000, 60_000)
const SIDES = [{ side: 'virtual' }, { side: 'host' }] as const

describe.each(sampled(SIDES, 2))('the API server of the $side cluster', ({ side }) => {
  test(`is away for ${AWAY_MS / 1000} s: nothing is lost (18.3)`, async () => {
    const [kept, removed] = ['kept', 'removed'].map((name) => ({
      namespace,
      name: `${name}-${side}`,
    }))
    if (kept === undefined || removed === undefined) throw new Error('unreachable')
    const before = await createPair(virtual, kept, '10.2.0.1')
    await createPair(virtual, removed, '10.2.0.2')
    const onHost = await stands(hostRef(kept), '10.2.0.1')
    await stands(hostRef(removed), '10.2.0.2')

    await planes[side].apiServer.stop()
    const other = side === 'virtual' ? host : virtual
    const seen = side === 'virtual' ? onHost : before
    if (side === 'host') await virtual.remove(ENDPOINTS, removed)
    await staysTrue('the other side is as it was', () => expectUntouched(other, ENDPOINTS, seen), {
      forMs: AWAY_MS,
    })
    await planes[side].apiServer.start()
    if (side === 'virtual') await virtual.remove(ENDPOINTS, removed)

    await host.gone(ENDPOINTS, hostRef(removed))
    await world.caughtUp(syncer)
    await expectUntouched(host, ENDPOINTS, onHost)
    await expectUntouched(virtual, ENDPOINTS, before)
  })

  test.each(inWhole('is restarted without its history, and watches begin again (18.3)'))(
    '%s',
    async () => {
      const ref = { namespace, name: `history-${side}` }
      const before = await createPair(virtual, ref, '10.2.0.3')
      const onHost = await stands(hostRef(ref), '10.2.0.3')
      await planes[side].compactEtcd()
      await planes[side].apiServer.stop()
      await planes[side].apiServer.start()
      await world.caughtUp(syncer)
      expect(
        await metric(syncer, 'platform_watch_restarts_total', 'reason="expired"'),
      ).toBeGreaterThan(0)
      await expectUntouched(host, ENDPOINTS, onHost)
      await expectUntouched(virtual, ENDPOINTS, before)
      await host.remove(SERVICES, hostRef(ref))
      expect(await host.shows(SERVICES, hostRef(ref), {})).toBeTruthy()
    },
  )
})

const stands = (ref: Parameters<typeof host.get>[1], ip: string): Promise<SeenObject> =>
  host.shows(ENDPOINTS, ref, endpointsAt(ip))

test('the syncer has not restarted, and its output has no uncaught error (8.5)', () => {
  expect(syncer.output().stderr).toBe('')
})
