// All versions of the keys and Secrets of claims in the order of their writes, and what must hold after each of them (contract
// 28.3, 28.5): no Secret has a key that does not work, and no claim has more than three keys.
import { hash } from 'node:crypto'
import { ACCESS_KEYS, CLAIM_LABEL, SECRETS } from '../../../src/api/names.ts'
import type { KubeObject, Secret } from '../../../src/api/objects.ts'
import { findCondition } from '../../../src/domain/conditions.ts'
import type { StoredKey } from '../../cluster/keys/key-client.ts'
import type { TestControlPlane } from '../control-plane.ts'
import { type ObjectVersion, recordVersions, revisionOf } from '../object-versions.ts'
import { keyIn } from './stored-claims.ts'

/** The record of a file. */
export interface ClaimHistory {
  /** One sentence for each violation; empty when there is none. */
  faults(): Promise<readonly string[]>
  /** Every key that a Secret had, in clear. */
  delivered(): Promise<readonly string[]>
}

const MOST_KEYS = 3

/**
 * Records until the last test of the file. The claims must deliver keys in the default form, and must not be deleted.
 *
 * @param namespace of the claims
 */
export async function recordClaims(
  { admin }: Pick<TestControlPlane, 'admin'>,
  namespace: string,
): Promise<ClaimHistory> {
  const keys = await recordVersions<StoredKey>(admin, ACCESS_KEYS)
  const secrets = await recordVersions<Secret>(admin, SECRETS, namespace)
  const both = async (): Promise<readonly ObjectVersion[]> =>
    [...(await keys()), ...(await secrets())].toSorted(
      (a, b) => revisionOf(a.object) - revisionOf(b.object),
    )
  return {
    faults: async () => faultsIn(await both()),
    delivered: async () => [
      ...new Set((await secrets()).map(({ object }) => keyIn(object)).filter(Boolean)),
    ],
  }
}

const claimOf = ({ metadata }: KubeObject): string | undefined => metadata.labels?.[CLAIM_LABEL]

function faultsIn(versions: readonly ObjectVersion[]): readonly string[] {
  const faults: string[] = []
  const keys = new Map<string, StoredKey>()
  const secrets = new Map<string, Secret>()
  for (const version of versions) {
    const claim = claimOf(version.object)
    if (claim === undefined) continue
    follow(version, keys, secrets)
    const ofClaim = [...keys.values()].filter((key) => claimOf(key) === claim)
    const at = `at revision ${version.object.metadata.resourceVersion}`
    if (ofClaim.length > MOST_KEYS) faults.push(`claim ${claim} has ${ofClaim.length} keys ${at}`)
    const secret = secrets.get(claim)
    if (secret === undefined) continue
    const digest = `sha256:${hash('sha256', keyIn(secret))}`
    const its = ofClaim.find(({ spec }) => spec.key === digest)
    if (!works(its))
      faults.push(`Secret ${secret.metadata.name} has a key that is ${stateOf(its)} ${at}`)
  }
  return faults
}

function follow(
  { type, object }: ObjectVersion,
  keys: Map<string, StoredKey>,
  secrets: Map<string, Secret>,
): void {
  if (object.kind === ACCESS_KEYS.kind) {
    if (type === 'DELETED') keys.delete(object.metadata.uid)
    else keys.set(object.metadata.uid, object as StoredKey)
    return
  }
  const claim = claimOf(object) ?? ''
  if (type === 'DELETED') secrets.delete(claim)
  else secrets.set(claim, object as Secret)
}

const works = (key: StoredKey | undefined): boolean => stateOf(key) === 'Active'

function stateOf(key: StoredKey | undefined): string {
  if (key === undefined) return 'gone'
  if (key.metadata.deletionTimestamp !== undefined) return 'being deleted'
  return findCondition(key.status?.conditions ?? [], 'Ready')?.reason ?? 'new'
}
