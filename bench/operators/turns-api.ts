// The API server of turns.ts, in a process of its own so that its work is not measured: access keys
// in memory, one watch of them, and applies of their status.
import { type IncomingMessage, type ServerResponse, createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import type { OwnedAccessKeyObject } from '../../src/domain/accesskey/access-key.ts'
import { settledKeys, withStatus } from '../../test/support/key-controller-at-scale.ts'

const DAY_SECONDS = 86_400

const objects = new Map<string, Buffer>()
let revision = 0
let watch: ServerResponse | null = null

const lineOf = (type: string, object: string): string => `{"type":"${type}","object":${object}}\n`

function fill(count: number): void {
  for (const key of settledKeys(count, Date.now(), () => DAY_SECONDS))
    objects.set(key.metadata.name, Buffer.from(JSON.stringify(key)))
  revision = count
}

function list(response: ServerResponse): void {
  watch?.destroy()
  watch = response
  response.writeHead(200, { 'content-type': 'application/json' })
  for (const object of objects.values()) response.write(lineOf('ADDED', object.toString()))
  const metadata = {
    resourceVersion: String(revision),
    annotations: { 'k8s.io/initial-events-end': 'true' },
  }
  response.write(lineOf('BOOKMARK', JSON.stringify({ metadata })))
}

async function apply(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { metadata, status } = (await json(request)) as OwnedAccessKeyObject
  const stored = objects.get(metadata.name)?.toString() ?? 'null'
  const before = JSON.parse(stored) as OwnedAccessKeyObject
  revision += 1
  const after = JSON.stringify(withStatus(before, status ?? {}, String(revision)))
  objects.set(metadata.name, Buffer.from(after))
  response.writeHead(200, { 'content-type': 'application/json' }).end(after)
  watch?.write(lineOf('MODIFIED', after))
}

const server = createServer((request, response) => {
  if (request.method === 'PATCH') void apply(request, response)
  else list(response)
})

fill(Number(process.argv[2]))
server.listen(0, '127.0.0.1', () => {
  process.send?.((server.address() as AddressInfo).port)
})
// The only message deletes all keys without any watch event.
process.once('message', () => objects.clear())
