// The stand-in for a kubelet, tools/kubelet: kubectl straight to a real API server, and what runs behind it.
import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { issueClient } from '../../tools/control-plane/certificates.ts'
import { ask } from '../../tools/control-plane/https.ts'
import { readKeyPair } from '../../tools/control-plane/pki.ts'
import { privateControlPlane } from '../support/control-plane.ts'
import { eventually } from '../support/eventually.ts'
import { mustKubectl } from '../support/kubectl.ts'
import { PROTOCOLS, startKubectl } from '../support/kubectl-process.ts'
import { createPod, runPod, startNode } from '../support/node.ts'
import {
  FIRST_SIZE,
  SIZE_PRINTER,
  copyThereAndBack,
  resizeTerminal,
  serveBytes,
} from '../support/pod-sessions.ts'

const WITHIN = { withinMs: 20_000 }
const BYTES = randomBytes(1_000_000)
const { platform } = process

const plane = await privateControlPlane()
const node = await startNode(plane)
const kubectl = (...args: readonly string[]) => mustKubectl(plane, args)
await runPod(plane, node, { name: 'web' })
let pods = 0
/** Another pod: a second try of a test must not find that of the first. */
const newName = (): string => `pod-${++pods}`

describe.each(PROTOCOLS)('over $protocol', ({ env }) => {
  const start = (...args: readonly string[]) => startKubectl(plane, args, { env })
  const run = (...args: readonly string[]) => mustKubectl(plane, args, { env })

  test('exec passes every byte both ways, and the exit code', async () => {
    const exec = start('exec', '-i', 'web', '--', 'sh', '-c', 'cat; echo told >&2; exit 7')
    exec.stdin.end(BYTES)
    const { code, stdout, stderr } = await exec.ended
    expect(code).toBe(7)
    expect(stdout.equals(BYTES)).toBe(true)
    expect(stderr).toContain('told\n')
  })

  test.skipIf(platform !== 'linux')(
    'exec has a terminal, which changes its size with that of the client',
    async () => {
      const args = ['exec', '-it', 'web', '-c', 'main', '--', ...SIZE_PRINTER]
      const exec = startKubectl(plane, args, { env, terminal: FIRST_SIZE })
      expect(await resizeTerminal(exec)).toBe(3)
    },
  )

  test('attach passes what the process reads and writes', async () => {
    const name = newName()
    const container = {
      stdin: true,
      command: ['sh', '-c', 'while read line; do echo "<$line>"; done'],
    }
    await runPod(plane, node, { name, container })
    const attach = start('attach', '-i', name)
    attach.stdin.write('one\n')
    await attach.printed(/<one>\n/)
    attach.stdin.end('two\n')
    expect((await attach.printed(/<two>\n/)).input).not.toContain('<>')
  })

  test('cp passes files both ways', async () => {
    expect((await copyThereAndBack(run, 'web', BYTES)).equals(BYTES)).toBe(true)
  })

  test('port-forward passes connections to a port of this machine', async () => {
    const { port } = await serveBytes(BYTES, '127.0.0.1')
    const forward = start('port-forward', 'pod/web', `:${port}`)
    const [, local] = await forward.printed(/Forwarding from 127\.0\.0\.1:(\d+)/)
    const get = async () =>
      Buffer.from(await (await fetch(`http://127.0.0.1:${local}/`)).arrayBuffer())
    const bodies = await Promise.all([get(), get()])
    expect(bodies.map((body) => body.equals(BYTES))).toEqual([true, true])
  })

  test('debug adds a container, and attaches to it', async () => {
    const container = newName()
    const echo = ['sh', '-c', 'read line; echo "<$line>"']
    const debug = start('debug', 'web', '-i', '--image=none', '-c', container, '--', ...echo)
    debug.stdin.write('through\n')
    await debug.printed(/<through>\n/)
    expect((await debug.ended).code).toBe(0)
    const ended = `{.status.ephemeralContainerStatuses[?(@.name=="${container}")].state.terminated.exitCode}`
    await kubectl('wait', 'pod/web', `--for=jsonpath=${ended}=0`, '--timeout=20s')
  })
})

