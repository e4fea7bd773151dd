// Opens a browser at an address.
import { spawn } from 'node:child_process'

/** A program and its arguments, run without a shell. */
interface BrowserCommand {
  readonly file: string
  readonly args: readonly string[]
}

/** Where this program runs. */
interface Surroundings {
  readonly platform: NodeJS.Platform
  readonly env: (name: string) => string | null
}

/**
 * The program that opens the address in a browser; null = no browser is within reach, as in a terminal of another machine.
 * `BROWSER` decides where it is set: the first of its programs, separated by colons, `%s` for the address.
 */
export function browserCommand(
  url: string,
  { platform, env }: Surroundings,
): BrowserCommand | null {
  const [chosen = ''] = (env('BROWSER') ?? '').split(':')
  const [file, ...words] = chosen.split(' ').filter((word) => word !== '')
  if (file !== undefined) {
    const args = words.map((word) => word.replaceAll('%s', () => url))
    return { file, args: args.join() === words.join() ? [...args, url] : args }
  }
  if (env('SSH_CONNECTION') !== null) return null
  if (platform === 'darwin') return { file: 'open', args: [url] }
  if (platform === 'win32') return { file: 'rundll32', args: ['url.dll,FileProtocolHandler', url] }
  const hasDisplay = env('DISPLAY') !== null || env('WAYLAND_DISPLAY') !== null
  return hasDisplay ? { file: 'xdg-open', args: [url] } : null
}

/** Starts the program, which outlives this one. @param onFailure is called when it can't be started, or fails */
export function openBrowser({ file, args }: BrowserCommand, onFailure: () => void): void {
  const child = spawn(file, args, { detached: true, stdio: 'ignore' })
  child.once('error', onFailure)
  child.once('exit', (code) => {
    if (code !== 0) onFailure()
  })
  child.unref()
}
