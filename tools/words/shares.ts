// Finds per 1,000 lines of each folder, and its limit.
import { posix } from 'node:path'
import { type Find, phrasesIn, spellingsIn } from './patterns.ts'
import { proseOf, type Text, textsIn } from './texts.ts'

/** Finds per 1,000 lines that any folder may have; a folder with fewer than 1,000 lines may have one find. */
export const GOAL = 6

/** How far below its limit a folder's share may be before the limit must follow. */
const SLACK = 5

/** A find at its place. */
export interface PlacedFind {
  readonly path: string
  readonly line: number
  readonly pattern: string
  readonly words: string
}

/** The finds of the files that lie in a folder itself. */
export interface Share {
  readonly folder: string
  readonly finds: readonly PlacedFind[]
  /** Finds per 1,000 lines, to one decimal; 0 for a single find. */
  readonly perThousand: number
}

interface SourceText {
  /** From the repository's root, with `/`; ends in `.ts` or `.md`. */
  readonly path: string
  readonly text: string
}

/** The phrases of each folder, sorted by folder. */
export function sharesOf(files: readonly SourceText[]): readonly Share[] {
  return [...Map.groupBy(files, ({ path }) => posix.dirname(path))]
    .map(([folder, all]) => {
      const finds = all.flatMap((file) => placedIn(file, phrasesIn))
      const lines = all.reduce((sum, { text }) => sum + text.split('\n').length - 1, 0)
      const perThousand = finds.length < 2 ? 0 : Number(((finds.length / lines) * 1000).toFixed(1))
      return { folder, finds, perThousand }
    })
    .toSorted((a, b) => (a.folder < b.folder ? -1 : 1))
}

/** The misspellings in all files; no folder may have one. */
export function misspellingsIn(files: readonly SourceText[]): readonly PlacedFind[] {
  return files.flatMap((file) =>
    placedIn(file, (text, isString) => spellingsIn(text, isString && file.path.startsWith('src/'))),
  )
}

/** The fault of a folder's limit, as a clause; null = none. */
export function limitFault(share: Share, limits: Readonly<Record<string, number>>): string | null {
  const { folder, perThousand } = share
  const limit = limits[folder] ?? GOAL
  if (perThousand > limit) return `more than ${limit}`
  if (limit > GOAL && perThousand < limit - SLACK) return `lower its limit of ${limit}`
  return null
}

/** The limits after a mend: none rises, and folders at the goal need no row. */
export function lowered(
  shares: readonly Share[],
  limits: Readonly<Record<string, number>>,
): Readonly<Record<string, number>> {
  const rows = shares.map(({ folder, perThousand }) => {
    const limit = limits[folder] ?? GOAL
    return [folder, Math.min(limit, Math.max(GOAL, Math.ceil(perThousand)))] as const
  })
  return Object.fromEntries(rows.filter(([, limit]) => limit > GOAL))
}

// A string without a space is a name.
const isProse = ({ kind, text }: Text): boolean => kind !== 'string' || text.includes(' ')

function placedIn(
  { path, text }: SourceText,
  findsOf: (text: string, isString: boolean) => readonly Find[],
): readonly PlacedFind[] {
  const texts = path.endsWith('.md') ? [proseOf(text)] : textsIn(text).filter(isProse)
  return texts.flatMap((one) =>
    findsOf(one.text, one.kind === 'string').map(({ pattern, offset, words }) => ({
      path,
      line: one.line + one.text.slice(0, offset).split('\n').length - 1,
      pattern,
      words,
    })),
  )
}
