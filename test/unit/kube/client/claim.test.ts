import { expect, test } from 'vitest'
import { SECRETS } from '../../../../src/api/names.ts'
import { isConflict } from '../../../../src/kube/client/api-error.ts'
import { claim } from '../../../../src/kube/client/client.ts'
import { connect } from '../../../../src/kube/client/connection.ts'
import { manualClock } from '../../../support/manual-clock.ts'
import {
  type Answer,
  json,
  refuse,
  startScriptedServer,
  writeKubeconfig,
} from '../informer/scripted-server.ts'

const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'a', namespace: 'n' } }

async function claimed(answer: Answer) {
  const server = await startScriptedServer(answer)
  const clock = manualClock(0)
  const connection = await connect(
    { kind: 'files', paths: [await writeKubeconfig({ server: server.url })] },
    clock,
  )
  const wrote: string[] = []
  const observer = {
    responded: () => undefined,
    wrote: (kind: string, reason: string) => void wrote.push(`${kind} ${reason}`),
  }
  const deps = {
    connection,
    clock,
    observer,
    userAgent: 'tester/1',
    fieldManager: 'tester',
    mayWrite: () => undefined,
  }
  const outcome = await claim(deps, SECRETS, secret, { manager: 'me-1', reason: 'create' }).catch(
    (error: unknown) => error,
  )
  await connection.close()
  return { outcome, wrote, requests: server.received }
}

test('a claim is an apply without force, by a field manager of its own', async () => {
  const { outcome, wrote, requests } = await claimed(json(201, secret))
  expect(outcome).toEqual(secret)
  expect(wrote).toEqual(['Secret create'])
  expect(requests).toMatchObject([
    {
      method: 'PATCH',
      path: '/api/v1/namespaces/n/secrets/a',
      query: { fieldManager: 'me-1' },
      headers: { 'content-type': 'application/apply-patch+yaml' },
      body: JSON.stringify(secret),
    },
  ])
})

test('a claim of an existing object is a conflict, and no write', async () => {
  const { outcome, wrote } = await claimed(refuse(409, { reason: 'Conflict' }))
  expect(isConflict(outcome)).toBe(true)
  expect(wrote).toEqual([])
})
