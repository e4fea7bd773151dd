// Sessions of kubectl in pods, for tests of the node, straight to an API server, and for tests of the gateway.
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { eventually } from './eventually.ts'
import type { KubectlProcess } from './kubectl-process.ts'

/** A server on this machine that answers each request with the same bytes. */
interface BytesServer {
  readonly port: number
  /** The paths that it was asked for, in order. */
  readonly asked: readonly string[]
}

/** Starts one on this address; it is closed when the test is finished. */
export async function serveBytes(bytes: Buffer, address: string): Promise<BytesServer> {
  const asked: string[] = []
  const server = createServer((request, response) => {
    asked.push(request.url ?? '')
    response.end(bytes)
  })
  server.listen(0, address)
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return { port: (server.address() as AddressInfo).port, asked }
}

let copies = 0

/** Copies bytes to a file of that pod and back, by `kubectl cp`; the bytes that came back. */
export async function copyThereAndBack(
  kubectl: (...args: readonly string[]) => Promise<unknown>,
  pod: string,
  bytes: Buffer,
): Promise<Buffer> {
  const folder = await mkdtemp(join(tmpdir(), 'copies-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const [here, there, back] = [join(folder, 'here'), `copy-${++copies}`, join(folder, 'back')]
  await writeFile(here, bytes)
  await kubectl('cp', here, `${pod}:${there}`)
  await kubectl('cp', `${pod}:${there}`, back)
  return readFile(back)
}

/** The size that the terminal has at first, for `startKubectl`. */
export const FIRST_SIZE = { rows: 30, columns: 100 } as const
const NEXT_SIZE = { rows: 50, columns: 132 } as const

/** A command for `kubectl exec -it` that prints the size of its terminal for each line, and ends with code 3. */
export const SIZE_PRINTER: readonly string[] = [
  'sh',
  '-c',
  'while read line; do [ "$line" = bye ] && exit 3; stty size; done',
]

/**
 * Waits until SIZE_PRINTER has a terminal with the size of the client's, also when that changes; returns its exit code.
 *
 * @param exec started with a terminal of FIRST_SIZE
 */
export async function resizeTerminal(exec: KubectlProcess): Promise<number> {
  const sizeIs = ({ rows, columns }: { readonly rows: number; readonly columns: number }) =>
    eventually(
      `the terminal has ${rows} rows and ${columns} columns`,
      () => {
        exec.stdin.write('\n')
        return exec.output().includes(`${rows} ${columns}\r\n`) || undefined
      },
      { withinMs: 20_000 },
    )
  await exec.printed(/\/dev\/pts/)
  await sizeIs(FIRST_SIZE)
  await exec.resize(NEXT_SIZE)
  await sizeIs(NEXT_SIZE)
  exec.stdin.write('bye\n')
  return (await exec.ended).code
}
