// Some hundred Endpoints with patches, beside the same without.
import { test } from 'vitest'
import { manyEndpoints } from '../support/sync-many.ts'
import { syncPlanes } from '../support/sync-world.ts'

const many = await manyEndpoints(await syncPlanes(), 300)

test(
  'each patch of 300 Endpoints is evaluated once, a change only its own, a restart writes nothing (19.7, 20)',
  { timeout: 60_000 },
  () => many.syncAll(),
)
