// Ends an access key that leaked, and the keys that self-service made with it (contract 12.2).
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
export interface RevokeKeyDeps {
  readonly client: Pick<KubeClient, 'list' | 'patch'>
  readonly clock: Clock
  /** Whether nothing is to be written. */
  readonly isDryRun: boolean
  /** Called for each key as soon as its outcome is known. */
  readonly tell: (revoked: RevokedKey) => void
}

/** The outcome for one key: `opensNothing`: disabled before, or being deleted; `gone`: deleted meanwhile. */
export type RevocationOutcome = 'disabled' | 'wouldBeDisabled' | 'opensNothing' | 'gone' | 'failed'

/** One of the revoked keys. */
export interface RevokedKey {
  readonly key: DerivedKey
  /** The key that it was made with: its name, or its uid where it is gone; null = not by self-service. */
  readonly maker: string | null
  readonly fate: RevocationOutcome
  /** The API server's message where it failed; else empty. */
  readonly because: string
}

/** The outcomes for all keys, in the order of the work; null when no such key is known. */
export type RevocationReport = { readonly uid: string; readonly all: readonly RevokedKey[] } | null

const PAGE = 500
/** By then every gateway knows that the key is disabled (contract 2.6, threats T_rev). */
const HEARD_AFTER_MS = 2000
/** A bound only: no key can be made with a disabled one. */
const MOST_LOOKS = 10
/** The API server itself retries each patch as often against other writers. */
const MOST_TRIES = 5

/**
 * Disables the key and its line, the key itself first: the next round finds the keys that were made with it
 * meanwhile.
 *
 * @throws StatusError or Error when the keys can't be listed
 */
export async function revokeKeyWithDescendants(
  deps: RevokeKeyDeps,
  nameOrUid: string,
): Promise<RevocationReport> {
  const uid = resolveKeyUid(await listed(deps), nameOrUid)
  if (uid === null) return null
  const all = new Map<string, RevokedKey>()
  for (let looks = 1; looks <= MOST_LOOKS; looks += 1) {
    const found = descendantsOf(await listed(deps), uid).filter((key) => !all.has(key.uid))
    for (const key of found) {
      const maker = key.madeWith && (all.get(key.madeWith)?.key.name ?? key.madeWith)
      const one = { key, maker, ...(await fateOf(deps, key)) }
      all.set(key.uid, one)
      deps.tell(one)
    }
    const mayBeMore = found.some((key) => all.get(key.uid)?.fate === 'disabled')
    if (!mayBeMore) break
    await sleep(deps.clock, HEARD_AFTER_MS, new AbortController().signal)
  }
  return { uid, all: [...all.values()] }
}

async function listed({ client }: RevokeKeyDeps): Promise<readonly DerivedKey[]> {
  const keys: DerivedKey[] = []
  let next: string | undefined
  do {
    const page = await client.list(ACCESS_KEYS, {}, PAGE, next)
    keys.push(...page.items.map((item) => derivedKeyOf(item as OwnedAccessKeyObject)))
    next = page.next
  } while (next !== undefined)
  return keys
}

async function fateOf(
  { client, isDryRun }: RevokeKeyDeps,
  key: DerivedKey,
): Promise<Pick<RevokedKey, 'fate' | 'because'>> {
  if (key.isDisabled || key.isDeleting) return { fate: 'opensNothing', because: '' }
  if (isDryRun) return { fate: 'wouldBeDisabled', because: '' }
  // On no resourceVersion: another write meanwhile must not keep it from being disabled.
  const operations = [
    { op: 'test', path: '/metadata/uid', value: key.uid },
    { op: 'add', path: '/spec/disabled', value: true },
  ] as const
  for (let tries = 1; ; tries += 1) {
    try {
      await client.patch(ACCESS_KEYS, { name: key.name }, operations, 'revoke')
      return { fate: 'disabled', because: '' }
    } catch (error) {
      if (isNotFound(error) || isTestFailed(error)) return { fate: 'gone', because: '' }
      if (isConflict(error) && tries < MOST_TRIES) continue
      // One failure must not keep the others from being disabled.
      if (error instanceof StatusError) return { fate: 'failed', because: error.message }
      throw error
    }
  }
}
