// Streams of every kind by a client of sockets alone: when one ends is the time at which its socket ends, and no
// program delays it.
import { once } from 'node:events'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { connect } from 'node:tls'
import { afterAll } from 'vitest'
import { eventually } from '../../support/eventually.ts'
import type { Kubelet } from '../../../tools/kubelet/kubelet.ts'
import { runPod } from '../../support/node.ts'
import { createSpdyWriter } from '../../support/spdy-frames.ts'
import { SOON, type TestGateway, type UsableKey } from './test-gateway.ts'

/** Which pods the streams are of, and the port that port-forward leads to. */
export interface StreamPods {
  readonly namespace: string
  readonly port: number
}

/** A kind of stream. */
export interface StreamKind {
  readonly kind: string
  /** Whether the gateway can say why it ends the stream: SPDY and logs have no place for that. */
  readonly hasReason: boolean
  readonly method: 'GET' | 'POST'
  /** The path after that of the target. */
  readonly path: (pods: StreamPods) => string
  /** Header lines. */
  readonly headers: readonly string[]
  /** What to send after the head of the answer. */
  readonly begin: (pods: StreamPods) => Buffer
  /** What is received once the stream flows. */
  readonly flows: string
}

/** An open stream. */
export interface RawStream {
  readonly kind: StreamKind
  /** Everything received so far, one character per byte. */
  readonly received: () => string
  /** Resolves when its socket ends, with that time in epoch milliseconds. */
  readonly ended: Promise<number>
  readonly hasEnded: () => boolean
  readonly close: () => void
}

const BEGUN = 'it has begun'
const UPGRADE = ['Connection: Upgrade', 'Sec-WebSocket-Version: 13']
// The key is any 16 bytes.
const WEBSOCKET = [...UPGRADE, 'Upgrade: websocket', 'Sec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg==']
const SPDY = ['Connection: Upgrade', 'Upgrade: SPDY/3.1']
/** The socket ends with the answer. */
const LAST = ['Connection: close']
const NOTHING = (): Buffer => Buffer.alloc(0)

const COMMAND = ['sh', '-c', `echo ${BEGUN}; cat`]
const execPath = ({ namespace }: StreamPods): string => {
  const command = COMMAND.map((word) => `command=${encodeURIComponent(word)}`).join('&')
  return `/api/v1/namespaces/${namespace}/pods/talker/exec?${command}&stdin=true&stdout=true`
}
const forwardPath = ({ namespace, port }: StreamPods): string =>
  `/api/v1/namespaces/${namespace}/pods/talker/portforward?ports=${port}`

/** Streams of exec over SPDY: an error, and both of the command. */
function execStreams(): Buffer {
  const { open } = createSpdyWriter()
  const types = ['error', 'stdin', 'stdout']
  return Buffer.concat(types.map((streamtype, at) => open(2 * at + 1, { streamtype })))
}

/** Streams of port-forward over SPDY, for one connection. */
function forwardStreams({ port }: StreamPods): Buffer {
  const { open } = createSpdyWriter()
  const types = ['error', 'data']
  const headers = { port: `${port}`, requestid: '0' }
  return Buffer.concat(types.map((streamtype, at) => open(2 * at + 1, { streamtype, ...headers })))
}

/** One binary message of a client, which must be masked; this mask changes nothing. */
function message(bytes: Buffer): Buffer {
  const head = Buffer.alloc(8)
  head.writeUInt8(0x82, 0)
  head.writeUInt8(0x80 | 126, 1)
  head.writeUInt16BE(bytes.length, 2)
  return Buffer.concat([head, bytes])
}

