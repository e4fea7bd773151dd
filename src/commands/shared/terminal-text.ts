// Text that the command line tools print: of objects that others wrote, and of errors.

/** Control and format characters, other line breaks, and spaces that could pass for the gap between two columns. */
const INVISIBLE = /[\p{C}\p{Zl}\p{Zp}]|(?! )\p{Zs}|(?<= ) /gu

/** The text for a terminal: nothing in it moves the cursor, changes the direction of writing or is hidden. */
export const visible = (text: string): string => text.replace(INVISIBLE, escaped)

/** The same for valid JSON, which keeps its value: outside of strings it has none of these but white space. */
export const visibleJson = (json: string): string =>
  json.replace(/(?![\n\r\t])[\p{C}\p{Zl}\p{Zp}]/gu, escaped)

/** Escapes as JSON has them. */
const escaped = (character: string): string =>
  Array.from(
    { length: character.length },
    (_, at) => `\\u${character.charCodeAt(at).toString(16).padStart(4, '0')}`,
  ).join('')

const LONGEST_CELL = 64

/** The text for a cell of a table: visible, cut after 64 characters, `-` for none. */
export function cellText(text: string): string {
  if (text === '') return '-'
  const characters = Array.from(visible(text))
  const isLong = characters.length > LONGEST_CELL
  return isLong ? `${characters.slice(0, LONGEST_CELL - 1).join('')}…` : characters.join('')
}

/**
 * The message of an error with the code of its cause, such as ENOENT, but not the cause's message: it may quote a file.
 */
export function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return 'it failed'
  const { code } = (error.cause ?? error) as { readonly code?: unknown }
  const isCodeInMessage = typeof code !== 'string' || error.message.includes(code)
  return isCodeInMessage ? error.message : `${error.message}: ${code}`
}
