import { join } from 'node:path'
import type { Binaries } from './binaries.ts'
import type { Command } from './daemon-processes.ts'
import type { Ports } from './ports.ts'
import type { DaemonName } from './programs.ts'

/** The name of the files with the certificate that the API server shows to kubelets. */
export const KUBELET_CLIENT_FILES = 'apiserver-kubelet-client'

/** Inputs of the command lines of the daemons. */
export interface Plan {
  readonly binaries: Binaries
  readonly dataDir: string
  readonly ports: Ports
  /** Whether the data survive; etcd may skip its syncs to disk when they do not. */
  readonly keep: boolean
  /** Whether there is an audit policy to follow. */
  readonly audit: boolean
  /** Added last, so that they win over ours. */
  readonly apiServerFlags: readonly string[]
  /** Whether there is a kube-controller-manager. */
  readonly controllers: 'all' | 'workloads' | 'none'
}

/** The controllers that work without nodes. */
export const CONTROLLERS: readonly string[] = [
  'clusterrole-aggregation-controller',
  'endpoints-controller',
  'endpointslice-controller',
  'endpointslice-mirroring-controller',
  'garbage-collector-controller',
  'namespace-controller',
  'root-ca-certificate-publisher-controller',
  'serviceaccount-controller',
  'serviceaccount-token-controller',
]

/** The controllers of Deployments, whose pods a node runs. */
const WORKLOADS: readonly string[] = [
  'deployment-controller',
  'disruption-controller',
  'replicaset-controller',
]

/** The paths in a data folder. */
export const paths = {
  etcd: (dataDir: string) => join(dataDir, 'etcd'),
  pki: (dataDir: string, file = '') => join(dataDir, 'pki', file),
  log: (dataDir: string, daemon: DaemonName) => join(dataDir, `${daemon}.log`),
  ports: (dataDir: string) => join(dataDir, 'ports.json'),
  auditLog: (dataDir: string) => join(dataDir, 'audit.log'),
  auditPolicy: (dataDir: string) => join(dataDir, 'audit-policy.yaml'),
  kubectlCache: (dataDir: string) => join(dataDir, 'kubectl-cache'),
  kubeconfigs: (dataDir: string) => join(dataDir, 'kubeconfigs'),
  kubeconfig: (dataDir: string, name: string) =>
    join(dataDir, 'kubeconfigs', `${encodeURIComponent(name)}.kubeconfig`),
  token: (dataDir: string, name: string) =>
    join(dataDir, 'kubeconfigs', `${encodeURIComponent(name)}.token`),
} as const

function at(port: number): string {
  return `https://127.0.0.1:${port}`
}

/** The URLs of the daemons. */
export function urls(ports: Ports): Readonly<Record<keyof Ports, string>> {
  return {
    apiServer: at(ports.apiServer),
    controllerManager: at(ports.controllerManager),
    etcdClient: at(ports.etcdClient),
    etcdPeer: at(ports.etcdPeer),
  }
}

/** The name of the kubeconfig file that kube-controller-manager uses. */
export const CONTROLLER_MANAGER = 'controller-manager'

function command(
  plan: Plan,
  daemon: DaemonName,
  flags: Readonly<Record<string, unknown>>,
): Command {
  return {
    daemon,
    command: plan.binaries[daemon],
    args: Object.entries(flags).map(([name, value]) => `--${name}=${String(value)}`),
    logFile: paths.log(plan.dataDir, daemon),
  }
}

