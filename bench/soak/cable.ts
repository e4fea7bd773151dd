// A TCP connection to a server that can be cut: TLS passes as it is, so credentials of every kind do.
import { readFile, writeFile } from 'node:fs/promises'
import { type AddressInfo, type Socket, connect, createServer } from 'node:net'

/** A connection to a server through this process. */
export interface Cable {
  /** Writes a kubeconfig beside the given one, for the same server by way of the cable. */
  readonly kubeconfig: (of: string) => Promise<string>
  /** Breaks every open connection. */
  readonly cut: () => void
  readonly close: () => Promise<void>
}

/** Lays a cable to a server of this machine, such as `https://127.0.0.1:20123`. */
export async function layCable(url: string): Promise<Cable> {
  const { hostname, port, host } = new URL(url)
  const open = new Set<Socket>()
  const server = createServer((near) => {
    const far = connect(Number(port), hostname)
    for (const socket of [near, far]) {
      open.add(socket)
      socket.setNoDelay()
      socket.once('close', () => {
        open.delete(socket)
        near.destroy()
        far.destroy()
      })
      // A broken connection closes, too.
      socket.on('error', () => undefined)
    }
    near.pipe(far).pipe(near)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const ownPort = (server.address() as AddressInfo).port
  const cut = (): void => {
    for (const socket of open) socket.destroy()
  }
  return {
    kubeconfig: async (of) => {
      const path = `${of}.by-${ownPort}`
      const text = await readFile(of, 'utf8')
      await writeFile(path, text.replaceAll(host, `127.0.0.1:${ownPort}`), { mode: 0o600 })
      return path
    },
    cut,
    close: async () => {
      const closed = new Promise((resolve) => server.close(resolve))
      cut()
      await closed
    },
  }
}
