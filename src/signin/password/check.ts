// Checks passwords (contract 25.5): limits first, then one computation for each attempt, whatever the name.
import { SignInRefused } from '../../domain/signin/refusals.ts'
import type { Clock } from '../../runtime/clock.ts'
import { createSemaphore } from '../../runtime/concurrency/semaphore.ts'
import { type CountedAttempt, createAttemptLimits } from './attempt-limits.ts'
import { NO_HASH, hasHash, passwordFault, passwordHashIn } from './hash.ts'

/** What a person typed, and where it came from. */
interface PasswordAttempt extends CountedAttempt {
  /** Of any length. Secret. */
  readonly password: string
}

/** What the check needs. */
interface PasswordCheckDeps {
  /**
   * The text of the hash of an enabled User, from memory, so that it takes the same time for every name; null = there is no
   * such User, or this one has no password. Never throws.
   */
  readonly hashOf: (username: string) => string | null
  readonly clock: Pick<Clock, 'monotonicMs'>
  readonly observer: {
    /** Gets the number of attempts that wait, whenever it changes. */
    readonly waiting: (count: number) => void
  }
}

/** Checks passwords. */
export interface PasswordCheck {
  /**
   * Returns if an enabled User of that name has this password.
   *
   * @param signal aborts when the client is gone: an attempt that still waits is then given up
   * @throws SignInRefused `limited` before any computation, or `wrong_password`
   */
  readonly verify: (attempt: PasswordAttempt, signal: AbortSignal) => Promise<void>
}

/** Computations at a time, each with 128 MiB: the memory limit of the process is made for these. */
const MOST_RUNNING = 2
/** Attempts that wait for one, a few seconds at most. */
const MOST_WAITING = 20
/** Places to wait that only known browsers take: strangers at many addresses could keep all others taken. */
const FOR_KNOWN = 4
/** When the queue has room again, in seconds. */
const BUSY_SECONDS = 5

/** Creates a check whose counters are empty. */
export function createPasswordCheck(deps: PasswordCheckDeps): PasswordCheck {
  const { hashOf, clock, observer } = deps
  const limits = createAttemptLimits()
  const inTurn = createSemaphore(MOST_RUNNING, MOST_RUNNING)
  let admitted = 0
  const changeAdmitted = (by: 1 | -1): void => {
    admitted += by
    observer.waiting(Math.max(admitted - MOST_RUNNING, 0))
  }

  /** The queue comes first: an attempt that is not computed leaves no counter, so floods displace others no faster. */
  const admit = (attempt: PasswordAttempt): void => {
    const most = MOST_RUNNING + MOST_WAITING - (attempt.isKnown ? 0 : FOR_KNOWN)
    if (admitted >= most)
      throw new SignInRefused('limited', 'too many passwords wait', {
        retryAfterSeconds: BUSY_SECONDS,
      })
    const verdict = limits.admit(attempt, clock.monotonicMs())
    if (verdict.kind === 'limited') {
      const { retryAfterSeconds } = verdict
      throw new SignInRefused('limited', 'too many passwords were tried', { retryAfterSeconds })
    }
  }
  const verify = async (attempt: PasswordAttempt, signal: AbortSignal): Promise<void> => {
    admit(attempt)
    changeAdmitted(1)
    try {
      await inTurn('password', async () => {
        signal.throwIfAborted()
        if (!(await isRight(attempt, hashOf(attempt.username))))
          throw new SignInRefused('wrong_password', 'user name or password')
      })
    } finally {
      changeAdmitted(-1)
    }
  }
  return { verify }
}

/** Computes once in every case. @param text the hash of the User; null = none */
async function isRight({ password }: PasswordAttempt, text: string | null): Promise<boolean> {
  const isPossible = passwordFault(password) === null
  const hash = text === null ? null : passwordHashIn(text)
  // An impossible password is as long as the form; what is hashed in its place has no meaning.
  const isSame = await hasHash(isPossible ? password : '', hash ?? NO_HASH)
  return isSame && isPossible && hash !== null
}
