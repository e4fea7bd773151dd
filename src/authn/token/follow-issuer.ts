// Polls the issuer, and decides what of its answers is taken (contract 9.2). Replicas of the centre may lag, and a centre
// may be restored from a backup: then the last knowledge stays.
import type { PublicJwk } from '../../domain/signingkey/signing-key.ts'
import {
  type KnownKeys,
  sameKeys,
  withNewKeys,
  withPublished,
} from '../../domain/token/known-keys.ts'
import { type RevokedList, gainedTokens, refusalOfList } from '../../domain/token/revoked-list.ts'
import { type Clock, sleep } from '../../runtime/clock.ts'
import type { Log } from '../../runtime/log.ts'
import type { CentreClock } from './centre-clock.ts'
import { type Read, inTurns, readDiscovery, readKeys, readRevokedList } from './documents.ts'
import type { IssuerAnswer, IssuerClient, IssuerDocument } from './issuer-client.ts'
import type { KnowledgeStore } from './knowledge.ts'
import { repeatedWarnings } from './repeated-warnings.ts'

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
  /** Reads the keys now, unless that was done in the last ten seconds (threats D5). Never rejects. */
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
        warn(`${document} failed`, { document, err }, 'can not read a document of the issuer')
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
    if (dateMs === null) {
      taken('revoked', { ok: false, because: 'its answer has no Date' })
      return null
    }
    const read = body === null ? unchangedList(last, asOfMs) : await readRevokedList(body)
    if (!taken('revoked', read)) {
      observer.revocationsRefused()
      return null
    }
    const because = await inTurns(refusalOfList(read.value, last, dateMs))
    if (because === null) return read.value
    observer.revocationsRefused()
    taken('revoked', { ok: false, because: `it ${because}` })
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
  const takeKeys = (published: readonly PublicJwk[]): void => {
    const { known, refused } = withPublished(knowledge.current().keys, published, time.nowMs())
    for (const kid of refused) {
      observer.keyRefused()
      warn(`key ${kid}`, { kid }, 'a withdrawn signing key is published again and not taken')
    }
    setKeys(known)
  }

  const poll = async (): Promise<void> => {
    const discovery = readBody(await get('discovery'), (body) => readDiscovery(body, issuer))
    // Another server answers: what it says of keys and tokens is not looked at.
    const isSound = discovery !== null && taken('discovery', discovery)
    if (discovery && !discovery.ok && discovery.isOfAnotherIssuer) return
    const keys = readBody(await get('keys'), readKeys)
    const areSound = keys !== null && taken('keys', keys)
    const answer = await get('revoked')
    const list = answer && (await listIn(answer))
    if (answer && list) await takeList(list, answer)
    // The replica that answered may lag behind: then nothing that it says counts.
    if (isSound && list) takePrefix(discovery.value)
    else if (isSound) observer.polled('discovery', 'refused')
    if (areSound && list) takeKeys(keys.value)
    else if (areSound) observer.polled('keys', 'refused')
  }
  void pollForever(options, poll)

  const look = async (): Promise<void> => {
    const keys = readBody(await get('keys'), readKeys)
    if (keys !== null && taken('keys', keys))
      setKeys(withNewKeys(knowledge.current().keys, keys.value))
  }
  return { lookForKeys: onceEvery(LOOK_EVERY_MS, clock, look) }
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
  { clock, log, pollIntervalMs, signal }: IssuerFollowerOptions,
  poll: () => Promise<void>,
): Promise<void> {
  while (!signal.aborted) {
    // A poll rejects for a bug only, and must not be the last.
    await poll().catch((err: unknown) => log.error({ err }, 'a poll of the issuer failed'))
    await sleep(clock, pollIntervalMs, signal)
  }
}

/** Runs the act for all callers within a time once, from its beginning; later callers do not wait for it. */
function onceEvery(everyMs: number, clock: Clock, act: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | null = null
  let beganMs = Number.NEGATIVE_INFINITY
  return async () => {
    if (running) return running
    if (clock.monotonicMs() - beganMs < everyMs) return undefined
    beganMs = clock.monotonicMs()
    running = act().finally(() => {
      running = null
    })
    return running
  }
}
