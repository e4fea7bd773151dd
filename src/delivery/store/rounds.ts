// Rounds over all Secrets that ask for the store, and between them a look at those that are pushed (contract 36.5).
import { SECRET_STORE_LABEL } from '../../api/secret-store-names.ts'
import type { StoreSettings } from '../../domain/store/store-settings.ts'
import type { RoundResult, SyncOutcome } from '../../domain/store/round-status.ts'
import { NoResponseError, NotLeaderError, StatusError } from '../../kube/client/api-error.ts'
import { sleep } from '../../runtime/clock.ts'
import { createRateLimiter } from '../../runtime/concurrency/rate-limiter.ts'
import type { ListedSecret, SyncDeps, SyncRecord } from './deps.ts'
import { type SecretPlaces, labelledSecrets, projectNamespaces } from './listed-secrets.ts'
import { restingOutcome, sync } from './sync.ts'

/** Options of syncInRounds. */
interface RoundOptions extends SyncDeps, SecretPlaces {
  readonly settings: StoreSettings
  /** From 0 to below 1. */
  readonly random: () => number
  /** Called after each round; a namespace that can't be listed has outcome `failed`. Must not reject. */
  readonly ended: (result: RoundResult) => Promise<void>
}

/** Secrets at a time, each with one call at a time. */
const AT_A_TIME = 8
/** Lists in a second at most: with very many namespaces a round takes longer. */
const LISTS = { maxTasks: 10, perMs: 1000 }
/** A pushed Secret that changes is found within this time and a little more. */
const LOOK_EVERY_MS = 4000
/** An API server that has not answered that many lists in a row is away: the round ends. */
const MOST_UNANSWERED = 3
/** A store that has not answered that often in a row is away: the round ends. */
const MOST_UNREACHABLE = 8
/** Of the interval, either way: replicas of many platforms do not all come at once. */
const JITTER = 0.1

/** Syncs in rounds until the signal aborts. A round that takes longer than the interval is followed by the next one. */
export async function syncInRounds(options: RoundOptions): Promise<void> {
  const { settings, clock, random, log, signal } = options
  const round = createRound(options)
  while (!signal.aborted) {
    const startMs = clock.monotonicMs()
    await attempt(round.all)
    const spread = 1 + JITTER * (2 * random() - 1)
    const nextMs = startMs + settings.intervalMs * spread
    while (!signal.aborted && clock.monotonicMs() < nextMs) {
      const waitMs = Math.min(nextMs - clock.monotonicMs(), LOOK_EVERY_MS)
      await sleep(clock, waitMs, signal)
      if (clock.monotonicMs() < nextMs && !signal.aborted) await attempt(round.pushed)
    }
  }

  async function attempt(act: () => Promise<void>): Promise<void> {
    try {
      await act()
    } catch (err) {
      if (!signal.aborted)
        log.warn({ err }, 'secrets cannot be compared with the store, trying again')
    }
  }
}

/** A Secret with the project of its namespace. */
interface AskingSecret {
  readonly found: ListedSecret
  readonly project: string
}

/** What lists have shown. */
interface Listed {
  readonly asking: readonly AskingSecret[]
  /** Namespaces that could not be listed. */
  readonly unread: ReadonlySet<string>
}

const idOf = ({ found: { namespace, uid } }: AskingSecret): string => `${namespace}/${uid}`

/**
 * Lists the Secrets of these namespaces of projects.
 *
 * @param list null = the namespace has not let this process in
 */
async function listIn(
  namespaces: ReadonlyMap<string, string>,
  list: (namespace: string) => Promise<readonly ListedSecret[] | null>,
  { log, signal }: Pick<RoundOptions, 'log' | 'signal'>,
): Promise<Listed> {
  const asking: AskingSecret[] = []
  const unread = new Set<string>()
  let unanswered = 0
  for (const [namespace, project] of namespaces) {
    if (signal.aborted) break
    try {
      for (const found of (await list(namespace)) ?? []) asking.push({ found, project })
      unanswered = 0
    } catch (err) {
      // A Secret that the API server cannot decrypt, or a list that is cut off, fails its namespace for good: the others go on.
      unanswered = err instanceof NoResponseError ? unanswered + 1 : 0
      const isOfNamespace = err instanceof StatusError || err instanceof NoResponseError
      if (!isOfNamespace || unanswered === MOST_UNANSWERED) throw err
      log.warn({ err, namespace }, 'secrets of a namespace cannot be listed')
      unread.add(namespace)
    }
  }
  return { asking, unread }
}

