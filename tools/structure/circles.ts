// Circles of imports: in each folder, its files and folders must not import each other in a ring. A folder imports what
// any file below it imports, so that a circle of files in several folders is one of the folders, too.
import type { SourceFile } from './imports.ts'

/** An import, as an arrow between two entries of the folder that holds both files. */
interface Arrow {
  readonly folder: string
  readonly from: string
  readonly to: string
}

/** The paths of the files and folders of each circle, sorted; types count. */
export function circlesIn(files: readonly SourceFile[]): readonly (readonly string[])[] {
  const known = new Set(files.map(({ path }) => path))
  const arrows = files.flatMap(({ path, imports }) =>
    imports
      .filter(({ target }) => known.has(target) && target !== path)
      .map(({ target }) => arrowOf(path, target)),
  )
  return [...Map.groupBy(arrows, ({ folder }) => folder).values()].flatMap(ringsOf)
}

function arrowOf(from: string, to: string): Arrow {
  const [a, b] = [from.split('/'), to.split('/')]
  const depth = a.findIndex((part, at) => part !== b[at])
  const entryOf = (parts: readonly string[]): string =>
    parts.slice(0, depth + 1).join('/') + (parts.length > depth + 1 ? '/' : '')
  return { folder: a.slice(0, depth).join('/'), from: entryOf(a), to: entryOf(b) }
}

/** The strongly connected parts of more than one entry. */
function ringsOf(arrows: readonly Arrow[]): readonly (readonly string[])[] {
  const next = new Map(
    [...Map.groupBy(arrows, ({ from }) => from)].map(([from, all]) => [
      from,
      all.map(({ to }) => to),
    ]),
  )
  const reached = new Map([...next.keys()].map((entry) => [entry, reachedFrom(entry, next)]))
  const rings = [...reached].map(([entry, targets]) =>
    [...targets].filter((target) => reached.get(target)?.has(entry)).toSorted(),
  )
  const distinct = new Map(rings.map((ring) => [ring.join(' '), ring]))
  return [...distinct.values()].filter((ring) => ring.length > 1)
}

function reachedFrom(
  start: string,
  next: ReadonlyMap<string, readonly string[]>,
): ReadonlySet<string> {
  const reached = new Set(next.get(start))
  // A set that grows while it is walked.
  for (const entry of reached) for (const target of next.get(entry) ?? []) reached.add(target)
  return reached
}
