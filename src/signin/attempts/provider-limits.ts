// How many steps of one kind wait for providers, such as callbacks (contract 25.5): a slow provider takes its own places only.
// Whoever begins an attempt waits too, for its discovery, and the gateway has places for so many requests in all.
import { SignInRefused } from '../../domain/signin/refusals.ts'

const MOST = 50
const MOST_OF_ONE = 20
/** When a place is likely to be free. */
const RETRY_AFTER_SECONDS = 5

/** Runs steps within the limits. */
export class ProviderLimits {
  readonly #underWay = new Map<string, number>()
  #all = 0

  /** @throws SignInRefused `limited` when there is no place, and whatever `run` throws */
  async run<T>(provider: string, run: () => Promise<T>): Promise<T> {
    const own = this.#underWay.get(provider) ?? 0
    if (this.#all >= MOST || own >= MOST_OF_ONE)
      throw new SignInRefused('limited', 'too many steps wait for the provider', {
        retryAfterSeconds: RETRY_AFTER_SECONDS,
      })
    this.#underWay.set(provider, own + 1)
    this.#all += 1
    try {
      return await run()
    } finally {
      const left = (this.#underWay.get(provider) ?? 1) - 1
      if (left === 0) this.#underWay.delete(provider)
      else this.#underWay.set(provider, left)
      this.#all -= 1
    }
  }
}
