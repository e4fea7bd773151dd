import { expect, onTestFinished, test } from 'vitest'
import { SECRETS } from '../../../../src/api/names.ts'
import { connect } from '../../../../src/kube/client/connection.ts'
import { listMetadata } from '../../../../src/kube/client/namespace-content.ts'
import { manualClock } from '../../../support/manual-clock.ts'
import {
  type Answer,
  answersInTurn,
  json,
  refuse,
  startScriptedServer,
  writeKubeconfig,
} from '../informer/scripted-server.ts'

const QUERY = { namespace: 'targets', labelSelector: 'a/b' }
const metadata = (name: string) => ({ name, uid: `uid-${name}`, resourceVersion: '7' })
const page = (items: unknown, next?: string): Answer =>
  json(200, { kind: 'PartialObjectMetadataList', metadata: next ? { continue: next } : {}, items })

async function list(...answers: readonly Answer[]) {
  const server = await startScriptedServer(answersInTurn(...answers))
  const clock = manualClock(0)
  const paths = [await writeKubeconfig({ server: server.url })]
  const connection = await connect({ kind: 'files', paths }, clock)
  onTestFinished(() => connection.close())
  const deps = {
    connection,
    clock,
    observer: { responded: () => undefined, wrote: () => undefined },
    userAgent: 'tester/1',
    fieldManager: 'tester',
    mayWrite: () => undefined,
  }
  return { server, listed: listMetadata(deps, SECRETS, QUERY, new AbortController().signal) }
}

test('all pages are read, by metadata alone and from no cache (9.5, 10.4)', async () => {
  const items = [{ metadata: { ...metadata('a'), annotations: { x: 'secret' } } }]
  const { server, listed } = await list(page(items, 'more'), page([{ metadata: metadata('b') }]))
  expect(await listed).toMatchObject([metadata('a'), metadata('b')])
  expect(server.received).toMatchObject([
    { path: '/api/v1/namespaces/targets/secrets', query: { labelSelector: 'a/b', limit: '500' } },
    { query: { labelSelector: 'a/b', limit: '500', continue: 'more' } },
  ])
  const [{ headers, query } = { headers: {}, query: {} }] = server.received
  expect(headers.accept).toBe(
    'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json',
  )
  expect(Object.keys(query)).not.toContain('resourceVersion')
})

test('no object is a list without items, in which the API server has null (9.5)', async () => {
  expect(await (await list(page(null))).listed).toEqual([])
})

test('a refusal is an error (9.5)', async () => {
  await expect((await list(refuse(403, { reason: 'Forbidden' }))).listed).rejects.toMatchObject({
    code: 403,
  })
})
