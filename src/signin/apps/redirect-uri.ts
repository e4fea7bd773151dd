// Redirect URIs of apps (contract 26.2): which a client may list, and which fit a request. Pure.

const LONGEST = 1024
const VISIBLE = /^[!-~]+$/
const LOOPBACK_HOSTS: readonly string[] = ['127.0.0.1', '[::1]', 'localhost']
/** A scheme of an app's own is a domain backwards (RFC 8252, 7.1), so it is never one that a browser runs, like `data`. */
const OWN_SCHEME = /^[a-z][a-z0-9-]*(?:\.[a-z0-9-]+)+:$/

/** The entry that stands for every address, where the settings allow that. */
export const ANY_REDIRECT = '*'

/** What is wrong with an address that a client lists or sends; null = nothing. Its text quotes nothing of the address. */
export function redirectUriFault(text: string): string | null {
  if (text.length > LONGEST || !VISIBLE.test(text))
    return `must be 1 to ${LONGEST} visible ASCII characters`
  const url = URL.parse(text)
  if (url === null) return 'must be a URL'
  if (/[#*\\]/.test(text)) return 'has a fragment, a backslash or *: write the whole address'
  // Another reader of the address must find the same host and path in it.
  if (url.href !== text && url.href !== `${text}/`)
    return 'must be written as a browser shows it: lower case, without the default port and dots'
  if (url.username !== '' || url.password !== '') return 'has user information'
  return schemeFault(url)
}

function schemeFault({ protocol, hostname }: URL): string | null {
  if (protocol === 'https:' || OWN_SCHEME.test(protocol)) return null
  if (protocol === 'http:')
    return LOOPBACK_HOSTS.includes(hostname)
      ? null
      : 'must be https, but for 127.0.0.1 and the like'
  return 'must begin with https:, or with a scheme of its own like com.example.app:'
}

/** What decides which addresses a client may send people to. */
interface RedirectRules {
  readonly redirectUris: readonly string[]
  readonly isPublic: boolean
}

/** Whether a client may send people to this address: compared byte for byte with its list. */
export function allowsRedirect({ redirectUris, isPublic }: RedirectRules, sent: string): boolean {
  if (redirectUris.includes(sent) && sent !== ANY_REDIRECT) return true
  const { protocol } = URL.parse(sent) ?? {}
  if (redirectUriFault(sent) !== null) return false
  // An app on a person's computer takes whatever port is free.
  if (protocol === 'http:' && isPublic) return true
  return redirectUris.includes(ANY_REDIRECT) && (protocol === 'https:' || protocol === 'http:')
}
