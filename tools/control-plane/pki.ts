import { existsSync } from 'node:fs'
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { CertificatePair } from '../../src/serving/tls/key-pair.ts'
import { createAuthority, createTokenKeys, issueClient, issueServing } from './certificates.ts'
import { KUBELET_CLIENT_FILES } from './commands.ts'

/** The first address of the range for Services: the Service "kubernetes" gets it. */
const SERVICE_ADDRESS = '10.96.0.1'
const API_SERVER_HOSTS = [
  '127.0.0.1',
  SERVICE_ADDRESS,
  'localhost',
  'kubernetes',
  'kubernetes.default',
  'kubernetes.default.svc',
  'kubernetes.default.svc.cluster.local',
]

/** The identity in the API server's certificate for kubelets, which accept no other caller. */
export const KUBELET_CLIENT = { user: 'kube-apiserver-kubelet-client', groups: [] } as const

/**
 * Creates the folder of keys and certificates unless it is there. `<name>.crt` and `<name>.key` for:
 *
 * - `ca`, which signs the API server's certificate (`apiserver`) and every client of it (`admin`,
 *   `controller-manager`), and what it shows to kubelets (`apiserver-kubelet-client`)
 * - `etcd-ca`, which signs etcd's own (`etcd`) and its only client (`etcd-client`); an authority apart,
 *   so that no user of Kubernetes can open etcd with the certificate that names them
 * - `service-account`, which signs ServiceAccount tokens, with `.pub` instead of `.crt`
 */
export async function ensurePki(directory: string): Promise<void> {
  if (!existsSync(directory)) await createPki(directory)
  await ensureKubeletClient(directory)
}

/** A folder that survives may be older than this pair. */
async function ensureKubeletClient(directory: string): Promise<void> {
  const file = (suffix: string): string => join(directory, `${KUBELET_CLIENT_FILES}.${suffix}`)
  if (existsSync(file('key'))) return
  const { certificatePem, keyPem } = issueClient(await readKeyPair(directory, 'ca'), KUBELET_CLIENT)
  await writeFile(file('crt'), certificatePem, { mode: 0o600 })
  await writeFile(file('key'), keyPem, { mode: 0o600 })
}

async function createPki(directory: string): Promise<void> {
  const draft = `${directory}.unfinished`
  await rm(draft, { recursive: true, force: true })
  await mkdir(draft, { recursive: true, mode: 0o700 })
  for (const [name, content] of Object.entries(createFiles())) {
    await writeFile(join(draft, name), content, { mode: 0o600 })
  }
  await rename(draft, directory)
}

/** Reads a certificate and its key from the folder. */
export async function readKeyPair(directory: string, name: string): Promise<CertificatePair> {
  const read = (suffix: string) => readFile(join(directory, `${name}.${suffix}`), 'utf8')
  return { certificatePem: await read('crt'), keyPem: await read('key') }
}

function createFiles(): Readonly<Record<string, string>> {
  const ca = createAuthority('kubernetes')
  const etcdCa = createAuthority('etcd')
  const controllerManager = { user: 'system:kube-controller-manager', groups: [] }
  const pairs = {
    ca,
    'etcd-ca': etcdCa,
    apiserver: issueServing(ca, API_SERVER_HOSTS),
    admin: issueClient(ca, { user: 'kubernetes-admin', groups: ['system:masters'] }),
    'controller-manager': issueClient(ca, controllerManager),
    etcd: issueServing(etcdCa, ['127.0.0.1', 'localhost']),
    'etcd-client': issueClient(etcdCa, { user: 'kube-apiserver', groups: [] }),
  }
  const tokens = createTokenKeys()
  const files = Object.entries(pairs).flatMap(([name, pair]) => [
    [`${name}.crt`, pair.certificatePem],
    [`${name}.key`, pair.keyPem],
  ])
  return {
    ...(Object.fromEntries(files) as Record<string, string>),
    'service-account.key': tokens.privatePem,
    'service-account.pub': tokens.publicPem,
  }
}
