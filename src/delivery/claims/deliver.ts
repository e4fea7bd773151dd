// Delivers what is under way into the Secret of the claim (contract 28.3, 28.4).
import { TOKENS } from '../../api/names.ts'
import type { DirectClusterEndpointToken } from '../../api/directclusterendpointtoken.gen.ts'
import { keyIdOf } from '../../domain/accesskey/access-key.ts'
import { earliest } from '../../domain/accesskey/lifetime.ts'
import type { Claim } from '../../domain/claim/claim.ts'
import { type SecretView, UNKNOWN_SECRET } from '../../domain/claim/secret-view.ts'
import { renderData } from '../../domain/claim/template.ts'
import { formatSecond } from '../../domain/time.ts'
import { secretData } from '../../api/objects.ts'
import { generateKey } from '../../issuance/new-object.ts'
import type { NamedObject } from '../../kube/client/client.ts'
import { claimedSecret } from '../secrets/secret-object.ts'
import { labelSecret, tryWrite, writeSecret } from '../secrets/secret-writes.ts'
import type { ClaimDeps } from './deps.ts'
import type { ClaimFacts } from './facts.ts'
import { keyEndMs } from './lifetimes.ts'
import { type ClaimStep, expiresOf } from './plan.ts'

/** The view of the Secret; null = there is none. */
const viewIn = ({ secret }: ClaimFacts): SecretView | null =>
  secret.kind === 'held' ? secret.view : null

/** Tries the write of the Secret before a key is made for it. @throws StatusError as the write would */
export async function tryDelivery(facts: ClaimFacts, deps: ClaimDeps): Promise<void> {
  const { claim, template, server, nowMs } = facts
  const expires = formatSecond(nowMs)
  // It opens nothing, and has the form of what is to come.
  const credential = generateKey()
  const texts = renderData(claim.secret, { credential, keyID: '0'.repeat(16), expires, server })
  const content = { keyID: '', token: null, expires, template }
  await tryWrite(claimedSecret(claim, content, secretData(texts)), viewIn(facts), deps)
}

/**
 * Writes the Secret with the credential of the attempt, which then is over; an attempt whose token is gone stays.
 *
 * @throws StatusError 409 when the Secret is not as it was read
 */
export async function deliver(
  facts: ClaimFacts,
  step: Extract<ClaimStep, { kind: 'deliver' }>,
  deps: ClaimDeps,
): Promise<void> {
  const { claim, nowMs } = facts
  const { attempt } = step
  const object = await deliveredSecret(facts, step, deps)
  // Revoked since the watch has shown it: the next look at the attempt says so.
  if (object === null) return
  const record = deps.memory.of(claim)
  record.secret = UNKNOWN_SECRET
  record.secret = await writeSecret(claim, object, viewIn(facts), deps)
  record.attempt = null
  deps.observer.delivered(attempt.cause, (nowMs - attempt.startedMs) / 1000)
}

async function deliveredSecret(
  facts: ClaimFacts,
  { attempt, key, token }: Extract<ClaimStep, { kind: 'deliver' }>,
  deps: ClaimDeps,
): Promise<NamedObject | null> {
  const { claim, template, server } = facts
  const credential = token === null ? attempt.key.plaintext : await readToken(token.name, deps)
  if (credential === null) return null
  const endMs = earliest(keyEndMs(key, facts), token?.endMs ?? null)
  const keyID = keyIdOf(key)
  const expires = endMs === null ? '' : formatSecond(endMs)
  const texts = renderData(claim.secret, { credential, keyID, expires, server })
  const content = { keyID, token: token?.name ?? null, expires, template }
  return claimedSecret(claim, content, secretData(texts))
}

/** The token in status; null = it is gone. */
async function readToken(name: string, { client }: ClaimDeps): Promise<string | null> {
  const found = await client.get<DirectClusterEndpointToken>(TOKENS, { name })
  return found?.status?.token || null
}

/** Writes labels, annotations and owner of the Secret, with the credential that it has. */
export async function relabel(facts: ClaimFacts, view: SecretView, deps: ClaimDeps): Promise<void> {
  const { claim } = facts
  const { keyID, token, template } = view
  const expires = expiresOf(facts) || view.expires
  const record = deps.memory.of(claim)
  record.secret = UNKNOWN_SECRET
  const objectWith = (data: Claim['secret']['data']): NamedObject =>
    claimedSecret(claim, { keyID, token, expires, template }, data)
  record.labelled = { generation: claim.generation, atMs: facts.nowMs }
  record.secret = await labelSecret(claim, view, objectWith, deps)
}
