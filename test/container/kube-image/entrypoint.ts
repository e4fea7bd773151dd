// etcd, kube-apiserver and kube-controller-manager in one container: no scheduler and no kubelet. It keeps the
// contract of @testcontainers/k3s: the API on 6443, an admin's kubeconfig at /etc/rancher/k3s/k3s.yaml, and a
// certain line in the log when it is ready. That file, the keys and the controller manager's kubeconfig
// are copied in before the start: see ../container-cluster.ts.
import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { get } from 'node:https'
import { setTimeout as delay } from 'node:timers/promises'
import {
  apiServerCommand,
  controllerManagerCommand,
  etcdCommand,
  paths,
  type Plan,
} from '../../../tools/control-plane/commands.ts'

const READY_LINE = 'Node controller sync successful'

const program = (name: string): string => `/usr/local/bin/${name}`

const plan: Plan = {
  binaries: {
    etcd: program('etcd'),
    'kube-apiserver': program('kube-apiserver'),
    'kube-controller-manager': program('kube-controller-manager'),
    kubectl: program('kubectl'),
  },
  dataDir: '/control-plane',
  ports: { apiServer: 6443, controllerManager: 10257, etcdClient: 2379, etcdPeer: 2380 },
  keep: false,
  audit: false,
  apiServerFlags: ['--bind-address=0.0.0.0'],
  controllers: 'workloads',
}

function start(command: string, args: readonly string[]): void {
  const child = spawn(command, args, { stdio: ['ignore', 'inherit', 'inherit'] })
  child.once('exit', (code, signal) => {
    console.log(`${command} ended: ${signal ?? code}`)
    process.exit(1)
  })
}

function isReady(): Promise<boolean> {
  const ca = readFileSync(paths.pki(plan.dataDir, 'ca.crt'))
  return new Promise((resolve) => {
    const url = `https://127.0.0.1:${plan.ports.apiServer}/readyz`
    get(url, { ca, agent: false }, (answer) => {
      answer.resume()
      resolve(answer.statusCode === 200)
    }).once('error', () => resolve(false))
  })
}

// The data is temporary: no graceful shutdown.
for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => process.exit(0))
const etcd = etcdCommand(plan)
start(etcd.command, etcd.args)
const apiServer = apiServerCommand(plan)
start(apiServer.command, apiServer.args)
while (!(await isReady())) await delay(100)
const controllerManager = controllerManagerCommand(plan)
start(controllerManager.command, controllerManager.args)
console.log(READY_LINE)
