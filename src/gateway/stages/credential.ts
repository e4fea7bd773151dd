// The credential of a request, from its headers as they were sent (contract 10.1).

/**
 * What a request presents. A credential that is no key at all (another scheme, an empty word) is a bearer
 * with an unknown token: its refusal is that of any unknown key, word by word (10.2).
 */
export type Credential =
  | { readonly kind: 'none' }
  | { readonly kind: 'bearer'; readonly token: string }
  /** More than one: another server might take the other. */
  | { readonly kind: 'twice' }

/** How a browser sends a bearer that opens a WebSocket: it can set no other header. */
const SUBPROTOCOL = 'base64url.bearer.authorization.k8s.io.'

/** The one credential among the headers. @param rawHeaders names and values by turns */
export function credentialOf(rawHeaders: readonly string[]): Credential {
  const tokens: string[] = []
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const [name = '', value = ''] = rawHeaders.slice(at, at + 2)
    tokens.push(...tokensIn(name.toLowerCase(), value))
  }
  const [token, ...others] = tokens
  if (token === undefined) return { kind: 'none' }
  return others.length > 0 ? { kind: 'twice' } : { kind: 'bearer', token }
}

function tokensIn(name: string, value: string): readonly string[] {
  if (name === 'authorization') return [bearerIn(value)]
  if (name !== 'sec-websocket-protocol') return []
  return value
    .split(',')
    .map((protocol) => protocol.trim())
    .filter(isCredential)
    .map((protocol) => decoded(protocol.slice(SUBPROTOCOL.length)))
}

/** Whether a WebSocket subprotocol is a credential, which is never passed on (contract 10.1). */
export const isCredential = (protocol: string): boolean => protocol.startsWith(SUBPROTOCOL)

/** As the API server reads it: the scheme in any case, one space, and words behind it mean nothing. */
function bearerIn(value: string): string {
  const [scheme = '', token = ''] = value.trim().split(' ')
  return scheme.toLowerCase() === 'bearer' ? token : ''
}

const decoded = (text: string): string =>
  /^[\w-]+$/.test(text) ? Buffer.from(text, 'base64url').toString('latin1') : ''
