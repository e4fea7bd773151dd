// The parts of a request that an upstream passes on unchanged, and those that it refuses (contract 13.1).
import type { ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { finished } from 'node:stream/promises'
import { describe, expect, test } from 'vitest'
import type { UpstreamHeaders } from '../../../../src/kube/proxy/types.ts'
import { headersToSend } from '../../../../src/kube/proxy/sent-headers.ts'
import { ANN, WIRES, call, echo, startServerAndUpstream, textOf } from './upstream-server.ts'

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']
/** More than Node takes by default, which is 16 KiB. */
const LONG = 'w'.repeat(60_000)
const streamed = (text: string): Readable => Readable.from([Buffer.from(text)])

describe.each(WIRES)('over %s', (wire) => {
  test('method, path and query arrive unchanged, behind the prefix of the server', async () => {
    const { upstream } = await startServerAndUpstream(wire, echo, { prefix: '/k8s/clusters/c/' })
    const path = '/api/v1/a%2Fb/%C3%A9?x=%20&x=1'
    const answer = await upstream.send(call({ path }))
    expect(await textOf(answer)).toBe(`GET /k8s/clusters/c${path} `)
  })

  test('headers arrive, repeated ones as separate values, with our credential (A6)', async () => {
    let raw: readonly string[] = []
    const { upstream } = await startServerAndUpstream(wire, (incoming, outgoing) => {
      raw = incoming.rawHeaders
      outgoing.end()
    })
    await upstream.send(call({ headers: { 'user-agent': 'kubectl' }, impersonation: ANN }))
    const pairs = raw.flatMap((name, at) => (at % 2 === 0 ? [`${name}: ${raw[at + 1]}`] : []))
    expect(pairs.map((pair) => pair.toLowerCase())).toEqual(
      expect.arrayContaining([
        'user-agent: kubectl',
        'impersonate-user: ann',
        'impersonate-group: a',
        'impersonate-group: b',
        'impersonate-extra-platform.sh%2faccess-key: key-1',
        'authorization: bearer our-own',
      ]),
    )
  })

  test.each(
    METHODS.flatMap((method) => [
      { method, as: 'buffer' },
      { method, as: 'stream' },
    ]),
  )('a body is framed on $method, given as $as (A11)', async ({ method, as }) => {
    const bodies: string[] = []
    const { upstream, server } = await startServerAndUpstream(wire, (incoming, outgoing) => {
      void buffer(incoming).then((body) => {
        bodies.push(body.toString())
        outgoing.end()
      })
    })
    // Without framing a server would read this as the next request.
    const text = 'GET /stolen HTTP/1.1\r\nhost: x\r\n\r\n'
    const body = as === 'stream' ? streamed(text) : Buffer.from(text)
    await textOf(await upstream.send(call({ method, body })))
    await textOf(await upstream.send(call({ path: '/next' })))
    expect(bodies).toEqual([text, ''])
    expect(server.received).toEqual([`${method} /`, 'GET /next'])
  })

  test.each([301, 302, 307, 308])(
    'a redirect %i is an answer, and is not followed (A9)',
    async (code) => {
      const { upstream, server } = await startServerAndUpstream(wire, (_, outgoing) => {
        outgoing.writeHead(code, { location: '/elsewhere' })
        outgoing.end('moved')
      })
      const answer = await upstream.send(call())
      expect([answer.status, answer.headers['location']]).toEqual([code, '/elsewhere'])
      expect(await textOf(answer)).toBe('moved')
      expect(server.received).toEqual(['GET /'])
    },
  )

  test('the answers arrive without a body, with long headers, with trailers, and after an informational response', async () => {
    const acts: Readonly<Record<string, (outgoing: ServerResponse) => void>> = {
      '/204': (outgoing) => void outgoing.writeHead(204).end(),
      '/304': (outgoing) => void outgoing.writeHead(304, { etag: '"x"' }).end(),
      '/long': (outgoing) => void outgoing.writeHead(200, { warning: LONG }).end('ok'),
      '/hints': (outgoing) => {
        outgoing.writeEarlyHints({ link: '</a>; rel=preload' })
        outgoing.end('ok')
      },
      '/trailers': (outgoing) => {
        outgoing.writeHead(200, { trailer: 'x-late' })
        outgoing.write('ok')
        outgoing.addTrailers({ 'x-late': '1' })
        outgoing.end()
      },
    }
    const { upstream } = await startServerAndUpstream(wire, ({ url = '' }, outgoing) =>
      acts[url]?.(outgoing),
    )
    const seen: unknown[] = []
    for (const path of Object.keys(acts)) {
      const answer = await upstream.send(call({ path }))
      const text = await textOf(answer)
      seen.push([path, answer.status, text, String(answer.headers['warning'] ?? '').length])
    }
    expect(seen).toEqual([
      ['/204', 204, '', 0],
      ['/304', 304, '', 0],
      ['/long', 200, 'ok', LONG.length],
      ['/hints', 200, 'ok', 0],
      ['/trailers', 200, 'ok', 0],
    ])
  })

  test('the maximum of groups arrives, with the longest names', async () => {
    let groups = 0
    const { upstream } = await startServerAndUpstream(wire, ({ rawHeaders }, outgoing) => {
      groups = rawHeaders.filter((name) => name.toLowerCase() === 'impersonate-group').length
      outgoing.end()
    })
    const names = Array.from({ length: 256 }, (_, n) => `${n}`.padEnd(269, 'g'))
    await upstream.send(call({ impersonation: { ...ANN, 'impersonate-group': names } }))
    expect(groups).toBe(256)
  })
})

test.each(['https', 'http'] as const)(
  'chunks that arrive together pass on together, over %s',
  async (wire) => {
    const CHUNKS = 200
    let sendRest: (() => void) | null = null
    const { upstream } = await startServerAndUpstream(wire, (_, outgoing) => {
      outgoing.write('first ')
      // In one turn: Node sends them with one write.
      sendRest = () => {
        for (let n = 0; n < CHUNKS; n += 1) outgoing.write('chunk ')
        outgoing.end()
      }
    })
    const { body } = await upstream.send(call())
    const pieces: string[] = []
    body.on('data', (piece: Buffer) => {
      pieces.push(piece.toString())
      sendRest?.()
      sendRest = null
    })
    await finished(body)
    expect(pieces.join('')).toBe(`first ${'chunk '.repeat(CHUNKS)}`)
    // One; a few where the kernel splits what was written.
    expect(pieces.length).toBeLessThan(CHUNKS / 10)
  },
)

describe('an upstream refuses headers that its callers must not pass on (A1, A2, A6)', () => {
  const REFUSED: readonly UpstreamHeaders[] = [
    { authorization: 'Bearer x' },
    { Authorization: 'Bearer x' },
    { connection: 'close' },
    { 'content-length': '1' },
    { 'transfer-encoding': 'chunked' },
    { te: 'trailers' },
    { upgrade: 'h2c' },
    { 'http2-settings': '' },
    { 'proxy-authorization': 'x' },
    { host: 'elsewhere' },
    { ':path': '/elsewhere' },
    { 'impersonate-user': 'root' },
    { 'Impersonate-User': 'root' },
    { impersonate_user: 'root' },
    { 'impersonate-extra-%46oo': 'x' },
    { 'x y': '1' },
    { '': '1' },
  ]
  test.each(REFUSED)('%o', (headers) => {
    expect(() => headersToSend({ headers, impersonation: ANN }, {})).toThrow(
      /must not be passed on/,
    )
  })

  test.each<{ name: string; impersonation: Record<string, string | string[]> }>([
    { name: 'no user', impersonation: { 'impersonate-extra-a': 'b' } },
    { name: 'a blank user', impersonation: { ...blank(' ') } },
    { name: 'a user of tabs', impersonation: { ...blank('\t') } },
    { name: 'a user of a no-break space', impersonation: { ...blank('\u00a0') } },
    { name: 'a user of invisible characters', impersonation: { ...blank('\u200b') } },
    { name: 'two users', impersonation: { ...blank('x'), 'impersonate-user': ['a', 'b'] } },
    { name: 'no extra', impersonation: { 'impersonate-user': 'ann' } },
    { name: 'something else', impersonation: { ...blank('ann'), authorization: 'x' } },
  ])('an impersonation with $name (A3)', ({ impersonation }) => {
    const bad = impersonation as typeof ANN
    expect(() => headersToSend({ headers: {}, impersonation: bad }, {})).toThrow(/names a user/)
  })

  test('a credential that itself impersonates a user', () => {
    const credential = { 'Impersonate-User': 'bob' }
    expect(() => headersToSend({ headers: {}, impersonation: ANN }, credential)).toThrow(
      /kubeconfig/,
    )
  })

  test('an impersonation that changes after it has passed is checked again (A3)', () => {
    const impersonation = { ...ANN }
    const send = () => headersToSend({ headers: {}, impersonation }, {})
    expect(send()).toMatchObject({ 'impersonate-user': 'ann' })
    Object.assign(impersonation, { 'impersonate-user': ' ' })
    expect(send).toThrow(/names a user/)
  })

  test('a forbidden header after any number of others (A2)', () => {
    const send = (name: string) =>
      headersToSend({ headers: { [name]: 'x' }, impersonation: ANN }, {})
    for (let at = 0; at < 500; at += 1) expect(send(`x-${at}`)).toMatchObject({ [`x-${at}`]: 'x' })
    for (let tries = 0; tries < 2; tries += 1)
      expect(() => send('impersonate-uid')).toThrow(/must not be passed on/)
  })

  test('another credential of the same names has its own headers', () => {
    for (const token of ['one', 'two'])
      expect(
        headersToSend({ headers: {}, impersonation: ANN }, { Authorization: token }),
      ).toMatchObject({ authorization: token })
  })

  test('our own headers are added, with lower-case names', () => {
    const headers = { accept: 'a' }
    expect(headersToSend({ headers, impersonation: null }, { Authorization: 'Bearer x' })).toEqual({
      accept: 'a',
      authorization: 'Bearer x',
    })
  })
})

function blank(user: string): Record<string, string> {
  return { 'impersonate-user': user, 'impersonate-extra-a': 'b' }
}
