import type { ObservedSettings } from '../settings/observed.ts'

// The issuer of tokens (contract 7.2). Verifiers compare its text byte by byte.

/**
 * Whether the text may be an issuer: a normalised https URL without userinfo, query, fragment and trailing slash
 * (contract 7.2). Normalised, a verifier that parses and prints it gets the same text.
 */
export function isIssuerUrl(text: string): boolean {
  if (!text.startsWith('https://') || text.endsWith('/') || !URL.canParse(text)) return false
  const { href, username, password } = new URL(text)
  if (username !== '' || password !== '' || /[?#]/.test(text)) return false
  return href === text || href === `${text}/`
}

/** The issuer for a platformHost; null when that is no host (contract 7.2). */
export function issuerOfHost(platformHost: string): string | null {
  const text = `https://${platformHost}/oidc`
  if (/\s/.test(text) || !URL.canParse(text)) return null
  const { href, pathname } = new URL(text)
  // Another path: the text contained more than a host.
  return pathname === '/oidc' && isIssuerUrl(href) ? href : null
}

/** Where the platform is hosted, according to settings in force; null = they do not say. */
export function platformHostOf(observed: ObservedSettings): string | null {
  if (!observed.known) return null
  const { platformHost } = observed.settings
  return typeof platformHost === 'string' && platformHost !== '' ? platformHost : null
}
