// A refresh in a test: an account as its session has it, what is kept of the answer, and what comes of it.
import type {
  KnownAccount,
  ProviderIdentity,
  ProviderRefresh,
  ProviderTokens,
  SignInProvider,
} from '../../../src/signin/providers/provider.ts'
import type { ForgedProvider } from './forged-provider.ts'
import { goodToken, NO_END } from './sign-in.ts'

/** How a provider is asked again. @throws Error where it can't be */
export function refreshOf({ id, refresh }: SignInProvider): ProviderRefresh {
  if (refresh === null) throw new Error(`${id} can't be asked again`)
  return refresh
}

/** The account of a sign-in. */
export const accountOf = ({ subject, tokens }: ProviderIdentity): KnownAccount => ({
  subject,
  tokens,
})

/** What came of a refresh. */
interface AskedAgain {
  /** The person, or what was thrown. */
  readonly outcome: unknown
  /** The tokens of each call of `keep`. */
  readonly kept: readonly ProviderTokens[]
}

/** Asks a provider again about an account. @param duringKeep runs within `keep` */
export async function askAgain(
  provider: SignInProvider,
  account: KnownAccount,
  duringKeep: () => Promise<void> = () => Promise.resolve(),
  signal: AbortSignal = NO_END,
): Promise<AskedAgain> {
  const kept: ProviderTokens[] = []
  const keep = (tokens: ProviderTokens): Promise<void> => {
    kept.push(tokens)
    return duringKeep()
  }
  const outcome: unknown = await refreshOf(provider)
    .ask(account, keep, signal)
    .catch((error: unknown) => error)
  return { outcome, kept }
}

/** Has the forger answer a refresh with rotated tokens, and an ID token of these claims besides the usual ones. */
export async function rotateAt(
  forger: ForgedProvider,
  claims: Readonly<Record<string, unknown>> = {},
): Promise<void> {
  forger.token = { ...ROTATED, id_token: await goodToken(forger, { nonce: undefined, ...claims }) }
}

/** What a forger answers a refresh with, but for the ID token. */
export const ROTATED = { access_token: 'access secret 2', refresh_token: 'refresh secret 2' }