function createRound(options: RoundOptions) {
  const { settings, clock, signal, ended } = options
  const limited = createRateLimiter(clock, LISTS, signal)
  /** By namespace and uid. */
  let records = new Map<string, SyncRecord>()
  /** Namespaces in which the last round found Secrets to push. */
  let pushing: ReadonlyMap<string, string> = new Map()

  const listed = (namespaces: ReadonlyMap<string, string>, direction: 'Push' | null) =>
    listIn(
      namespaces,
      (namespace) => limited(() => labelledSecrets(namespace, direction, options)),
      options,
    )
  const recordOf = (one: AskingSecret): SyncRecord => {
    const known = records.get(idOf(one)) ?? newRecord()
    records.set(idOf(one), known)
    return known
  }
  const syncAll = async (some: readonly AskingSecret[]): Promise<readonly SyncOutcome[]> => {
    const nowMs = clock.nowMs()
    const due: AskingSecret[] = []
    const resting: SyncOutcome[] = []
    for (const one of some) {
      const outcome = restingOutcome(one.found, recordOf(one), nowMs)
      if (outcome === null) due.push(one)
      else resting.push(outcome)
    }
    const tried = await inTurn(byTurns(due), signal, (one) => synced(one, recordOf(one), options))
    return [...resting, ...tried]
  }

  return {
    /** Syncs all Secrets. */
    all: async (): Promise<void> => {
      const namespaces = await projectNamespaces(settings.projectPrefix, options)
      const { asking, unread } = await listed(namespaces, null)
      const living = new Set(asking.map(idOf))
      const isKept = (id: string): boolean =>
        living.has(id) || unread.has(id.slice(0, id.indexOf('/')))
      records = new Map([...records].filter(([id]) => isKept(id)))
      pushing = new Map([
        ...[...pushing].filter(([namespace]) => unread.has(namespace)),
        ...asking.filter(isPush).map(({ found, project }) => [found.namespace, project] as const),
      ])
      const unknown = Array.from(unread, () => 'failed' as const)
      const outcomes = [...unknown, ...(await syncAll(asking))]
      if (!signal.aborted) await ended({ outcomes, because: notServedBecause(records.values()) })
    },
    /** Syncs Secrets that are pushed and have changed. */
    pushed: async (): Promise<void> => {
      const { asking } = await listed(pushing, 'Push')
      await syncAll(asking.filter((one) => hasChanged(one, records.get(idOf(one)))))
    },
  }
}

/** Why the store does not serve all, as a sentence; empty = it does. One of several, and the same one as long as they are. */
function notServedBecause(records: Iterable<SyncRecord>): string {
  const faults = [...records].flatMap(({ fault }) => fault ?? [])
  const because = (wanted: SyncOutcome): readonly string[] =>
    faults.flatMap(({ outcome, message }) => (outcome === wanted ? [message] : []))
  const [first = ''] = [because('unreachable'), because('denied')].flatMap((some) =>
    some.toSorted(),
  )
  return first
}

const newRecord = (): SyncRecord => ({
  inStep: null,
  fault: null,
  comparedVersion: '',
  namedMs: 0,
  failures: 0,
  told: '',
  retryMs: 0,
})

const isPush = ({ found: { labels = {} } }: AskingSecret): boolean =>
  labels[SECRET_STORE_LABEL] === 'Push'

const hasChanged = ({ found }: AskingSecret, record: SyncRecord | undefined): boolean =>
  record?.comparedVersion !== found.resourceVersion

/** The first Secret of each namespace, then the second of each: one with many, or with a broken part of the store, stops no other. */
function byTurns(all: readonly AskingSecret[]): readonly AskingSecret[] {
  const turns: AskingSecret[][] = []
  const counts = new Map<string, number>()
  for (const one of all) {
    const turn = counts.get(one.found.namespace) ?? 0
    counts.set(one.found.namespace, turn + 1)
    ;(turns[turn] ??= []).push(one)
  }
  return turns.flat()
}

/** Syncs a Secret. A defect of this program counts as a fault of this one. @throws NotLeaderError */
async function synced(
  { found, project }: AskingSecret,
  record: SyncRecord,
  deps: SyncDeps,
): Promise<SyncOutcome | null> {
  try {
    return await sync(found, project, record, deps)
  } catch (err) {
    if (err instanceof NotLeaderError) throw err
    const { namespace, name } = found
    deps.log.error({ err, namespace, name }, 'a secret cannot be compared with the store')
    return 'failed'
  }
}

/** Outcomes that only a store that answers has: others may come of the Secret or of the API server. */
const ANSWERED: ReadonlySet<SyncOutcome> = new Set([
  'unchanged',
  'written',
  'not_found',
  'conflict',
  'denied',
])

/** Works on all, AT_A_TIME at a time; ends early where the store is away. @returns outcomes, of the others `unreachable` */
async function inTurn(
  all: readonly AskingSecret[],
  signal: AbortSignal,
  act: (one: AskingSecret) => Promise<SyncOutcome | null>,
): Promise<readonly SyncOutcome[]> {
  const waiting = all.toReversed()
  const outcomes: SyncOutcome[] = []
  let unreachable = 0
  const work = async (): Promise<void> => {
    for (let one = waiting.pop(); one !== undefined && !signal.aborted; one = waiting.pop()) {
      const outcome = unreachable >= MOST_UNREACHABLE ? 'unreachable' : await act(one)
      if (outcome === null) continue
      outcomes.push(outcome)
      if (outcome === 'unreachable') unreachable += 1
      else if (ANSWERED.has(outcome)) unreachable = 0
    }
  }
  await Promise.all(Array.from({ length: AT_A_TIME }, work))
  return outcomes
}
