// References to names that no object can have, beside references to objects that exist.
import { expect, test } from 'vitest'
import { ENDPOINTS, SECRETS, SERVICES } from '../../src/api/names.ts'
import { fileWorld } from '../support/sync-file-world.ts'
import { SELECTORLESS, endpointsAt } from '../support/sync-side.ts'
import { syncPlanes } from '../support/sync-world.ts'

const ANNOTATION = 'example.com/secret'
const world = await fileWorld(await syncPlanes(), {
  endpoints: {
    patches: [
      {
        path: `metadata.annotations["${ANNOTATION}"]`,
        reference: { apiVersion: 'v1', kind: 'Secret' },
      },
    ],
  },
})
const { virtual, host, hostRef, at } = world
const syncer = await world.start()

const naming = async (name: string, secret: string) => {
  await virtual.create(SERVICES, at(name), SELECTORLESS)
  return virtual.create(ENDPOINTS, at(name), {
    ...endpointsAt('10.5.0.1'),
    metadata: { annotations: { [ANNOTATION]: secret } },
  })
}

test('a slash in a name is an error of the object that names it, and stops no other (19.5, 19.8)', async () => {
  await virtual.create(SECRETS, at('shared'), { stringData: { key: 'one' } })
  await naming('good', 'shared')
  await host.shows(SECRETS, hostRef(at('shared')), { data: { key: btoa('one') } })
  const bad = await naming('bad', 'shared/zzz')
  const { message } = await virtual.event(bad, 'PatchFailed')
  expect(message).toContain('no object of the kind can have the name')
  expect(await host.read(ENDPOINTS, hostRef(at('bad')))).toBeNull()
  await virtual.remove(ENDPOINTS, at('bad'))
  await world.caughtUp(syncer)

  await virtual.patch(SECRETS, at('shared'), { stringData: { key: 'two' } })
  await host.shows(SECRETS, hostRef(at('shared')), { data: { key: btoa('two') } })
  await virtual.remove(SECRETS, at('shared'))
  await expect(host.gone(SECRETS, hostRef(at('shared')))).resolves.toBeUndefined()
})
