import { expect, test } from 'vitest'
import { SECRETS } from '../../../../src/api/names.ts'
import { dryRunApply, dryRunCreate } from '../../../../src/kube/client/dry-run.ts'
import { MemoryApiServer } from '../../../support/delivery/memory-api-server.ts'
import { foreignSecret } from '../../../support/delivery/secret-edits.ts'
import { manualClock } from '../../../support/manual-clock.ts'

const THEIRS = foreignSecret()
const SECRET = { ...THEIRS }

test('a create is tried and not stored: the answer is that of the create (28.3)', async () => {
  const server = new MemoryApiServer(manualClock(0))
  await dryRunCreate(server.deps, SECRETS, SECRET)
  expect(server.all('secrets')).toEqual([])
  expect(server.calls).toMatchObject([
    {
      method: 'POST',
      plural: 'secrets',
      namespace: 'shop',
      isDryRun: true,
      contentType: 'application/json',
    },
  ])
  server.put('secrets', THEIRS)
  await expect(dryRunCreate(server.deps, SECRETS, SECRET)).rejects.toMatchObject({ code: 409 })
})

test('an apply is tried with force, as our field manager, on the object as it was read (28.3)', async () => {
  const server = new MemoryApiServer(manualClock(0))
  const { metadata } = server.put('secrets', THEIRS)
  const changed = {
    ...SECRET,
    metadata: { ...SECRET.metadata, uid: metadata.uid, resourceVersion: metadata.resourceVersion },
    data: { mine: '' },
  }
  await dryRunApply(server.deps, SECRETS, changed)
  expect(server.object('secrets', 'deploy', 'shop')?.data).toEqual(SECRET.data)
  const [call] = server.calls
  expect(call).toMatchObject({
    method: 'PATCH',
    name: 'deploy',
    isDryRun: true,
    contentType: 'application/apply-patch+yaml',
  })
  expect(Object.fromEntries(call?.query ?? [])).toEqual({
    fieldManager: 'management-operator-delivery',
    force: 'true',
    dryRun: 'All',
  })
  server.put('secrets', { ...THEIRS, data: {} })
  await expect(dryRunApply(server.deps, SECRETS, changed)).rejects.toMatchObject({ code: 409 })
})

test('no write is counted (8.4)', async () => {
  const server = new MemoryApiServer(manualClock(0))
  const wrote: string[] = []
  const deps = {
    ...server.deps,
    observer: { responded: () => undefined, wrote: (kind: string) => void wrote.push(kind) },
  }
  await dryRunCreate(deps, SECRETS, SECRET)
  expect(wrote).toEqual([])
})
