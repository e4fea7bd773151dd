// Looks at the Secrets of all claims again and again, so that one that others delete or change is mended (contract 28.4). A list
// of metadata in each namespace: no right to read Secrets anywhere else is needed, and no Secret is read that has not changed.
import { CLAIM_LABEL, SECRETS } from '../../api/names.ts'
import type { ObjectMeta } from '../../api/objects.ts'
import type { Claim } from '../../domain/claim/claim.ts'
import { UNKNOWN_SECRET } from '../../domain/claim/secret-view.ts'
import { StatusError } from '../../kube/client/api-error.ts'
import { metadataPages } from '../../kube/client/namespace-content.ts'
import { objectKey } from '../../kube/informer/store.ts'
import { sleep } from '../../runtime/clock.ts'
import { createRateLimiter } from '../../runtime/concurrency/rate-limiter.ts'
import type { Log } from '../../runtime/log.ts'
import type { ClaimDeps } from './deps.ts'
import { claimsThatCount, isRefusedNamespace } from './place.ts'
import { forbidden, refused } from './refusals.ts'

/** Time from one round to the next. */
const ROUND_MS = 30_000

/** Lists in a second at most: with more than 300 namespaces, a round takes longer in proportion. */
const LISTS = { maxTasks: 10, perMs: 1000 }

/** Options of watchSecrets. */
interface SecretRounds extends ClaimDeps {
  /** Enqueues a claim whose Secret is not as it was seen. */
  readonly changed: (claimKey: string) => void
  readonly log: Log
  readonly signal: AbortSignal
}

/** Looks at the Secrets in rounds, until the signal aborts. */
export async function watchSecrets(rounds: SecretRounds): Promise<void> {
  const { clock, signal } = rounds
  const limited = createRateLimiter(clock, LISTS, signal)
  while (!signal.aborted) {
    const startedMs = clock.monotonicMs()
    for (const namespace of namespacesOf(rounds))
      if (!signal.aborted) await limited(() => lookInto(namespace, rounds))
    await sleep(clock, Math.max(startedMs + ROUND_MS - clock.monotonicMs(), 0), signal)
  }
}

const namespacesOf = ({ stores, places }: SecretRounds): ReadonlySet<string> => {
  const all = [...stores.claims.values()].map(({ namespace }) => namespace)
  return new Set(all.filter((namespace) => !isRefusedNamespace(namespace, places)))
}

async function lookInto(namespace: string, rounds: SecretRounds): Promise<void> {
  const { stores, places, log, signal } = rounds
  if (signal.aborted) return
  try {
    const found = await listedSecrets(namespace, rounds)
    for (const claim of claimsThatCount(namespace, stores.claims, places))
      compare(claim, found, rounds)
  } catch (err) {
    if (signal.aborted) return
    if (err instanceof StatusError && err.code === 403) forbid(namespace, rounds)
    else log.warn({ namespace, err }, 'the Secrets of claims cannot be listed, trying again')
  }
}

/** Secrets in a page: each may have 1.5 MB of labels and managed fields, and a page of 100 took 400 MB. */
const PAGE = 20
/** More Secrets than 500 with the label are no claims': the rest of them is not listed. */
const MOST_PAGES = 25

/** The Secrets of a namespace that have the label. */
interface ListedSecrets {
  readonly byName: ReadonlyMap<string, Pick<ObjectMeta, 'uid' | 'resourceVersion'>>
  /** Whether there are no more: else each Secret that is missing here has to be read. */
  readonly isWhole: boolean
}

async function listedSecrets(
  namespace: string,
  { clientDeps, signal }: SecretRounds,
): Promise<ListedSecrets> {
  const byName = new Map<string, Pick<ObjectMeta, 'uid' | 'resourceVersion'>>()
  const query = { namespace, labelSelector: CLAIM_LABEL, limit: PAGE }
  let pages = 0
  for await (const page of metadataPages(clientDeps, SECRETS, query, signal)) {
    if (pages === MOST_PAGES) return { byName, isWhole: false }
    pages += 1
    for (const { name, uid, resourceVersion } of page) byName.set(name, { uid, resourceVersion })
  }
  return { byName, isWhole: true }
}

/** A Secret that is not as it was seen is read at the next reconcile. */
function compare(
  claim: Claim,
  { byName, isWhole }: ListedSecrets,
  { memory, changed }: SecretRounds,
): void {
  const found = byName.get(claim.secret.name)
  const record = memory.of(claim)
  const { secret, fault } = record
  const isSame =
    secret.kind === 'held' &&
    found?.uid === secret.view.uid &&
    found.resourceVersion === secret.view.resourceVersion
  const isForbidden = fault?.reason === 'DeliveryForbidden'
  if (isSame && !isForbidden) return
  // It waits for its first look already: at a start that is in the order of due times.
  if (secret.kind === 'unknown' && !isForbidden) return
  // Missing as it was seen: what keeps it from being made is tried again at its own pace.
  if (secret.kind === 'missing' && found === undefined && isWhole && !isForbidden) return
  record.secret = UNKNOWN_SECRET
  if (isForbidden) record.fault = null
  changed(objectKey(claim))
}

/** The right was taken away: the Secrets can be seen no more. */
function forbid(namespace: string, rounds: SecretRounds): void {
  const { stores, memory, clock, places, changed } = rounds
  for (const claim of claimsThatCount(namespace, stores.claims, places)) {
    const record = memory.of(claim)
    if (record.fault?.reason === 'DeliveryForbidden') continue
    record.secret = UNKNOWN_SECRET
    refused(record, claim, forbidden(claim, { places }), clock.nowMs())
    changed(objectKey(claim))
  }
}
