// The ends of lines in JSON (contract 21.3): an event is one line for every reader.

/** What some readers take for the end of a line, and JSON does not escape. */
const LINE_ENDS = /[\x85\u2028\u2029]/g

/** JSON text in which these are escaped. */
export const withoutLineEnds = (json: string): string => json.replace(LINE_ENDS, escaped)

const escaped = (one: string): string => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`
