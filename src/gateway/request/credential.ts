// Reads the credential from the headers as they were sent (contract 10.1).

/**
 * The credential of a request. Another scheme or an empty token counts as a bearer with an unknown token, and is refused
 * like any unknown key, word for word (10.2).
 */
type Credential =
  | { readonly kind: 'none' }
  | { readonly kind: 'bearer'; readonly token: string }
  /** More than one credential: another server might use the other one. */
  | { readonly kind: 'twice' }

/** The prefix of a token in a WebSocket subprotocol: a browser can send no other header with a WebSocket. */
const TOKEN_SUBPROTOCOL_PREFIX = 'base64url.bearer.authorization.k8s.io.'

/** The credential in the headers. @param rawHeaders names and values in turn */
export function credentialOf(rawHeaders: readonly string[]): Credential {
  const tokens: string[] = []
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = (rawHeaders[at] ?? '').toLowerCase()
    if (CREDENTIAL_HEADERS.has(name)) tokens.push(...tokensIn(name, rawHeaders[at + 1] ?? ''))
  }
  const [token, ...others] = tokens
  if (token === undefined) return { kind: 'none' }
  return others.length > 0 ? { kind: 'twice' } : { kind: 'bearer', token }
}

const CREDENTIAL_HEADERS: ReadonlySet<string> = new Set(['authorization', 'sec-websocket-protocol'])

function tokensIn(name: string, value: string): readonly string[] {
  if (name === 'authorization') return [bearerIn(value)]
  return value
    .split(',')
    .map((protocol) => protocol.trim())
    .filter(isCredential)
    .map((protocol) => decoded(protocol.slice(TOKEN_SUBPROTOCOL_PREFIX.length)))
}

/** Whether a WebSocket subprotocol is a credential, which is never forwarded (contract 10.1). */
export const isCredential = (protocol: string): boolean =>
  protocol.startsWith(TOKEN_SUBPROTOCOL_PREFIX)

/** The token as the API server reads it: the scheme in any case, one space; words after the token are ignored. */
function bearerIn(value: string): string {
  const [scheme = '', token = ''] = value.trim().split(' ')
  return scheme.toLowerCase() === 'bearer' ? token : ''
}

const decoded = (text: string): string =>
  /^[\w-]+$/.test(text) ? Buffer.from(text, 'base64url').toString('latin1') : ''
