// Percent-encoding as the API server reads it, where both sides read the same (contract 11.6).

/**
 * Decodes once; null when an escape is broken or the bytes are no UTF-8. The API server would take such
 * bytes as they are, and the same text could then not be written again.
 */
export function decoded(text: string): string | null {
  try {
    return decodeURIComponent(text)
  } catch {
    return null
  }
}

/** Encodes whatever could mean anything but itself to anybody on the way. */
export const encoded = (text: string): string =>
  encodeURIComponent(text).replace(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16)}`)
