// Writes the status of a token, with a new signature or with the token that it has, and reports the change.
import type { DirectClusterEndpointToken } from '../../api/directclusterendpointtoken.gen.ts'
import { TOKENS } from '../../api/names.ts'
import type { TokenObject } from '../../domain/token/token.ts'
import type { KubeClient } from '../../kube/client/client.ts'
import { type ObjectTarget, applyStatus, regardingOf } from '../../kube/controller/object-writes.ts'
import type { ReconcileContext } from '../../kube/controller/reconcile-context.ts'
import { type EventRecorder, recordTransitions } from '../../kube/event-recorder.ts'
import type { Store } from '../../kube/informer/store.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { TokenSigner } from '../../signing/keyring.ts'
import type { TokenStep, TokenTransition } from './plan.ts'

/** Called for each issue and each signature, for the platform_* metrics. */
interface TokenObserver {
  issued(): void
  /** For each signature, stored or not. */
  signed(seconds: number): void
}

/** Dependencies of publish. */
export interface TokenPublishDeps {
  readonly client: KubeClient
  readonly tokens: Store<TokenObject>
  readonly signer: TokenSigner
  readonly clock: Clock
  readonly events: EventRecorder
  readonly observer: TokenObserver
}

/** Where tokens are written. */
export const targetOf = ({
  client,
  tokens,
}: Pick<TokenPublishDeps, 'client' | 'tokens'>): ObjectTarget => ({
  client,
  resource: TOKENS,
  store: tokens,
})

type IssueStep = Extract<TokenStep, { kind: 'issue' }>
type StatusStep = Extract<TokenStep, { kind: 'publish' }>

/** Reasons of events that need no action; the others are warnings. */
const NORMAL_REASONS: readonly TokenTransition['reason'][] = ['TokenIssued', 'Revoked']

/** Reasons of events about the end of a token: one that is published again after a wait is issued, not ended. */
const END_REASONS: readonly TokenTransition['reason'][] = ['Expired', 'Revoked']

/**
 * Writes the status. A token that is signed but not stored is discarded. Nothing is written when the signing key is gone
 * meanwhile, or the token that stays has changed: the signer or the watch enqueues the token again.
 *
 * @throws StatusError 409 when the token has changed
 */
export async function publish(
  token: TokenObject,
  step: IssueStep | StatusStep,
  deps: TokenPublishDeps,
  { log, reconcileID }: ReconcileContext,
): Promise<void> {
  const tokenFields =
    step.kind === 'issue' ? await signedFields(step, deps) : await keptFields(token, step, deps)
  if (tokenFields === null) return
  await applyStatus(targetOf(deps), token, { ...step.status, ...tokenFields })
  if (step.kind === 'issue') {
    deps.observer.issued()
    const { expirationTimestamp } = step.status
    log.info({ expirationTimestamp, keyID: tokenFields.keyID }, 'token issued')
  } else {
    for (const { reason } of step.announce)
      if (END_REASONS.includes(reason)) log.info({ reason }, 'token ended')
  }
  const regarding = regardingOf(TOKENS, token)
  const about = { regarding, normalReasons: NORMAL_REASONS, reconcileID }
  recordTransitions(step.announce, about, deps.events)
}

/** The fields of status that hold the token; absent = it has none. */
interface TokenFields {
  readonly token?: string
  readonly keyID?: string
}

/** A new token; null = the signing key is gone meanwhile. */
async function signedFields(
  { claims }: IssueStep,
  { signer, clock, observer }: TokenPublishDeps,
): Promise<TokenFields | null> {
  const startedMs = clock.monotonicMs()
  const signed = await signer.sign(claims)
  if (signed === null) return null
  observer.signed((clock.monotonicMs() - startedMs) / 1000)
  return { token: signed.token, keyID: signed.kid }
}

/**
 * The field status.token of an apply. To keep it, the apply must repeat it, so it is read first. To remove it, the
 * apply omits it, or sets it to empty if another manager owns the field. null = the object has changed meanwhile.
 */
async function keptFields(
  { name, uid, resourceVersion, published }: TokenObject,
  { keepsToken }: StatusStep,
  { client }: TokenPublishDeps,
): Promise<TokenFields | null> {
  if (!keepsToken) return published.isTokenForeign ? { token: '' } : {}
  const object = await client.get<DirectClusterEndpointToken>(TOKENS, { name })
  const isSame = object?.metadata.uid === uid && object.metadata.resourceVersion === resourceVersion
  return isSame ? { token: object.status?.token ?? '' } : null
}
