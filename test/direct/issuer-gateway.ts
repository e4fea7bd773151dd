// The gateway as an issuer that can be away for a while and comes back under the same address. Its
// certificate is the one that it makes for itself.
import { randomInt } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { choosePort } from '../../tools/control-plane/ports.ts'
import type { OwnProcess } from '../support/command-process.ts'
import { startGateway } from '../support/gateway-process.ts'
import { sumOf } from '../support/metrics-text.ts'

/** Such a gateway; it does not run at first. */
export interface IssuerGateway {
  /** Starts it; resolves when it is ready. */
  start(kubeconfig: string, issuer: string): Promise<void>
  /** Ends it, if it runs. */
  stop(): Promise<void>
  /** GETs that its public routes have answered since it was started. */
  publicGets(): Promise<number>
}

const PUBLIC_GETS = ['platform_gateway_requests_total', 'target="Public"', 'verb="get"'] as const

/** A gateway for an address, such as `127.0.0.1:20123`. */
export function createIssuerGateway(address: string): IssuerGateway {
  let running: OwnProcess | null = null
  return {
    start: async (kubeconfig, issuer) => {
      const flags = [`--bind-address=${address}`, `--issuer-url=${issuer}`]
      running = await startGateway({ kubeconfig, flags })
    },
    stop: async () => {
      await running?.stop()
      running = null
    },
    publicGets: async () => {
      const page = await running?.metrics()
      return page === undefined ? 0 : sumOf(page, ...PUBLIC_GETS)
    },
  }
}

/** An address that is free now and that nobody takes by chance while the gateway is away. */
export async function freeAddress(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'port-'))
  try {
    const file = join(folder, 'port')
    // Above those that control planes choose from: one may start while the gateway is away.
    await writeFile(file, String(randomInt(30_000, 32_768)))
    return `127.0.0.1:${await choosePort(file)}`
  } finally {
    await rm(folder, { recursive: true })
  }
}
