// A registry that clients reach as https://registry.example.com, as the pages call it: a program that keeps images and
// charts in memory, TLS before it, and a proxy that leads every client there and nowhere else.
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer, request } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { type AddressInfo, connect, type Server, type Socket } from 'node:net'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { createAuthority, issueServing } from '../../../tools/control-plane/certificates.ts'

const HOST = 'registry.example.com'
const MANIFEST = 'application/vnd.oci.image.manifest.v1+json'

/** A registry, while its test runs. */
export interface Registry {
  /** Variables of a process that reaches it; every other host is refused. */
  readonly env: Readonly<Record<string, string>>
  /** The hosts that clients have asked for, each once. */
  asked(): readonly string[]
  /** Puts an image without layers there. @returns its digest */
  pushImage(repository: string): Promise<string>
  [Symbol.asyncDispose](): Promise<void>
}

/** Starts the registry. @param program its path */
export async function startRegistry(program: string): Promise<Registry> {
  const storage = spawn(program, ['-port', '0'], { stdio: ['ignore', 'ignore', 'pipe'] })
  const [line] = (await once(createInterface(storage.stderr), 'line')) as [string]
  const port = Number(/serving on port (\d+)/.exec(line)?.[1])
  const authority = createAuthority('registry')
  const tls = await listening(tlsBefore(port, authority))
  const asked = new Set<string>()
  const proxy = await listening(proxyTo(portOf(tls), asked))
  const folder = mkdtempSync(join(tmpdir(), 'registry-'))
  writeFileSync(join(folder, 'ca.crt'), authority.certificatePem)
  return {
    env: {
      HTTPS_PROXY: `http://127.0.0.1:${portOf(proxy)}`,
      SSL_CERT_FILE: join(folder, 'ca.crt'),
    },
    asked: () => [...asked].toSorted(),
    pushImage: (repository) => pushImage(`http://127.0.0.1:${port}/v2/${repository}`),
    async [Symbol.asyncDispose]() {
      proxy.close()
      tls.close()
      storage.kill()
      await once(storage, 'exit')
      rmSync(folder, { recursive: true })
    },
  }
}

const portOf = (server: Server): number => (server.address() as AddressInfo).port

async function listening<S extends Server>(server: S): Promise<S> {
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return server
}

/** TLS for the registry's name before the port of its program. */
function tlsBefore(port: number, authority: ReturnType<typeof createAuthority>): Server {
  const { certificatePem: cert, keyPem: key } = issueServing(authority, [HOST])
  return createTlsServer({ cert, key }, (asked, answer) => {
    const { method, url, headers } = asked
    const passed = request({ host: '127.0.0.1', port, method, path: url, headers }, (got) => {
      answer.writeHead(got.statusCode ?? 502, got.headers)
      got.pipe(answer)
    })
    passed.on('error', () => answer.destroy())
    asked.pipe(passed)
  })
}

/** A proxy that connects to this port for the registry's name, and refuses every other. */
function proxyTo(port: number, asked: Set<string>): Server {
  const proxy = createServer((_, answer) => answer.writeHead(403).end())
  return proxy.on('connect', ({ url = '' }, client: Socket) => {
    const [host = ''] = url.split(':')
    asked.add(host)
    client.on('error', () => client.destroy())
    if (host !== HOST) {
      client.end('HTTP/1.1 403 Forbidden\r\n\r\n')
      return
    }
    const server = connect(port, '127.0.0.1', () => {
      client.write('HTTP/1.1 200 OK\r\n\r\n')
      server.pipe(client).pipe(server)
    })
    server.on('error', () => client.destroy())
  })
}

const digestOf = (text: string): string =>
  `sha256:${createHash('sha256').update(text).digest('hex')}`

async function pushImage(url: string): Promise<string> {
  const rootfs = { type: 'layers', diff_ids: [] }
  const config = JSON.stringify({ architecture: 'amd64', os: 'linux', rootfs, config: {} })
  const digest = digestOf(config)
  await sent(`${url}/blobs/uploads/?digest=${digest}`, 'POST', config)
  const mediaType = 'application/vnd.oci.image.config.v1+json'
  const manifest = JSON.stringify({
    schemaVersion: 2,
    mediaType: MANIFEST,
    config: { mediaType, digest, size: config.length },
    layers: [],
  })
  await sent(`${url}/manifests/${digestOf(manifest)}`, 'PUT', manifest)
  return digestOf(manifest)
}

async function sent(url: string, method: string, body: string): Promise<void> {
  const { status } = await fetch(url, { method, body, headers: { 'content-type': MANIFEST } })
  if (status !== 201) throw new Error(`${method} ${url} is answered by ${status}`)
}
