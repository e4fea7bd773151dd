// Runs a target on inputs that are changed at random, and keeps those with an outcome that no other had.
import type { FuzzTarget } from './target.ts'

/** Any number from 0 to below 1. */
export type NextRandom = () => number

/** An input for which the invariant does not hold. */
export interface FuzzFailure {
  readonly input: string
  readonly error: Error
}

/** The result of a session. */
export interface FuzzResult {
  readonly runs: number
  /** An input for each outcome, the shortest that was seen. */
  readonly corpus: readonly string[]
  /** null = the invariant held for every input. */
  readonly failure: FuzzFailure | null
}

/** How long a session lasts, and what it begins with besides the target's seeds. */
export interface FuzzOptions {
  readonly corpus: readonly string[]
  readonly random: NextRandom
  /** Asked before each input. */
  readonly goesOn: (runs: number) => boolean
}

const LONGEST_INPUT = 400
const MOST_CHANGES = 6

/** Runs all inputs of the corpus, then changed ones, until the options end it or the invariant does not hold. */
export function fuzz(target: FuzzTarget, { corpus, random, goesOn }: FuzzOptions): FuzzResult {
  const byOutcome = new Map<string, string>()
  const inputs: string[] = []
  let runs = 0
  const tryInput = (input: string): FuzzFailure | null => {
    runs += 1
    try {
      const outcome = target.run(input)
      const kept = byOutcome.get(outcome)
      if (kept === undefined) inputs.push(input)
      if (kept === undefined || input.length < kept.length) byOutcome.set(outcome, input)
      return null
    } catch (error) {
      return { input, error: error instanceof Error ? error : new Error(String(error)) }
    }
  }
  const result = (failure: FuzzFailure | null): FuzzResult => ({
    runs,
    corpus: [...byOutcome.values()].toSorted(),
    failure,
  })
  for (const input of new Set([...target.seeds, ...corpus])) {
    const failure = tryInput(input)
    if (failure) return result(failure)
  }
  while (goesOn(runs)) {
    const failure = tryInput(changed(inputs, target.words, random))
    if (failure) return result(failure)
  }
  return result(null)
}

const pick = <Value>(values: readonly Value[], random: NextRandom): Value =>
  values[Math.floor(random() * values.length)] as Value

function changed(inputs: readonly string[], words: readonly string[], random: NextRandom): string {
  let text = pick(inputs, random)
  const changes = 1 + Math.floor(random() * MOST_CHANGES)
  for (let change = 0; change < changes; change += 1)
    text = pick(CHANGES, random)(text, { words, inputs, random })
  return text.slice(0, LONGEST_INPUT)
}

interface Material {
  readonly words: readonly string[]
  readonly inputs: readonly string[]
  readonly random: NextRandom
}

type Change = (text: string, material: Material) => string

const place = (text: string, random: NextRandom): number => Math.floor(random() * (text.length + 1))

const insert: Change = (text, { words, random }) => {
  const at = place(text, random)
  return text.slice(0, at) + pick(words, random) + text.slice(at)
}

const remove: Change = (text, { random }) => {
  const at = place(text, random)
  return text.slice(0, at) + text.slice(at + 1 + Math.floor(random() * 4))
}

const repeat: Change = (text, { random }) => {
  const [from, to] = [place(text, random), place(text, random)].toSorted((a, b) => a - b)
  const part = text.slice(from, to)
  return text.slice(0, to) + part + text.slice(to)
}

const replaceCharacter: Change = (text, { random }) => {
  const at = place(text, random)
  return text.slice(0, at) + String.fromCharCode(Math.floor(random() * 256)) + text.slice(at + 1)
}

const splice: Change = (text, { inputs, random }) => {
  const other = pick(inputs, random)
  return text.slice(0, place(text, random)) + other.slice(place(other, random))
}

const CHANGES: readonly Change[] = [insert, insert, remove, repeat, replaceCharacter, splice]
