import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { afterAll } from 'vitest'
import { serverPair } from '../../support/certificate-builder.ts'
import type { BareAnswer } from './bare-server.ts'

/** Where something is served, and who signed its certificate; PEM. */
export interface Target {
  readonly url: string
  readonly ca: string
}

/** Starts a server with nothing but that answer, as a floor for measurements; ends with the test file. */
export async function startBareServer(
  answer: Pick<BareAnswer, 'body' | 'headers'>,
): Promise<Target> {
  const { caPem, ...pair } = serverPair('bare')
  const child = fork(join(import.meta.dirname, 'bare-server.ts'), { execArgv: [] })
  afterAll(() => void child.kill())
  child.send({ ...pair, ...answer } satisfies BareAnswer)
  const [port] = await once(child, 'message')
  return { url: `https://127.0.0.1:${String(port)}`, ca: caPem }
}
