// Disables an access key that leaked, and the keys that self-service created with it (contract 12.2).
import { ACCESS_KEYS } from '../../api/names.ts'
import type { OwnedAccessKeyObject } from '../../domain/accesskey/access-key.ts'
import {
  type DerivedKey,
  descendantsOf,
  derivedKeyOf,
  resolveKeyUid,
} from '../../domain/accesskey/derived-keys.ts'
import { StatusError, isConflict, isNotFound, isTestFailed } from '../../kube/client/api-error.ts'
import type { KubeClient } from '../../kube/client/client.ts'
import { type Clock, sleep } from '../../runtime/clock.ts'

/** Dependencies of the revocation. */
interface RevokeKeyDeps {
  readonly client: Pick<KubeClient, 'list' | 'patch'>
  readonly clock: Clock
  /** Only report: write nothing. */
  readonly isDryRun: boolean
  /** Called for each key as soon as its outcome is known. */
  readonly onRevoked: (revoked: RevokedKey) => void
}

/** The outcome for one key. `opensNothing`: disabled before, or being deleted; `gone`: deleted meanwhile. */
export type RevocationOutcome = 'disabled' | 'wouldBeDisabled' | 'opensNothing' | 'gone' | 'failed'

/** One of the revoked keys. */
export interface RevokedKey {
  readonly key: DerivedKey
  /** The key that created it: its name, or its uid where it is gone; null = not created by self-service. */
  readonly maker: string | null
  readonly outcome: RevocationOutcome
  /** The API server's message where it failed; else empty. */
  readonly because: string
}

/** The outcomes for all keys, in the order of the work; null when no such key is known. */
export type RevocationReport = { readonly uid: string; readonly all: readonly RevokedKey[] } | null

const PAGE = 500
/** By then every gateway knows that the key is disabled (contract 2.6). */
const KNOWN_AFTER_MS = 2000
/** A bound only: a disabled key can create none. */
const MOST_ROUNDS = 10
/** The API server itself retries each patch as often against other writers. */
const MOST_TRIES = 5

/**
 * Disables the key and its descendants, the key itself first: the next round finds the keys that it created
 * meanwhile.
 *
 * @throws StatusError or Error when the keys can't be listed
 */
export async function revokeKeyWithDescendants(
  deps: RevokeKeyDeps,
  nameOrUid: string,
): Promise<RevocationReport> {
  const uid = resolveKeyUid(await listKeys(deps), nameOrUid)
  if (uid === null) return null
  const all = new Map<string, RevokedKey>()
  for (let round = 1; round <= MOST_ROUNDS; round += 1) {
    const found = descendantsOf(await listKeys(deps), uid).filter((key) => !all.has(key.uid))
    for (const key of found) {
      const maker = key.madeWith && (all.get(key.madeWith)?.key.name ?? key.madeWith)
      const revoked = { key, maker, ...(await disable(deps, key)) }
      all.set(key.uid, revoked)
      deps.onRevoked(revoked)
    }
    const mayBeMore = found.some((key) => all.get(key.uid)?.outcome === 'disabled')
    if (!mayBeMore) break
    await sleep(deps.clock, KNOWN_AFTER_MS, new AbortController().signal)
  }
  return { uid, all: [...all.values()] }
}

async function listKeys({ client }: RevokeKeyDeps): Promise<readonly DerivedKey[]> {
  const keys: DerivedKey[] = []
  let next: string | undefined
  do {
    const page = await client.list(ACCESS_KEYS, {}, PAGE, next)
    keys.push(...page.items.map((item) => derivedKeyOf(item as OwnedAccessKeyObject)))
    next = page.next
  } while (next !== undefined)
  return keys
}

async function disable(
  { client, isDryRun }: RevokeKeyDeps,
  key: DerivedKey,
): Promise<Pick<RevokedKey, 'outcome' | 'because'>> {
  if (key.isDisabled || key.isDeleting) return { outcome: 'opensNothing', because: '' }
  if (isDryRun) return { outcome: 'wouldBeDisabled', because: '' }
  // Without a resourceVersion: a concurrent write must not keep the key from being disabled.
  const operations = [
    { op: 'test', path: '/metadata/uid', value: key.uid },
    { op: 'add', path: '/spec/disabled', value: true },
  ] as const
  for (let tries = 1; ; tries += 1) {
    try {
      await client.patch(ACCESS_KEYS, { name: key.name }, operations, 'revoke')
      return { outcome: 'disabled', because: '' }
    } catch (error) {
      if (isNotFound(error) || isTestFailed(error)) return { outcome: 'gone', because: '' }
      if (isConflict(error) && tries < MOST_TRIES) continue
      // One failure must not keep the others from being disabled.
      if (error instanceof StatusError) return { outcome: 'failed', because: error.message }
      throw error
    }
  }
}
