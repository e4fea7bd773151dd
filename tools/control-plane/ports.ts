import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { readIfThere, replaceFile } from './exclusive-file.ts'

/** The ports of a control plane on 127.0.0.1. */
export interface Ports {
  readonly apiServer: number
  readonly controllerManager: number
  readonly etcdClient: number
  readonly etcdPeer: number
}

/**
 * Below the ports that Linux (32768 and up) and macOS (49152 and up) give to outgoing connections: a
 * client that keeps dialling a stopped API server could else be given the very port as its own.
 */
const LOWEST = 20_000
const HIGHEST = 30_000

/**
 * The ports that the file remembers when all of them are free, else four others, which the file then
 * remembers; they are free at this moment.
 */
export async function choosePorts(file: string, log: (line: string) => void): Promise<Ports> {
  const text = await readIfThere(file)
  if (text !== null) {
    const last = JSON.parse(text) as Ports
    if (await areFree(last)) return last
    log(`a port of the last run is in use (${text}): copied kubeconfigs need a new one`)
  }
  const ports = await freePorts()
  await replaceFile(file, JSON.stringify(ports))
  return ports
}

/**
 * The port that the file remembers when it is free, else another, which it then remembers.
 *
 * @param log called when the port of the last run is not free
 */
export async function choosePort(file: string, log: (line: string) => void): Promise<number> {
  const last = Number(await readIfThere(file))
  if (last > 0 && (await isFree(last))) return last
  const { apiServer: port } = await freePorts()
  if (last > 0)
    log(
      `port ${last} of the last run (${file}) is in use, this time it is ${port}: copied kubeconfigs need it`,
    )
  await replaceFile(file, String(port))
  return port
}

async function freePorts(): Promise<Ports> {
  const found = new Set<number>()
  while (found.size < 4) {
    const port = randomInt(LOWEST, HIGHEST)
    if (await isFree(port)) found.add(port)
  }
  const [apiServer = 0, controllerManager = 0, etcdClient = 0, etcdPeer = 0] = found
  return { apiServer, controllerManager, etcdClient, etcdPeer }
}

async function areFree(ports: Ports): Promise<boolean> {
  for (const port of Object.values(ports) as readonly number[]) {
    if (!(await isFree(port))) return false
  }
  return true
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer()
  server.listen({ port, host: '127.0.0.1', exclusive: true })
  try {
    await once(server, 'listening')
    return true
  } catch {
    return false
  } finally {
    server.close()
  }
}
