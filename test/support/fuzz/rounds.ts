// How much is fuzzed, and from which seed.
import { repeated } from '../tier.ts'

const given = process.env['FUZZ_REQUESTS'] ?? String(repeated(1000, 10_000))
if (!/^[1-9]\d{0,7}$/.test(given)) {
  throw new Error(`FUZZ_REQUESTS=${given}: write a number of requests, or nothing`)
}
const seed = process.env['FUZZ_SEED'] ?? String(Date.now() % 2 ** 31)
if (!/^\d{1,10}$/.test(seed)) {
  throw new Error(
    `FUZZ_SEED=${seed}: write the seed that a failure has told, or nothing for a new one`,
  )
}

/** How many requests are to be compared. */
export const FUZZ_REQUESTS = Number(given)

/** What they are drawn from; a new one for each run unless it is given. */
export const FUZZ_SEED = Number(seed)

/** Requests that are sent, and then looked up together. */
const EACH_ROUND = 5000

/** How many are compared in each round. */
export const ROUNDS: readonly number[] = Array.from(
  { length: Math.ceil(FUZZ_REQUESTS / EACH_ROUND) },
  (_, round) => Math.min(EACH_ROUND, FUZZ_REQUESTS - round * EACH_ROUND),
)

/** A test over them may take so long, on a machine that does something else as well. */
export const FUZZ_WITHIN_MS = 120_000 + FUZZ_REQUESTS * 20
