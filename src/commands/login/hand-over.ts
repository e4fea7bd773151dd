// The hand-over of a sign-in from a browser to a terminal (contract 25.2): the browser gets a code, which is worth nothing
// without the verifier that only the terminal has.
import { createHash, randomBytes } from 'node:crypto'
import { checkCode, terminalParameters } from '../../signin/attempts/terminal.ts'

/** The secrets of one sign-in at a terminal, and what follows from them. */
export interface HandOver {
  /** PKCE verifier, 43 characters. Secret: it goes to the platform alone, in exchange for the key. */
  readonly verifier: string
  /** Proves that a code which reaches the loopback port comes from the page that this terminal opened. */
  readonly state: string
  /** S256 of the verifier. */
  readonly challenge: string
  /** What the page shows too, such as `1a2b-3c4d`: the person compares. */
  readonly checkCode: string
}

const RANDOM_BYTES = 32

/** Makes the secrets of a sign-in. @param random returns that many random bytes */
export function newHandOver(random: (bytes: number) => Buffer = randomBytes): HandOver {
  const verifier = random(RANDOM_BYTES).toString('base64url')
  const challenge = createHash('sha256').update(verifier).digest('base64url')
  return {
    verifier,
    state: random(RANDOM_BYTES).toString('base64url'),
    challenge,
    checkCode: checkCode(challenge),
  }
}

/**
 * The address that the browser opens.
 *
 * @param port of the loopback server; null = the code is pasted
 */
export function loginUrl(
  platform: string,
  { state, challenge }: HandOver,
  port: number | null,
): string {
  const url = new URL('/login', platform)
  url.search = terminalParameters({ port, state, challenge }).toString()
  return url.href
}
