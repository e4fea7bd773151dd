// What clients say of themselves, as events have it: without credentials, and cut (contract 21.3).
import { hideCredentials } from './hide-credentials.ts'

/** Longest recorded user agent, in characters; Kubernetes cuts it there too. */
const LONGEST_USER_AGENT = 1024

/** A user agent. It is hidden before it is cut: a cut credential has no longer its form. */
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
