// Connections that anybody can open, and on which nothing or nothing valid is sent, take nothing from callers: no request
// fails, on a connection that is kept or on a new one (contract 13.3, threats A11).
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { Agent } from 'node:https'
import { setTimeout as delay } from 'node:timers/promises'
import { describe, expect, onTestFinished, test } from 'vitest'
import { privateControlPlane } from '../../support/control-plane.ts'
import { startTestGateway } from './test-gateway.ts'
import { memoryGrowth } from './gateway-load.ts'

const setup = await startTestGateway(await privateControlPlane())
const key = await setup.key()
const [gateway] = setup.gateways
if (!gateway) throw new Error('there is no gateway')
const { hostname, port } = new URL(gateway.url())

const FLOODS = 3
const EACH = 4500
const FOR_MS = 30_000
/** The 8192 connections that a gateway accepts take up to 60 KiB each, with TLS: less than a third of its memory limit. */
const MOST_MIB = 640
/** A flood opens a connection anew once the gateway has closed it, so many at a time. */
const AT_ONCE = 50

/** Keeps EACH connections open from a process of its own. @param asks whether each sends a request with an unknown key */
async function startFlood(asks: boolean): Promise<ChildProcess> {
  const program = `
    const { connect } = require(${asks ? "'node:tls'" : "'node:net'"})
    let open = 0, connecting = 0
    const more = () => {
      while (open < ${EACH} && connecting < ${AT_ONCE}) {
        open += 1; connecting += 1
        let isConnecting = true
        const connected = () => { if (isConnecting) { isConnecting = false; connecting -= 1; more() } }
        const socket = connect({ host: '${hostname}', port: ${port}, rejectUnauthorized: false })
        socket.once('${asks ? 'secureConnect' : 'connect'}', () => {
          ${asks ? "socket.write('GET /kubernetes/management/api HTTP/1.1\\r\\nHost: h\\r\\nAuthorization: Bearer none\\r\\n\\r\\n')" : ''}
          connected()
        })
        socket.resume().on('error', () => {}).once('close', () => { open -= 1; connected(); setTimeout(more, 5) })
      }
    }
    more()
    setTimeout(() => console.log('begun'), 2000)
  `
  const child = spawn(process.execPath, ['-e', program], { stdio: ['ignore', 'pipe', 'ignore'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  if (child.stdout === null) throw new Error('there is no output')
  await once(child.stdout, 'data')
  return child
}

/** Asks again and again for a time; the number of answers of each code, and of failures by their message. */
async function outcomes(forMs: number, agent?: Agent): Promise<Readonly<Record<string, number>>> {
  const counted: Record<string, number> = {}
  const endMs = performance.now() + forMs
  while (performance.now() < endMs) {
    const outcome = await setup
      .ask(key.token, '/version', agent === undefined ? {} : { agent })
      .then(({ code }) => String(code))
      .catch(({ message }: Error) => message)
    counted[outcome] = (counted[outcome] ?? 0) + 1
    await delay(100)
  }
  return counted
}

describe.each([
  { name: 'send nothing', asks: false },
  { name: 'got a 401', asks: true },
])(`${FLOODS} floods of ${EACH} connections that $name`, ({ asks }) => {
  test('fail no request of a caller, and bound the memory (13.3)', async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    onTestFinished(() => agent.destroy())
    const results: Readonly<Record<string, number>>[] = []
    const grownMiB = await memoryGrowth(gateway, async () => {
      await Promise.all(Array.from({ length: FLOODS }, () => startFlood(asks)))
      results.push(...(await Promise.all([outcomes(FOR_MS, agent), outcomes(FOR_MS)])))
    })
    console.log(`measured: ${JSON.stringify(results)}, +${grownMiB.toFixed(0)} MiB`)
    expect(results.map((counted) => Object.keys(counted))).toEqual([['200'], ['200']])
    expect(grownMiB).toBeLessThan(MOST_MIB)
  })
})
