import { type ChildProcess, spawn } from 'node:child_process'

/**
 * Makes sure that a child does not outlive this process, whatever ends it, SIGKILL included: a shell
 * waits for a line from us, reads the end of its input instead, and kills the child.
 */
export function tether(child: ChildProcess): void {
  const guard = spawn('sh', ['-c', 'read -r line || kill -9 "$1"', 'guard', String(child.pid)], {
    stdio: ['pipe', 'ignore', 'ignore'],
    // In a session of its own: Ctrl-C is for us, and must not end the guard before its work.
    detached: true,
  })
  child.once('exit', () => guard.stdin.end('done\n'))
}
