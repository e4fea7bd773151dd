import { PROGRAM_VERSION } from '../runtime/flags.ts'

/** A command by its name. */
interface Command {
  /** The first line of its own --help. */
  readonly summary: string
  /** Loads its code when the command is chosen: keygen needs no Kubernetes client. */
  readonly load: () => Promise<{
    /** Takes the arguments after the name; returns the exit code. */
    readonly run: (argv: readonly string[]) => Promise<number>
  }>
}

const COMMANDS: Readonly<Record<string, Command>> = {
  manager: {
    summary: 'Reconcile access keys, tokens and settings: issue tokens and rotate signing keys.',
    load: () => import('./manager/command.ts'),
  },
  gateway: {
    summary:
      'Proxy requests with access keys to API servers, and publish signing keys and revoked tokens.',
    load: () => import('./gateway/command.ts'),
  },
  direct: {
    summary:
      'Proxy requests with direct cluster endpoint tokens to the API server of a connected cluster.',
    load: () => import('./direct/command.ts'),
  },
  delivery: {
    summary:
      'Make access keys and tokens for claims, write them into Secrets, and replace them in time.',
    load: () => import('./delivery/command.ts'),
  },
  'sign-in': {
    summary:
      'Sign people in, with a password or at an identity provider, and make their access keys.',
    load: () => import('./sign-in/command.ts'),
  },
  syncer: {
    summary:
      'Copy Endpoints, Services, Secrets and ConfigMaps of a virtual cluster to its host, with patches.',
    load: () => import('./syncer/command.ts'),
  },
  target: {
    summary:
      'Print the manifests that connect a cluster, a virtual cluster or a space to the gateway.',
    load: () => import('./target/command.ts'),
  },
  kubeconfig: {
    summary: "Write a kubeconfig with the gateway's address and an access key.",
    load: () => import('./kubeconfig/command.ts'),
  },
  check: {
    summary: 'Check an installation: say what is missing, and how to get it.',
    load: () => import('./check/command.ts'),
  },
  keygen: {
    summary: 'Print a new access key and its digest.',
    load: () => import('./keygen/command.ts'),
  },
  audit: {
    summary: 'Show recorded requests: who did what, with which key, and what was answered.',
    load: () => import('./audit/command.ts'),
  },
  revoke: {
    summary: 'Disable an access key and every key that self-service made with it.',
    load: () => import('./revoke/command.ts'),
  },
  sessions: {
    summary: 'List the sessions of a person, or end them.',
    load: () => import('./sessions/command.ts'),
  },
  login: {
    summary: 'Sign in at the platform with a browser, and keep an access key for this user.',
    load: () => import('./login/command.ts'),
  },
  logout: {
    summary:
      'End a sign-in: delete its access key at the platform, and then the copy that login kept.',
    load: () => import('./logout/command.ts'),
  },
  whoami: {
    summary: 'Show who is signed in: user, teams, platform and the end of the key.',
    load: () => import('./whoami/command.ts'),
  },
  token: {
    summary: 'Print the access key of a sign-in, as kubectl asks an exec plugin for it.',
    load: () => import('./token/command.ts'),
  },
  password: {
    summary: 'Print the hash of a password, for the Secret that spec.passwordRef of a User names.',
    load: () => import('./password/command.ts'),
  },
}

const HELP = `Access keys, tokens and platform settings for Kubernetes: an operator and a gateway.

Usage: management-operator <command> [flags]

Commands:
${Object.entries(COMMANDS)
  .map(([name, { summary }]) => `  ${name.padEnd(10)}  ${summary}`)
  .join('\n')}
  help        Print this text; help <command> prints the help of a command.

Flags:
  --version   Print the version and exit.
  -h, --help  Print this text and exit; <command> --help prints the help of a command.
`

/**
 * Runs the command that the command line names, to its end (contract 8.1).
 *
 * @param words the arguments of the program, the command first
 * @returns the exit code: 2 when there is no such command
 */
export async function runCommandLine([name = '', ...argv]: readonly string[]): Promise<number> {
  const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined
  if (command) return (await command.load()).run(argv)
  if (name === 'help' && argv[0] !== undefined) return runCommandLine([argv[0], '--help'])
  if (name === 'help' || name === '--help' || name === '-h') return printed(HELP)
  if (name === '--version') return printed(`${PROGRAM_VERSION}\n`)
  process.stderr.write(`management-operator: ${faultOf(name)}\n`)
  return 2
}

function printed(text: string): number {
  process.stdout.write(text)
  return 0
}

function faultOf(name: string): string {
  const fault = name === '' ? 'no command given' : `${JSON.stringify(name)} is not a command`
  return `${fault}, accepted are ${Object.keys(COMMANDS).join(', ')}, help, --version and --help`
}
