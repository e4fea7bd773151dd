// The text of a file that holds one token.

/** Visible ASCII: what a header can carry as one word. */
const TOKEN = /^[!-~]+$/

/** The token in a file, or why there is none, as a clause without the text. */
type TokenInFile =
  | { readonly ok: true; readonly token: string }
  | { readonly ok: false; readonly fault: string }

/** The token in the text of a file, which may end in a line break. */
export function tokenIn(text = ''): TokenInFile {
  const token = text.replace(/\r?\n$/, '')
  if (token === '') return { ok: false, fault: 'the file is empty' }
  return TOKEN.test(token)
    ? { ok: true, token }
    : {
        ok: false,
        fault: 'the file has more than a token: spaces, several lines or characters beyond ASCII',
      }
}
