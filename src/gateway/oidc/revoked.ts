import { createHash } from 'node:crypto'
import type { ConfigMap } from '../../api/core.ts'
import { revokedInAll, revokedList } from '../../domain/revocation.ts'
import type { Store, Whole } from '../../kube/store.ts'
import { type Answer, failure } from '../http/answer.ts'
import type { Call } from '../http/server.ts'

const UNKNOWN = failure('ServiceUnavailable', 'the revoked tokens are not known yet', {
  'retry-after': '5',
})

/** Where the list comes from. */
export interface RevokedSources {
  /** All ConfigMaps of the platform's namespace, or at least those of revoked tokens. */
  readonly configMaps: Store<Whole<ConfigMap>>
  /** When the store was last known to be complete, in epoch milliseconds; null = never. */
  readonly heardMs: () => number | null
}

/**
 * The list of `<issuer>/revoked` (contract 7.4). `asOf` is when the records were last known to be
 * complete and not when they are asked for: while the API server is away it ages, and verifiers go by
 * it. It is part of the ETag, for who is told "not modified" would not learn it.
 */
export function createRevokedPage({ configMaps, heardMs }: RevokedSources): (call: Call) => Answer {
  let built: { readonly asOfMs: number; readonly answer: Answer; readonly etag: string } | null =
    null
  const build = (asOfMs: number) => {
    const objects = [...configMaps.values()].map(({ object }) => object)
    const body = Buffer.from(JSON.stringify(revokedList(revokedInAll(objects), asOfMs)))
    const etag = `"${createHash('sha256').update(body).digest('base64url')}"`
    const headers = { 'content-type': 'application/json', 'cache-control': 'no-cache', etag }
    return { asOfMs, etag, answer: { status: 200, headers, body } }
  }
  configMaps.subscribe(() => {
    built = null
  })
  return ({ headers }) => {
    const asOfMs = heardMs()
    if (asOfMs === null) return UNKNOWN
    if (built?.asOfMs !== asOfMs) built = build(asOfMs)
    const { answer, etag } = built
    if (!isHeld(headers['if-none-match'], etag)) return answer
    return { status: 304, headers: answer.headers, body: Buffer.alloc(0) }
  }
}

/** Whether the client holds what has this tag; a proxy may have made it a weak one. */
const isHeld = (ifNoneMatch: string | undefined, etag: string): boolean =>
  ifNoneMatch?.split(',').some((tag) => tag.trim().replace(/^W\//, '') === etag) ?? false
