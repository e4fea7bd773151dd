// A client for claims and their Secrets on a control plane, as admin.
import type {
  AccessKeyClaimSpec,
  AccessKeyClaimStatus,
} from '../../../src/api/accesskeyclaim.gen.ts'
import {
  ACCESS_KEY_CLAIMS,
  API_VERSION,
  ROTATE_ANNOTATION,
  SECRETS,
} from '../../../src/api/names.ts'
import type { KubeObject, Secret } from '../../../src/api/objects.ts'
import { findCondition } from '../../../src/domain/conditions.ts'
import { formatSecond } from '../../../src/domain/time.ts'
import { pathOf } from '../../../src/kube/client/client.ts'
import type { TestControlPlane } from '../control-plane.ts'
import { eventually } from '../eventually.ts'
import { uniqueName } from '../object-builder.ts'
import type { RawAnswer } from '../raw-client.ts'

/** A stored claim; status is empty until the process writes it. */
export interface StoredClaim extends KubeObject {
  readonly metadata: KubeObject['metadata'] & { readonly namespace: string }
  readonly spec: AccessKeyClaimSpec
  readonly status: AccessKeyClaimStatus
}

/** A claim, by its name. */
export interface ClaimRef {
  readonly metadata: { readonly namespace: string; readonly name: string }
}

/** The claims of a control plane. All but `secret` throw when the API server refuses. */
export interface ClaimClient {
  /** Creates a claim; an empty spec and a unique name unless they are given. */
  create(namespace: string, spec?: AccessKeyClaimSpec, name?: string): Promise<StoredClaim>
  read(claim: ClaimRef): Promise<StoredClaim>
  exists(claim: ClaimRef): Promise<boolean>
  /** A merge patch. */
  patch(claim: ClaimRef, patch: object, subresource?: 'status'): Promise<StoredClaim>
  remove(claim: ClaimRef): Promise<void>
  /** Waits until Ready has this reason for the current generation, and `holds`. */
  shown(
    claim: ClaimRef,
    reason: string,
    holds?: (status: AccessKeyClaimStatus) => boolean,
  ): Promise<StoredClaim>
  /** Asks for another credential, as if the last was delivered a minute ago. @returns the value of the annotation */
  rotate(claim: ClaimRef): Promise<string>
  /** Waits until this value of the annotation is answered. */
  rotated(claim: ClaimRef, asked: string): Promise<StoredClaim>
  /** The Secret of the claim's name; null = there is none. */
  secret(claim: ClaimRef): Promise<Secret | null>
}

/** A clock that was set forward is noticed within a minute (src/runtime/timer-heap.ts). */
const SOON = { withinMs: 90_000 }
const MINUTE_MS = 60_000

/** The client for the claims of a control plane. */
export function claimsOf({ raw }: Pick<TestControlPlane, 'raw'>): ClaimClient {
  const must = async <T>(answer: Promise<RawAnswer<T>>): Promise<T> => {
    const { code, body } = await answer
    if (code >= 300) throw new Error(`${code} ${JSON.stringify(body)}`)
    return body
  }
  const pathTo = ({ metadata: { namespace, name } }: ClaimRef, subresource?: 'status'): string =>
    pathOf(ACCESS_KEY_CLAIMS, { namespace, name }, subresource)
  const read: ClaimClient['read'] = async (claim) =>
    withStatus(await must(raw<StoredClaim>('GET', pathTo(claim))))
  const patch: ClaimClient['patch'] = async (claim, body, subresource) =>
    withStatus(await must(raw<StoredClaim>('PATCH', pathTo(claim, subresource), body)))
  const shown: ClaimClient['shown'] = (claim, reason, holds = () => true) =>
    eventually(
      `${claim.metadata.name} is ${reason}`,
      async () => {
        const now = await read(claim)
        const ready = findCondition(now.status.conditions ?? [], 'Ready')
        const isCurrent = now.status.observedGeneration === now.metadata.generation
        if (ready?.reason === reason && isCurrent && holds(now.status)) return now
        throw new Error(JSON.stringify(now.status))
      },
      SOON,
    )
  return {
    create: async (namespace, spec = {}, name = uniqueName('claim')) => {
      const metadata = { namespace, name }
      const object = { apiVersion: API_VERSION, kind: ACCESS_KEY_CLAIMS.kind, metadata, spec }
      return withStatus(await must(raw('POST', pathOf(ACCESS_KEY_CLAIMS, { namespace }), object)))
    },
    read,
    exists: async (claim) => (await raw('GET', pathTo(claim))).code === 200,
    patch,
    remove: async (claim) => void (await must(raw('DELETE', pathTo(claim)))),
    shown,
    rotate: async (claim) => {
      // No claim is replaced twice within 30 s (contract 28.5).
      await patch(
        claim,
        { status: { lastRotation: formatSecond(Date.now() - MINUTE_MS) } },
        'status',
      )
      const asked = uniqueName('ask')
      await patch(claim, { metadata: { annotations: { [ROTATE_ANNOTATION]: asked } } })
      return asked
    },
    rotated: (claim, asked) => shown(claim, 'Delivered', ({ lastRotate }) => lastRotate === asked),
    secret: async ({ metadata: { namespace, name } }) => {
      const { code, body } = await raw<Secret>('GET', pathOf(SECRETS, { namespace, name }))
      return code === 200 ? body : null
    },
  }
}

const withStatus = (claim: StoredClaim): StoredClaim => ({ ...claim, status: claim.status ?? {} })

/** The credential in a Secret that has nothing but a key; empty = there is none. */
export const keyIn = (secret: Secret | null): string =>
  Buffer.from(secret?.data?.['key'] ?? '', 'base64').toString()
