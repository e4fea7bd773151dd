// Reads the code that a person pastes (contract 25.2).
import { isCode } from './callback.ts'

/** Characters that are read until there is a line. */
const MOST_CHARACTERS = 16 * 1024

/**
 * The first line that is not empty. Stops reading when the signal aborts, and then never settles.
 *
 * @throws Error when the input ends before, or the line can't be a code
 */
export function pastedCode(input: NodeJS.ReadableStream, signal: AbortSignal): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  let text = ''
  const onEnd = (): void => take(true)
  const onData = (chunk: Buffer | string): void => {
    text = (text + String(chunk)).trimStart()
    take(text.length > MOST_CHARACTERS)
  }
  const stop = (): void => {
    input.off('data', onData)
    input.off('end', onEnd)
    input.pause()
  }
  const take = (isLast: boolean): void => {
    const end = text.search(/[\r\n]/)
    if (end === -1 && !isLast) return
    stop()
    const line = (end === -1 ? text : text.slice(0, end)).trim()
    if (isCode(line)) resolve(line)
    else
      reject(
        new Error(
          line === ''
            ? 'standard input has no code'
            : 'standard input has no code in its first line',
        ),
      )
  }
  input.on('data', onData)
  input.on('end', onEnd)
  signal.addEventListener('abort', stop, { once: true })
  return promise
}
