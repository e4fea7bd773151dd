// YAML texts whose value differs between YAML 1.1, YAML 1.2 and Kubernetes (threat X5).
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

const FILE = join(import.meta.dirname, 'yaml-answers.json')

/** A text, and its value as JSON by the API server's library; null = the library refuses it. */
export type Row = readonly [text: string, json: string | null]

/** Values as in manifests, tricky values, and other documents. */
export type Table = Readonly<Record<'ordinary' | 'scalars' | 'documents', readonly Row[]>>

/** The committed table. */
export const ANSWERS = JSON.parse(readFileSync(FILE, 'utf8')) as Table

/** All rows of the table. */
export const ROWS: readonly Row[] = Object.values(ANSWERS).flat()

/** The text of each value, without the `v: ` before it. */
const SCALARS = [...ANSWERS.ordinary, ...ANSWERS.scalars].map(([text]) => text.slice(3))

/** For each text an object that holds it as a name, in a list and as a value; empty names are `empty`. */
export const TEXTS = SCALARS.map((text) => ({
  [text === '' ? 'empty' : text]: [text, { v: text }],
}))
