// A call of a provider that is under way, and its session (contract 25.7): whatever comes of the call, a new refresh token is
// stored, and no other process's word is overwritten.
import { type Clock, sleep } from '../../runtime/clock.ts'
import type { ProviderIdentity, ProviderTokens } from '../providers/provider.ts'
import { answered, confirmedAt, type RefreshState } from '../sessions/refresh-state.ts'
import type { SignInSession } from '../sessions/session.ts'
import { type SessionDeps, type StoredSession, changeSession } from '../sessions/writes.ts'

const KEEP_TRIES = 6
const KEEP_AGAIN_MS = 500

/** The parts that a call uses. */
type AskingDeps = Pick<SessionDeps, 'client' | 'namespace'> & { readonly clock: Clock }

/** A call of the provider that is under way, and the session as it is meanwhile. */
export class Asking {
  readonly #deps: AskingDeps
  #session: SignInSession
  #kept: Promise<void> = Promise.resolve()

  constructor({ session }: StoredSession, deps: AskingDeps) {
    this.#session = session
    this.#deps = deps
  }

  get session(): SignInSession {
    return this.#session
  }

  /**
   * Stores the tokens of the answer. The old refresh token may have ended, so it is tried for a while.
   *
   * @throws StatusError, NoResponseError
   */
  keep(tokens: ProviderTokens): Promise<void> {
    this.#kept = this.#keep(tokens)
    return this.#kept
  }

  /** Waits for the end of `keep`. Never rejects. */
  async settled(): Promise<void> {
    await this.#kept.catch(() => undefined)
  }

  async #keep(tokens: ProviderTokens): Promise<void> {
    const { clock } = this.#deps
    for (let tries = 1; ; tries += 1) {
      try {
        return await this.#change((refresh) => ({ tokens, refresh: answered(refresh) }))
      } catch (error) {
        if (tries === KEEP_TRIES) throw error
        await sleep(clock, KEEP_AGAIN_MS * tries, NEVER)
      }
    }
  }

  /** Stores that the provider has answered. A failure leaves that in doubt, which accuses no person. */
  async noteAnswer(): Promise<void> {
    if (this.#session.refresh?.isUnanswered !== true) return
    await this.#change((refresh) => ({ refresh: answered(refresh) }))
  }

  /** Stores that the provider has confirmed the person, with the tokens that were verified after they were kept. */
  confirm(atMs: number, { tokens: { idToken } }: ProviderIdentity): Promise<void> {
    return this.#change((_, { tokens }) => ({
      refresh: confirmedAt(atMs),
      tokens: idToken === null ? tokens : { ...tokens, idToken },
    }))
  }

  async #change(
    change: (
      refresh: RefreshState,
      session: SignInSession,
    ) => Partial<Pick<SignInSession, 'tokens' | 'refresh'>>,
  ): Promise<void> {
    const { name, refresh } = this.#session
    // Whoever has asked since knows more, and a session that has ended gets no tokens again.
    const stored = await changeSession(
      name,
      (now) =>
        now.endedMs !== null || now.refresh === null || now.refresh.askedMs !== refresh?.askedMs
          ? null
          : change(now.refresh, now),
      'refresh',
      this.#deps,
    )
    if (stored !== null) this.#session = stored.session
  }
}

const NEVER = new AbortController().signal
