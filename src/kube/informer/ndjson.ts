const NEWLINE = 0x0a
const BREATHE_EVERY_MS = 10

/**
 * The lines of a byte stream, each parsed as JSON. A long burst lets other work run in between: to parse
 * 100,000 objects in one turn would delay every timer by seconds. Drops a last line without an end: the
 * connection broke inside it.
 *
 * @param onBytes called for each chunk: the stream is alive
 * @throws SyntaxError for a line that is no JSON, and whatever the stream fails with
 */
export async function* jsonLines(
  stream: AsyncIterable<Uint8Array>,
  onBytes: () => void,
): AsyncGenerator {
  let rest: Uint8Array[] = []
  let breathedMs = performance.now()
  for await (const chunk of stream) {
    onBytes()
    let from = 0
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, from)) {
      rest.push(chunk.subarray(from, end))
      from = end + 1
      const line = Buffer.concat(rest).toString('utf8')
      rest = []
      if (line !== '') yield parsed(line)
      if (performance.now() - breathedMs > BREATHE_EVERY_MS) {
        await new Promise(setImmediate)
        breathedMs = performance.now()
      }
    }
    if (from < chunk.length) rest.push(chunk.subarray(from))
  }
}

/** V8's own message quotes the text, which may hold a key (contract 3.5). */
function parsed(line: string): unknown {
  try {
    return JSON.parse(line)
  } catch {
    throw new SyntaxError(`a line of ${line.length} characters is not valid JSON`)
  }
}
