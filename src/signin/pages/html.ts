// HTML by tagged templates: every value is escaped, unless it is HTML itself.

/** HTML that is safe to send: written in this program, with escaped values. */
export class Html {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

/** A value in a template; null is nothing. */
type Value = string | number | Html | readonly Html[] | null

/** HTML with these values: in texts, and in attributes with double quotes. */
export const html = (parts: TemplateStringsArray, ...values: readonly Value[]): Html =>
  new Html(
    parts.map((part, at) => part + (at < values.length ? textOf(values[at] ?? null) : '')).join(''),
  )

function textOf(value: Value): string {
  if (value === null) return ''
  if (value instanceof Html) return value.text
  if (typeof value === 'string' || typeof value === 'number') return escaped(String(value))
  return value.map(({ text }) => text).join('')
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/** Control characters but for white space: no page shows them. */
const CONTROLS = /(?![\t\n\r])\p{Cc}/gu

const escaped = (text: string): string =>
  text
    .replaceAll(CONTROLS, '\ufffd')
    .replaceAll(/[&<>"']/g, (character) => ENTITIES[character] ?? '')
