import type { FollowedJwks } from '../../authn/jwks.ts'
import { SIGNING_ALGORITHMS } from '../../domain/token/token-claims.ts'
import { type Answer, refuse } from '../../serving/http/answer.ts'
import { ERRORS } from '../errors.ts'

/** How long verifiers may keep what they fetched (contract 7.2). */
const CACHE_FOR = 'max-age=300'

/**
 * OpenID Connect discovery, as far as verifiers of tokens go, with the members that a Kubernetes API
 * server publishes for its own: kube-apiserver reads issuer, jwks_uri and the algorithms.
 *
 * @param issuer null = not known yet
 */
export function discoveryAnswer(issuer: string | null): Answer {
  if (issuer === null) return refuse(ERRORS.issuerUnknown)
  const document = {
    issuer,
    jwks_uri: `${issuer}/keys`,
    response_types_supported: ['id_token'],
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: SIGNING_ALGORITHMS,
  }
  return {
    status: 200,
    headers: { 'content-type': 'application/json', 'cache-control': CACHE_FOR },
    body: Buffer.from(JSON.stringify(document)),
  }
}

const UNKNOWN = refuse(ERRORS.signingKeysUnknown)

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
