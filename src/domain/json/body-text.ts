// Texts of request bodies. Server-side applies are YAML, and JSON is YAML except for some characters and long keys.

/**
 * The text of a value as a request body of this content type: YAML where the type ends in `+yaml`, else JSON. An
 * undefined field is left out.
 */
export const bodyText = (value: unknown, contentType: string | undefined): string =>
  contentType?.endsWith('+yaml') ? yamlText(value) : JSON.stringify(value)

/**
 * The value as JSON that every parser of YAML reads as the same value. The API server's parser refuses control
 * characters and noncharacters that JSON allows, folds other line breaks into spaces, refuses an escaped half of a
 * surrogate pair, and finds no key of more than 1024 characters without a `?` before it.
 */
export function yamlText(value: unknown): string {
  if (typeof value === 'string') return yamlString(value)
  if (typeof value !== 'object' || value === null) return JSON.stringify(value ?? null)
  if (Array.isArray(value)) return `[${value.map(yamlText).join(',')}]`
  const entries = Object.entries(value).filter(([, entry]) => entry !== undefined)
  return `{${entries.map(([name, entry]) => yamlKey(name) + yamlText(entry)).join(',')}}`
}

/** A key up to this length, in UTF-16 units before escapes, stays below YAML's bound of 1024. */
const LONGEST_IMPLICIT_KEY = 128

const yamlKey = (name: string): string =>
  name.length > LONGEST_IMPLICIT_KEY ? `? ${yamlString(name)} : ` : `${yamlString(name)}:`

/** DEL and the C1 controls, the line breaks of Unicode, and the noncharacters that YAML refuses. */
const UNREADABLE_IN_YAML = /[\u007f-\u009f\u2028\u2029\ufeff\ufffe\uffff]/g

// JSON in a request replaces half a surrogate pair in the same way.
const yamlString = (text: string): string =>
  JSON.stringify(text.toWellFormed()).replaceAll(
    UNREADABLE_IN_YAML,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
