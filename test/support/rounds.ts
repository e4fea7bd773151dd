const given = process.env['FAULT_ROUNDS'] ?? '1'
if (!/^[1-9]\d{0,2}$/.test(given)) {
  throw new Error(`FAULT_ROUNDS=${given}: write a number from 1 to 999, or nothing for one round`)
}

/** 1, 2, ... for each round of a fault: as many as FAULT_ROUNDS says, one when it is absent. */
export const rounds: readonly number[] = Array.from(
  { length: Number(given) },
  (_, index) => index + 1,
)
