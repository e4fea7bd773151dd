// How many sign-ins of a user the operator keeps (contract 5.1).
import { expect, test } from 'vitest'
import { sharedControlPlane } from '../../support/control-plane.ts'
import { eventuallyPasses } from '../../support/eventually.ts'
import { uniqueName } from '../../support/object-builder.ts'
import { keyClientOf, SOON } from '../keys/key-client.ts'
import { TRACKED } from './people-client.ts'

const plane = await sharedControlPlane()
const keys = keyClientOf(plane)

test('the Login key of a user that was used longest ago goes when there are 21, and none that a GitOps tool applies (5.1)', async () => {
  const user = uniqueName('user')
  const spec = { user, type: 'Login' } as const
  const tracked = await keys.create(spec, TRACKED.Flux)
  const made = await Promise.all(Array.from({ length: 20 }, () => keys.create(spec)))
  await Promise.all(made.map((key) => keys.shown(key, 'Active')))
  const now = Date.now()
  const [oldest, ...others] = made
  await Promise.all(others.map((key) => keys.use(key, now)))
  await keys.create({ ...spec, type: 'User' })
  const newest = await keys.create(spec)
  await keys.gone(oldest?.metadata.name ?? '')
  const left = await Promise.all([tracked, newest, ...others].map((key) => keys.read(key)))
  expect(left.every((key) => key !== null && key.metadata.deletionTimestamp === undefined)).toBe(
    true,
  )
})

test('a user with 26 sign-ins at once keeps 20 of them (5.1)', async () => {
  const user = uniqueName('user')
  const spec = { user, type: 'Login' } as const
  const made = await Promise.all(Array.from({ length: 26 }, () => keys.create(spec)))
  await eventuallyPasses(
    '20 are left',
    async () => {
      const left = await Promise.all(made.map((key) => keys.read(key)))
      const kept = left.filter((key) => key !== null && !key.metadata.deletionTimestamp)
      expect(kept).toHaveLength(20)
    },
    SOON,
  )
})