describe('a pod', () => {
  test('is ready with its containers', async () => {
    const pod = JSON.parse(await kubectl('get', 'pod', 'web', '-o', 'json')) as object
    expect(pod).toMatchObject({
      status: {
        phase: 'Running',
        podIP: node.where().address,
        containerStatuses: [{ name: 'main', ready: true, started: true, restartCount: 0 }],
      },
    })
  })

  test('has logs, which are followed to the end of the container', async () => {
    const name = newName()
    const script = 'echo 1; echo 2; echo 3; read x; printf 4'
    const container = { stdin: true, command: ['sh', '-c', script] }
    await runPod(plane, node, { name, container, spec: { restartPolicy: 'Never' } })
    const follow = startKubectl(plane, ['logs', '-f', name])
    await follow.printed(/^1\n2\n3\n$/)
    const attach = startKubectl(plane, ['attach', '-i', name])
    attach.stdin.end('\n')
    expect((await follow.ended).stdout.toString()).toBe('1\n2\n3\n4')
    expect(await kubectl('logs', name, '--tail=2')).toBe('3\n4')
    expect(await kubectl('logs', name, '--limit-bytes=3')).toBe('1\n2')
  })

  test.each([
    { script: 'exit 0', restartPolicy: 'Never', phase: 'Succeeded' },
    { script: 'exit 1', restartPolicy: 'OnFailure', phase: 'Running' },
    { script: 'exit 1', restartPolicy: 'Never', phase: 'Failed' },
  ])(
    'with restartPolicy $restartPolicy is $phase after $script',
    async ({ script, restartPolicy, phase }) => {
      const [name, spec] = [newName(), { restartPolicy }]
      await createPod(plane, node, { name, command: ['sh', '-c', script], spec })
      const phased = `--for=jsonpath={.status.phase}=${phase}`
      expect(await kubectl('wait', `pod/${name}`, phased, '--timeout=20s')).toContain('met')
    },
  )

  test('starts a container again that ends', async () => {
    const name = newName()
    await createPod(plane, node, { name, command: ['true'] })
    const restarts = '--for=jsonpath={.status.containerStatuses[0].restartCount}=1'
    expect(await kubectl('wait', `pod/${name}`, restarts, '--timeout=20s')).toContain('met')
  })

  test('is deleted with its processes and its folder', async () => {
    const name = newName()
    await runPod(plane, node, { name, command: ['sh', '-c', 'echo $$; pwd; sleep 600'] })
    const [pid, at] = (await logsOf(name, /\d+\n\/.*\n/)).split('\n')
    expect(isRunning(Number(pid))).toBe(true)
    await kubectl('delete', 'pod', name)
    expect(isRunning(Number(pid))).toBe(false)
    await eventually('the folder is gone', () => !existsSync(at ?? '') || undefined, WITHIN)
  })
})

test('an exec ends with its client', async () => {
  const [{ env } = { env: {} }] = PROTOCOLS.filter(({ protocol }) => protocol === 'SPDY')
  const exec = startKubectl(plane, ['exec', 'web', '--', 'sh', '-c', 'echo pid $$; sleep 600'], {
    env,
  })
  const [, pid] = await exec.printed(/pid (\d+)\n/)
  exec.kill('SIGKILL')
  await eventually('its process is gone', () => !isRunning(Number(pid)) || undefined, WITHIN)
})

test('the API server proxies to the node and its pods, where an address allows it', async (context) => {
  const { address, noProxy } = node.where()
  context.skip(noProxy !== '', noProxy)
  expect(await kubectl('get', '--raw', `/api/v1/nodes/${node.nodeName}/proxy/healthz`)).toBe('ok')
  const { port } = await serveBytes(BYTES, address)
  const got = await plane.kubectl([
    'get',
    '--raw',
    `/api/v1/namespaces/default/pods/web:${port}/proxy/`,
  ])
  expect(got.stdout).toHaveLength(BYTES.toString().length)
})

test.each([
  { name: 'no certificate', client: null, answer: /certificate|alert|socket|ECONNRESET/i },
  { name: "an administrator's certificate", client: 'kubernetes-admin', answer: /^403 / },
])('the node refuses a client with $name', async ({ client, answer }) => {
  const { address, port } = node.where()
  const pki = join(plane.dataDir, 'pki')
  const ca = await readKeyPair(pki, 'ca')
  const pair =
    client === null
      ? { certificatePem: '', keyPem: '' }
      : issueClient(ca, { user: client, groups: ['system:masters'] })
  const asked = ask(`https://${address}:${port}/pods`, { caPem: ca.certificatePem, client: pair })
  const said = await asked.then(
    ({ status, body }) => `${status} ${body}`,
    (error: Error) => error.message,
  )
  expect(said).toMatch(answer)
})

test('a node that is killed leaves no process, and starts again', async () => {
  const name = newName()
  await runPod(plane, node, { name, command: ['sh', '-c', 'echo $$; sleep 600'] })
  const pid = Number(await logsOf(name, /\d+\n/))
  await node.stop('SIGKILL')
  await eventually('its process is gone', () => !isRunning(pid) || undefined, WITHIN)
  await node.start()
  const other = async () => {
    const logs = await kubectl('logs', name).catch(() => '')
    return (logs !== '' && Number(logs) !== pid) || undefined
  }
  await eventually('the pod runs again', other, WITHIN)
})

async function logsOf(pod: string, pattern: RegExp): Promise<string> {
  const read = async () => pattern.exec(await kubectl('logs', pod))?.[0]
  return eventually(`the logs of ${pod}`, read, WITHIN)
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
