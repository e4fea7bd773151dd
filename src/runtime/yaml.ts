import { parse } from 'yaml'

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
    const at = error instanceof Error && 'pos' in error ? placeOf(text, error.pos) : ''
    // Without its cause, whose message quotes the text.
    // oxlint-disable-next-line preserve-caught-error
    throw new Error(`not valid YAML${at}`)
  }
}

function placeOf(text: string, pos: unknown): string {
  if (!Array.isArray(pos) || typeof pos[0] !== 'number') return ''
  const before = text.slice(0, pos[0]).split('\n')
  return ` at line ${before.length}, column ${(before.at(-1)?.length ?? 0) + 1}`
}
