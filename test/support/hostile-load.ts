// What the answers of a hostile target do to a gateway or a direct endpoint: its memory, other callers, and the next request.
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { type TLSSocket, connect } from 'node:tls'
import { ask } from './gateway-process.ts'
import type { HostileAnswer, HostileAsk, HostileWire } from './hostile-answers.ts'
import type { HostileTarget } from './hostile-target.ts'

/** The server under attack, and another caller who must not notice. */
export interface FrontDoor {
  readonly pid: number
  readonly url: string
  readonly ca: string
  /** The path of the hostile target on each wire. */
  readonly pathOf: (wire: HostileWire) => string
  /** A credential without a scope; its requests are answered by the hostile target. */
  readonly token: string
  /** A credential with a scope: self reviews of it are read here. */
  readonly scopedToken: string
  /** Another caller, and what he asks an honest API server for. */
  readonly other: { readonly token: string; readonly path: string }
  readonly target: HostileTarget
}

/** The measurements during the hostile answers. */
export interface Endured {
  /** How much more memory the process had at most, in MiB. */
  readonly grownMiB: number
  /** The codes of the other caller's answers; 0 = none. */
  readonly otherCodes: readonly number[]
  /** How long those took; milliseconds, sorted. */
  readonly otherMs: readonly number[]
  /** The bytes that each hostile request got, up to 64 KiB. */
  readonly received: readonly string[]
  /** The bodies of requests that followed. */
  readonly next: readonly string[]
}

/** Requests at once; every other client reads nothing. */
const REQUESTS = 4
const BEGINNING = 64 * 1024
const NEXT_REQUESTS = 3

const UPGRADE = [
  'Connection: Upgrade',
  'Upgrade: websocket',
  'Sec-WebSocket-Version: 13',
  'Sec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg==',
  'Sec-WebSocket-Protocol: v5.channel.k8s.io',
]
const REVIEW = '{"apiVersion":"authorization.k8s.io/v1","kind":"SelfSubjectAccessReview","spec":{}}'
const REVIEWS = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews'
const POD = '/api/v1/namespaces/a/pods/b'

const REQUESTS_OF: Readonly<
  Record<HostileAsk, { method: string; path: string; headers?: readonly string[]; body?: string }>
> = {
  read: { method: 'GET', path: '/api/v1/namespaces/a/configmaps?limit=5' },
  watch: { method: 'GET', path: '/api/v1/namespaces/a/configmaps?watch=1' },
  logs: { method: 'GET', path: `${POD}/log?follow=true` },
  write: { method: 'POST', path: '/api/v1/namespaces/a/configmaps?x=1', body: '{}' },
  review: { method: 'POST', path: `${REVIEWS}?x=1`, body: REVIEW },
  exec: { method: 'GET', path: `${POD}/exec?command=sh`, headers: UPGRADE },
}

/** Sends the requests, and measures for this time. */
export async function endure(
  front: FrontDoor,
  answer: HostileAnswer,
  forMs: number,
): Promise<Endured> {
  await front.target.choose(answer.wire === 'frames' ? answer.name : null)
  const beforeMiB = memoryMiB(front.pid)
  const clients = await Promise.all(
    Array.from({ length: REQUESTS }, (_, at) => openClient(front, answer, at % 2 === 0)),
  )
  const end = performance.now() + forMs
  let mostMiB = beforeMiB
  const others: { readonly code: number; readonly ms: number }[] = []
  while (performance.now() < end) {
    others.push(await asOther(front))
    mostMiB = Math.max(mostMiB, memoryMiB(front.pid))
    await delay(10)
  }
  for (const { socket } of clients) socket.destroy()
  await front.target.choose(null)
  return {
    grownMiB: mostMiB - beforeMiB,
    otherCodes: others.map(({ code }) => code),
    otherMs: others.map(({ ms }) => ms).toSorted((a, b) => a - b),
    received: clients.map(({ received }) => received()),
    next: await nextBodies(front, answer.wire),
  }
}

async function openClient(front: FrontDoor, answer: HostileAnswer, reads: boolean) {
  const { hostname: host, port } = new URL(front.url)
  const socket: TLSSocket = connect({ host, port: Number(port), ca: front.ca })
  socket.on('error', () => undefined)
  await once(socket, 'secureConnect')
  const { method, path, headers = [], body = '' } = REQUESTS_OF[answer.asks]
  const token = answer.asks === 'review' ? front.scopedToken : front.token
  const head = [
    `${method} ${front.pathOf(answer.wire)}${path}&hostile=${encodeURIComponent(answer.name)} HTTP/1.1`,
    'Host: gateway',
    `Authorization: Bearer ${token}`,
    ...(body === '' ? [] : ['Content-Type: application/json', `Content-Length: ${body.length}`]),
    ...headers,
  ]
  let received = ''
  if (reads)
    socket.on('data', (piece: Buffer) => {
      if (received.length < BEGINNING) received += piece.toString('latin1')
    })
  socket.write(`${head.join('\r\n')}\r\n\r\n${body}`)
  return { socket, received: () => received }
}

async function asOther({ url, ca, other }: FrontDoor): Promise<{ code: number; ms: number }> {
  const startedMs = performance.now()
  const headers = { authorization: `Bearer ${other.token}` }
  const { code } = await ask(`${url}${other.path}`, { ca, headers }).catch(() => ({ code: 0 }))
  return { code, ms: performance.now() - startedMs }
}

/** Requests that follow on the connections that the hostile answers came by. */
async function nextBodies(front: FrontDoor, wire: HostileWire): Promise<readonly string[]> {
  const headers = { authorization: `Bearer ${front.token}` }
  const bodies: string[] = []
  for (let count = 0; count < NEXT_REQUESTS; count += 1) {
    const url = `${front.url}${front.pathOf(wire)}/version`
    const answer = await ask(url, { ca: front.ca, headers }).catch((error: unknown) => ({
      body: String(error),
    }))
    bodies.push(answer.body)
  }
  return bodies
}

const memoryMiB = (pid: number): number =>
  Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024
