// Who calls the sign-in process: the gateway alone, by the token of its ServiceAccount for this audience (contract 25.1).
import { createHash } from 'node:crypto'
import { SIGN_IN_AUDIENCE, TOKEN_REVIEWS, apiVersionOf } from '../api/names.ts'
import type { KubeObject } from '../api/objects.ts'
import { fieldsOf, stringsOf } from '../domain/json/json.ts'
import type { KubeClient, NewObject } from '../kube/client/client.ts'
import type { Clock } from '../runtime/clock.ts'
import { createSemaphore } from '../runtime/concurrency/semaphore.ts'

/** Whether a token is the gateway's. `unknown`: the API server did not answer. */
export type TokenVerdict = 'gateway' | 'other' | 'unknown'

/** Options of createGatewayTokens. */
interface GatewayTokensOptions {
  readonly client: Pick<KubeClient, 'create'>
  /** User name of the gateway's ServiceAccount (`--gateway-account`). */
  readonly account: string
  readonly clock: Clock
}

/** How long a verdict is remembered. */
const REMEMBERED_MS = 60_000
/** Tokens that are remembered; the oldest go. The gateway's replicas have one each, and a new one every hour. */
const MOST_REMEMBERED = 256
const LONGEST_TOKEN = 16_384
/** Reviews at a time, so that strangers who try tokens are no load for the API server. */
const MOST_REVIEWS = 4
const BEARER = /^bearer +(\S+)$/i

/** Creates the check of the header `Authorization`. */
export function createGatewayTokens({
  client,
  account,
  clock,
}: GatewayTokensOptions): (authorization: string | undefined) => Promise<TokenVerdict> {
  const remembered = new Map<string, { readonly verdict: TokenVerdict; readonly untilMs: number }>()
  const limited = createSemaphore(MOST_REVIEWS, MOST_REVIEWS)
  const review = async (token: string): Promise<TokenVerdict> => {
    try {
      const answer = await client.create<KubeObject>(TOKEN_REVIEWS, reviewOf(token), 'review')
      return isGateway(answer, account) ? 'gateway' : 'other'
    } catch {
      return 'unknown'
    }
  }
  return async (authorization) => {
    const token = BEARER.exec(authorization ?? '')?.[1]
    if (token === undefined || token.length > LONGEST_TOKEN) return 'other'
    const digest = createHash('sha256').update(token).digest('hex')
    const recall = (): TokenVerdict | null => {
      const found = remembered.get(digest)
      return found !== undefined && clock.monotonicMs() < found.untilMs ? found.verdict : null
    }
    return (
      recall() ??
      limited('', async () => {
        const meanwhile = recall()
        if (meanwhile !== null) return meanwhile
        const verdict = await review(token)
        if (verdict === 'unknown') return verdict
        remembered.delete(digest)
        remembered.set(digest, { verdict, untilMs: clock.monotonicMs() + REMEMBERED_MS })
        const oldest = remembered.size > MOST_REMEMBERED ? remembered.keys().next() : null
        if (oldest?.value !== undefined) remembered.delete(oldest.value)
        return verdict
      })
    )
  }
}

const reviewOf = (token: string): NewObject => ({
  apiVersion: apiVersionOf(TOKEN_REVIEWS),
  kind: TOKEN_REVIEWS.kind,
  metadata: {},
  spec: { token, audiences: [SIGN_IN_AUDIENCE] },
})

function isGateway({ status }: KubeObject, account: string): boolean {
  const { authenticated, user, audiences } = fieldsOf(status)
  const isForUs = stringsOf(audiences)?.includes(SIGN_IN_AUDIENCE) === true
  return authenticated === true && isForUs && fieldsOf(user)['username'] === account
}
