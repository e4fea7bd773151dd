import type { FollowedJwks } from '../../authn/jwks.ts'
import { type Answer, failure } from '../../serving/http/answer.ts'
import { CACHE_FOR } from './discovery.ts'

const UNKNOWN = failure('ServiceUnavailable', 'the public signing keys are not known yet', {
  'retry-after': '5',
})

/**
 * The JWK Set of `<issuer>/keys` (contract 7.2). The answer is built when the set has changed and not
 * when it is asked for: a kube-apiserver fetches it once per unknown kid, without limit (threats D5).
 */
export function createKeysPage(jwks: FollowedJwks): () => Answer {
  let text: string | null = null
  let answer = UNKNOWN
  return () => {
    const current = jwks.current()
    if (current !== text && current !== null) {
      text = current
      answer = {
        status: 200,
        headers: { 'content-type': 'application/jwk-set+json', 'cache-control': CACHE_FOR },
        body: Buffer.from(current),
      }
    }
    return answer
  }
}
