// Pages of docs/ with parts that a program fills: what stands between `<!-- name -->` and `<!-- /name -->`.
import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** The text of a page, by its path below docs/. */
export type Page = readonly [file: string, text: string]

/** The parts of pages, by the names of their marks. */
export type PageParts = Readonly<Record<string, Readonly<Record<string, string>>>>

const DOCS = join(import.meta.dirname, '../../docs')

/**
 * The pages with their parts filled.
 *
 * @param isOurs whether the caller fills the page of that name
 * @throws Error that names a page without a place for a part, or with a place that nothing fills
 */
export function filledPages(parts: PageParts, isOurs: (file: string) => boolean): readonly Page[] {
  // The place would keep its text for ever.
  for (const file of readdirSync(DOCS).filter((name) => name.endsWith('.md') && isOurs(name)))
    for (const [, part = ''] of current(file).matchAll(/<!-- \/([\w-]+) -->/g))
      if (parts[file]?.[part] === undefined)
        throw new Error(`docs/${file} has a place for ${part}, which nothing fills`)
  return Object.entries(parts).map(([file, texts]) => [file, filled(file, texts)])
}

/** Writes pages that differ. With `--check` on the command line it names them instead, and the process fails. */
export function writePages(pages: readonly Page[]): void {
  for (const [file, text] of pages) {
    if (text === current(file)) continue
    if (process.argv.includes('--check')) {
      console.error(`docs/${file} is stale, run make generate`)
      process.exitCode = 1
    } else {
      mkdirSync(dirname(join(DOCS, file)), { recursive: true })
      writeFileSync(join(DOCS, file), text)
      console.log(`docs/${file} written`)
    }
  }
}

function filled(file: string, parts: Readonly<Record<string, string>>): string {
  return Object.entries(parts).reduce((page, [part, text]) => {
    const between = new RegExp(`(<!-- ${part} -->\n)[^]*?(<!-- /${part} -->)`)
    if (!between.test(page)) throw new Error(`docs/${file} has no place for ${part}`)
    return page.replace(
      between,
      (_, open: string, close: string) => `${open}${text.trim()}\n${close}`,
    )
  }, current(file))
}

/** Empty where there is no such page yet. */
function current(file: string): string {
  const path = join(DOCS, file)
  return existsSync(path) ? readFileSync(path, 'utf8') : ''
}
