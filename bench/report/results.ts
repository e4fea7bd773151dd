// The results of a run of the benchmark, as they are written to JSON and read for the docs.
import { type Figures, type Measured, type Spread, figureOf, ratioOf } from '../measure/rounds.ts'

/** A run. */
export interface Results {
  /** The machine and its versions, such as `2 x AMD EPYC, Node v24.1.0, Kubernetes v1.36.3`. */
  readonly machine: string
  /** Date of the run, `YYYY-MM-DD`. */
  readonly date: string
  /** How it was run, such as `make bench`. */
  readonly command: string
  /** The one-minute load average before and after. */
  readonly load: readonly [number, number]
  /** The figures of each section, such as `operators`. A section that was not run is absent. */
  readonly sections: Readonly<Record<string, Measured>>
}

/** The spread of a figure; null when it was not measured. */
export const figureIn = (
  { sections }: Results,
  section: string,
  name: string,
  figure: string,
): Spread | null => figureOf(sections[section] ?? {}, name, figure)

/** The spread of a ratio within rounds; null when one of both was not measured. */
export const ratioIn = (
  { sections }: Results,
  section: string,
  figure: string,
  name: string,
  beside: string,
): Spread | null => ratioOf(sections[section] ?? {}, figure, name, beside)

/** The names of all figures of a section, in the order of their first appearance. */
export function figureNames(measured: Measured): readonly string[] {
  const names = Object.values(measured).flatMap((rounds) =>
    rounds.flatMap((round: Figures) => Object.keys(round)),
  )
  return [...new Set(names)]
}
