// docs/scopes.md as a table: each scope of the page with the requests below it. The page is the data.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'
import type { Scope } from '../../src/api/scope.gen.ts'

/** A line of the page: what a key with that scope, and no other, is answered by the scope. */
export interface Recipe {
  readonly scope: Scope
  readonly method: string
  /** With its query, from the root of the gateway. */
  readonly path: string
  readonly answer: 'passes' | '403'
}

const PAGE = join(import.meta.dirname, '../../docs/scopes.md')
/** A scope, and the table of requests that is its, up to the next block. */
const EXAMPLE = /^```yaml\n([^]*?)^```\n((?:(?!^```)[^])*)/gm
const ROW = /^\| `([A-Z]+) ([^`]+)` \| (\S+) \|$/gm

/** The scopes of the page, those without requests included. */
export const cookbookScopes = (): readonly Scope[] => examples().map(({ scope }) => scope)

/** The lines of the page. @throws Error for an answer that is neither */
export function cookbook(): readonly Recipe[] {
  return examples().flatMap(({ scope, below }) =>
    [...below.matchAll(ROW)].map(([line, method = '', path = '', answer]) => {
      if (answer !== 'passes' && answer !== '403') throw new Error(`no answer: ${line}`)
      return { scope, method, path, answer }
    }),
  )
}

function examples(): readonly { readonly scope: Scope; readonly below: string }[] {
  return [...readFileSync(PAGE, 'utf8').matchAll(EXAMPLE)].map(([, yaml = '', below = '']) => {
    const { scope } = parse(yaml) as { readonly scope: Scope }
    return { scope, below }
  })
}
