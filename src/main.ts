#!/usr/bin/env -S node --disable-sigusr1 --disable-proto=delete --disallow-code-generation-from-strings
import { PROGRAM_VERSION } from './runtime/version.ts'

/** Runs one command with the arguments behind its name; answers the exit code. */
interface Command {
  readonly run: (argv: readonly string[]) => Promise<number>
}

// Loaded when chosen: keygen pays for no Kubernetes client.
const COMMANDS: Readonly<Record<string, () => Promise<Command>>> = {
  manager: () => import('./commands/manager.ts'),
  gateway: () => import('./commands/gateway.ts'),
  keygen: () => import('./commands/keygen.ts'),
  revoke: () => import('./commands/revoke.ts'),
}

const HELP = `Access keys and platform settings as a Kubernetes operator.

Usage: management-operator <command> [flags]

  manager      Reconcile access keys and the platform settings.
  gateway      Serve what verifiers of tokens need.
  keygen       Print a new access key and its digest.
  revoke       Disable an access key that leaked, and every key that was made with it.
  --version    Print the version.
  --help       Print this text; <command> --help prints a command's flags.
`

async function main([name = '', ...argv]: readonly string[]): Promise<number> {
  const load = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined
  if (load) return (await load()).run(argv)
  if (name === '--help' || name === '-h') return said(HELP)
  if (name === '--version') return said(`${PROGRAM_VERSION}\n`)
  process.stderr.write(`management-operator: ${faultOf(name)}\n`)
  return 2
}

function said(text: string): number {
  process.stdout.write(text)
  return 0
}

function faultOf(name: string): string {
  const fault = name === '' ? 'no command given' : `${JSON.stringify(name)} is no command`
  return `${fault}, accepted are ${Object.keys(COMMANDS).join(', ')}, --version and --help`
}

// Process 1 of a container gets no signal that it does not listen to: until the command does, we do.
for (const signal of ['SIGTERM', 'SIGINT']) {
  process.once(signal, () => {
    if (process.listenerCount(signal) === 0) process.exit(0)
  })
}

process.exit(await main(process.argv.slice(2)))
