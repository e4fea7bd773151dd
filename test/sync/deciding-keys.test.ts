// Labels and annotations by which the host's own controllers decide, on objects of a tenant.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ENDPOINTS, SERVICES } from '../../src/api/names.ts'
import { eventually } from '../support/eventually.ts'
import { type Ref, SELECTORLESS, SOON, endpointsAt } from '../support/sync-side.ts'
import { expectOnlyFlows, syncPlanes, syncWorld } from '../support/sync-world.ts'
import { sampled } from '../support/tier.ts'

const planes = await syncPlanes()
const world = await syncWorld(planes)
const { virtual, host, hostRef, hostNamespace } = world
const namespace = await world.namespace()
const start = await world.mark()
beforeAll(() => world.start())
afterAll(() => expectOnlyFlows(world, start))

interface Slice {
  readonly metadata: { readonly labels: Readonly<Record<string, string>> }
  readonly endpoints: readonly { readonly addresses: readonly string[] }[]
}

/** The slices that the proxies of the host read: they pass over slices of headless Services by their label. */
const servedSlices = async (name: string): Promise<readonly Slice[]> => {
  const selector = `kubernetes.io/service-name=${name},!service.kubernetes.io/headless`
  const path = `/apis/discovery.k8s.io/v1/namespaces/${hostNamespace}/endpointslices`
  const query = `labelSelector=${encodeURIComponent(selector)}`
  const { body } = await planes.host.raw<{ readonly items: readonly Slice[] }>(
    'GET',
    `${path}?${query}`,
  )
  return body.items
}

// biome-ignore format: a table
const KEYS = [
  { what: 'skip-mirror', metadata: { labels: { 'endpointslice.kubernetes.io/skip-mirror': 'true' } } },
  { what: 'leader', metadata: { annotations: { 'control-plane.alpha.kubernetes.io/leader': '{}' } } },
  { what: 'headless', metadata: { labels: { 'service.kubernetes.io/headless': '' } } },
]

test.each(sampled(KEYS, 3))(
  'Endpoints with $what have slices on the host, so that their Service serves (17.3)',
  async ({ what, metadata }) => {
    const ref: Ref = { namespace, name: what }
    await virtual.create(SERVICES, ref, SELECTORLESS)
    await virtual.create(ENDPOINTS, ref, { ...endpointsAt('10.5.1.1'), metadata })
    await host.shows(ENDPOINTS, hostRef(ref), endpointsAt('10.5.1.1'))
    const slices = await eventually(
      'the host has slices of it',
      async () => {
        const found = await servedSlices(hostRef(ref).name)
        return found.length > 0 ? found : undefined
      },
      SOON,
    )
    expect(slices).toMatchObject([{ endpoints: [{ addresses: ['10.5.1.1'] }] }])
  },
)
