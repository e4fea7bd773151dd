// Ends an access key that leaked, and what self-service made with it (contract 12.2).
import { ACCESS_KEYS } from '../api/group.ts'
import type { OwnedAccessKeyObject } from '../domain/access-key.ts'
import { lineFrom, type MadeKey, madeKeyOf, uidOf } from '../domain/made-with.ts'
import type { KubeClient } from '../kube/client.ts'
import { isConflict, isNotFound, isTestFailed, KubeFailure } from '../kube/failure.ts'
import { type Clock, sleep } from '../runtime/clock.ts'

/** What the revocation stands on. */
export interface RevokeDeps {
  readonly client: Pick<KubeClient, 'list' | 'patch'>
  readonly clock: Clock
  /** Whether nothing is to be written. */
  readonly isDryRun: boolean
  /** Told of each key as soon as it is known what became of it. */
  readonly tell: (revoked: Revoked) => void
}

/** What became of one key: `opensNothing` was disabled or is being deleted, `gone` went meanwhile. */
export type Fate = 'disabled' | 'wouldBeDisabled' | 'opensNothing' | 'gone' | 'failed'

/** One key of those that are revoked. */
export interface Revoked {
  readonly key: MadeKey
  /** The key that it was made with: its name, or its uid where it is gone; null = not by self-service. */
  readonly maker: string | null
  readonly fate: Fate
  /** Of a failure: what the API server said. Else empty. */
  readonly because: string
}

/** What became of all of them, in the order in which they were looked at; null when no such key is known. */
export type Revocation = { readonly uid: string; readonly all: readonly Revoked[] } | null

const PAGE = 500
/** Till then gateways have heard that the key is disabled (contract 2.6, threats T_rev). */
const HEARD_AFTER_MS = 2000
/** More can't be made with what is disabled. */
const MOST_LOOKS = 10
/** The API server itself tries each as often against other writers. */
const MOST_TRIES = 5

/**
 * Disables the key and its line, the key itself first: what is made with it while we look is found when we
 * look again.
 *
 * @throws KubeFailure or Error when the keys can't be listed
 */
export async function revokeLine(deps: RevokeDeps, nameOrUid: string): Promise<Revocation> {
  const uid = uidOf(await listed(deps), nameOrUid)
  if (uid === null) return null
  const all = new Map<string, Revoked>()
  for (let looks = 1; looks <= MOST_LOOKS; looks += 1) {
    const found = lineFrom(await listed(deps), uid).filter((key) => !all.has(key.uid))
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

async function listed({ client }: RevokeDeps): Promise<readonly MadeKey[]> {
  const keys: MadeKey[] = []
  let next: string | undefined
  do {
    const page = await client.list(ACCESS_KEYS, {}, PAGE, next)
    keys.push(...page.items.map((item) => madeKeyOf(item as OwnedAccessKeyObject)))
    next = page.next
  } while (next !== undefined)
  return keys
}

async function fateOf(
  { client, isDryRun }: RevokeDeps,
  key: MadeKey,
): Promise<Pick<Revoked, 'fate' | 'because'>> {
  if (key.isDisabled || key.isDeleting) return { fate: 'opensNothing', because: '' }
  if (isDryRun) return { fate: 'wouldBeDisabled', because: '' }
  // Not of a version: whatever somebody else writes meanwhile, it is to be disabled.
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
      // One that can't be disabled keeps none of the others.
      if (error instanceof KubeFailure) return { fate: 'failed', because: error.message }
      throw error
    }
  }
}
