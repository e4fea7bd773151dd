// Hides credentials in what clients write anywhere in a request: paths, names, user agents, messages (contract 21.4).

/** What stands in a record in place of a secret. */
export const HIDDEN = '<hidden>'

/** An access key (contract 3.2). */
const ACCESS_KEY = /pak_[0-9A-Za-z]{43}_[0-9A-Za-z]{6}/g

/** Characters of a JWT: it is within one such word. */
const WORD = /[\w.-]+/g

/** What every credential has: nearly all texts have none, and need no closer look. */
const SIGN = /pak_|eyJ/

/** The text with HIDDEN in place of each part that has the form of a credential. */
export const hideCredentials = (text: string): string =>
  SIGN.test(text) ? text.replace(ACCESS_KEY, HIDDEN).replace(WORD, hideJwt) : text

/**
 * The word up to where a JWT begins, signed, unsigned or encrypted: its first part is JSON that begins with `{"`. One search
 * for its beginning and two for dots: a pattern of all three parts takes a minute for a long word of many beginnings.
 */
function hideJwt(word: string): string {
  const start = word.indexOf('eyJ')
  const firstDot = start === -1 ? -1 : word.indexOf('.', start)
  const isJwt = firstDot !== -1 && word.includes('.', firstDot + 1)
  return isJwt ? word.slice(0, start) + HIDDEN : word
}

/** What separates names and values in a URI: a credential is within one of them. */
const PARTS = /([/?&=#;,:@!$'()*+]+)/

/** A percent-encoded character of those that credentials have. */
const ENCODED = /%(?:2[dDeE]|3\d|4[1-9a-fA-F]|5[0-9aAfF]|6[1-9a-fA-F]|7[0-9aA])/g

/** The same for a URI as it was sent, where a credential may be percent-encoded in part or as a whole. */
export const hideCredentialsInUri = (uri: string): string =>
  SIGN.test(uri) || uri.includes('%') ? hideInParts(uri) : uri

const hideInParts = (uri: string): string =>
  uri
    .split(PARTS)
    .map((part) => {
      const decoded = part.replace(ENCODED, decodeURIComponent)
      const hidden = hideCredentials(decoded)
      return hidden === decoded ? part : hidden
    })
    .join('')

/**
 * Whether a path that could not be read names `proxy`, in whatever spelling: then its query may have been meant for a workload
 * (contract 21.4).
 */
export const mayNameProxy = (path: string): boolean =>
  PROXY_SEGMENT.test(path.includes('%') ? path.replace(ENCODED, decodeURIComponent) : path)

const PROXY_SEGMENT = /(?:\/|%2f)proxy(?:\/|%2f|$)/i

// What clients say of themselves, as events have it: without credentials, and cut (contract 21.3).

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
