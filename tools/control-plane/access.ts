import { mkdir } from 'node:fs/promises'
import type { Binaries } from './binaries.ts'
import { type ClientSubject, issueClient } from './certificates.ts'
import { paths } from './commands.ts'
import { replaceFile } from './exclusive-file.ts'
import { type Cluster, type Credential, kubeconfig } from './kubeconfig.ts'
import { type KubectlOptions, type KubectlResult, runKubectl } from './kubectl.ts'
import { readKeyPair } from './pki.ts'

/** The ways into an API server. */
export interface Access {
  /** Runs kubectl, as admin by default. Never throws for a command that fails. */
  kubectl(args: readonly string[], options?: KubectlOptions): Promise<KubectlResult>
  /** The command line of the same kubectl, for callers that need its streams. */
  kubectlCommand(options?: Pick<KubectlOptions, 'kubeconfig' | 'env'>): KubectlCommand
  /** Writes a kubeconfig with a new client certificate for any user; `name` names the file. */
  clientKubeconfig(client: ClientSubject & { readonly name: string }): Promise<string>
  /**
   * Writes a kubeconfig with a token for an existing ServiceAccount, good for 24 hours, in a file of
   * its own; a second call renews the token in that file.
   *
   * @throws Error when there is no such ServiceAccount
   */
  serviceAccountKubeconfig(namespace: string, name: string): Promise<string>
}

/** What runs kubectl. */
interface KubectlCommand {
  readonly program: string
  readonly env: NodeJS.ProcessEnv
}

/** The name of the kubeconfig file of the admin. */
export const ADMIN = 'admin'

/** Writes a kubeconfig into the data folder and returns its path. */
export async function writeKubeconfig(
  dataDir: string,
  name: string,
  cluster: Cluster,
  credential: Credential,
): Promise<string> {
  const path = paths.kubeconfig(dataDir, name)
  await mkdir(paths.kubeconfigs(dataDir), { recursive: true, mode: 0o700 })
  await replaceFile(path, kubeconfig(name, cluster, credential))
  return path
}

/** The ways into the API server of a data folder. */
export function createAccess(binaries: Binaries, dataDir: string, cluster: Cluster): Access {
  const kubectlCommand: Access['kubectlCommand'] = (options = {}) => ({
    program: binaries.kubectl,
    env: {
      ...process.env,
      ...options.env,
      KUBECONFIG: options.kubeconfig ?? paths.kubeconfig(dataDir, ADMIN),
      // Ignore the user's preferences, and the cache of another server on the same port.
      KUBERC: 'off',
      KUBECACHEDIR: paths.kubectlCache(dataDir),
    },
  })
  const kubectl: Access['kubectl'] = (args, options = {}) => {
    const { program, env } = kubectlCommand(options)
    return runKubectl(program, args, env, options.input ?? '')
  }
  return {
    kubectl,
    kubectlCommand,
    async clientKubeconfig({ name, user, groups }) {
      const ca = await readKeyPair(paths.pki(dataDir), 'ca')
      return writeKubeconfig(dataDir, name, cluster, issueClient(ca, { user, groups }))
    },
    async serviceAccountKubeconfig(namespace, name) {
      const args = ['create', 'token', name, '--namespace', namespace, '--duration', '24h']
      const { code, stdout, stderr } = await kubectl(args)
      if (code !== 0) throw new Error(`no token for ${namespace}/${name}: ${stderr.trim()}`)
      const file = `${namespace}.${name}`
      const tokenFile = paths.token(dataDir, file)
      await mkdir(paths.kubeconfigs(dataDir), { recursive: true, mode: 0o700 })
      await replaceFile(tokenFile, stdout.trim())
      return writeKubeconfig(dataDir, file, cluster, { tokenFile })
    },
  }
}
