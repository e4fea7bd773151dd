/** Where a server listens; host null means every address of the machine, port 0 any free port. */
export interface BindAddress {
  readonly host: string | null
  readonly port: number
}

const FORM = /^(?:\[([0-9A-Fa-f:.]+)\]|([^[\]:\s]*)):(\d{1,5})$/

/**
 * Reads a bind address as Go programs take it: `:8080`, `127.0.0.1:8080`, `[::1]:8080`, and `0` for
 * no server at all (contract 8.1).
 *
 * @returns `off` for `0`; null when the text is malformed or the port above 65535
 */
export function parseBindAddress(text: string): BindAddress | 'off' | null {
  if (text === '0') return 'off'
  const [, ipv6, host = '', port] = FORM.exec(text) ?? []
  if (port === undefined || Number(port) > 65_535) return null
  return { host: (ipv6 ?? host) || null, port: Number(port) }
}

/** The address as it was written. */
export const addressText = ({ host, port }: BindAddress): string =>
  host?.includes(':') ? `[${host}]:${port}` : `${host ?? ''}:${port}`
