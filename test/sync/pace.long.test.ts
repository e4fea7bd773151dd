// The pace of writes: a tenant's own changes are on the host at once, whatever a user does there.
import { expect, test } from 'vitest'
import { ENDPOINTS, SERVICES } from '../../src/api/names.ts'
import { syncPlanes, syncWorld } from '../support/sync-world.ts'

const world = await syncWorld(await syncPlanes())
const { virtual, host, hostRef } = world
await world.start()
const namespace = await world.namespace()

const addressed = (ip: string) => ({ subsets: [{ addresses: [{ ip }], ports: [{ port: 80 }] }] })
const SELECTORLESS = { spec: { ports: [{ name: 'a', port: 80 }] } }

test('Endpoints that are renewed each second for 30 s are on the host a second later, the last one too (19.7)', {
  timeout: 120_000,
}, async () => {
  const ref = { namespace, name: 'leader' }
  await virtual.create(SERVICES, ref, SELECTORLESS)
  await virtual.create(ENDPOINTS, ref, addressed('10.1.9.1'))
  await host.shows(ENDPOINTS, hostRef(ref), addressed('10.1.9.1'))
  const late: number[] = []
  for (let n = 2; n < 32; n += 1) {
    const at = performance.now()
    await virtual.patch(ENDPOINTS, ref, addressed(`10.1.9.${n}`))
    await host.shows(ENDPOINTS, hostRef(ref), addressed(`10.1.9.${n}`))
    late.push(performance.now() - at)
  }
  // Ten writes a minute would hold the eleventh back for half a minute.
  expect(Math.max(...late)).toBeLessThan(8000)
})

test('a user who undoes them on the host waits, the change of the tenant does not (19.7)', {
  timeout: 120_000,
}, async () => {
  const ref = { namespace, name: 'undone' }
  await virtual.create(SERVICES, ref, SELECTORLESS)
  const before = await virtual.create(ENDPOINTS, ref, addressed('10.1.8.1'))
  await host.shows(ENDPOINTS, hostRef(ref), addressed('10.1.8.1'))
  for (let n = 0; n < 10; n += 1) {
    await host.patch(ENDPOINTS, hostRef(ref), addressed('10.1.8.99'))
    await host.shows(ENDPOINTS, hostRef(ref), addressed('10.1.8.1'))
  }
  await host.patch(ENDPOINTS, hostRef(ref), addressed('10.1.8.99'))
  await virtual.event(before, 'WritesDelayed')
  await virtual.patch(ENDPOINTS, ref, addressed('10.1.8.2'))
  await host.shows(ENDPOINTS, hostRef(ref), addressed('10.1.8.2'))
})
