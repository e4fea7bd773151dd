const LONGEST = 64

/** A value for messages: quoted, escaped, and cut after 64 characters. */
export const quoted = (text: string): string =>
  JSON.stringify(text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text)
