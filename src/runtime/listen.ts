// Opening and closing the listening sockets of a process, with or without TLS.
import type { Server } from 'node:http'
import type { Server as TlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { addressText, type BindAddress } from './address.ts'

/**
 * Listens there.
 *
 * @returns the port
 * @throws Error that names the address when it can't be bound
 */
export async function listening(server: Server | TlsServer, address: BindAddress): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  server.once('error', (cause: NodeJS.ErrnoException) =>
    reject(new Error(`cannot listen on ${addressText(address)}: ${cause.code}`, { cause })),
  )
  server.listen({ port: address.port, ...(address.host === null ? {} : { host: address.host }) })
  server.once('listening', resolve)
  await promise
  return (server.address() as AddressInfo).port
}

/** Accepts no more connections; ends idle ones at once and the others after `withinMs` milliseconds. */
export async function closed(server: Server | TlsServer, withinMs: number): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  server.close(() => resolve())
  server.closeIdleConnections()
  const timer = setTimeout(() => server.closeAllConnections(), withinMs)
  await promise
  clearTimeout(timer)
}
