// The terminal of this process.
import { systemClock } from '../../runtime/clock.ts'
import { processInputs } from '../shared/process.ts'
import { browserCommand, openBrowser } from './browser.ts'
import type { SignInTerminal } from './sign-in.ts'

/** The terminal of this process. @param signal aborts when the person gives up */
export function processTerminal(signal: AbortSignal, usesBrowser: boolean): SignInTerminal {
  const { stdin, stderr, platform } = process
  const surroundings = { platform, env: processInputs.env }
  const hasBrowser = usesBrowser && browserCommand('', surroundings) !== null
  return {
    clock: systemClock(),
    input: stdin,
    isInteractive: stdin.isTTY && stderr.isTTY,
    say: (line) => void stderr.write(`${line}\n`),
    openBrowser: hasBrowser
      ? (url, onFailure) => {
          const command = browserCommand(url, surroundings)
          if (command !== null) openBrowser(command, onFailure)
        }
      : null,
    signal,
  }
}
