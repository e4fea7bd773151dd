// WebSockets through the gateway, by a client that browsers have too: watches and logs (contract 10.1, 13.2, 13.4).
import { Agent, WebSocket } from 'undici'
import { afterAll, describe, expect, onTestFinished, test } from 'vitest'
import { privateControlPlane } from '../../support/control-plane.ts'
import { eventuallyPasses } from '../../support/eventually.ts'
import { uniqueName } from '../../support/object-builder.ts'
import { MANAGEMENT, SOON, startTestGateway } from './test-gateway.ts'

const setup = await startTestGateway(await privateControlPlane())
const { plane } = setup
const dispatcher = new Agent({ connect: { ca: setup.ca } })
afterAll(() => dispatcher.destroy())

await plane.raw('POST', '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings', {
  metadata: { name: 'sockets' },
  roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'edit' },
  subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'Group', name: 'platform:user:ada' }],
})

const CONFIG_MAPS = '/api/v1/namespaces/default/configmaps'
const BEARER = 'base64url.bearer.authorization.k8s.io.'

/** A WebSocket and what it has received. */
function opened(path: string, options: { readonly protocols?: string[]; readonly token?: string }) {
  const url = `${setup.gateways[0]?.url()}${MANAGEMENT}${path}`.replace(/^https/, 'wss')
  const { protocols = [], token } = options
  // As browsers send it: the API server demands it.
  const origin = 'https://console.example.com'
  const headers = token === undefined ? { origin } : { origin, authorization: `Bearer ${token}` }
  const socket = new WebSocket(url, { protocols, dispatcher, headers })
  onTestFinished(() => socket.close())
  const received: string[] = []
  socket.addEventListener('message', ({ data }) => received.push(String(data)))
  const closed = new Promise<string>((resolve) => {
    socket.addEventListener('close', ({ code, reason }) => resolve(`${code} ${reason}`))
  })
  socket.addEventListener('error', () => undefined)
  return { socket, received, closed }
}

const create = (name: string): Promise<unknown> =>
  plane.raw('POST', CONFIG_MAPS, { metadata: { name } })

describe('a watch over a WebSocket', () => {
  test.each([
    { name: 'in the header', of: (token: string) => ({ token }) },
    {
      name: 'in a subprotocol',
      of: (token: string) => ({
        protocols: [`${BEARER}${Buffer.from(token).toString('base64url')}`, 'binary.k8s.io'],
      }),
    },
  ])(
    'with the key $name gets events, and a close frame when the key is disabled (10.1, 13.4)',
    async ({ of }) => {
      const key = await setup.key()
      const { socket, received, closed } = opened(`${CONFIG_MAPS}?watch=1`, of(key.token))
      const open = new Promise((resolve) => socket.addEventListener('open', () => resolve('open')))
      expect(await Promise.race([open, closed])).toBe('open')
      const name = uniqueName('seen')
      await create(name)
      await eventuallyPasses(
        'the event arrives',
        async () => expect(received.join()).toContain(name),
        SOON,
      )
      const disabledMs = performance.now()
      await setup.keys.patch(key.object, { spec: { disabled: true } })
      expect(await closed).toBe('1008 platform access key not found. Please login again')
      expect(performance.now() - disabledMs).toBeLessThan(5000)
    },
  )

  test.each([
    { name: 'without a key', path: `${CONFIG_MAPS}?watch=1`, isKeyed: false },
    {
      name: 'of access keys',
      path: '/apis/management.platform.sh/v1/ownedaccesskeys?watch=1',
      isKeyed: true,
    },
    { name: 'of one object', path: `${CONFIG_MAPS}/kube-root-ca.crt`, isKeyed: true },
  ])('$name is refused (12.4, 13.2)', async ({ path, isKeyed }) => {
    const { token } = await setup.key()
    const { closed, received } = opened(path, isKeyed ? { token } : {})
    expect(await closed).toMatch(/^1006 /)
    expect(received).toEqual([])
  })
})
