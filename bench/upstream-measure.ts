// Measures one transport, in a process of its own: argv is its name, a kubeconfig and the number of
// watches. Prints the figures as one line of JSON.
import { readFileSync, readdirSync, readlinkSync } from 'node:fs'
import { once } from 'node:events'
import { type Get, openTransport } from './upstream-transports.ts'

/** The figures of a transport. */
export interface Figures {
  readonly getsPerSecond: number
  readonly cpuMsPerGet: number
  readonly listMBPerSecond: number
  readonly cpuMsPerListedMB: number
  /** More memory in this process for each open watch, and connections for all of them. */
  readonly kBPerWatch: number
  readonly sockets: number
  readonly secondsToOpen: number
  /** Time of a small GET while all watches are open. */
  readonly getMsBesideWatches: number
}

const GETS = 6000
const AT_ONCE = 64
const LISTS = 60
const LISTS_AT_ONCE = 4
const LIST = '/api/v1/namespaces/bench/configmaps'
const SMALL = '/api/v1/namespaces/default'
const never = new AbortController().signal

async function drain(get: Get, path: string): Promise<number> {
  const body = await get(path, never)
  let bytes = 0
  for await (const piece of body as AsyncIterable<Buffer>) bytes += piece.length
  return bytes
}

/** Makes `count` calls, `atOnce` at a time. Returns the sum of their results, and the time and CPU that they took. */
async function many(count: number, atOnce: number, call: () => Promise<number>) {
  const cpu = process.cpuUsage()
  const startMs = performance.now()
  let sum = 0
  let left = count
  const worker = async (): Promise<void> => {
    while (left > 0) {
      left -= 1
      sum += await call()
    }
  }
  await Promise.all(Array.from({ length: atOnce }, worker))
  const { user, system } = process.cpuUsage(cpu)
  return { sum, seconds: (performance.now() - startMs) / 1000, cpuMs: (user + system) / 1000 }
}

function residentKB(): number {
  globalThis.gc?.()
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync('/proc/self/status', 'utf8'))?.[1])
}

function sockets(): number {
  const links = readdirSync('/proc/self/fd').map((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`)
    } catch {
      return ''
    }
  })
  return links.filter((link) => link.startsWith('socket:')).length
}

async function openWatches(get: Get, count: number): Promise<AbortController> {
  const abort = new AbortController()
  const path =
    '/api/v1/namespaces/default/configmaps?watch=true&resourceVersion=0&fieldSelector=metadata.name%3Dnone'
  for (let open = 0; open < count; open += AT_ONCE) {
    const size = Math.min(AT_ONCE, count - open)
    const bodies = await Promise.all(Array.from({ length: size }, () => get(path, abort.signal)))
    for (const body of bodies) body.on('error', () => undefined).resume()
  }
  return abort
}

async function measure(get: Get, watches: number): Promise<Figures> {
  // Watches first: what lists leave behind would hide what they take.
  await many(200, AT_ONCE, () => drain(get, SMALL))
  const beforeKB = residentKB()
  const startMs = performance.now()
  const abort = await openWatches(get, watches)
  const secondsToOpen = (performance.now() - startMs) / 1000
  const kBPerWatch = (residentKB() - beforeKB) / watches
  const open = sockets()
  const beside = await many(1000, 1, () => drain(get, SMALL))
  abort.abort()
  const small = await many(GETS, AT_ONCE, () => drain(get, SMALL))
  const big = await many(LISTS, LISTS_AT_ONCE, () => drain(get, LIST))
  const bigMB = big.sum / 1e6
  return {
    getsPerSecond: GETS / small.seconds,
    cpuMsPerGet: small.cpuMs / GETS,
    listMBPerSecond: bigMB / big.seconds,
    cpuMsPerListedMB: big.cpuMs / bigMB,
    kBPerWatch,
    sockets: open,
    secondsToOpen,
    getMsBesideWatches: beside.seconds,
  }
}

const [name = '', kubeconfig = '', watches = ''] = process.argv.slice(2)
const figures = await measure(await openTransport(name, kubeconfig), Number(watches))
if (!process.stdout.write(`${JSON.stringify(figures)}\n`)) await once(process.stdout, 'drain')
process.exit()
