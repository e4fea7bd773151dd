// Blocks of documentation that begin with `$`: what a person types, and what it answers.

/** One command and the output that stands under it. */
export interface Step {
  readonly command: string
  readonly output: string
}

const BLOCK = /^```console\n([^]*?)^```$/gm

/** The steps of a page, in order. */
export function stepsOf(markdown: string): readonly Step[] {
  return [...markdown.matchAll(BLOCK)].flatMap(([, block]) => stepsIn(block ?? ''))
}

function stepsIn(block: string): readonly Step[] {
  const [, ...parts] = `\n${block}`.split(/\n\$ /)
  return parts.map((part) => {
    const [command = '', ...output] = part.split('\n')
    return { command, output: output.join('\n') }
  })
}

const MASKS: readonly (readonly [RegExp, string])[] = [
  [/\d{4}-\d{2}-\d{2}T[\d:.]+Z/g, '<time>'],
  [/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, '<uid>'],
  // As pages write them: nothing there may look like a key to a secret scanner.
  [/pak_[0-9A-Za-z]{43}_[0-9A-Za-z]{6}/g, 'pak_<secret>'],
  [/sha256:[0-9a-f]{64}/g, 'sha256:<hex>'],
  // The id of a signing key.
  [/(?<![\w-])[\w-]{43}(?![\w-])/g, '<kid>'],
  [/(Resource Version: +)\d+/g, '$1<number>'],
  [/\b[0-9a-f]{16}\b/g, '<id>'],
  [/\b(\d+[dhms])+\b/g, '<age>'],
  [/[ \t]+/g, ' '],
]

/**
 * The text with what differs from run to run, ages, uids, times and keys, in masks. The API server
 * lists faults in no certain order: lines that begin with `* ` are sorted.
 */
export function masked(text: string): string {
  const once = MASKS.reduce((masking, [what, mask]) => masking.replace(what, mask), text)
  const lines = once.split('\n').map((line) => line.trimEnd())
  const faults = lines.filter(isFault).toSorted()
  return lines
    .map((line) => (isFault(line) ? faults.shift() : line))
    .join('\n')
    .trim()
}

const isFault = (line: string): boolean => line.startsWith('* ')
