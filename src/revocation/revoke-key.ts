// Disables an access key that leaked, and the keys that self-service created with it (contract 12.2).
import { ACCESS_KEYS } from '../api/names.ts'
import type { OwnedAccessKeyObject } from '../domain/accesskey/access-key.ts'
import {
  type DerivedKey,
  descendantsOf,
  derivedKeyOf,
  resolveKeyUid,
} from '../domain/accesskey/derived-keys.ts'
import { StatusError, isConflict, isNotFound, isTestFailed } from '../kube/client/api-error.ts'
import type { KubeClient } from '../kube/client/client.ts'
import { listPages } from '../kube/client/list.ts'
import { type Clock, sleep } from '../runtime/clock.ts'

/** Options of revokeKeyWithDescendants. */
interface RevokeKeyDeps {
  readonly client: Pick<KubeClient, 'list' | 'patch'>
  readonly clock: Clock
  /** Whether to only report what would be disabled, and write nothing. */
  readonly isDryRun: boolean
  /** Called for each key as soon as it has an outcome. */
  readonly onRevoked: (revoked: RevokedKey) => void
}

/**
 * The outcome for one key. `opensNothing`: it was disabled or being deleted before; `gone`: it was deleted meanwhile.
 */
export type RevocationOutcome = 'disabled' | 'wouldBeDisabled' | 'opensNothing' | 'gone' | 'failed'

/** One of the revoked keys. */
export interface RevokedKey {
  readonly key: DerivedKey
  /**
   * The key that created this one: its name, or its uid if it is deleted; null = self-service did not create this key.
   */
  readonly maker: string | null
  readonly outcome: RevocationOutcome
  /** The API server's message if the outcome is `failed`; else empty. */
  readonly because: string
}

/** The outcomes for all keys, in the order of the writes; null when no key has the name or uid. */
export type RevocationReport = { readonly uid: string; readonly all: readonly RevokedKey[] } | null

/** After this time every gateway knows that the key is disabled (contract 2.6). */
const PROPAGATION_MS = 2000
/** A safety limit: a disabled key can create no more keys. */
const MAX_ROUNDS = 10
/** The API server itself retries a patch as often when others write at the same time. */
const MAX_TRIES = 5

/**
 * Disables the key and its descendants, beginning with the key itself. Repeats until a round finds no more keys that
 * were created in the meantime.
 *
 * @throws StatusError or Error when the keys can't be listed
 */
export async function revokeKeyWithDescendants(
  deps: RevokeKeyDeps,
  nameOrUid: string,
): Promise<RevocationReport> {
  const uid = resolveKeyUid(await listKeys(deps), nameOrUid)
  if (uid === null) return null
  const revokedByUid = new Map<string, RevokedKey>()
  for (let round = 1; round <= MAX_ROUNDS; round += 1) {
    const found = descendantsOf(await listKeys(deps), uid).filter(
      (key) => !revokedByUid.has(key.uid),
    )
    for (const key of found) {
      const maker = key.madeWith && (revokedByUid.get(key.madeWith)?.key.name ?? key.madeWith)
      const revoked = { key, maker, ...(await disable(deps, key)) }
      revokedByUid.set(key.uid, revoked)
      deps.onRevoked(revoked)
    }
    const disabledAny = found.some((key) => revokedByUid.get(key.uid)?.outcome === 'disabled')
    if (!disabledAny) break
    await sleep(deps.clock, PROPAGATION_MS, new AbortController().signal)
  }
  return { uid, all: [...revokedByUid.values()] }
}

async function listKeys({ client }: RevokeKeyDeps): Promise<readonly DerivedKey[]> {
  const keys: DerivedKey[] = []
  for await (const page of listPages(client, ACCESS_KEYS))
    keys.push(...page.map((item) => derivedKeyOf(item as OwnedAccessKeyObject)))
  return keys
}

async function disable(
  { client, isDryRun }: RevokeKeyDeps,
  key: DerivedKey,
): Promise<Pick<RevokedKey, 'outcome' | 'because'>> {
  if (key.isDisabled || key.isDeleting) return { outcome: 'opensNothing', because: '' }
  if (isDryRun) return { outcome: 'wouldBeDisabled', because: '' }
  // No resourceVersion as a condition: a concurrent write must not prevent the key from being disabled.
  const operations = [
    { op: 'test', path: '/metadata/uid', value: key.uid },
    { op: 'add', path: '/spec/disabled', value: true },
  ] as const
  for (let attempt = 1; ; attempt += 1) {
    try {
      await client.patch(ACCESS_KEYS, { name: key.name }, operations, 'revoke')
      return { outcome: 'disabled', because: '' }
    } catch (error) {
      if (isNotFound(error) || isTestFailed(error)) return { outcome: 'gone', because: '' }
      if (isConflict(error) && attempt < MAX_TRIES) continue
      // One failure must not prevent the other keys from being disabled.
      if (error instanceof StatusError) return { outcome: 'failed', because: error.message }
      throw error
    }
  }
}
