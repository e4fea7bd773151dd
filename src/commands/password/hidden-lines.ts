// Reads lines from a terminal that does not show them.
import type { ReadStream } from 'node:tty'

/** What a person has typed: finished lines, and the one that is not finished. */
interface TypedLines {
  readonly lines: readonly string[]
  readonly line: string
  /** By Ctrl-C, or by Ctrl-D in an empty line. */
  readonly isGivenUp: boolean
}

/** Nothing is typed yet. */
const NOTHING_TYPED: TypedLines = { lines: [], line: '', isGivenUp: false }

/** Characters of the longest line; further ones are dropped. */
const LONGEST_LINE = 1024

/** What is typed after one more character, as a terminal that edits lines treats it. */
function typed(before: TypedLines, character: string): TypedLines {
  const { lines, line, isGivenUp } = before
  if (isGivenUp) return before
  switch (character) {
    case '\r':
    case '\n':
      return { ...before, lines: [...lines, line], line: '' }
    case CTRL_C:
      return { ...before, isGivenUp: true }
    case CTRL_D:
      return line === '' ? { ...before, isGivenUp: true } : before
    case CTRL_U:
      return { ...before, line: '' }
    case '\b':
    case DELETE:
      return { ...before, line: Array.from(line).slice(0, -1).join('') }
    default:
      return line.length < LONGEST_LINE ? { ...before, line: line + character } : before
  }
}

const [CTRL_C, CTRL_D, CTRL_U, DELETE] = ['\u0003', '\u0004', '\u0015', '\u007f']

/** The parts of a terminal that are used. */
type HiddenInput = Pick<
  ReadStream,
  'setRawMode' | 'setEncoding' | 'on' | 'off' | 'pause' | 'resume'
>

/**
 * Asks for a line after each prompt, and returns all of them; null = the person gave up, or the terminal is gone. The
 * terminal shows again what is typed once it returns.
 */
export async function hiddenLines(
  input: HiddenInput,
  output: { readonly write: (text: string) => unknown },
  prompts: readonly string[],
): Promise<readonly string[] | null> {
  const { promise, resolve } = Promise.withResolvers<TypedLines | null>()
  let now = NOTHING_TYPED
  const onEnd = (): void => resolve(null)
  const onData = (text: string): void => {
    for (const character of text) {
      const count = now.lines.length
      if (now.isGivenUp || count === prompts.length) break
      now = typed(now, character)
      if (now.lines.length > count) output.write(`\n${prompts[now.lines.length] ?? ''}`)
    }
    if (now.isGivenUp || now.lines.length === prompts.length) resolve(now)
  }
  input.setEncoding('utf8')
  input.setRawMode(true)
  try {
    output.write(prompts[0] ?? '')
    input.on('data', onData)
    input.on('end', onEnd)
    input.resume()
    const end = await promise
    if (end === null || end.isGivenUp) output.write('\n')
    return end === null || end.isGivenUp ? null : end.lines
  } finally {
    input.off('data', onData)
    input.off('end', onEnd)
    input.pause()
    input.setRawMode(false)
  }
}
