/** @module-tag no-retry */
// On a machine whose CPUs are all busy, what a Pod sends and gets arrives whole: an API server closes a session once it has
// written everything, and a proxy that reads too slowly loses the end of it (contract 13.3). kubectl's own proxy is the
// measure.
import { type ChildProcess, spawn } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { mustKubectl } from '../../support/kubectl.ts'
import { type KubectlProcess, PROTOCOLS, startKubectl } from '../../support/kubectl-process.ts'
import { runPod } from '../../support/node.ts'
import { serveBytes } from '../../support/pod-sessions.ts'
import { TEAM, kubeconfigText, startForSessions } from './own-targets.ts'
import { MANAGEMENT } from './test-gateway.ts'

const SIZE = 40_000_000
/** Bytes of what is no download by cp or exec: kubelets cut longer logs, and a Pod is made for each attached process. */
const SMALL = 8_000_000
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

/** A kubectl that goes to the gateway or to the proxy. */
type Start = (...args: readonly string[]) => KubectlProcess

/** One copy of some kind by that kubectl; resolves with whether it is whole. */
type Copy = (start: Start) => Promise<boolean>

const small = randomBytes(SMALL)
let names = 0

async function byCp(): Promise<Copy> {
  const folder = await mkdtemp(join(tmpdir(), 'copies-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  return async (start) => {
    const file = join(folder, String(++names))
    const { code } = await start('cp', 'web:big', file).ended
    const bytes = await readFile(file).catch(() => Buffer.alloc(0))
    await rm(file, { force: true })
    return code === 0 && digest(bytes) === sent
  }
}

const byExec: Copy = async (start) => {
  const { code, stdout } = await start('exec', 'web', '--', 'cat', 'big').ended
  return code === 0 && digest(stdout) === sent
}

const byUpload: Copy = async (start) => {
  const exec = start('exec', '-i', 'web', '--', 'sha256sum')
  exec.stdin.end(small)
  const { code, stdout } = await exec.ended
  return code === 0 && String(stdout).startsWith(digest(small))
}

const byAttach: Copy = async (start) => {
  const name = `attached-${++names}`
  const command = ['sh', '-c', `read line; head -c ${SMALL} /dev/zero`]
  const container = { stdin: true, stdinOnce: true, command }
  await runPod(plane, node, { name, namespace: TEAM, container, spec: { restartPolicy: 'Never' } })
  const attach = start('attach', '-i', name)
  attach.stdin.write('go\n')
  return (await attach.ended).stdout.length === SMALL
}

/** What a process of a Pod has written. */
async function byLogs(): Promise<Copy> {
  const command = ['sh', '-c', `head -c ${SMALL} /dev/zero | tr '\\0' x; echo; sleep 3600`]
  const name = `talks-${++names}`
  await runPod(plane, node, { name, namespace: TEAM, command })
  return async (start) => (await start('logs', name).ended).stdout.length === SMALL + 1
}

async function byPortForward(): Promise<Copy> {
  const { port } = await serveBytes(small, '127.0.0.1')
  return async (start) => {
    const forward = start('port-forward', 'pod/web', `:${port}`)
    const [, local] = await forward.printed(/Forwarding from 127\.0\.0\.1:(\d+)/)
    const read = fetch(`http://127.0.0.1:${local}/`).then((answer) => answer.arrayBuffer())
    const body = await read.catch(() => new ArrayBuffer(0))
    forward.kill('SIGTERM')
    return Buffer.from(body).equals(small)
  }
}

async function byPodProxy(): Promise<Copy> {
  const { port } = await serveBytes(small, '0.0.0.0')
  const path = `/api/v1/namespaces/${TEAM}/pods/web:${port}/proxy/`
  return async (start) => (await start('get', '--raw', path).ended).stdout.equals(small)
}

/** How many of AT_ONCE copies are cut. */
async function cutCopies(copy: Copy, start: Start): Promise<number> {
  const copies = await Promise.all(Array.from({ length: AT_ONCE }, () => copy(start)))
  return copies.filter((whole) => !whole).length
}

/** How many of as many copies are cut through the gateway, and through the proxy: in turns, under the same load. */
async function countCuts(
  copy: Copy,
  { rounds, env = {} }: { rounds: number; env?: Readonly<Record<string, string>> },
): Promise<{ readonly gateway: number; readonly proxy: number }> {
  const through = (kubeconfig: string): Start => {
    return (...args) => startKubectl(plane, ['-n', TEAM, ...args], { env, kubeconfig })
  }
  let [gateway, proxy] = [0, 0]
  for (let round = 0; round < rounds; round += 1) {
    gateway += await cutCopies(copy, through(throughGateway))
    proxy += await cutCopies(copy, through(proxied))
  }
  console.log(`cut of ${rounds * AT_ONCE}: ${JSON.stringify({ gateway, proxy })}`)
  return { gateway, proxy }
}

describe.each(PROTOCOLS)(
  'on a busy machine, over $protocol, as many are whole as through kubectl proxy',
  ({ env }) => {
    // biome-ignore format: a table
    test.each<{ what: string; copyOf: () => Promise<Copy>; rounds: number }>([
    { what: 'files by cp', copyOf: byCp, rounds: 8 },
    { what: 'outputs of exec', copyOf: async () => byExec, rounds: 3 },
    { what: 'inputs of exec', copyOf: async () => byUpload, rounds: 3 },
    { what: 'outputs of attached processes', copyOf: async () => byAttach, rounds: 2 },
    { what: 'bodies through port-forward', copyOf: byPortForward, rounds: 3 },
  ])('$what (13.3)', async ({ copyOf, rounds }) => {
        const { gateway, proxy } = await countCuts(await copyOf(), { rounds, env })
        expect(gateway).toBeLessThanOrEqual(proxy)
      })
  },
)

describe('on a busy machine as many are whole as through kubectl proxy', () => {
  test.each([
    { what: 'logs', copyOf: byLogs },
    { what: 'bodies behind the proxy of a Pod', copyOf: byPodProxy },
  ])('$what (13.3)', async ({ copyOf }) => {
    const { gateway, proxy } = await countCuts(await copyOf(), { rounds: 3 })
    expect(gateway).toBeLessThanOrEqual(proxy)
  })
})
