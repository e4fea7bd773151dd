// The titles of a test file, each with the texts of the `describe`s around it. The formatter's indentation shows the nesting.

/** The title of a test, as written: `$name`, `%s` and `${…}` stand for values. */
export interface Title {
  /** Line of the title or, for a table, of the start of the table; from 1. */
  readonly line: number
  /** Outermost first. */
  readonly describes: readonly string[]
  readonly title: string
}

interface Call {
  readonly line: number
  readonly indent: number
  readonly isDescribe: boolean
  readonly text: string
}

const STRING = String.raw`('(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|` + '`(?:\\\\.|[^`\\\\])*`)'
const CALL = /^( *)(describe|test)((?:\.(?:each|for|concurrent|skipIf))*)[<(]/
const FIRST_ARGUMENT = new RegExp(String.raw`^[^(]*\(\s*${STRING}`)
// Behind a table, or a condition to skip it.
const SECOND_CALL = new RegExp(String.raw`\)\(\s*${STRING}`)

/** In the order of the file. */
export function titlesIn(source: string): readonly Title[] {
  const open: Call[] = []
  const lines = source.split('\n')
  return lines.flatMap((text, at) => {
    closeAt(text, open)
    const call = callAt(lines, at)
    if (call === null) return []
    if (!call.isDescribe)
      return [{ line: call.line, describes: open.map((one) => one.text), title: call.text }]
    open.push(call)
    return []
  })
}

/** Takes off the calls that have ended before or in a line. */
function closeAt(text: string, open: Call[]): void {
  if (text === '') return
  const indent = text.length - text.trimStart().length
  const isEnd = /^ *\}\)/.test(text)
  const ended = open.findIndex((call) => call.indent > indent || (isEnd && call.indent === indent))
  if (ended >= 0) open.splice(ended)
}

function callAt(lines: readonly string[], at: number): Call | null {
  const start = CALL.exec(lines[at] ?? '')
  if (start === null) return null
  const [, indent = '', kind, modifiers = ''] = start
  const rest = lines.slice(at).join('\n')
  const isTable = /each|for|skipIf/.test(modifiers)
  const text = (isTable ? SECOND_CALL : FIRST_ARGUMENT).exec(rest)?.[1] ?? "'?'"
  return {
    line: at + 1,
    indent: indent.length,
    isDescribe: kind === 'describe',
    text: text.slice(1, -1).replaceAll(/\\(['"`])/g, '$1'),
  }
}
