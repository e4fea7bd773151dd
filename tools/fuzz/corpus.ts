// The kept inputs of each target: test/fuzz/<target>.json, which the unit tests run again.
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const FOLDER = join(import.meta.dirname, '../../test/fuzz')
const fileOf = (target: string): string => join(FOLDER, `${target}.json`)

/** Maximum inputs of a corpus, so that a review can read it. */
const MOST_INPUTS = 150

/** The kept inputs of a target; empty where there are none yet. */
export const readCorpus = (target: string): readonly string[] =>
  existsSync(fileOf(target)) ? JSON.parse(readFileSync(fileOf(target), 'utf8')) : []

/** Keeps inputs beside those that are there, the shortest of the new ones first. @returns how many are new */
export function addToCorpus(target: string, inputs: readonly string[]): number {
  const kept = readCorpus(target)
  const added = inputs
    .filter((input) => !kept.includes(input))
    .toSorted((a, b) => a.length - b.length)
    .slice(0, Math.max(0, MOST_INPUTS - kept.length))
  const all = [...kept, ...added].toSorted()
  // In ASCII, so that an editor shows and changes nothing that it does not.
  const text = JSON.stringify(all, null, 2).replaceAll(
    /[\x7f-\uffff]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
  if (added.length > 0) writeFileSync(fileOf(target), `${text}\n`)
  return added.length
}
