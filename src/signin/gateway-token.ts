// Who calls the sign-in process: the gateway alone, by the token of its ServiceAccount for this audience (contract 25.1).
import { createHash } from 'node:crypto'
import { SIGN_IN_AUDIENCE, TOKEN_REVIEWS, apiVersionOf } from '../api/names.ts'
import type { KubeObject } from '../api/objects.ts'
import { fieldsOf, stringsOf } from '../domain/json/json.ts'
import type { KubeClient, NewObject } from '../kube/client/client.ts'
import type { Clock } from '../runtime/clock.ts'
import { createSemaphore } from '../runtime/concurrency/semaphore.ts'

/** Whether a token is the gateway's. `unknown`: the API server did not answer, or too many tokens wait. */
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
/** Verdicts of each kind that are remembered; the oldest go. The gateway's replicas have one token each, and a new one every hour. */
const MOST_REMEMBERED = 256
const LONGEST_TOKEN = 16_384
/** Reviews at a time of tokens that were not the gateway's before, so that strangers are no load for the API server. */
const MOST_REVIEWS = 4
/** Tokens that wait for a review; beyond, a verdict is not known. */
const MOST_WAITING = 64
const BEARER = /^bearer +(\S+)$/i

/** Creates the check of the header `Authorization`. */
export function createGatewayTokens(
  options: GatewayTokensOptions,
): (authorization: string | undefined) => Promise<TokenVerdict> {
  const { clock } = options
  // Apart, so that strangers who try tokens push no token of the gateway out.
  const remembered = { gateway: new Map<string, number>(), other: new Map<string, number>() }
  const underWay = new Map<string, Promise<TokenVerdict>>()
  const limited = createSemaphore(MOST_REVIEWS, MOST_REVIEWS)

  const isRemembered = (verdict: 'gateway' | 'other', digest: string): boolean =>
    clock.monotonicMs() < (remembered[verdict].get(digest) ?? 0)
  const ask = async (token: string, digest: string): Promise<TokenVerdict> => {
    const review = (): Promise<TokenVerdict> => verdictOf(token, options)
    // A token that was the gateway's waits for no stranger.
    const wasGateway = remembered.gateway.has(digest)
    const verdict = await (wasGateway ? review() : limited('', review))
    if (verdict !== 'unknown') {
      const until = clock.monotonicMs() + REMEMBERED_MS
      remember(remembered[verdict], digest, until)
      remembered[verdict === 'gateway' ? 'other' : 'gateway'].delete(digest)
    }
    return verdict
  }
  return async (authorization) => {
    const token = BEARER.exec(authorization ?? '')?.[1]
    if (token === undefined || token.length > LONGEST_TOKEN) return 'other'
    const digest = createHash('sha256').update(token).digest('hex')
    if (isRemembered('gateway', digest)) return 'gateway'
    if (isRemembered('other', digest)) return 'other'
    const asked = underWay.get(digest)
    if (asked !== undefined) return asked
    if (underWay.size >= MOST_WAITING && !remembered.gateway.has(digest)) return 'unknown'
    const asking = ask(token, digest).finally(() => underWay.delete(digest))
    underWay.set(digest, asking)
    return asking
  }
}

function remember(verdicts: Map<string, number>, digest: string, untilMs: number): void {
  verdicts.delete(digest)
  verdicts.set(digest, untilMs)
  const [oldest] = verdicts.keys()
  if (verdicts.size > MOST_REMEMBERED && oldest !== undefined) verdicts.delete(oldest)
}

async function verdictOf(
  token: string,
  { client, account }: GatewayTokensOptions,
): Promise<TokenVerdict> {
  try {
    const answer = await client.create<KubeObject>(TOKEN_REVIEWS, reviewOf(token), 'review')
    return isGateway(answer, account) ? 'gateway' : 'other'
  } catch {
    return 'unknown'
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
