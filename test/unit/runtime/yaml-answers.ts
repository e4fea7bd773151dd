// Texts that readers of YAML 1.1, of YAML 1.2 and of Kubernetes take for different things (threat X5).
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

const FILE = join(import.meta.dirname, 'yaml-answers.json')

/** A text, and the JSON that the API server's library makes of it; null where it takes none. */
export type Row = readonly [text: string, json: string | null]

/** Texts by what they are: values as manifests hold them, tricky values, and other documents. */
export type Table = Readonly<Record<'ordinary' | 'scalars' | 'documents', readonly Row[]>>

/** The table, as it is committed. */
export const ANSWERS = JSON.parse(readFileSync(FILE, 'utf8')) as Table

/** Each of its rows. */
export const ROWS: readonly Row[] = Object.values(ANSWERS).flat()

/** Each of its values, as it stands behind `v: `. */
export const SCALARS = [...ANSWERS.ordinary, ...ANSWERS.scalars].map(([text]) => text.slice(3))

/** Each value as a text, which is to be read as that text wherever it stands. */
export const TEXTS = SCALARS.map((text) => ({
  [text === '' ? 'empty' : text]: [text, { v: text }],
}))
