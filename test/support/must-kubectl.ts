import type { KubectlOptions, KubectlResult } from '../../tools/control-plane/kubectl.ts'

/** What runs kubectl against one cluster; a failed command is a result like any other. */
interface HasKubectl {
  readonly kubectl: (args: readonly string[], options?: KubectlOptions) => Promise<KubectlResult>
}

/** What kubectl prints to standard output. @throws Error with what it printed to standard error, when it fails */
export async function mustKubectl(
  { kubectl }: HasKubectl,
  args: readonly string[],
  options: KubectlOptions = {},
): Promise<string> {
  const { code, stdout, stderr } = await kubectl(args, options)
  if (code !== 0) throw new Error(`kubectl ${args.join(' ')}: ${stderr.trim()}`)
  return stdout
}
