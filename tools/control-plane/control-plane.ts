// A real Kubernetes control plane on this machine: etcd, kube-apiserver and kube-controller-manager as
// upstream builds them, for `make run`, the tests and the benchmarks. No nodes: pods never run, unless
// tools/kubelet stands in for a node.
//
//   starter (this process)
//     ├─ etcd           on 127.0.0.1, certificates both ways
//     ├─ kube-apiserver on 127.0.0.1, RBAC
//     ├─ kube-controller-manager, unless an option leaves it out
//     └─ sh             in a session of its own; ends the daemons when the starter is gone: tether.ts
//
// - Programs: binaries.ts finds them or has build.ts build them, from the versions in go.mod.
// - Access: pki.ts makes two CAs. No certificate or token for the API server opens etcd, admin's
//   included. Only the owner of the folder can read keys and kubeconfigs.
// - Nothing is left behind: the shell reads from a pipe whose other end only the starter has. When that closes,
//   for whatever reason, SIGKILL included, the shell kills the daemons and removes a folder that is thrown away.
//   `stop` ends the controller manager, then the API server, and then etcd (an API server whose etcd goes first
//   hangs for minutes), each by SIGKILL after ten seconds. If the shell is killed, the starter kills the
//   daemons. If both are killed at once, the next start on a folder that survives does; on a temporary
//   folder the daemons stay.
// - One control plane per folder: a lock file there. A second starter is refused; one that comes after a starter
//   that was killed ends what that left.
// - A folder that survives keeps data, certificates, token keys and, when they are free, ports:
//   copies of kubeconfigs stay good.
// - Everything is in the data folder: pki/, etcd/, a log file per daemon, audit.log, kubeconfigs.
import { cp, mkdir, mkdtemp, realpath } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Access, ADMIN, createAccess, writeKubeconfig } from './access.ts'
import { writeAuditPolicy } from './audit.ts'
import { type Binaries, ensureBinaries } from './binaries.ts'
import { CONTROLLER_MANAGER, type Plan, paths, urls } from './commands.ts'
import { PortTaken } from './daemon.ts'
import { DaemonProcesses } from './daemon-processes.ts'
import { createDaemons, type Daemons, startDaemons } from './daemons.ts'
import { compact } from './etcd.ts'
import type { Tls } from './https.ts'
import { ensurePki, readKeyPair } from './pki.ts'
import { choosePorts } from './ports.ts'
import { STOP_ORDER } from './programs.ts'

/** How to start a control plane. */
export interface ControlPlaneOptions {
  /** A folder that survives and is used again; absent means a temporary one, removed in the end. */
  readonly dataDir?: string
  /**
   * The folder of a control plane that has been stopped: a temporary one begins with a copy of its data
   * and certificates. Absent means empty.
   */
  readonly copyOf?: string
  /**
   * Whether requests are logged to `auditLog`, one JSON event a line: `true` with metadata only,
   * `RequestResponse` with both bodies. The stage RequestReceived is left out. Absent means no log.
   */
  readonly audit?: true | 'RequestResponse'
  /** More flags of kube-apiserver, such as `--event-ttl=10s`; they win over the usual ones. */
  readonly apiServerFlags?: readonly string[]
  /**
   * `none` starts no kube-controller-manager: enough of a cluster to ask its API server who a caller
   * is and what they may do. `workloads` also runs those of Deployments, for a node of the test. Absent means all that work
   * without nodes.
   */
  readonly controllers?: 'none' | 'workloads'
  /** Called with each line about the progress; nothing is printed otherwise. */
  readonly log: (line: string) => void
}

/** A control plane that runs. */
export interface ControlPlane extends Access, Daemons {
  /** URL of the API server, such as `https://127.0.0.1:20123`. */
  readonly url: string
  /** The file with the certificate authority of that server. */
  readonly caFile: string
  /** A kubeconfig file of a member of system:masters. */
  readonly adminKubeconfig: string
  /** The audit log; null without the option `audit`. */
  readonly auditLog: string | null
  readonly dataDir: string
  /**
   * Compacts etcd at its current revision. The API server goes on serving recent history from its
   * watch cache; once it is restarted, a watch from an older revision gets 410.
   */
  compactEtcd(): Promise<void>
  /** Ends everything, in order; a temporary folder is removed. May be called twice. */
  stop(): Promise<void>
}

const PORT_ATTEMPTS = 3

