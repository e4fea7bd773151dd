// Polls the issuer, and decides what of its answers is taken (contract 9.2). Replicas of the centre may lag, and a centre
// may be restored from a backup: then the last knowledge stays.
import type { PublicJwk } from '../../domain/signingkey/signing-key.ts'
import { type KnownKeys, sameKeys, withPublished } from '../../domain/token/known-keys.ts'
import { gainedTokens, type RevokedList, refusalOfList } from '../../domain/token/revoked-list.ts'
import { type Clock, sleep } from '../../runtime/clock.ts'
import { shareRun } from '../../runtime/concurrency/single-flight.ts'
import type { Log } from '../../runtime/log.ts'
import { repeatedWarnings } from '../../runtime/log-throttle.ts'
import type { IssuerAnswer, IssuerClient, IssuerDocument } from './issuer-client.ts'
import type { CentreClock } from './issuer-clock.ts'
import { inTurns, type Read, readDiscovery, readKeys, readRevokedList } from './issuer-documents.ts'
import type { KnowledgeStore } from './issuer-state.ts'

/** Results of reading a document. `refused`: it was read and is not taken; `failed`: it could not be read. */
export const POLL_RESULTS = ['ok', 'unchanged', 'refused', 'failed'] as const

/** One of POLL_RESULTS. */
export type PollResult = (typeof POLL_RESULTS)[number]

/** Counts what a poller does. */
export interface PollObserver {
  readonly polled: (document: IssuerDocument, result: PollResult) => void
  /** A list was not taken, because it lacks what the last one has, or is of another time. */
  readonly revocationsRefused: () => void
  /** A withdrawn key is published again, and not taken. */
  readonly keyRefused: () => void
}

/** Dependencies of followIssuer. */
interface IssuerFollowerOptions {
  readonly issuer: string
  readonly client: IssuerClient
  readonly knowledge: KnowledgeStore
  readonly time: CentreClock
  readonly clock: Clock
  readonly log: Log
  readonly observer: PollObserver
  /** Pause after a poll, in milliseconds. */
  readonly pollIntervalMs: number
  readonly signal: AbortSignal
}

/** A running poller. */
interface IssuerFollower {
  /** Polls now, unless that was done for a token in the last ten seconds (threats D5). Never rejects. */
  readonly lookForKeys: () => Promise<void>
}

/** Pause between two looks at the keys for tokens of an unknown one, in milliseconds. */
const LOOK_EVERY_MS = 10_000

/** Tolerated difference of the clocks: the Date header has whole seconds, and answers take time. */
const TOLERATED_SKEW_MS = 2000

