// The direct endpoint with the rights of config/direct, on a stock API server: it does all its work with them, and
// needs each.
import { expect, test } from 'vitest'
import { TARGET_LABEL } from '../../src/api/names.ts'
import { TOKEN_EXTRAS } from '../../src/gateway/targets/impersonation-probe.ts'
import {
  grantedRights,
  isAskedByPolicy,
  requestsIn,
  rightText,
  usageOf,
} from '../../tools/test/rights.ts'
import { answeredIn } from '../support/audit-log.ts'
import { eventually, eventuallyPasses } from '../support/eventually.ts'
import { mustKubectl } from '../support/kubectl.ts'
import { DIRECT_USER, startDirectCluster } from './direct-cluster.ts'
import { startTokenPlatform } from './token-platform.ts'

const BOUND = { withinMs: 30_000 }
const PATH = '/kubernetes/cluster'
const TARGETS = 'platform-system-targets'
const SPACE = { project: 'shop', name: 'web', namespace: 'shop-web' }

const platform = await startTokenPlatform()
const cluster = await startDirectCluster(platform)
const endpoint = await cluster.startEndpoint()
const token = await platform.issueToken()

const CONFIG_MAPS = '/api/v1/namespaces/default/configmaps'

// Nothing is granted to the bearer: that the answer is about the bearer shows that the request was sent as such.
test.each([
  ['GET', `${CONFIG_MAPS}/x`, 'get resource "configmaps"'],
  ['GET', CONFIG_MAPS, 'list resource "configmaps"'],
  ['GET', `${CONFIG_MAPS}?watch=1`, 'watch resource "configmaps"'],
  ['POST', CONFIG_MAPS, 'create resource "configmaps"'],
  ['PUT', `${CONFIG_MAPS}/x`, 'update resource "configmaps"'],
  ['PATCH', `${CONFIG_MAPS}/x`, 'patch resource "configmaps"'],
  ['DELETE', `${CONFIG_MAPS}/x`, 'delete resource "configmaps"'],
  ['DELETE', CONFIG_MAPS, 'deletecollection resource "configmaps"'],
  // A method that is no verb.
  ['OPTIONS', '/api/v1/namespaces/default/services/x/proxy/y', ' resource "services/proxy"'],
  ['GET', '/x', 'get path "/x"'],
  ['POST', '/x', 'post path "/x"'],
  ['PUT', '/x', 'put path "/x"'],
  ['PATCH', '/x', 'patch path "/x"'],
  ['DELETE', '/x', 'delete path "/x"'],
])(
  'the bearer of a token is refused by RBAC, not the direct endpoint: %s %s (9.2)',
  async (...row) => {
    const [method, path, cannot] = row
    const { code, body } = await endpoint.call(`${PATH}${path}`, token, { method })
    expect({ code, message: (JSON.parse(body) as { readonly message: string }).message }).toEqual({
      code: 403,
      message: expect.stringContaining(`User "platform:user:ada" cannot ${cannot}`),
    })
  },
)

test('a HEAD of the bearer is answered by RBAC, too (9.2)', async () => {
  expect(await endpoint.call(`${PATH}/x`, token, { method: 'HEAD' })).toMatchObject({ code: 403 })
})

test('its probes carry every extra that requests of bearers do: they notice a missing right first (9.2)', async () => {
  const requests = answeredIn(await cluster.audit.linesSince({ offset: 0 }, DIRECT_USER))
  const extras = requests
    .filter(({ impersonatedUser }) => impersonatedUser?.username === 'heartbeat')
    .map(({ impersonatedUser }) => Object.keys(impersonatedUser?.extra ?? {}).toSorted())
  expect(extras).not.toHaveLength(0)
  for (const names of extras) expect(names).toEqual(Object.keys(TOKEN_EXTRAS).toSorted())
})

test('a space works, and its Secret has an Event that says so (9.5)', async () => {
  const { project, name, namespace } = SPACE
  await cluster.apply([
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } },
    {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'web', namespace: TARGETS, labels: { [TARGET_LABEL]: 'space' } },
      stringData: { name, project, cluster: 'ignored', namespace },
    },
  ])
  const path = `/kubernetes/project/${project}/space/${name}/api/v1/namespaces/${namespace}/pods`
  await eventuallyPasses(
    'the bearer reaches the space',
    async () =>
      expect((await endpoint.call(path, token)).body).toContain(
        'User \\"platform:user:ada\\" cannot',
      ),
    BOUND,
  )
  await eventually(
    'there is an Event TargetReady',
    async () => {
      const events = await mustKubectl(cluster.server, ['get', 'events', '-n', TARGETS])
      return events.includes('TargetReady') || undefined
    },
    BOUND,
  )
})

test('the direct endpoint lacks none of the rights of config/direct, and uses each (9.2)', async () => {
  await endpoint.process.stop()
  const granted = grantedRights(['direct', 'direct/target-namespace']).filter(
    (right) => !isAskedByPolicy(right),
  )
  const { used, refused } = await usageOf(requestsIn(cluster.server.auditLog ?? ''), granted)
  const idle = granted.map(rightText).filter((right) => !used.includes(right))
  expect({ refused, idle }).toEqual({ refused: [], idle: [] })
  expect(granted.length).toBeGreaterThan(0)
})
