// Ends processes with this one, whatever ends it, SIGKILL included: a shell of its own session reads lines from
// us, and does its work where the lines end without a last word.
import { type ChildProcess, spawn } from 'node:child_process'

/** A shell that ends processes once this one is gone. */
export interface Tether {
  readonly shell: ChildProcess
  /** Replaces the processes to kill, by id. */
  readonly hold: (pids: readonly number[]) => void
  /** Ends the shell without further work. */
  readonly release: () => void
}

// A killed process may write for another moment: the folder is checked once more after its removal.
const SCRIPT = `
pids=
while read -r line; do
  [ "$line" = done ] && exit
  pids=$line
done
[ -z "$pids" ] || kill -9 $pids
[ -n "$1" ] || exit
for attempt in 1 2 3 4 5 6 7 8 9 10; do
  rm -rf "$1" && sleep 0.2 && [ ! -e "$1" ] && exit
done`

/** Opens a tether that holds nothing yet. @param remove a folder to remove too; null = none */
export function openTether(remove: string | null): Tether {
  const shell = spawn('sh', ['-c', SCRIPT, 'tether', remove ?? ''], {
    stdio: ['pipe', 'ignore', 'ignore'],
    // In a session of its own: Ctrl-C is for us, and must not end the shell before its work.
    detached: true,
  })
  // A shell that was killed reads no more; its exit is the event to listen to.
  shell.stdin.on('error', () => undefined)
  return {
    shell,
    hold: (pids) => void shell.stdin.write(`${pids.join(' ')}\n`),
    release: () => void shell.stdin.end('done\n'),
  }
}

/** Makes sure that a child does not outlive this process. */
export function tether(child: ChildProcess): void {
  const { hold, release } = openTether(null)
  hold(child.pid === undefined ? [] : [child.pid])
  child.once('exit', release)
}
