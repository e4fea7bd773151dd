// What clients say of themselves and of paths, as events have it: without credentials, and cut (contract 21.3, 21.4).
import { hideCredentials, withoutEncoding } from '../redaction/credentials.ts'

/**
 * Whether a path that could not be read names `proxy`, in whatever spelling: then its query may have been meant for a workload
 * (contract 21.4).
 */
export const mayNameProxy = (path: string): boolean => PROXY_SEGMENT.test(withoutEncoding(path))

const PROXY_SEGMENT = /(?:\/|%2f)proxy(?:\/|%2f|$)/i

/**
 * Whether a path names a route of signing in, in whatever spelling or form: its query may have a code that a provider gave a
 * browser (contract 21.4).
 */
export const mayNameSignIn = (path: string): boolean => SIGN_IN_SEGMENT.test(withoutEncoding(path))

const SIGN_IN_SEGMENT = /(?:\/|%2f)(?:login|auth|oidc)(?:\/|%2f|$)/i

/** Longest recorded user agent, in characters; Kubernetes cuts it there too. */
const LONGEST_USER_AGENT = 1024

/**
 * A user agent. Credentials in it are hidden before it is cut: one that is cut has no longer its form.
 *
 * @param sent the header as it came, of any length that a head may have
 */
export function recordedUserAgent(sent: string): string {
  const text = hideCredentials(sent)
  return text.length > LONGEST_USER_AGENT
    ? `${text.slice(0, LONGEST_USER_AGENT)}...TRUNCATED`
    : text
}

/** Longest recorded value of `X-Forwarded-For`, in characters. */
const LONGEST_FORWARDED_FOR = 1024

/** The value of `X-Forwarded-For`. */
export const recordedForwardedFor = (sent: string): string =>
  hideCredentials(sent).slice(0, LONGEST_FORWARDED_FOR)
