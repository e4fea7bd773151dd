// A control plane in a container: k3s if K3S_IMAGE names its image, else an image of the programs in
// tools/control-plane, for machines that can't pull k3s. Pods run on the test node (test-node.ts) only: the node of
// k3s is cordoned.
import { copyFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { K3sContainer, type StartedK3sContainer } from '@testcontainers/k3s'
import { GenericContainer } from 'testcontainers'
import { type Binaries, ensureBinaries } from '../../tools/control-plane/binaries.ts'
import { CONTROLLER_MANAGER, paths } from '../../tools/control-plane/commands.ts'
import { kubeconfig } from '../../tools/control-plane/kubeconfig.ts'
import { type KubectlResult, runKubectl } from '../../tools/control-plane/kubectl.ts'
import { ensurePki, readKeyPair } from '../../tools/control-plane/pki.ts'
import { BASE_IMAGE, type ContainersReady, imageExists } from './docker-containers.ts'

/** A control plane in a container. */
export interface Cluster {
  /** The path of the admin's kubeconfig, for this process. */
  readonly kubeconfig: string
  /** The address of the API server for pods in containers. */
  readonly address: { readonly host: string; readonly ip: string; readonly port: number }
  /** Runs kubectl as admin; a failed command is a result like any other. */
  kubectl(args: readonly string[], input?: string): Promise<KubectlResult>
  /** Runs kubectl; returns its standard output. @throws Error with its standard error */
  must(args: readonly string[], input?: string): Promise<string>
  stop(): Promise<void>
}

const ROOT = join(import.meta.dirname, '../..')
const IMAGE_DIR = join(import.meta.dirname, 'kube-image')
const KUBECONFIG_IN_K3S = '/etc/rancher/k3s/k3s.yaml'
const DATA_IN_IMAGE = '/control-plane'
const API_PORT = 6443
/** A name in the API server's certificate, of both kinds of control plane. */
const API_HOST = 'kubernetes.default.svc'

/** Without the privileges that k3s needs for its kubelet. */
class OurControlPlane extends K3sContainer {
  constructor(image: string) {
    super(image)
    // The types of the packages disagree on CgroupnsMode.
    Object.assign(this.hostConfig, { Privileged: false, CgroupnsMode: 'private', Binds: [] })
  }
}

/** Starts a control plane and waits until it is ready. */
export async function startCluster(containers: ContainersReady): Promise<Cluster> {
  const binaries = await ensureBinaries(console.log)
  const folder = await mkdtemp(join(tmpdir(), 'management-operator-cluster-'))
  const k3s = process.env['K3S_IMAGE'] ?? ''
  const started =
    k3s === '' ? await startOurs(containers, binaries, folder) : await new K3sContainer(k3s).start()
  const file = join(folder, 'kubeconfig')
  await writeFile(file, started.getKubeConfig(), { mode: 0o600 })
  const cluster = clusterOf(started, binaries, folder, file)
  if (k3s !== '') await cluster.must(['cordon', '--selector=kubernetes.io/os'])
  return cluster
}

function clusterOf(
  started: StartedK3sContainer,
  { kubectl: program }: Binaries,
  folder: string,
  file: string,
): Cluster {
  const cache = join(folder, 'kubectl-cache')
  const env = { ...process.env, KUBECONFIG: file, KUBERC: 'off', KUBECACHEDIR: cache }
  const kubectl: Cluster['kubectl'] = (args, input = '') => runKubectl(program, args, env, input)
  return {
    kubeconfig: file,
    address: { host: API_HOST, ip: started.getIpAddress('bridge'), port: API_PORT },
    kubectl,
    must: async (args, input) => {
      const { code, stdout, stderr } = await kubectl(args, input)
      if (code !== 0) throw new Error(`kubectl ${args.join(' ')}: ${stderr.trim()}`)
      return stdout
    },
    stop: async () => {
      await started.stop()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/** Certificates and kubeconfigs are created here and copied into the container. */
async function startOurs(
  containers: ContainersReady,
  binaries: Binaries,
  folder: string,
): Promise<StartedK3sContainer> {
  const image = await ensureKubeImage(containers, binaries)
  const pki = paths.pki(folder)
  await ensurePki(pki)
  const { certificatePem: caPem } = await readKeyPair(pki, 'ca')
  const configFor = async (name: string): Promise<string> =>
    kubeconfig(name, { url: `https://127.0.0.1:${API_PORT}`, caPem }, await readKeyPair(pki, name))
  const container = new OurControlPlane(image)
    .withCopyDirectoriesToContainer([{ source: pki, target: paths.pki(DATA_IN_IMAGE) }])
    .withCopyContentToContainer([
      { content: await configFor('admin'), target: KUBECONFIG_IN_K3S },
      {
        content: await configFor(CONTROLLER_MANAGER),
        target: paths.kubeconfig(DATA_IN_IMAGE, CONTROLLER_MANAGER),
      },
    ])
  return container.start()
}

const FROM_REPOSITORY = [
  'tools/control-plane/commands.ts',
  'test/container/kube-image/entrypoint.ts',
  // Without it Node.js has to detect the module type and prints a warning.
  'package.json',
]

/** Builds the image once for all test files of a run. */
async function ensureKubeImage(containers: ContainersReady, binaries: Binaries): Promise<string> {
  const tag = `${containers.image}-control-plane`
  if (await imageExists(tag)) return tag
  const context = await mkdtemp(join(tmpdir(), 'management-operator-kube-image-'))
  try {
    await mkdir(join(context, 'bin'))
    for (const name of ['etcd', 'kube-apiserver', 'kube-controller-manager'] as const)
      await copyFile(binaries[name], join(context, 'bin', name))
    for (const path of FROM_REPOSITORY) {
      await mkdir(dirname(join(context, 'repository', path)), { recursive: true })
      await copyFile(join(ROOT, path), join(context, 'repository', path))
    }
    await copyFile(join(IMAGE_DIR, 'Dockerfile'), join(context, 'Dockerfile'))
    await GenericContainer.fromDockerfile(context).withBuildArgs({ BASE: BASE_IMAGE }).build(tag)
    return tag
  } finally {
    await rm(context, { recursive: true })
  }
}
