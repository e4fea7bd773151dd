// Who signs tokens, as verifiers know it (contract 7.2). They compare the text, byte by byte.

/**
 * Whether the text may be an issuer: an https URL without userinfo, query, fragment and trailing slash
 * (contract 7.2), written as URLs are normalised (lower-case host, no default port, no dot segments), so
 * that no verifier that parses it compares another text.
 */
export function isIssuerUrl(text: string): boolean {
  if (!text.startsWith('https://') || text.endsWith('/') || !URL.canParse(text)) return false
  const { href, username, password } = new URL(text)
  if (username !== '' || password !== '' || /[?#]/.test(text)) return false
  return href === text || href === `${text}/`
}

/** The issuer of a platform that is hosted there; null when that is no host (contract 7.2). */
export function issuerOfHost(platformHost: string): string | null {
  const text = `https://${platformHost}/oidc`
  if (/\s/.test(text) || !URL.canParse(text)) return null
  const { href, pathname } = new URL(text)
  // Another path means that the text held more than a host.
  return pathname === '/oidc' && isIssuerUrl(href) ? href : null
}
