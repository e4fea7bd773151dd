// An upstream that is no API server: any HTTPS server, for which this process has no credential.
import { Pool } from '../../../../src/kube/client/undici.ts'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { UpstreamServer } from '../../../../src/kube/proxy/types.ts'
import { createUpstream } from '../../../../src/kube/proxy/upstream.ts'
import { systemClock } from '../../../../src/runtime/clock.ts'
import { ANN, TLS, WIRES, type Act, call, startUpstreamServer, textOf } from './upstream-server.ts'

/** An upstream to a plain server, and the headers that it got. */
async function plain(wire: (typeof WIRES)[number], status: number, body = 'page') {
  const got: (string | undefined)[] = []
  const act: Act = (incoming, outgoing) => {
    got.push(...Object.keys(incoming.headers).filter((name) => !name.startsWith(':')))
    outgoing.writeHead(status, { 'content-type': 'text/html' }).end(body)
  }
  const { url } = await startUpstreamServer(wire, act)
  const tls = { ca: TLS.ca }
  const forwards = new Pool(url, { connect: { ...tls, allowH2: false } })
  const opened: boolean[] = []
  const connection: UpstreamServer = {
    isWithoutAccount: true,
    prefix: '/sign-in',
    open: async (refused = false) => {
      opened.push(refused)
      return { forwards, origin: url, tls, headers: {} }
    },
  }
  const upstream = createUpstream({
    connection,
    clock: systemClock(),
    observer: { responded: () => undefined },
  })
  onTestFinished(async () => {
    await upstream.close()
    await forwards.destroy()
  })
  return { upstream, got, opened }
}

describe.each(WIRES)('a server without a credential, over %s,', (wire) => {
  test.each([200, 302, 401, 403])('answers %i itself, and is asked once', async (status) => {
    const body = 'User "system:anonymous" cannot get'
    const { upstream, opened } = await plain(wire, status, body)
    const answer = await upstream.send(call({ path: '/page' }))
    expect({ status: answer.status, text: await textOf(answer) }).toEqual({ status, text: body })
    expect(opened).toEqual([false])
  })

  test('gets the headers of the call, and none of this process', async () => {
    const { upstream, got } = await plain(wire, 200)
    await textOf(await upstream.send(call({ headers: { accept: 'text/html' } })))
    const framing = new Set(['host', 'connection'])
    expect(got.filter((name) => !framing.has(name ?? ''))).toEqual(['accept'])
  })
})

test('an API server that refuses an empty token is asked again with the one that is there now', async () => {
  const { url } = await startUpstreamServer('h2', (incoming, outgoing) =>
    outgoing.writeHead(incoming.headers.authorization === 'Bearer t' ? 200 : 401).end('answer'),
  )
  const tls = { ca: TLS.ca }
  const forwards = new Pool(url, { connect: { ...tls, allowH2: false } })
  const opened: boolean[] = []
  const upstream = createUpstream({
    connection: {
      prefix: '',
      open: async (refused = false) => {
        opened.push(refused)
        return { forwards, origin: url, tls, headers: refused ? { authorization: 'Bearer t' } : {} }
      },
    },
    clock: systemClock(),
    observer: { responded: () => undefined },
  })
  onTestFinished(async () => {
    await upstream.close()
    await forwards.destroy()
  })
  const answer = await upstream.send(call({ path: '/api' }))
  expect([answer.status, await textOf(answer)]).toEqual([200, 'answer'])
  expect(opened).toEqual([false, true])
})

test('an impersonated request is refused by a server without a credential as by an API server', async () => {
  const { upstream } = await plain('https', 401)
  await expect(upstream.send(call({ impersonation: ANN }))).rejects.toThrow(/credential/)
})
