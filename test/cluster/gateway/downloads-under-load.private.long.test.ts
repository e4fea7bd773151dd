/** @module-tag no-retry */
// On a machine whose CPUs are all busy, what a Pod sends arrives whole: an API server closes a session once it has written
// everything, and a proxy that reads too slowly loses the end of it (contract 13.3). kubectl's own proxy is the measure.
import { type ChildProcess, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { mustKubectl } from '../../support/kubectl.ts'
import { PROTOCOLS, startKubectl } from '../../support/kubectl-process.ts'
import { runPod } from '../../support/node.ts'
import { TEAM, kubeconfigText, startForSessions } from './own-targets.ts'
import { MANAGEMENT } from './test-gateway.ts'

const SIZE = 40_000_000
const ROUNDS = 8
const AT_ONCE = 4
const BUSY_LOOPS = 3

const { setup, targets, node } = await startForSessions()
const { plane } = setup
await runPod(plane, node, { name: 'web', namespace: TEAM })
const ada = await setup.key()
const throughGateway = targets.kubeconfigFor(ada, MANAGEMENT)

// Registered here: Vitest runs no afterAll that a hook registers.
const children: ChildProcess[] = []
const folders: string[] = []
afterAll(async () => {
  for (const child of children) child.kill('SIGKILL')
  for (const folder of folders) await rm(folder, { recursive: true })
})

const digest = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex')

/** A kubeconfig of `kubectl proxy`, which passes sessions too. */
async function throughProxy(): Promise<string> {
  const flags = ['--port=0', '--reject-paths=^$', '--accept-hosts=.*']
  const { program, env } = plane.kubectlCommand({})
  const proxy = spawn(program, ['proxy', ...flags], { env, stdio: ['ignore', 'pipe', 'inherit'] })
  children.push(proxy)
  const [, port] = await new Promise<RegExpExecArray>((resolve, reject) => {
    proxy.once('error', reject)
    proxy.stdout.on('data', (text: Buffer) => {
      const found = /127\.0\.0\.1:(\d+)/.exec(String(text))
      if (found) resolve(found)
    })
  })
  const folder = await mkdtemp(join(tmpdir(), 'proxy-'))
  folders.push(folder)
  const file = join(folder, 'kubeconfig')
  await writeFile(file, kubeconfigText({ url: `http://127.0.0.1:${port}`, caPem: '' }, {}))
  return file
}

let proxied = ''
let sent = ''

beforeAll(async () => {
  proxied = await throughProxy()
  const make = `head -c ${SIZE} /dev/urandom > big; sha256sum big`
  const args = ['-n', TEAM, 'exec', 'web', '--', 'sh', '-c', make]
  sent = (await mustKubectl(plane, args)).slice(0, 64)
  if (!/^[0-9a-f]{64}$/.test(sent)) throw new Error(`no digest: ${sent}`)
  for (let at = 0; at < BUSY_LOOPS; at += 1) {
    const loop = spawn(process.execPath, ['-e', 'for (;;);'], { stdio: 'ignore' })
    children.push(loop)
  }
})

/** How many of the copies are cut, AT_ONCE at a time. */
async function cutCopies(isWhole: () => Promise<boolean>): Promise<number> {
  let cut = 0
  for (let round = 0; round < ROUNDS; round += 1) {
    const copies = await Promise.all(Array.from({ length: AT_ONCE }, isWhole))
    cut += copies.filter((whole) => !whole).length
  }
  return cut
}

describe.each(PROTOCOLS)('on a busy machine, over $protocol', ({ env }) => {
  const start = (kubeconfig: string, ...args: readonly string[]) =>
    startKubectl(plane, ['-n', TEAM, ...args], { env, kubeconfig })

  /** Each way's number of cut copies. */
  const countCut = async (isWhole: (kubeconfig: string) => Promise<boolean>) => ({
    gateway: await cutCopies(() => isWhole(throughGateway)),
    proxy: await cutCopies(() => isWhole(proxied)),
  })

  test('as many copies by cp are whole as through kubectl proxy (13.3)', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'copies-'))
    onTestFinished(() => rm(folder, { recursive: true }))
    let copies = 0
    const counts = await countCut(async (kubeconfig) => {
      const file = join(folder, String(++copies))
      const { code } = await start(kubeconfig, 'cp', 'web:big', file).ended
      const bytes = await readFile(file).catch(() => Buffer.alloc(0))
      await rm(file, { force: true })
      return code === 0 && digest(bytes) === sent
    })
    console.log(`cut copies: ${JSON.stringify(counts)}`)
    expect(counts.gateway).toBeLessThanOrEqual(counts.proxy)
  })
})
