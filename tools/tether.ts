import { type ChildProcess, spawn } from 'node:child_process'

/** Lets the child live on without us, or ends the watch over one that has ended. */
export interface Tether {
  release(): void
}

/**
 * Ends the child when this process ends, whatever ends it, SIGKILL included: a shell holds one end of
 * a pipe whose other end only we have, and kills the child when that closes.
 */
export function tether({ pid }: ChildProcess): Tether {
  const guard = spawn('sh', ['-c', 'read -r line || kill -9 "$1"', 'tether', String(pid)], {
    stdio: ['pipe', 'ignore', 'ignore'],
    // In a session of its own: Ctrl-C is for us, and must not end the guard before its work.
    detached: true,
  })
  return { release: () => void guard.stdin.end('done\n') }
}
