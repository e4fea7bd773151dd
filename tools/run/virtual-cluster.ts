// The virtual cluster of `make run`: the connected cluster, whose host is a namespace of the management cluster, with a
// syncer between them.
import { copyFileSync, existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import type { Access } from '../control-plane/access.ts'
import { type KeptProgram, type ProgramOptions, keepProgram } from './program.ts'

/** Name of the virtual cluster, and of its own Service on the host. */
const NAME = 'my-cluster'
/** Its namespace on the host. */
const HOST_NAMESPACE = 'vc-my-cluster'
const ACCOUNT = 'syncer'

/** Both clusters, and the folders of this repository and of `make run`. */
interface VirtualClusterOptions {
  readonly host: Access
  readonly virtual: Access
  readonly root: string
  readonly home: string
  /** The program's options that all commands share. */
  readonly program: Pick<ProgramOptions, 'main' | 'log'>
}

/** The file of the configuration, for a newcomer to change. */
export const configFile = (home: string): string => join(home, 'vcluster.yaml')

/** Installs the syncer's rights and the samples once, and starts it. @throws Error when a manifest is refused */
export async function startVirtualCluster(options: VirtualClusterOptions): Promise<KeptProgram> {
  const { host, virtual, root, home, program } = options
  const samples = join(root, 'config/samples/virtual-cluster')
  const config = configFile(home)
  await apply(host, namespaceManifest(HOST_NAMESPACE))
  await applyKustomized(host, options, 'host', HOST_NAMESPACE)
  await applyKustomized(virtual, options, 'virtual', 'kube-system')
  if (!existsSync(config)) {
    await kubectl(
      host,
      'apply',
      '--server-side',
      '-n',
      HOST_NAMESPACE,
      '-f',
      join(samples, 'host-service.yaml'),
    )
    await kubectl(virtual, 'apply', '--server-side', '-f', join(samples, 'objects.yaml'))
    copyFileSync(join(samples, 'vcluster.yaml'), config)
  }
  return keepProgram({
    ...program,
    command: 'syncer',
    title: 'the syncer',
    accounts: [
      { flag: '--host-kubeconfig', access: host, namespace: HOST_NAMESPACE, name: ACCOUNT },
      { flag: '--virtual-kubeconfig', access: virtual, namespace: 'kube-system', name: ACCOUNT },
    ],
    flags: [
      `--virtual-cluster=${NAME}`,
      `--host-namespace=${HOST_NAMESPACE}`,
      `--service-name=${NAME}`,
      `--config=${config}`,
    ],
    logFile: join(home, 'syncer.log'),
    pidFile: join(home, 'syncer.pid'),
  })
}

/** Applies config/syncer/<part> in a namespace, by a kustomization beside the data. */
async function applyKustomized(
  access: Access,
  { root, home }: VirtualClusterOptions,
  part: string,
  namespace: string,
): Promise<void> {
  const folder = join(home, 'syncer', part)
  mkdirSync(folder, { recursive: true })
  const kustomization = {
    apiVersion: 'kustomize.config.k8s.io/v1beta1',
    kind: 'Kustomization',
    namespace,
    resources: [relative(folder, join(root, 'config/syncer', part))],
  }
  writeFileSync(join(folder, 'kustomization.yaml'), JSON.stringify(kustomization))
  await kubectl(access, 'apply', '--server-side', '-k', folder)
}

const namespaceManifest = (name: string): object => ({
  apiVersion: 'v1',
  kind: 'Namespace',
  metadata: { name },
})

async function apply(access: Access, manifest: object): Promise<void> {
  const input = JSON.stringify(manifest)
  const { code, stderr } = await access.kubectl(['apply', '--server-side', '-f', '-'], { input })
  if (code !== 0) throw new Error(`no namespace for the virtual cluster:\n${stderr.trim()}`)
}

async function kubectl(access: Access, ...args: readonly string[]): Promise<void> {
  const { code, stderr } = await access.kubectl(args)
  if (code !== 0) throw new Error(`kubectl ${args.join(' ')} failed:\n${stderr.trim()}`)
}
