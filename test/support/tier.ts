// `make test` runs a part of the tests in minutes; `make test-all` runs all of them.

/** Whether all tests run: always, except in `make test`, which sets TEST_TIER=quick. */
export const isWhole = process.env['TEST_TIER'] !== 'quick'

/** A number of repetitions or objects: `few` in `make test`, else `all`. */
export const repeated = (few: number, all: number): number => (isWhole ? all : few)

/** Rows of a table: every `step`th from `from` on in `make test`, else all. */
export const sampled = <Row>(rows: readonly Row[], step: number, from = 0): readonly Row[] =>
  isWhole ? rows : rows.filter((_, at) => at % step === from % step)

/** For `describe.each` and `test.each`: the title in `make test-all`, nothing in `make test`. */
export const inWhole = (title: string): readonly string[] => (isWhole ? [title] : [])

const given = process.env['FAULT_ROUNDS'] ?? '1'
if (!/^[1-9]\d{0,2}$/.test(given)) {
  throw new Error(`FAULT_ROUNDS=${given}: write a number from 1 to 999, or nothing for one round`)
}

/** 1, 2, ... for each round of a fault: as many as FAULT_ROUNDS says, one when it is absent. */
export const rounds: readonly number[] = Array.from(
  { length: Number(given) },
  (_, index) => index + 1,
)
