/** Random choices from a seed, so that a failing case can be repeated. */
export interface Random {
  /** One of the values, each as likely; there must be one. */
  readonly pick: <Value>(values: readonly Value[]) => Value
  /** Any number from `low` to below `high`. */
  readonly between: (low: number, high: number) => number
}

/** Mulberry32: 32 bits of state are plenty for tables. */
export function randomFrom(seed: number): Random {
  let state = seed
  const next = (): number => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  return {
    // The index is always in range; `??` would take null, which may be one of the values, away.
    pick: <Value>(values: readonly Value[]) => values[Math.floor(next() * values.length)] as Value,
    between: (low, high) => low + next() * (high - low),
  }
}
