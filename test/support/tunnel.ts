// What becomes of an upgrade where nobody looks at it: bytes, both ways, for as long as somebody has some.
import type { IncomingMessage } from 'node:http'
import { type Duplex, pipeline } from 'node:stream'
import { connect } from 'node:tls'

/** Sends the request on with these headers, names and values in turn, and then whatever comes from either end. */
export function tunnel(
  incoming: IncomingMessage,
  { socket, head }: { readonly socket: Duplex; readonly head: Buffer },
  onward: {
    readonly url: string
    readonly ca: string
    readonly target: string
    readonly headers: readonly string[]
  },
): void {
  const { hostname: host, port } = new URL(onward.url)
  const { target, headers, ca } = onward
  const other = connect({ host, port: Number(port), ca })
  const fields = headers.flatMap((name, at) =>
    at % 2 === 0 ? [`${name}: ${headers[at + 1]}`] : [],
  )
  other.write([`${incoming.method} ${target} HTTP/1.1`, ...fields, '', ''].join('\r\n'), 'latin1')
  other.write(head)
  pipeline(socket, other, () => undefined)
  pipeline(other, socket, () => undefined)
}
