// A relay lets a request pass and cuts the connection: clients repeat any verb on a 5xx with Retry-After, so a write
// that may have been carried out gets none (13.1).
import { createServer as createNet } from 'node:net'
import type { AddressInfo } from 'node:net'
import { describe, expect, test } from 'vitest'
import { userInfoOf } from '../../../../src/authn/caller.ts'
import { forward } from '../../../../src/gateway/proxy/forward.ts'
import { parseRequest } from '../../../../src/gateway/request/parse.ts'
import type { Upstream } from '../../../../src/kube/proxy/types.ts'
import { viewOf } from '../../../support/key-builder.ts'
import {
  type Act,
  type UpstreamServer,
  WIRES,
  type Wire,
  breakConnection,
  startUpstreamServer,
  upstreamTo,
} from '../../kube/proxy/upstream-server.ts'
import { type Served, answersIn, served } from '../listening-server.ts'

const key = viewOf({ metadata: { name: 'ci' }, spec: { user: 'ada', groups: ['dev'] } })
const identity = userInfoOf(key) ?? { user: 'ada', groups: [] }
const CALLER = { key, identity, scope: null, expiresMs: null }

const WRITES = ['POST', 'PUT', 'PATCH', 'DELETE'] as const
const READS = ['GET', 'HEAD'] as const

const gatewayTo = (upstream: Upstream): Promise<Served> =>
  served(async (call) => {
    const reading = parseRequest(call.method, { kind: 'Management' }, call.target)
    return reading.ok
      ? forward(upstream, reading.request, call, { caller: CALLER }, { signal: call.gone })
      : reading.answer
  })

async function askedOf(upstream: Upstream, method: string) {
  const { say } = await gatewayTo(upstream)
  const body = method === 'GET' || method === 'HEAD' || method === 'DELETE' ? '' : '{"a":1}'
  const named = method === 'POST' ? '' : '/x'
  const text = await say(
    `${method} /api/v1/namespaces/shop/configmaps${named} HTTP/1.1\r\nHost: h\r\nConnection: close\r\n` +
      `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  )
  const [answer] = answersIn(text)
  return {
    code: answer?.code,
    retryAfter: answer?.headers['retry-after'],
    says: /"message":"([^"]*)"/.exec(text)?.[1] ?? '',
  }
}

/** The moments of the cut, each after the request was sent. */
const MOMENTS: Readonly<Record<string, (server: () => UpstreamServer) => Act>> = {
  'when the head of the request has come': (server) => () => breakConnection(server()),
  'when the whole request has come': (server) => (incoming) => {
    incoming.resume().once('end', () => breakConnection(server()))
  },
  'when the write is done, before its answer': (server) => (incoming, outgoing) => {
    incoming.resume().once('end', () => {
      // The head stays in the buffer of the server.
      outgoing.statusCode = 201
      setImmediate(() => breakConnection(server()))
    })
  },
}

async function cutBy(wire: Wire, moment: keyof typeof MOMENTS): Promise<Upstream> {
  const servers: UpstreamServer[] = []
  const act = MOMENTS[moment]?.(() => {
    const [server] = servers
    if (!server) throw new Error('no server yet')
    return server
  })
  if (!act) throw new Error('no such moment')
  servers.push(await startUpstreamServer(wire, act))
  return (await upstreamTo(servers[0]?.url ?? '')).upstream
}

describe.each(WIRES)('over %s', (wire) => {
  describe.each(Object.keys(MOMENTS))('an answer that is cut %s', (moment) => {
    test.each(WRITES)(
      'is a 504 without Retry-After for a %s, which may have been carried out (13.1)',
      async (method) => {
        const answer = await askedOf(await cutBy(wire, moment), method)
        expect(answer).toMatchObject({ code: 504, retryAfter: undefined })
        expect(answer.says).toContain('the API server may have carried it out')
      },
    )

    test.each(READS)(
      'is a 503 with Retry-After for a %s, which changes nothing (13.1)',
      async (method) => {
        const answer = await askedOf(await cutBy(wire, moment), method)
        expect(answer).toMatchObject({ code: 503, retryAfter: '1' })
      },
    )
  })
})

describe('a request that was not sent is a 503 with Retry-After (13.1)', () => {
  test.each(['POST', 'DELETE', 'GET'])('%s: nothing listens', async (method) => {
    const server = createNet()
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as AddressInfo
    await new Promise((resolve) => server.close(resolve))
    const { upstream } = await upstreamTo(`https://127.0.0.1:${port}`)
    expect(await askedOf(upstream, method)).toMatchObject({ code: 503, retryAfter: '1' })
  })

  test.each(['https', 'http'] as const)(
    'POST over %s: the connection is cut before the request is sent',
    async (scheme) => {
      // For https the handshake does not end; for http the port is closed.
      const server = createNet((socket) => socket.destroy())
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
      const { port } = server.address() as AddressInfo
      if (scheme === 'http') server.close()
      const { upstream } = await upstreamTo(`${scheme}://127.0.0.1:${port}`)
      expect(await askedOf(upstream, 'POST')).toMatchObject({ code: 503, retryAfter: '1' })
      server.close()
    },
  )
})
