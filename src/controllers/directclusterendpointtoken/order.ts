import { parseTimestamp } from '../../domain/time/time.ts'
import { type Token, issuedUnder } from '../../domain/token/token.ts'
import type { Indexers } from '../../kube/informer/store.ts'

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

/** When a token ends by its status, in epoch milliseconds; minus infinity = it has none yet. */
export const tokenEndMs = ({ published }: Token): number =>
  parseTimestamp(published.expirationTimestamp) ?? Number.NEGATIVE_INFINITY
