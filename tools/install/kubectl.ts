// kubectl as the user has it: from PATH, with the user's kubeconfig and context.
import { type KubectlResult, runKubectl } from '../control-plane/kubectl.ts'

/** Runs kubectl; a failed command is a result like any other. @throws Error when there is none */
export async function kubectl(args: readonly string[], input = ''): Promise<KubectlResult> {
  try {
    return await runKubectl('kubectl', args, process.env, input)
  } catch (cause) {
    throw new Error('kubectl is not on PATH: install it (https://kubernetes.io/docs/tasks/tools)', {
      cause,
    })
  }
}

/** The standard output of kubectl. @throws Error with its standard error, when it fails */
export async function must(args: readonly string[], input = ''): Promise<string> {
  const { code, stdout, stderr } = await kubectl(args, input)
  if (code !== 0) throw new Error(`kubectl ${args.join(' ')} failed:\n${stderr.trim()}`)
  return stdout
}

/** The cluster of the current context, such as `https://10.0.0.1:6443 (context kind)`. @throws Error without a cluster */
export async function clusterText(): Promise<string> {
  if ((await must(['config', 'view', '-o', 'jsonpath={.current-context}'])) === '')
    throw new Error(NO_CLUSTER)
  const path = '{.clusters[0].cluster.server} (context {.current-context})'
  return must(['config', 'view', '--minify', '-o', `jsonpath=${path}`])
}

const NO_CLUSTER =
  'no cluster to install into: set KUBECONFIG to its kubeconfig, or choose one with kubectl config use-context (kubectl config get-contexts lists them)'
