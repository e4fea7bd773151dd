// Where a person goes after signing in (contract 25.2): a page of the platform's own, never another site.

const LONGEST = 512
/** One slash, no second one and no backslash behind it, and visible ASCII. */
const SAFE = /^\/(?![/\\])[!-~]*$/
/** The platform's own pages. */
const OWN_PAGES =
  /^(?:\/login|\/auth\/[A-Za-z0-9._~-]+\/[A-Za-z0-9._~-]+|\/oidc\/apps(?:\/[A-Za-z0-9._~-]+)+)$/

/** The path of the parameter `next`; null = it is absent, or not one of the platform's own. */
export function nextPath(next: string | null): string | null {
  if (next === null || next.length > LONGEST || !SAFE.test(next)) return null
  const path = /^[^?#]*/.exec(next)?.[0] ?? ''
  const hasDots = path.split('/').some((segment) => segment === '.' || segment === '..')
  return OWN_PAGES.test(path) && !hasDots ? next : null
}
