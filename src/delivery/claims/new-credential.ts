// Makes the keys and tokens of claims (contract 28.3). The key object has the digest of the key alone.
import { hash, randomBytes } from 'node:crypto'
import {
  ACCESS_KEYS,
  CLAIM_LABEL,
  DELIVERS_ANNOTATION,
  EXPIRED_ANNOTATION,
  REVOKE_FINALIZER,
  ROTATE_ANNOTATION,
  TOKENS,
} from '../../api/names.ts'
import type { KubeObject } from '../../api/objects.ts'
import type { Claim } from '../../domain/claim/claim.ts'
import type { KeyOfClaim } from '../../domain/claim/claimed-key.ts'
import { deliversOf } from '../../domain/claim/replacement.ts'
import { setNestedField } from '../../domain/json/field-path.ts'
import type { Json, JsonMap } from '../../domain/json/json.ts'
import type { KeyRef } from '../../domain/shared-metadata.ts'
import { formatTimestamp } from '../../domain/time.ts'
import { newKeyObject, newTokenObject, withCreation } from '../../issuance/new-object.ts'
import type { KubeClient, NewObject } from '../../kube/client/client.ts'

/** Why keys are written, for metrics. */
export const KEY_WRITE_REASONS = ['create', 'limit', 'replaced', 'stray', 'claim-gone'] as const

/** Why tokens are written, for metrics. */
export const TOKEN_WRITE_REASONS = ['create', 'replaced', 'stray'] as const

/**
 * Creates a key for the claim.
 *
 * @param plaintext the key in clear, of which the object gets the digest
 */
export async function createKey(
  claim: Claim,
  plaintext: string,
  { client, nowMs }: { readonly client: KubeClient; readonly nowMs: number },
): Promise<KeyRef> {
  const sent: JsonMap = {
    metadata: {
      name: newName(claim),
      labels: { [CLAIM_LABEL]: claim.uid },
      annotations: {
        ...claimAnnotations(claim),
        [DELIVERS_ANNOTATION]: deliversOf(claim),
        ...(claim.rotateRequest === null ? {} : { [ROTATE_ANNOTATION]: claim.rotateRequest }),
      },
    },
    spec: keySpec(claim, plaintext),
  }
  const made = newKeyObject(null, { sent, newKey: () => plaintext, issuer: null })
  const { object } = withCreation(made, formatTimestamp(nowMs))
  const { metadata } = await client.create<KubeObject>(ACCESS_KEYS, asNew(object), 'create')
  return { name: metadata.name, uid: metadata.uid }
}

/** Creates a token under the key. */
export async function createToken(
  claim: Claim,
  owner: KeyOfClaim,
  client: KubeClient,
): Promise<KeyRef> {
  const { ttlSeconds, scope } = claim.token ?? { ttlSeconds: 0, scope: null }
  const sent: JsonMap = {
    metadata: {
      name: newName(claim),
      labels: { [CLAIM_LABEL]: claim.uid },
      annotations: claimAnnotations(claim),
      finalizers: [REVOKE_FINALIZER],
    },
    spec: { ttl: ttlSeconds, ...(scope === null ? {} : { scope: scope as unknown as Json }) },
  }
  const { object } = newTokenObject(sent, owner)
  const { metadata } = await client.create<KubeObject>(TOKENS, asNew(object), 'create')
  return { name: metadata.name, uid: metadata.uid }
}

/** An ended key goes at once, also one that a GitOps tool has labelled. */
const claimAnnotations = ({ namespace, name }: Claim): Readonly<Record<string, string>> => ({
  [CLAIM_LABEL]: `${namespace}/${name}`,
  [EXPIRED_ANNOTATION]: 'Delete',
})

function keySpec({ key }: Claim, plaintext: string): JsonMap {
  const { ttlSeconds, scope, groups, ...texts } = key
  const named = Object.entries(texts).filter(([, text]) => text !== '')
  const spec: JsonMap = {
    ...Object.fromEntries(named),
    type: 'Other',
    ttl: ttlSeconds,
    key: `sha256:${hash('sha256', plaintext)}`,
    ...(groups.length === 0 ? {} : { groups }),
  }
  return scope === null ? spec : setNestedField(spec, ['scope'], scope as unknown as Json)
}

const asNew = (object: JsonMap): NewObject => object as unknown as NewObject

const NAME_LETTERS = 'abcdefghijklmnopqrstuvwxyz234567'

/** `claim-<namespace>-<name>-<8 of a-z2-7>`: 40 random bits, so that no two names of a claim meet. */
function newName({ namespace, name }: Claim): string {
  const letters = [...randomBytes(8)].map((byte) => NAME_LETTERS[byte % NAME_LETTERS.length])
  return `claim-${namespace}-${name}-${letters.join('')}`
}