/**
 * Starts a control plane; takes about three seconds once the programs are there.
 *
 * @throws Error when the folder is in use, a program can't be had, or a daemon does not start (with
 * the end of its log); nothing is left running then
 */
export async function startControlPlane(options: ControlPlaneOptions): Promise<ControlPlane> {
  const binaries = await ensureBinaries(options.log)
  const startMs = performance.now()
  const dataDir = await openDataDir(options.dataDir)
  const processes = await DaemonProcesses.begin(dataDir, options.dataDir !== undefined)
  try {
    if (options.copyOf !== undefined) await copyState(options.copyOf, dataDir)
    const controlPlane = await startOnFreePorts(options, binaries, dataDir, processes)
    reportEnds(processes, dataDir, options.log)
    const seconds = ((performance.now() - startMs) / 1000).toFixed(1)
    options.log(`control plane ready at ${controlPlane.url} after ${seconds} s, data in ${dataDir}`)
    return controlPlane
  } catch (error) {
    await processes.finish()
    throw error
  }
}

/** The absolute path without symbolic links: it is by this that a folder's processes are known. */
async function openDataDir(wanted: string | undefined): Promise<string> {
  if (wanted === undefined) return realpath(await mkdtemp(join(tmpdir(), 'control-plane-')))
  await mkdir(wanted, { recursive: true, mode: 0o700 })
  return realpath(wanted)
}

async function copyState(from: string, to: string): Promise<void> {
  for (const path of [paths.etcd, paths.pki]) await cp(path(from), path(to), { recursive: true })
}

function reportEnds(
  processes: DaemonProcesses,
  dataDir: string,
  log: (line: string) => void,
): void {
  processes.onEnded(({ daemon, how, because }) => {
    if (because === 'ordered') return
    const what = because === 'itself' ? `ended by itself (${how})` : 'did not end in time: killed'
    log(`${daemon} ${what}; its log is ${paths.log(dataDir, daemon)}`)
  })
}

/** A port may be lost between the look at it and its use; then all is started again on others. */
async function startOnFreePorts(
  options: ControlPlaneOptions,
  binaries: Binaries,
  dataDir: string,
  processes: DaemonProcesses,
): Promise<ControlPlane> {
  await ensurePki(paths.pki(dataDir))
  if (options.audit !== undefined) await writeAuditPolicy(dataDir, options.audit)
  for (let attempt = 1; ; attempt += 1) {
    const ports = await choosePorts(paths.ports(dataDir), options.log)
    const plan: Plan = {
      binaries,
      dataDir,
      ports,
      keep: options.dataDir !== undefined,
      audit: options.audit !== undefined,
      apiServerFlags: options.apiServerFlags ?? [],
      controllers: options.controllers ?? 'all',
    }
    try {
      return await start(processes, plan)
    } catch (error) {
      if (!(error instanceof PortTaken) || attempt === PORT_ATTEMPTS) throw error
      options.log(`${error.message}\ntrying other ports`)
      for (const daemon of STOP_ORDER) await processes.stop(daemon, 'SIGTERM')
    }
  }
}

async function start(processes: DaemonProcesses, plan: Plan): Promise<ControlPlane> {
  const { dataDir, ports } = plan
  const pki = paths.pki(dataDir)
  const tls = {
    kube: await tlsOf(pki, 'ca', 'admin'),
    etcd: await tlsOf(pki, 'etcd-ca', 'etcd-client'),
  }
  const cluster = { url: urls(ports).apiServer, caPem: tls.kube.caPem }
  const adminKubeconfig = await writeKubeconfig(dataDir, ADMIN, cluster, tls.kube.client)
  const controllers = await readKeyPair(pki, CONTROLLER_MANAGER)
  await writeKubeconfig(dataDir, CONTROLLER_MANAGER, cluster, controllers)
  const daemons = createDaemons(processes, plan, tls)
  await startDaemons(daemons, plan.controllers)
  return {
    url: cluster.url,
    caFile: paths.pki(dataDir, 'ca.crt'),
    adminKubeconfig,
    auditLog: plan.audit ? paths.auditLog(dataDir) : null,
    dataDir,
    ...daemons,
    ...createAccess(plan.binaries, dataDir, cluster),
    compactEtcd: () => compact(urls(ports).etcdClient, tls.etcd),
    stop: () => processes.finish(),
  }
}

async function tlsOf(pki: string, authority: string, client: string): Promise<Tls> {
  const { certificatePem } = await readKeyPair(pki, authority)
  return { caPem: certificatePem, client: await readKeyPair(pki, client) }
}
