// Thousands of Endpoints with patches, beside the same without, on clusters that end with them.
import { test } from 'vitest'
import { manyEndpoints } from '../support/sync-many.ts'
import { ownSyncPlanes } from '../support/sync-world.ts'

const many = await manyEndpoints(await ownSyncPlanes(), 5000)

test(
  'each patch of 5,000 Endpoints is evaluated once, a change only its own, a restart writes nothing (19.7, 20)',
  { timeout: 15 * 60_000 },
  () => many.syncAll(),
)
