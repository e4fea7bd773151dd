// Descriptions as docstrings.

const LINE_WIDTH = 100

/** `description` as a docstring, on one line or wrapped, each line behind `indent`. */
export function docstring(description = '', indent = ''): string {
  // A pattern such as */scale would end the comment.
  const text = description.replaceAll('*/', '*\\/')
  const short = `${indent}/** ${text} */`
  if (short.length <= LINE_WIDTH) return short
  const lines = wrap(text, LINE_WIDTH - indent.length - ' * '.length)
  return [`${indent}/**`, ...lines.map((line) => `${indent} * ${line}`), `${indent} */`].join('\n')
}

function wrap(text: string, width: number): readonly string[] {
  const lines: string[] = []
  let line = ''
  for (const word of text.split(/\s+/)) {
    const longer = line ? `${line} ${word}` : word
    if (longer.length > width && line) {
      lines.push(line)
      line = word
    } else line = longer
  }
  return [...lines, line]
}
