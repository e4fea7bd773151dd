import type { Server } from 'node:http'
import type { Server as TlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'

/** Where a server listens; host null means every address of the machine, port 0 any free port. */
export interface BindAddress {
  readonly host: string | null
  readonly port: number
}

const FORM = /^(?:\[([0-9A-Fa-f:.]+)\]|([^[\]:\s]*)):(\d{1,5})$/

/**
 * Parses a bind address as Go programs do: `:8080`, `127.0.0.1:8080`, `[::1]:8080`, and `0` for
 * no server (contract 8.1).
 *
 * @returns `off` for `0`; null when the text is malformed or the port above 65535
 */
export function parseBindAddress(text: string): BindAddress | 'off' | null {
  if (text === '0') return 'off'
  const [, ipv6, host = '', port] = FORM.exec(text) ?? []
  if (port === undefined || Number(port) > 65_535) return null
  return { host: (ipv6 ?? host) || null, port: Number(port) }
}

/** The address as text, in the form that parseBindAddress takes. */
export const addressText = ({ host, port }: BindAddress): string =>
  host?.includes(':') ? `[${host}]:${port}` : `${host ?? ''}:${port}`

// Opening and closing the listening sockets of a process, with or without TLS.

/**
 * Listens on an address.
 *
 * @returns the port
 * @throws Error that names the address when it can't be bound
 */
export async function listen(server: Server | TlsServer, address: BindAddress): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  server.once('error', (cause: NodeJS.ErrnoException) =>
    reject(new Error(`cannot listen on ${addressText(address)}: ${cause.code}`, { cause })),
  )
  server.listen({ port: address.port, ...(address.host === null ? {} : { host: address.host }) })
  server.once('listening', resolve)
  await promise
  return (server.address() as AddressInfo).port
}

/** Accepts no more connections; closes idle ones at once and others after `withinMs` milliseconds. */
export async function closeServer(
  server: Server | TlsServer,
  withinMs: number,
  cutting: () => void = () => undefined,
): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  server.close(() => resolve())
  server.closeIdleConnections()
  const timer = setTimeout(() => {
    cutting()
    server.closeAllConnections()
  }, withinMs)
  await promise
  clearTimeout(timer)
}
