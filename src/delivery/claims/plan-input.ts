// Collects what the plan of a claim needs to know, from stores, settings and memory.
import type { Claim } from '../../domain/claim/claim.ts'
import type { KeyOfClaim, TokenOfClaim } from '../../domain/claim/claimed-key.ts'
import { holdingsOf } from '../../domain/claim/holdings.ts'
import { reasonOf } from '../../domain/claim/replacement.ts'
import { UNKNOWN_SECRET } from '../../domain/claim/secret-view.ts'
import { type ServerAddress, dataBytes, templateText } from '../../domain/claim/template.ts'
import { formatSecond } from '../../domain/time.ts'
import { templateDigest } from '../secrets/secret-writes.ts'
import { type DeliveryAttempt, uidsOf } from './attempt.ts'
import type { ClaimRecord, RenderingFacts } from './claim-memory.ts'
import type { ClaimDeps } from './deps.ts'
import type { ClaimFacts, DeliveryFault } from './facts.ts'
import { placeFaultOf } from './place.ts'
import { BY_CLAIM } from './stores.ts'

/** The facts of a claim at this moment. */
export function factsOf(claim: Claim, deps: ClaimDeps): ClaimFacts {
  const { stores, memory, gateway, places, clock } = deps
  const nowMs = clock.nowMs()
  const record = memory.of(claim)
  const keys = stores.keys.by(BY_CLAIM, claim.uid)
  const tokens = stores.tokens.by(BY_CLAIM, claim.uid)
  noteDelivery(record, claim)
  const attempt = followed(record, { keys, tokens }, nowMs)
  const server = gateway.server(claim.secret.target)
  return {
    claim,
    secret: record.secret,
    holdings: holdingsOf({
      secret: record.secret.kind === 'held' ? record.secret.view : null,
      keys,
      tokens,
      published: claim.published,
      underway: attempt === null ? new Set() : uidsOf(attempt),
    }),
    attempt,
    attemptKey: keys.find(({ uid }) => uid === attempt?.key.uid) ?? null,
    attemptToken: tokens.find(({ uid }) => uid === attempt?.token?.uid) ?? null,
    abandoned: record.abandoned,
    ...renderingOf(record, claim, server),
    caps: deps.caps(),
    placeFault: placeFaultOf(claim, stores.claims, places),
    fault: faultIn(record, claim, nowMs),
    labelled: record.labelled,
    server,
    nowMs,
  }
}

/** Lengths in characters that no key, and no token with any scope but a long one, exceeds. */
const LONGEST_KEY = 64
const LONGEST_TOKEN = 4096

/** What the templates of the claim become, computed anew only where the spec or the gateway's address has changed. */
function renderingOf(
  record: ClaimRecord,
  claim: Claim,
  server: ServerAddress | null,
): Pick<RenderingFacts, 'template' | 'dataBytes'> {
  const { generation, token, secret } = claim
  const [url, ca] = [server?.url ?? null, server?.ca ?? null]
  const known = record.rendering
  const isSame = known?.generation === generation && known.url === url && known.ca === ca
  if (known && isSame) return { template: known.template, dataBytes: known.dataBytes }
  const credential = 'x'.repeat(token === null ? LONGEST_KEY : LONGEST_TOKEN)
  const [keyID, expires] = ['0'.repeat(16), formatSecond(0)]
  const computed = {
    template: templateDigest(templateText(claim, server)),
    dataBytes: dataBytes(secret, { credential, keyID, expires, server }),
  }
  record.rendering = { generation, url, ca, ...computed }
  return computed
}

/** Another process has delivered: what was seen of the Secret before must not end the key that is in it now. */
function noteDelivery(record: ClaimRecord, { published: { key } }: Claim): void {
  const { secret, publishedKeyID } = record
  if (key?.keyID === undefined || key.keyID === publishedKeyID) return
  record.publishedKeyID = key.keyID
  const isSeen = secret.kind === 'held' && secret.view.keyID === key.keyID
  if (!isSeen) record.secret = UNKNOWN_SECRET
}

/** The attempt, with what the watch has shown of its key and its token. */
function followed(
  record: ClaimRecord,
  {
    keys,
    tokens,
  }: { readonly keys: readonly KeyOfClaim[]; readonly tokens: readonly TokenOfClaim[] },
  nowMs: number,
): DeliveryAttempt | null {
  const { attempt } = record
  const key = keys.find(({ uid }) => uid === attempt?.key.uid)
  if (attempt === null || key === undefined) return attempt
  const { token } = attempt
  const isTokenSeen = tokens.some(({ uid }) => uid === token?.uid)
  record.attempt = {
    ...attempt,
    key: { ...attempt.key, isSeen: true },
    token: token && isTokenSeen ? { ...token, isSeen: true } : token,
    readySinceMs: reasonOf(key) === 'Active' ? (attempt.readySinceMs ?? nowMs) : null,
  }
  return record.attempt
}

/** The fault, until it is time to try again or the claim has changed. */
function faultIn(
  { fault }: ClaimRecord,
  { generation }: Claim,
  nowMs: number,
): DeliveryFault | null {
  return fault !== null && fault.generation === generation && nowMs < fault.retryMs ? fault : null
}
