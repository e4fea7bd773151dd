// Signs in at a platform with a browser, and gets a key for the terminal (contract 25.2, 27.2).
import { type Clock, sleep } from '../../runtime/clock.ts'
import { type HandOver, loginUrl, newHandOver } from './hand-over.ts'
import { startLoopback } from './loopback.ts'
import { pastedCode } from './pasted-code.ts'
import { type Platform, redeem } from './platform.ts'
import type { SignIn } from './sign-ins-file.ts'

/** What a sign-in needs of the terminal. */
export interface SignInTerminal {
  readonly clock: Clock
  readonly input: NodeJS.ReadableStream
  /** Whether a person is at `input`. */
  readonly isInteractive: boolean
  /** Shows a line to the person; nothing secret. */
  readonly say: (line: string) => void
  /** Opens the address in a browser; null = no browser is within reach, so the code is pasted. */
  readonly openBrowser: ((url: string, onFailure: () => void) => void) | null
  /** Aborts when the person gives up. */
  readonly signal: AbortSignal
}

/** From the first line to the code. */
const WITHIN_MS = 5 * 60_000

/**
 * Lets the person sign in.
 *
 * @throws Error when it takes more than 5 minutes, is given up, or the platform refuses
 */
export async function signIn(
  platform: Platform,
  terminal: SignInTerminal,
): Promise<Omit<SignIn, 'ca'>> {
  const handOver = newHandOver()
  const attempt = new AbortController()
  const signal = AbortSignal.any([terminal.signal, attempt.signal])
  try {
    const code = await codeOf(platform, handOver, { ...terminal, signal })
    return await redeem(platform, { code, verifier: handOver.verifier })
  } finally {
    attempt.abort()
  }
}

async function codeOf(
  { url }: Platform,
  handOver: HandOver,
  terminal: SignInTerminal,
): Promise<string> {
  const { openBrowser, isInteractive, input, say, signal } = terminal
  using loopback =
    openBrowser === null ? null : await startLoopback({ state: handOver.state, platform: url })
  const address = loginUrl(url, handOver, loopback?.port ?? null)
  say(`Sign in at this address${openBrowser === null ? '' : ', which a browser opens now'}:`)
  say('')
  say(`  ${address}`)
  say('')
  say(`Go on there only if the page shows the check code ${handOver.checkCode}.`)
  openBrowser?.(address, () => say('No browser could be opened: open the address yourself.'))
  const isPasted = loopback === null || isInteractive
  if (isPasted)
    say(`${loopback ? 'Or paste' : 'Paste'} the code that the page shows, and press Enter.`)
  // Awaited here: the port is closed when this function returns.
  return await Promise.race([
    late(terminal),
    ...(loopback ? [loopback.code] : []),
    ...(isPasted ? [pastedCode(input, signal)] : []),
  ])
}

/** Rejects after the time limit, or as soon as the person gives up. */
async function late({ clock, signal }: SignInTerminal): Promise<never> {
  await sleep(clock, WITHIN_MS, signal)
  throw new Error(signal.aborted ? 'the sign-in was given up' : 'it took more than 5 minutes')
}