/** etcd, open to holders of a certificate of its own authority only. */
export function etcdCommand(plan: Plan): Command {
  const pki = (file: string) => paths.pki(plan.dataDir, file)
  const { etcdClient: clients, etcdPeer: peers } = urls(plan.ports)
  return command(plan, 'etcd', {
    name: 'default',
    'data-dir': paths.etcd(plan.dataDir),
    'listen-client-urls': clients,
    'advertise-client-urls': clients,
    'listen-peer-urls': peers,
    'initial-advertise-peer-urls': peers,
    'initial-cluster': `default=${peers}`,
    'client-cert-auth': true,
    'trusted-ca-file': pki('etcd-ca.crt'),
    'cert-file': pki('etcd.crt'),
    'key-file': pki('etcd.key'),
    'peer-client-cert-auth': true,
    'peer-trusted-ca-file': pki('etcd-ca.crt'),
    'peer-cert-file': pki('etcd.crt'),
    'peer-key-file': pki('etcd.key'),
    'log-level': 'warn',
    ...(plan.keep ? {} : { 'unsafe-no-fsync': true }),
  })
}

/** kube-apiserver with its default admission plugins, and with RBAC unless a flag names other authorizers. */
export function apiServerCommand(plan: Plan): Command {
  const pki = (file: string) => paths.pki(plan.dataDir, file)
  const audit = {
    'audit-policy-file': paths.auditPolicy(plan.dataDir),
    'audit-log-path': paths.auditLog(plan.dataDir),
    // Megabytes. By default the log would be cut at 100, and a test would read half of it.
    'audit-log-maxsize': 100_000,
  }
  const ours = command(plan, 'kube-apiserver', {
    'bind-address': '127.0.0.1',
    'secure-port': plan.ports.apiServer,
    'etcd-servers': urls(plan.ports).etcdClient,
    'etcd-cafile': pki('etcd-ca.crt'),
    'etcd-certfile': pki('etcd-client.crt'),
    'etcd-keyfile': pki('etcd-client.key'),
    'tls-cert-file': pki('apiserver.crt'),
    'tls-private-key-file': pki('apiserver.key'),
    'client-ca-file': pki('ca.crt'),
    'kubelet-certificate-authority': pki('ca.crt'),
    'kubelet-client-certificate': pki(`${KUBELET_CLIENT_FILES}.crt`),
    'kubelet-client-key': pki(`${KUBELET_CLIENT_FILES}.key`),
    ...(hasAuthorizers(plan) ? {} : { 'authorization-mode': 'RBAC' }),
    'service-account-issuer': 'https://kubernetes.default.svc.cluster.local',
    'service-account-key-file': pki('service-account.pub'),
    'service-account-signing-key-file': pki('service-account.key'),
    'service-cluster-ip-range': '10.96.0.0/16',
    // A loopback address is not a valid endpoint: the reconciler would log that refusal for ever.
    'endpoint-reconciler-type': 'none',
    // By default it ends no watch on SIGTERM, and hangs on them until it is killed.
    'shutdown-watch-termination-grace-period': '2s',
    ...(plan.audit ? audit : {}),
  })
  return { ...ours, args: [...ours.args, ...plan.apiServerFlags] }
}

/** The API server does not start with both flags. */
const hasAuthorizers = ({ apiServerFlags }: Plan): boolean =>
  apiServerFlags.some((flag) => flag.startsWith('--authorization-config='))

/** kube-controller-manager with those controllers, each under its own ServiceAccount. */
export function controllerManagerCommand(plan: Plan): Command {
  const pki = (file: string) => paths.pki(plan.dataDir, file)
  const controllers =
    plan.controllers === 'workloads' ? [...CONTROLLERS, ...WORKLOADS] : CONTROLLERS
  return command(plan, 'kube-controller-manager', {
    'bind-address': '127.0.0.1',
    'secure-port': plan.ports.controllerManager,
    'tls-cert-file': pki('apiserver.crt'),
    'tls-private-key-file': pki('apiserver.key'),
    kubeconfig: paths.kubeconfig(plan.dataDir, CONTROLLER_MANAGER),
    controllers: controllers.join(','),
    'leader-elect': false,
    'use-service-account-credentials': true,
    'service-account-private-key-file': pki('service-account.key'),
    'root-ca-file': pki('ca.crt'),
  })
}
