// The virtual cluster of `make run`: the connected cluster, whose host is a namespace of the management cluster, with a
// syncer between them.
import { copyFileSync, existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Access } from '../control-plane/access.ts'
import { mustKubectl } from '../control-plane/kubectl.ts'
import { type KeptProgram, type RunFolders, keepProgram } from './program.ts'

/** Name of the virtual cluster, and of its own Service on the host, as in config/syncer. */
const NAME = 'my-vc'
/** Its namespace on the host. */
const HOST_NAMESPACE = 'vcluster-my-vc'
const ACCOUNT = 'syncer'
/** Namespace of the syncer's account in the virtual cluster. */
const VIRTUAL_NAMESPACE = 'platform-syncer'

/** Both clusters. */
interface VirtualClusterOptions {
  readonly host: Access
  readonly virtual: Access
  readonly folders: RunFolders
  readonly log: (line: string) => void
}

/** The file of the configuration, for a newcomer to change. */
export const configFile = (home: string): string => join(home, 'vcluster.yaml')

/** Installs the syncer's rights and the samples once, and starts it. @throws Error when a manifest is refused */
export async function startVirtualCluster(options: VirtualClusterOptions): Promise<KeptProgram> {
  const { host, virtual, folders, log } = options
  const { root, home, main } = folders
  const samples = join(root, 'config/samples/virtual-cluster')
  const config = configFile(home)
  await createNamespace(host)
  for (const part of ['policy', 'host'])
    await apply(host, ['-k', join(root, 'config/syncer', part)])
  await apply(virtual, ['-k', join(root, 'config/syncer/virtual')])
  if (!existsSync(config)) {
    await apply(host, ['-n', HOST_NAMESPACE, '-f', join(samples, 'host-service.yaml')])
    await apply(virtual, ['-f', join(samples, 'objects.yaml')])
    copyFileSync(join(samples, 'vcluster.yaml'), config)
  }
  return keepProgram({
    command: 'syncer',
    title: 'the syncer',
    accounts: [
      { flag: '--host-kubeconfig', access: host, namespace: HOST_NAMESPACE, name: ACCOUNT },
      {
        flag: '--virtual-kubeconfig',
        access: virtual,
        namespace: VIRTUAL_NAMESPACE,
        name: ACCOUNT,
      },
    ],
    flags: [
      `--virtual-cluster=${NAME}`,
      `--host-namespace=${HOST_NAMESPACE}`,
      `--service-name=${NAME}`,
      `--config=${config}`,
    ],
    main,
    logFile: join(home, 'syncer.log'),
    pidFile: join(home, 'syncer.pid'),
    log,
  })
}

async function createNamespace(host: Access): Promise<void> {
  const manifest = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: HOST_NAMESPACE } }
  await apply(host, ['-f', '-'], JSON.stringify(manifest))
}

async function apply(access: Access, what: readonly string[], input = ''): Promise<void> {
  await mustKubectl(access, ['apply', '--server-side', ...what], { input })
}
