// A relay between the direct endpoint and its API server lets a write pass and cuts the answer: a client is told to repeat
// only what was surely not carried out (contract 13.1).
import { afterAll, expect, test } from 'vitest'
import { eventually } from '../support/eventually.ts'
import { redirected } from '../support/fault-proxy.ts'
import { startTlsRelay } from '../support/tls-relay.ts'
import { startDirectCluster } from './direct-cluster.ts'
import { grantReading } from './direct-objects.ts'
import { startTokenPlatform } from './token-platform.ts'

const SOON = { withinMs: 20_000 }
const platform = await startTokenPlatform()
const cluster = await startDirectCluster(platform)
const { server } = cluster
const relay = await startTlsRelay(server.url)
afterAll(() => relay[Symbol.asyncDispose]())
const kubeconfig = await redirected(
  await server.serviceAccountKubeconfig('platform-system', 'direct'),
  relay.url,
  server.caPem,
)
const endpoint = await cluster.startEndpoint([`--kubeconfig=${kubeconfig}`])
await grantReading(cluster, 'shop', 'platform:group:dev')
const token = await platform.issueToken()
const SHOP = '/api/v1/namespaces/shop/configmaps'
const PADDING = 'x'.repeat(8000)
/** More bytes than those of a handshake, and less than the padding. */
const LONGER_THAN_HANDSHAKE = 5000

const create = (generateName: string) =>
  endpoint.call(`/kubernetes/cluster${SHOP}`, token, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ metadata: { generateName, annotations: { PADDING } } }),
  })

async function made(prefix: string): Promise<number> {
  const { body } = await cluster.raw<{
    readonly items: readonly { readonly metadata: { readonly name: string } }[]
  }>('GET', SHOP)
  return body.items.filter(({ metadata }) => metadata.name.startsWith(prefix)).length
}

test('a write whose answer is cut is carried out once, and is a 504 without Retry-After (13.1)', async () => {
  expect(await create('whole-')).toMatchObject({ code: 201 })
  relay.keepAnswersOf(LONGER_THAN_HANDSHAKE)
  const answering = create('cut-')
  await eventually('it is carried out', async () => (await made('cut-')) > 0 || undefined, SOON)
  relay.cutAndPass()
  const { code, headers, body } = await answering
  expect(code).toBe(504)
  expect(headers).not.toHaveProperty('retry-after')
  expect(body).toContain('may have carried it out')
  expect(await made('cut-')).toBe(1)
})

test('a write that cannot be sent is a 503 with Retry-After (13.1)', async () => {
  relay.refuse()
  relay.cut()
  expect(await create('never-')).toMatchObject({
    code: 503,
    headers: { 'retry-after': expect.stringMatching(/^\d+$/) },
  })
  relay.cutAndPass()
  expect(await made('never-')).toBe(0)
})
