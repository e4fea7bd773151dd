// Writes the status of a token, with a new signature or with the token that it has.
import type { DirectClusterEndpointToken } from '../../api/directclusterendpointtoken.gen.ts'
import { TOKENS } from '../../api/names.ts'
import type { TokenObject } from '../../domain/token/token.ts'
import type { KubeClient } from '../../kube/client/client.ts'
import { type ObjectTarget, applyStatus } from '../../kube/controller/object-writes.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { TokenSigner } from '../../signing/keyring.ts'
import type { TokenStep } from './plan.ts'

/** Dependencies of issue. */
interface IssueDeps {
  readonly signer: TokenSigner
  readonly clock: Clock
  /** `signed` is called for each signature, stored or not. */
  readonly observer: { readonly signed: (seconds: number) => void }
}

/**
 * Signs the token and writes it into status. A token that is signed but not stored is discarded.
 *
 * @returns the ID of the signing key; null = the key is gone meanwhile, and the signer enqueues all tokens when another
 *   one can sign
 * @throws StatusError 409 when the token has changed
 */
export async function issue(
  target: ObjectTarget,
  token: TokenObject,
  { claims, status }: Extract<TokenStep, { kind: 'issue' }>,
  { signer, clock, observer }: IssueDeps,
): Promise<string | null> {
  const startedMs = clock.monotonicMs()
  const signed = await signer.sign(claims)
  if (signed === null) return null
  observer.signed((clock.monotonicMs() - startedMs) / 1000)
  await applyStatus(target, token, { ...status, token: signed.token, keyID: signed.kid })
  return signed.kid
}

/**
 * Writes a status without a new signature.
 *
 * @returns whether it was written; false = the token has changed meanwhile
 * @throws StatusError 409 when the token has changed
 */
export async function publishStatus(
  target: ObjectTarget,
  token: TokenObject,
  { status, keepsToken }: Extract<TokenStep, { kind: 'publish' }>,
): Promise<boolean> {
  const tokenField = await tokenFieldToApply(token, keepsToken, target.client)
  if (tokenField === null) return false
  await applyStatus(target, token, { ...status, ...tokenField })
  return true
}

/**
 * The field status.token of an apply. To keep it, the apply must repeat it, so it is read first. To remove it, the
 * apply omits it, or sets it to empty if another manager owns the field. null = the object has changed meanwhile.
 */
async function tokenFieldToApply(
  { name, uid, resourceVersion, published }: TokenObject,
  keepsToken: boolean,
  client: KubeClient,
): Promise<{ readonly token?: string } | null> {
  if (!keepsToken) return published.isTokenForeign ? { token: '' } : {}
  const object = await client.get<DirectClusterEndpointToken>(TOKENS, { name })
  const isSame = object?.metadata.uid === uid && object.metadata.resourceVersion === resourceVersion
  return isSame ? { token: object.status?.token ?? '' } : null
}
