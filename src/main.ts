#!/usr/bin/env -S node --disable-sigusr1 --disable-proto=delete --disallow-code-generation-from-strings --max-semi-space-size=2
import { runCommandLine } from './commands/command-line.ts'

// The kernel gives process 1 of a container only signals that it listens to; until the command does, we do.
for (const signal of ['SIGTERM', 'SIGINT']) {
  process.once(signal, () => {
    if (process.listenerCount(signal) === 0) process.exit(0)
  })
}

process.exit(await runCommandLine(process.argv.slice(2)))
