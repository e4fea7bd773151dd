import { isScalar, type ParsedNode, parse, parseDocument, stringify, visit } from 'yaml'

/**
 * Reads one YAML (or JSON) document. Merge keys are off, as in Kubernetes' own parser, and aliases
 * are bounded, so that no small text grows into a large object.
 *
 * @throws Error that names line and column, never a value
 */
export function parseYaml(text: string): unknown {
  try {
    return parse(text, { maxAliasCount: 100, prettyErrors: false })
  } catch (error) {
    throw unreadable(text, error instanceof Error && 'pos' in error ? error.pos : null)
  }
}

/**
 * Reads one document of a stranger: aliases are refused, and a name that stands twice in a map. The time
 * grows with the text and nothing else, some 3 ms for 1 KiB at worst: the caller bounds it.
 *
 * @throws Error as parseYaml does
 */
export function parsePlainYaml(text: string): unknown {
  // The parser's own search for repeated names takes two minutes for two megabytes.
  const document = parseDocument(text, {
    uniqueKeys: false,
    prettyErrors: false,
    logLevel: 'error',
  })
  const [fault] = document.errors
  if (fault) throw unreadable(text, fault.pos)
  visit(document, {
    Alias: (_, { range }) => {
      throw unreadable(text, range)
    },
    Map: (_, { items }) => {
      const names = new Set<string>()
      for (const { key } of items) {
        const name = isScalar(key) ? String(key.value) : null
        if (name === null || names.has(name))
          throw unreadable(text, (key as ParsedNode | null)?.range)
        names.add(name)
      }
    },
  })
  return document.toJS({ maxAliasCount: 0 })
}

/** The value as a YAML document, quoted so that parsers of YAML 1.1 read the same. */
export const formatYaml = (value: unknown): string =>
  stringify(value, { aliasDuplicateObjects: false, lineWidth: 0, version: '1.1' })

/** Without its cause, whose message quotes the text. */
const unreadable = (text: string, pos: unknown): Error =>
  new Error(`not valid YAML${placeOf(text, pos)}`)

function placeOf(text: string, pos: unknown): string {
  if (!Array.isArray(pos) || typeof pos[0] !== 'number') return ''
  const before = text.slice(0, pos[0]).split('\n')
  return ` at line ${before.length}, column ${(before.at(-1)?.length ?? 0) + 1}`
}
