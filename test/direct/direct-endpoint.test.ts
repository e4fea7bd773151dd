import { expect, test } from 'vitest'
import { startDirectCluster } from './direct-cluster.ts'
import { startTokenPlatform } from './token-platform.ts'

const platform = await startTokenPlatform()
const cluster = await startDirectCluster(platform)
const endpoint = await cluster.startEndpoint()

test('a token opens the cluster as the user that a stock server makes of it (9.2)', async () => {
  const token = await platform.issueToken()
  const review = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' }
  const answer = await endpoint.call(
    '/kubernetes/cluster/apis/authentication.k8s.io/v1/selfsubjectreviews',
    token,
    {
      method: 'POST',
      body: JSON.stringify(review),
      headers: { 'content-type': 'application/json' },
    },
  )
  console.log(answer.code, answer.body, answer.headers)
  console.log(JSON.stringify(await cluster.server.whoIs(token)))
  expect(answer.code).toBe(201)
  await cluster.openWebhook(endpoint)
  console.log(JSON.stringify(await cluster.server.whoIs(token)))
  console.log(
    await endpoint.process.metrics().then((page) =>
      page
        .split('\n')
        .filter((l) => /platform_direct|platform_ready/.test(l) && !l.startsWith('#'))
        .join('\n'),
    ),
  )
})
