// Hides credentials in what people and clients write: paths, names, user agents, messages, command lines (contract 21.4).

/** What stands in place of a secret. */
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

/** The text with those characters decoded. */
export const withoutEncoding = (text: string): string =>
  text.includes('%') ? text.replace(ENCODED, decodeURIComponent) : text

/** `hideCredentials` for a URI as it was sent, where a credential may be percent-encoded in part or as a whole. */
export const hideCredentialsInUri = (uri: string): string =>
  SIGN.test(uri) || uri.includes('%') ? hideInParts(uri) : uri

const hideInParts = (uri: string): string =>
  uri
    .split(PARTS)
    .map((part) => {
      const decoded = withoutEncoding(part)
      const hidden = hideCredentials(decoded)
      return hidden === decoded ? part : hidden
    })
    .join('')