/** All kinds of streams. */
export const STREAMS: readonly StreamKind[] = [
  {
    kind: 'exec over WebSocket',
    hasReason: true,
    method: 'GET',
    path: execPath,
    headers: [...WEBSOCKET, 'Sec-WebSocket-Protocol: v5.channel.k8s.io'],
    begin: NOTHING,
    flows: BEGUN,
  },
  {
    kind: 'exec over SPDY',
    hasReason: false,
    method: 'POST',
    path: execPath,
    headers: [...SPDY, 'X-Stream-Protocol-Version: v4.channel.k8s.io'],
    begin: execStreams,
    flows: BEGUN,
  },
  {
    kind: 'port-forward over WebSocket',
    hasReason: true,
    method: 'GET',
    path: forwardPath,
    headers: [...WEBSOCKET, 'Sec-WebSocket-Protocol: SPDY/3.1+portforward.k8s.io'],
    begin: (pods) => message(forwardStreams(pods)),
    flows: BEGUN,
  },
  {
    kind: 'port-forward over SPDY',
    hasReason: false,
    method: 'POST',
    path: forwardPath,
    headers: [...SPDY, 'X-Stream-Protocol-Version: portforward.k8s.io'],
    begin: forwardStreams,
    flows: BEGUN,
  },
  {
    kind: 'watch over WebSocket',
    hasReason: true,
    method: 'GET',
    path: ({ namespace }) => `/api/v1/namespaces/${namespace}/configmaps?watch=1`,
    headers: [...WEBSOCKET, 'Origin: https://console.example.com'],
    begin: NOTHING,
    flows: 'kube-root-ca.crt',
  },
  {
    kind: 'watch',
    hasReason: true,
    method: 'GET',
    path: ({ namespace }) => `/api/v1/namespaces/${namespace}/configmaps?watch=1`,
    headers: LAST,
    begin: NOTHING,
    flows: 'kube-root-ca.crt',
  },
  {
    kind: 'logs -f',
    hasReason: false,
    method: 'GET',
    path: ({ namespace }) => `/api/v1/namespaces/${namespace}/pods/talker/log?follow=true`,
    headers: LAST,
    begin: NOTHING,
    flows: BEGUN,
  },
]

/** Runs a pod that all kinds of streams can be of, and a server that port-forward leads to. */
export async function startStreamPods(
  { plane }: Pick<TestGateway, 'plane'>,
  node: Pick<Kubelet, 'nodeName'>,
  namespace: string,
): Promise<StreamPods> {
  const server = createServer((socket) => {
    // Clients leave in the middle of a connection.
    socket.on('error', () => undefined)
    socket.write(BEGUN)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  afterAll(() => server.close())
  const command = ['sh', '-c', `echo ${BEGUN}; exec sleep 100000`]
  await runPod(plane, node, { name: 'talker', namespace, command })
  return { namespace, port: (server.address() as AddressInfo).port }
}

/** How a stream is opened. */
interface OpenOptions {
  readonly key: Pick<UsableKey, 'token'>
  /** The path of the target. */
  readonly target: string
  readonly pods: StreamPods
  readonly userAgent?: string
}

/**
 * Opens a stream at the first gateway, and resolves when it flows.
 *
 * @throws Error with what came instead
 */
export async function openStream(
  { gateways, ca }: Pick<TestGateway, 'gateways' | 'ca'>,
  kind: StreamKind,
  { key, target, pods, userAgent = 'streams' }: OpenOptions,
): Promise<RawStream> {
  const { hostname: host, port } = new URL(gateways[0]?.url() ?? '')
  const socket = connect({ host, port: Number(port), ca })
  let received = ''
  let hasEnded = false
  const { promise: ended, resolve: end } = Promise.withResolvers<number>()
  const finish = (): void => {
    hasEnded = true
    end(Date.now())
  }
  socket.setEncoding('latin1').on('data', (part: string) => (received += part))
  socket.on('error', () => undefined)
  socket.once('end', finish)
  socket.once('close', finish)
  await once(socket, 'secureConnect')
  const head = [
    `${kind.method} ${target}${kind.path(pods)} HTTP/1.1`,
    'Host: gateway',
    `Authorization: Bearer ${key.token}`,
    `User-Agent: ${userAgent}`,
    ...kind.headers,
  ]
  socket.write(`${head.join('\r\n')}\r\n\r\n`)
  const said = (text: string) =>
    eventually(
      `${kind.kind} on ${target} says ${text}`,
      () => {
        if (received.includes(text)) return true
        throw new Error(received.slice(-1000))
      },
      SOON,
    )
  await said('\r\n\r\n')
  socket.write(kind.begin(pods))
  await said(kind.flows)
  return {
    kind,
    received: () => received,
    ended,
    hasEnded: () => hasEnded,
    close: () => socket.destroy(),
  }
}
