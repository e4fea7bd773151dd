import { spawn } from 'node:child_process'

/** How kubectl ended and what it printed. */
export interface KubectlResult {
  /** Its exit code; 128 when a signal ended it. */
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

/** Options of one call. */
export interface KubectlOptions {
  /** Its standard input, for `-f -`; empty when absent. */
  readonly input?: string
  /** The kubeconfig to use; the admin's when absent. */
  readonly kubeconfig?: string
  /** Added to the environment of this process. */
  readonly env?: Readonly<Record<string, string>>
}

/** Runs kubectl against one cluster; a failed command is a result like any other. */
interface HasKubectl {
  readonly kubectl: (args: readonly string[], options?: KubectlOptions) => Promise<KubectlResult>
}

/** The standard output of kubectl. @throws Error with what it printed to standard error, when it fails */
export async function mustKubectl(
  { kubectl }: HasKubectl,
  args: readonly string[],
  options: KubectlOptions = {},
): Promise<string> {
  const { code, stdout, stderr } = await kubectl(args, options)
  if (code !== 0) throw new Error(`kubectl ${args.join(' ')}: ${stderr.trim()}`)
  return stdout
}

/** Runs kubectl; a failed command is a result like any other. @throws Error when it can't be run */
export function runKubectl(
  program: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  input: string,
): Promise<KubectlResult> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { env, stdio: 'pipe' })
    let stdout = ''
    let stderr = ''
    child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text))
    child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text))
    child.once('error', reject)
    child.once('close', (code) => resolve({ code: code ?? 128, stdout, stderr }))
    // A command that reads no input may be gone before it is written.
    child.stdin.on('error', () => undefined).end(input)
  })
}
