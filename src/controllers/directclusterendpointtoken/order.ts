import { issuedUnder, type Token } from '../../domain/token.ts'
import type { Indexers, Store } from '../../kube/store.ts'

/** Index of tokens by the uid of the access key that their reference names. */
export const BY_OWNER = 'owner'

/** Index of tokens by the uid of the access key that they were issued under. */
export const BY_ISSUED_UNDER = 'issued-under'

/** Index of tokens by their own uid, which is the id of the revoked. */
export const BY_UID = 'uid'

/** The indexes that the controllers need of their store. */
export const TOKEN_INDEXERS: Indexers<Token> = {
  [BY_OWNER]: ({ ownerRef }) => ownerRef?.uid ?? null,
  [BY_ISSUED_UNDER]: issuedUnder,
  [BY_UID]: ({ uid }) => uid,
}

/** Names of all tokens, earliest end first. */
export function tokensByEnd(tokens: Store<Token>): readonly string[] {
  const ends = [...tokens.values()].map((token) => ({
    name: token.name,
    end: token.published.expirationTimestamp ?? '',
  }))
  return ends
    .toSorted((a, b) => (a.end < b.end ? -1 : a.end > b.end ? 1 : 0))
    .map(({ name }) => name)
}
