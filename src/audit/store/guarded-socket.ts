// Sockets to the data store: to no address that 9.5 forbids, and ended when nothing passes for a while (contract 22.3).
import { lookup as resolve } from 'node:dns'
import { connect, type Socket } from 'node:net'
import { addressFault, parseIpAddress } from '../../domain/ip-address.ts'
import { LOOPBACK } from '../../domain/settings/store-endpoint.ts'
import { createAddressGuard } from '../../runtime/address-guard.ts'

/** How long a connection is silent before it ends, with a statement under way, in milliseconds. */
const SILENCE_TIMEOUT_MS = 60_000

const guard = createAddressGuard((text) => {
  const address = parseIpAddress(text)
  return address === null ? null : addressFault(address, { allowed: LOOPBACK, denied: [] })
}, resolve)

/** Begins to connect. A refused address ends the socket with AddressRefused. */
export function connectToStore(host: string, port: number): Socket {
  guard.checkHost(host)
  const socket = connect({ host, port, lookup: guard.lookup, keepAlive: true, noDelay: true })
  socket.setTimeout(SILENCE_TIMEOUT_MS, () => {
    socket.destroy(Object.assign(new Error('nothing passes'), { code: 'ETIMEDOUT' }))
  })
  return socket
}
