// Comparisons in rounds: each round measures every comparator once, every second one in reverse (A B B A), so that
// whatever disturbs the machine disturbs all alike.

/** The figures of one comparator in one round, by name. */
export type Figures = Readonly<Record<string, number>>

/** The figures of every round, by comparator. */
export type Measured = Readonly<Record<string, readonly Figures[]>>

/** A figure over all rounds. */
export interface Spread {
  readonly median: number
  readonly min: number
  readonly max: number
}

/** Rounds of what no goal is about, and of what takes long, at most. */
export const FEW_ROUNDS = 3

/**
 * Measures each comparator `rounds` times, one at a time.
 *
 * @param log gets a line for each measurement
 * @param few the comparators that no goal is about: they are in the first rounds alone
 */
export async function interleaved<Name extends string>(
  names: readonly Name[],
  rounds: number,
  measure: (name: Name, round: number) => Promise<Figures>,
  log: (line: string) => void,
  few: readonly NoInfer<Name>[] = [],
): Promise<Readonly<Record<Name, readonly Figures[]>>> {
  const measured = Object.fromEntries(names.map((name) => [name, [] as Figures[]])) as Record<
    Name,
    Figures[]
  >
  for (let round = 0; round < rounds; round += 1) {
    for (const name of round % 2 === 0 ? names : names.toReversed()) {
      if (round >= FEW_ROUNDS && few.includes(name)) continue
      const figures = await measure(name, round)
      measured[name].push(figures)
      log(`round ${round + 1} of ${rounds}, ${name}: ${lineOf(figures)}`)
    }
  }
  return measured
}

const lineOf = (figures: Figures): string =>
  Object.entries(figures)
    .map(([name, value]) => `${name} ${shortNumber(value)}`)
    .join(', ')

/** Three digits that count, without an exponent: `0.00412`, `3.14`, `1250`. */
export function shortNumber(value: number): string {
  if (!Number.isFinite(value)) return '–'
  const digits = value === 0 ? 0 : Math.max(0, 2 - Math.floor(Math.log10(Math.abs(value))))
  return value.toFixed(Math.min(digits, 6))
}

/** Median and range; null without values. */
export function spreadOf(values: readonly number[]): Spread | null {
  const sorted = values.filter(Number.isFinite).toSorted((a, b) => a - b)
  const [min, max] = [sorted[0], sorted.at(-1)]
  if (min === undefined || max === undefined) return null
  return { median: medianOf(sorted), min, max }
}

function medianOf(sorted: readonly number[]): number {
  const at = (sorted.length - 1) / 2
  const [low = Number.NaN, high = Number.NaN] = [sorted[Math.floor(at)], sorted[Math.ceil(at)]]
  return (low + high) / 2
}

/** The smallest value that is not below this share of all; NaN without values. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.ceil(sorted.length * share) - 1] ?? Number.NaN
}

/** The spread of one figure of a comparator; null when it was not measured. */
export const figureOf = (measured: Measured, name: string, figure: string): Spread | null =>
  spreadOf((measured[name] ?? []).map((round) => round[figure] ?? Number.NaN))

/** The spread of the ratios between two comparators within each round; null when one was not measured. */
export function ratioOf(
  measured: Measured,
  figure: string,
  name: string,
  beside: string,
): Spread | null {
  const others = measured[beside] ?? []
  return spreadOf(
    (measured[name] ?? []).map(
      (round, at) => (round[figure] ?? Number.NaN) / (others[at]?.[figure] ?? Number.NaN),
    ),
  )
}
