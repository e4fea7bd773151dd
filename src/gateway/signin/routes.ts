// The paths that the gateway passes on to the sign-in process (contract 25.1).

/**
 * How a path belongs to signing in. `route`: it is passed on. `unusable`: it is at or below such a path, but none of them.
 * `other`: any other path.
 */
type SignInPath = 'route' | 'unusable' | 'other'

/** A segment has nothing encoded, and is no dots that a server might resolve. */
const ROUTE =
  /^\/(?:login|auth\/logout|auth(?:\/(?!\.{1,2}(?:\/|$))[\w.~-]+){2}|oidc\/apps(?:\/(?!\.{1,2}(?:\/|$))[\w.~-]+)+)$/

/** At or below a path of signing in. */
const NAMED = /^\/(?:login|auth|oidc\/apps)(?:\/|$)/

/** A query as it was sent, without fragment or byte beyond ASCII: two servers could read these differently. */
const QUERY = /^[!"$-~]*$/

/**
 * Classifies a path, byte by byte as it was sent.
 *
 * @param query without its question mark; empty = none
 */
export function signInPath(path: string, query = ''): SignInPath {
  if (!NAMED.test(path)) return 'other'
  return ROUTE.test(path) && QUERY.test(query) ? 'route' : 'unusable'
}
