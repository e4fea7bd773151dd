// How often one account at a provider may sign in: each time leaves a session, which is kept for ten minutes and is in the
// memory of every replica. So no person fills it.
import { hash } from 'node:crypto'
import { SignInRefused } from '../../domain/signin/refusals.ts'
import { CountedLimits, type Limit } from './counted-limits.ts'

/** As many sign-ins as a person has keys (contract 5.1): more would end the first of these already. */
const OF_ACCOUNT: Limit = { most: 20, withinMs: 600_000 }

/** Counts sign-ins at providers. */
export class AccountLimits {
  readonly #counters = new CountedLimits()

  /**
   * @param nowMs of a monotonic counter
   * @throws SignInRefused `limited`
   */
  admit(connector: string, subject: string, nowMs: number): void {
    const key = hash('sha256', JSON.stringify([connector, subject]), 'base64')
    const waitMs = this.#counters.admit([{ key, limit: OF_ACCOUNT }], nowMs)
    if (waitMs > 0)
      throw new SignInRefused('limited', 'the account signs in too often', {
        retryAfterSeconds: Math.ceil(waitMs / 1000),
      })
  }
}
