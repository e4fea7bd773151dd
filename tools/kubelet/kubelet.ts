// A node for a control plane: starts the stand-in for a kubelet, and ends it with this process.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync } from 'node:fs'
import { mkdir, readFile } from 'node:fs/promises'
import { networkInterfaces } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Access } from '../control-plane/access.ts'
import { issueServing } from '../control-plane/certificates.ts'
import { paths } from '../control-plane/commands.ts'
import type { ControlPlane } from '../control-plane/control-plane.ts'
import type { Daemon } from '../control-plane/daemon.ts'
import { replaceFile } from '../control-plane/exclusive-file.ts'
import { KUBELET_CLIENT, readKeyPair } from '../control-plane/pki.ts'
import { tether } from '../tether.ts'
import { ensureKubelet } from './program.ts'

/** Which node, and of which cluster. */
export interface KubeletOptions {
  readonly controlPlane: Access & Pick<ControlPlane, 'dataDir'>
  readonly nodeName: string
  /** Gets each line about what goes on; nothing is printed otherwise. */
  readonly log: (line: string) => void
}

/** The address of a node, as the program prints it. */
export interface NodeAddress {
  /** An IPv4 address of this machine, which every pod of the node has too. */
  readonly address: string
  readonly port: number
  /** Why the API server refuses proxy requests to the node and its pods; empty when it does not. */
  readonly noProxy: string
}

/** A node that runs pods as processes of this machine. Its objects stay in the cluster when it is stopped. */
export interface Kubelet extends Daemon {
  readonly nodeName: string
  /** Its current address; each start has another port. */
  where(): NodeAddress
}

const READY_WITHIN_MS = 60_000
const GRACE_MS = 10_000
/** Addresses reserved for documentation, which no host has: the node gets one where that is allowed (address.go). */
const DOCUMENTATION_ADDRESSES = ['203.0.113.77', '198.51.100.77']

/**
 * Starts a node, and resolves when it is Ready. It has a client certificate of its own, and the rights of
 * ClusterRole system:node.
 *
 * @throws Error when the program can't be had or does not start (with the end of its log)
 */
export async function startKubelet(options: KubeletOptions): Promise<Kubelet> {
  const { controlPlane, nodeName, log } = options
  const program = await ensureKubelet(log)
  const folder = join(controlPlane.dataDir, 'kubelets', nodeName)
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const args = await argumentsOf(options, folder)
  await grantRights(options)
  const logFile = join(folder, 'kubelet.log')
  let running: Running | null = null
  let where: NodeAddress | null = null
  const start = async (): Promise<void> => {
    if (running !== null) return
    const started = spawnKubelet(program, args, logFile)
    running = started
    started.child.once('exit', () => (running = null))
    where = await started.ready()
  }
  await start()
  return {
    nodeName,
    get pid() {
      return running?.child.pid ?? null
    },
    start,
    stop: async (signal = 'SIGTERM') => {
      if (running !== null) await ended(running.child, signal)
    },
    where: () => {
      if (where === null) throw new Error(`node ${nodeName} has not been ready`)
      return where
    },
  }
}

async function argumentsOf(
  { controlPlane, nodeName }: KubeletOptions,
  folder: string,
): Promise<readonly string[]> {
  const pki = paths.pki(controlPlane.dataDir)
  const hosts = [nodeName, ...DOCUMENTATION_ADDRESSES, ...ownAddresses()]
  const { certificatePem, keyPem } = issueServing(await readKeyPair(pki, 'ca'), hosts)
  const file = (suffix: string): string => join(folder, `kubelet.${suffix}`)
  await replaceFile(file('crt'), certificatePem)
  await replaceFile(file('key'), keyPem)
  const user = userOf(nodeName)
  const kubeconfig = await controlPlane.clientKubeconfig({
    name: user,
    user,
    groups: ['system:nodes'],
  })
  const lend = DOCUMENTATION_ADDRESSES.map((address) => `--lend=${address}`)
  const flags = Object.entries({
    kubeconfig,
    'node-name': nodeName,
    folder: join(folder, 'pods'),
    'tls-cert-file': file('crt'),
    'tls-private-key-file': file('key'),
    'client-ca-file': join(pki, 'ca.crt'),
    'client-name': KUBELET_CLIENT.user,
  })
  return [...lend, ...flags.map(([name, value]) => `--${name}=${value}`)]
}

const userOf = (nodeName: string): string => `system:node:${nodeName}`

/** The addresses of this machine, loopback included. */
function ownAddresses(): readonly string[] {
  return Object.values(networkInterfaces())
    .flatMap((addresses = []) => addresses)
    .filter(({ family }) => family === 'IPv4')
    .map(({ address }) => address)
}

/** By RBAC: the control plane has no node authorizer, so that nothing changes for its other users. */
async function grantRights({ controlPlane, nodeName }: KubeletOptions): Promise<void> {
  const apiGroup = 'rbac.authorization.k8s.io'
  const binding = {
    apiVersion: `${apiGroup}/v1`,
    kind: 'ClusterRoleBinding',
    metadata: { name: `stand-in:${userOf(nodeName)}` },
    roleRef: { apiGroup, kind: 'ClusterRole', name: 'system:node' },
    subjects: [{ apiGroup, kind: 'User', name: userOf(nodeName) }],
  }
  const args = ['apply', '--server-side', '-f', '-']
  const { code, stderr } = await controlPlane.kubectl(args, { input: JSON.stringify(binding) })
  if (code !== 0) throw new Error(`node ${nodeName} gets no rights:\n${stderr.trim()}`)
}

interface Running {
  readonly child: ChildProcess
  /** @throws Error when it ends, or is not ready in time; it is gone then. */
  ready(): Promise<NodeAddress>
}

function spawnKubelet(program: string, args: readonly string[], logFile: string): Running {
  const log = openSync(logFile, 'a', 0o600)
  // In a session of its own: Ctrl-C is for this process. It also ends when its standard input does.
  const child = spawn(program, args, { stdio: ['pipe', 'pipe', log], detached: true })
  closeSync(log)
  child.on('error', () => undefined)
  child.stdin?.on('error', () => undefined)
  if (child.pid !== undefined) tether(child)
  const { stdout } = child
  if (stdout === null) throw new Error('no pipe to the kubelet')
  return {
    child,
    ready: async () => {
      const late = setTimeout(() => child.kill('SIGKILL'), READY_WITHIN_MS)
      try {
        for await (const line of createInterface({ input: stdout }))
          return JSON.parse(line) as NodeAddress
      } finally {
        clearTimeout(late)
        stdout.resume()
      }
      const tail = (await readFile(logFile, 'utf8')).trimEnd().split('\n').slice(-10).join('\n')
      throw new Error(`the kubelet did not become ready; ${logFile} ends with:\n${tail}`)
    },
  }
}

async function ended(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  const exit = once(child, 'exit')
  child.kill(signal)
  const late = setTimeout(() => child.kill('SIGKILL'), GRACE_MS)
  await exit
  clearTimeout(late)
}