/** Polls at once, and again until the signal aborts. */
export function followIssuer(options: IssuerFollowerOptions): IssuerFollower {
  const { issuer, client, knowledge, time, clock, log, observer, signal } = options
  const warn = repeatedWarnings(clock, log)
  /** Of the list that is known. */
  let etag: string | null = null

  const get = async (document: IssuerDocument): Promise<IssuerAnswer | null> => {
    try {
      return await client.get(document, document === 'revoked' ? etag : null)
    } catch (err) {
      observer.polled(document, 'failed')
      if (!signal.aborted)
        warn(`${document} failed`, { document, err }, 'cannot read a document of the issuer')
      return null
    }
  }
  const taken = <Document>(
    document: IssuerDocument,
    read: Read<Document>,
  ): read is Taken<Document> => {
    if (read.ok) return true
    const { because } = read
    observer.polled(document, 'refused')
    warn(`${document} ${because}`, { document, because }, 'a document of the issuer is not taken')
    return false
  }

  /** The list that is valid after the answer; null = the answer is not taken. */
  const listIn = async ({ body, dateMs, asOfMs }: IssuerAnswer): Promise<RevokedList | null> => {
    const last = knowledge.current().list
    const because = dateRefusal(dateMs, clock.nowMs())
    if (dateMs === null || because !== null) {
      taken('revoked', { ok: false, because: because ?? '' })
      return null
    }
    const read = body === null ? unchangedList(last, asOfMs) : await readRevokedList(body)
    if (!taken('revoked', read)) {
      observer.revocationsRefused()
      return null
    }
    const refusal = await inTurns(refusalOfList(read.value, last, dateMs))
    if (refusal === null) return read.value
    observer.revocationsRefused()
    taken('revoked', { ok: false, because: `it ${refusal}` })
    return null
  }
  const takeList = async (list: RevokedList, answer: IssuerAnswer): Promise<void> => {
    const { list: last } = knowledge.current()
    const { dateMs, monotonicMs } = answer
    const isUnchanged = list.tokens === last?.tokens
    const gained = isUnchanged ? [] : await inTurns(gainedTokens(list, last))
    time.heard({ dateMs: dateMs ?? list.asOfMs, monotonicMs, asOfMs: list.asOfMs })
    if (answer.body) ({ etag } = answer)
    if (list !== last) knowledge.update({ list }, gained)
    observer.polled('revoked', isUnchanged ? 'unchanged' : 'ok')
    const skewMs = time.skewMs()
    if (Math.abs(skewMs) > TOLERATED_SKEW_MS)
      warn('skew', { skewMs }, 'the clock of this machine and the clock of the centre differ')
  }
  const takePrefix = (prefix: string): void => {
    const isUnchanged = knowledge.current().projectNamespacePrefix === prefix
    if (!isUnchanged) knowledge.update({ projectNamespacePrefix: prefix })
    observer.polled('discovery', isUnchanged ? 'unchanged' : 'ok')
  }
  const setKeys = (known: KnownKeys): void => {
    const isUnchanged = sameKeys(knowledge.current().keys, known)
    if (!isUnchanged) knowledge.update({ keys: known })
    observer.polled('keys', isUnchanged ? 'unchanged' : 'ok')
  }
  const takeKeys = (published: readonly PublicJwk[], dateMs: number): void => {
    const { known, refused } = withPublished(knowledge.current().keys, published, dateMs)
    for (const kid of refused) {
      observer.keyRefused()
      warn(`key ${kid}`, { kid }, 'a withdrawn signing key is published again and not taken')
    }
    setKeys(known)
  }
  /** The keys of an answer, with its Date; null = they are not taken. */
  const keysIn = (answer: IssuerAnswer | null): DatedKeys | null => {
    const read = readBody(answer, readKeys)
    if (read === null || !taken('keys', read)) return null
    const dateMs = answer?.dateMs ?? null
    const because = keysDateRefusal(dateMs, time.keysAsOfMs())
    if (dateMs !== null && because === null) return { keys: read.value, dateMs }
    taken('keys', { ok: false, because: because ?? '' })
    return null
  }

  const poll = async (): Promise<void> => {
    const discovery = readBody(await get('discovery'), (body) => readDiscovery(body, issuer))
    // Another server answers: what it says of keys and tokens is not looked at.
    const isSound = discovery !== null && taken('discovery', discovery)
    if (discovery && !discovery.ok && discovery.isOfAnotherIssuer) return
    const published = keysIn(await get('keys'))
    const answer = await get('revoked')
    const list = answer && (await listIn(answer))
    // Before the list: listeners look at once whether what is known is fresh again.
    if (published && list) time.heardKeys(published.dateMs)
    if (answer && list) await takeList(list, answer)
    // The replica that answered may lag behind: then nothing that it says counts.
    if (isSound && list) takePrefix(discovery.value)
    else if (isSound) observer.polled('discovery', 'refused')
    if (published && list) takeKeys(published.keys, published.dateMs)
    else if (published) observer.polled('keys', 'refused')
  }
  const shared = shareRun(() =>
    // A poll rejects for a bug only, and must not be the last.
    poll().catch((err: unknown) => log.error({ err }, 'a poll of the issuer failed')),
  )
  void pollForever(options, shared)
  return { lookForKeys: onceEvery(LOOK_EVERY_MS, clock, shared) }
}

/** Keys that may be taken, and the Date of their answer in epoch milliseconds. */
interface DatedKeys {
  readonly keys: readonly PublicJwk[]
  readonly dateMs: number
}

/** How far Date may be behind the own clock, which may be an hour ahead (threats F11), and answers take time. */
const OLDEST_DATE_MS = 65 * 60_000

/** Why an answer is not looked at for its Date, as a clause; null = it is. A process that starts knows no older one. */
function dateRefusal(dateMs: number | null, nowMs: number): string | null {
  if (dateMs === null) return 'its answer has no Date'
  return nowMs - dateMs > OLDEST_DATE_MS
    ? 'its answer is more than an hour older than the clock of this machine'
    : null
}

/** Why keys are not taken for their Date, as a clause; null = they are. Of two caches one may be behind. */
function keysDateRefusal(dateMs: number | null, lastMs: number | null): string | null {
  if (dateMs === null) return 'its answer has no Date'
  return lastMs !== null && dateMs < lastMs - TOLERATED_SKEW_MS
    ? 'it is older than the last one'
    : null
}

/** The list after an answer that it is unchanged: the header has its new `asOf`. Without one it has the last. */
const unchangedList = (last: RevokedList | null, asOfMs: number | null): Read<RevokedList> =>
  last === null
    ? { ok: false, because: 'it is unchanged, but there was none' }
    : { ok: true, value: asOfMs === null ? last : { ...last, asOfMs } }

/** Reads the body of an answer; null = there is none. */
const readBody = <Document>(
  answer: IssuerAnswer | null,
  read: (body: Buffer) => Read<Document>,
): Read<Document> | null => (answer?.body ? read(answer.body) : null)

type Taken<Document> = Extract<Read<Document>, { readonly ok: true }>

async function pollForever(
  { clock, pollIntervalMs, signal }: IssuerFollowerOptions,
  poll: () => Promise<void>,
): Promise<void> {
  while (!signal.aborted) {
    await poll()
    await sleep(clock, pollIntervalMs, signal)
  }
}

/** Runs `act` for all callers within a time once, from its beginning; later callers do not wait for it. */
function onceEvery(everyMs: number, clock: Clock, act: () => Promise<void>): () => Promise<void> {
  let beganMs = Number.NEGATIVE_INFINITY
  return shareRun(async () => {
    if (clock.monotonicMs() - beganMs < everyMs) return
    beganMs = clock.monotonicMs()
    await act()
  })
}
