// Cookies of the sign-in process. All have the prefix `__Host-`: a browser takes them over TLS only, from this host alone, and
// sends them to no other (contract 25.3, 25.4).

/** What all cookies of the platform begin with. The gateway passes no others on. */
const PREFIX = '__Host-platform_'

/** The cookie with the key of a person who has signed in. */
export const SESSION_COOKIE = `${PREFIX}session`

/** The cookie of a browser that a person has signed in with before. */
export const KNOWN_COOKIE = `${PREFIX}known`

/** Names of the cookies of attempts begin so. */
export const ATTEMPT_PREFIX = `${PREFIX}attempt_`

/** Names of the cookies of requests of apps, which wait for a sign-in, begin so. */
export const APP_REQUEST_PREFIX = `${PREFIX}app_`

/** Characters of the header that are read; a longer one has no cookie of ours. */
const LONGEST_HEADER = 32_768

/** The platform's cookies in a request, by name. A name that comes twice has no value: one of them is a stranger's. */
export function cookiesIn(header: string | undefined): ReadonlyMap<string, string> {
  const found = new Map<string, string>()
  const twice = new Set<string>()
  if (header === undefined || header.length > LONGEST_HEADER) return found
  for (const pair of header.split(';')) {
    const [name = '', value = ''] = pair.trim().split('=', 2)
    if (!name.startsWith(PREFIX)) continue
    if (found.has(name)) twice.add(name)
    found.set(name, value)
  }
  for (const name of twice) found.delete(name)
  return found
}

/** The value of `Set-Cookie`. */
export function setCookie(
  name: string,
  value: string,
  {
    seconds,
    sameSite = 'Lax',
  }: {
    /** How long the browser keeps it. */
    readonly seconds: number
    /** `None` = it goes with forms of other sites, too. */
    readonly sameSite?: 'Lax' | 'None'
  },
): string {
  const maxAge = Math.max(0, Math.floor(seconds))
  return `${name}=${value}; Path=/; Max-Age=${maxAge}; Secure; HttpOnly; SameSite=${sameSite}`
}

/** The value of `Set-Cookie` that removes a cookie. */
export const clearCookie = (name: string): string => setCookie(name, '', { seconds: 0 })
