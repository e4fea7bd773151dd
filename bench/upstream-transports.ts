// The ways to reach the API server that bench/upstream.ts compares: each sends a GET and hands out the
// body as it comes.
import { Agent, request as requestTls } from 'node:https'
import type { Readable } from 'node:stream'
import { Pool } from 'undici'
import { type Connection, type OpenConnection, connect } from '../src/kube/client/connection.ts'
import { createUpstream } from '../src/kube/proxy/upstream.ts'
import { systemClock } from '../src/runtime/clock.ts'

/** A GET; resolves with the head. Aborting ends it. */
export type Get = (path: string, signal: AbortSignal) => Promise<Readable>

type Transport = (connection: Connection, open: OpenConnection) => Get

const UNBOUNDED = { headersTimeout: 0, bodyTimeout: 0 }

/** By name; `product` is what the gateway uses. */
export const TRANSPORTS: Readonly<Record<string, Transport>> = {
  'undici HTTP/1.1':
    (_, { forwards, headers }) =>
    async (path, signal) =>
      (await forwards.request({ method: 'GET', path, headers, signal, ...UNBOUNDED })).body,

  'undici HTTP/2': (_, { origin, tls, headers }) => {
    const socket = tls as NonNullable<Pool.Options['connect']>
    const pool = new Pool(origin, { allowH2: true, connect: socket, ...UNBOUNDED })
    return async (path, signal) =>
      (await pool.request({ method: 'GET', path, headers, signal })).body
  },

  'node:https agent': (_, { origin, tls, headers }) => {
    const agent = new Agent({ keepAlive: true, ...(tls as object) })
    return (path, signal) =>
      new Promise((resolve, reject) => {
        const url = new URL(path, origin)
        const sent = requestTls(url, { agent, headers: { ...headers }, signal })
        sent.once('response', resolve).on('error', reject).end()
      })
  },

  product: (connection) => {
    const observer = { responded: () => undefined }
    const upstream = createUpstream({ connection, clock: systemClock(), observer })
    return async (path, signal) => {
      const call = { method: 'GET', path, headers: {}, impersonation: null, body: null }
      return (await upstream.send({ ...call, isLongRunning: true, signal })).body
    }
  },
}

/** One of them, to the server of the kubeconfig. */
export async function openTransport(name: string, kubeconfig: string): Promise<Get> {
  const transport = TRANSPORTS[name]
  if (!transport) throw new Error(`no transport is called ${name}`)
  const connection = await connect({ kind: 'files', paths: [kubeconfig] }, systemClock())
  return transport(connection, await connection.open())
}
