/** @module-tag no-retry */
// Streams of every kind on a connected cluster end within a second after their key or their target ends, measured at
// the socket of the client (contract 9.5, 13.4).
import { afterAll, expect, test } from 'vitest'
import { HEARTBEAT_NAME } from '../../../src/api/names.ts'
import { type Audit, answeredIn, auditOf } from '../../support/audit-log.ts'
import { settingsOf } from '../../support/config-client.ts'
import { eventually } from '../../support/eventually.ts'
import { GATEWAY_USER } from '../../support/installed-control-plane.ts'
import { mustKubectl } from '../../support/kubectl.ts'
import { repeated } from '../../support/tier.ts'
import { createdMs } from '../keys/key-client.ts'
import { TARGET_NAMESPACE, TEAM, startForSessions } from './own-targets.ts'
import { STREAMS, openStream, startStreamPods } from './raw-streams.ts'
import { SOON, type UsableKey } from './test-gateway.ts'
import { measureMachineLag, quantile } from './timed-requests.ts'

const ROUNDS = repeated(3, 30)
const removedName = (round: number): string => `removed-${round}`
/** As many targets change, or are removed, at once: the Secrets are compared every 5 s. */
const TARGETS_AT_ONCE = 3
const changedName = (round: number): string => `changed-${round % TARGETS_AT_ONCE}`
const { setup, targets, node } = await startForSessions([
  ...Array.from({ length: TARGETS_AT_ONCE }, (_, round) => changedName(round)),
  ...Array.from({ length: ROUNDS }, (_, round) => removedName(round)),
])
const { plane, keys } = setup
const audit: Audit = auditOf(plane)
const settings = settingsOf(plane)
const [gateway] = setup.gateways
const pods = await startStreamPods(setup, node, TEAM)

const CUT_WITHIN_MS = 1000
/** How often the Secrets of targets are compared (9.5). */
const COMPARED_EVERY_MS = 5000
const EAST = '/kubernetes/cluster/east'

const NOT_FOUND = 'platform access key not found. Please login again'
const EXPIRED = 'platform access key expired. Please login again'

/** Streams that are about to end. */
interface Ending {
  readonly key: UsableKey
  readonly target: string
  /** Ends them; resolves with the time of the API server's answer, or of the end itself, in epoch milliseconds. */
  readonly end: () => Promise<number>
  /** Reverts what would affect other tests. */
  readonly after?: () => Promise<void>
}

const answered = async (act: Promise<unknown>): Promise<number> => {
  await act
  return Date.now()
}

async function ofKey(change: (key: UsableKey) => Promise<unknown>): Promise<Ending> {
  const key = await setup.key()
  return { key, target: EAST, end: () => answered(change(key)) }
}

/** Long enough to open all streams before. */
const TTL_SECONDS = 10
/** As many keys live at once, and each expires in a second of its own. */
const EXPIRING_AT_ONCE = 3

async function expiring(round: number): Promise<Ending> {
  const key = await setup.key({ ttl: TTL_SECONDS + (round % EXPIRING_AT_ONCE) })
  const endMs = Date.parse(key.object.status.expirationTimestamp ?? '')
  return { key, target: EAST, end: async () => endMs }
}

const CAP_SECONDS = 2

async function capped(): Promise<Ending> {
  const key = await setup.key()
  const oldMs = createdMs(key.object) + CAP_SECONDS * 1000 + 500
  const end = async () => {
    await eventually('the key is older than the cap', () => Date.now() > oldMs || undefined, SOON)
    return answered(settings.declare({ auth: { accessKeyMaxTTLSeconds: CAP_SECONDS } }))
  }
  const after = async (): Promise<void> => {
    await settings.declare({})
    await settings.settled('no cap is in force', ({ auth }) => !auth?.accessKeyMaxTTLSeconds)
  }
  return { key, target: EAST, end, after }
}

async function ofTarget(
  name: string,
  change: (secret: readonly string[]) => Promise<unknown>,
): Promise<Ending> {
  const isReady = async () => ((await gateway?.metrics()) ?? '').includes(`,name="${name}"} 1`)
  await eventually(`cluster ${name} is ready`, async () => (await isReady()) || undefined, SOON)
  const secret = ['secret', `cluster-${name}`, '-n', TARGET_NAMESPACE]
  const key = await setup.key()
  return { key, target: `/kubernetes/cluster/${name}`, end: () => answered(change(secret)) }
}

const removed = (round: number) =>
  ofTarget(removedName(round), (secret) => mustKubectl(plane, ['delete', ...secret]))
const changed = (round: number) =>
  ofTarget(changedName(round), (secret) => {
    // The same for the gateway's client, but another text.
    const kubeconfig = Buffer.from(`${targets.kubeconfig}# ${Date.now()}\n`).toString('base64')
    const patch = JSON.stringify({ data: { kubeconfig } })
    return mustKubectl(plane, ['patch', ...secret, '-p', patch])
  })

const TARGET_CHANGED = 'the target of the request was removed or changed'

/** From the first comparison of the Secrets after the change; from the API server's answer it may be 5 s more (9.5). */
async function comparedMs(mark: Awaited<ReturnType<Audit['mark']>>, sinceMs: number) {
  const lists = answeredIn(await audit.linesSince(mark, GATEWAY_USER))
    .filter(
      ({ verb, objectRef }) => verb === 'list' && objectRef?.['namespace'] === TARGET_NAMESPACE,
    )
    .map(({ requestReceivedTimestamp }) => Date.parse(requestReceivedTimestamp))
  return lists.find((atMs) => atMs >= sinceMs) ?? sinceMs
}

/** A way in which streams end. */
interface Way {
  readonly way: string
  /** What is said to those that can be told. */
  readonly says: string
  readonly begin: (round: number) => Promise<Ending>
  readonly withinMs?: number
  readonly isOfTarget?: true
  /** How many rounds run at once; one when absent. */
  readonly atOnce?: number
}

// Those that take long are first: not all of a file's tests run at once.
const WAYS: readonly Way[] = [
  { way: 'its key expires', says: EXPIRED, begin: expiring, atOnce: EXPIRING_AT_ONCE },
  {
    way: 'its target is removed',
    says: TARGET_CHANGED,
    begin: removed,
    isOfTarget: true,
    atOnce: TARGETS_AT_ONCE,
  },
  {
    way: 'its target gets another kubeconfig',
    says: TARGET_CHANGED,
    begin: changed,
    isOfTarget: true,
    atOnce: TARGETS_AT_ONCE,
  },
  {
    way: 'its key is disabled',
    says: NOT_FOUND,
    begin: () => ofKey(({ object }) => keys.patch(object, { spec: { disabled: true } })),
  },
  {
    way: 'its key is deleted',
    says: NOT_FOUND,
    begin: () => ofKey(({ object }) => keys.remove(object)),
  },
  {
    way: 'its key is narrowed',
    says: 'the platform access key changed',
    begin: () => {
      const scope = { clusters: [{ cluster: 'other' }] }
      return ofKey(({ object }) => keys.patch(object, { spec: { scope } }))
    },
  },
]

const CAPPED: Way = {
  way: 'a lower cap ends its key',
  says: EXPIRED,
  begin: capped,
  // 2 s until the cap is in force (6.6), and 1 s for the streams.
  withinMs: 3000,
}

const lag = measureMachineLag(async () => {
  await keys.read(HEARTBEAT_NAME)
  await gateway?.health('/healthz')
})
afterAll(() => lag[Symbol.asyncDispose]())

/** How long each kind of streams took to end, in milliseconds. */
const lagsOf = new Map(STREAMS.map(({ kind }) => [kind, [] as number[]]))

let lastTurn: Promise<unknown> = Promise.resolve()

/** Rounds open their streams one after the other: a key that expires has to live until its own are open. */
function inTurn<Result>(open: () => Promise<Result>): Promise<Result> {
  const turn = lastTurn.then(open)
  lastTurn = turn.catch(() => undefined)
  return turn
}

/** Opens a stream of each kind, ends them, and returns how long each took, in milliseconds. */
async function measureRound(
  { says, begin, withinMs = CUT_WITHIN_MS, isOfTarget }: Way,
  round: number,
): Promise<readonly number[]> {
  const { streams, end, after } = await inTurn(async () => {
    const { key, target, ...ending } = await begin(round)
    const opening = STREAMS.map((kind) => openStream(setup, kind, { key, target, pods }))
    return { ...ending, streams: await Promise.all(opening) }
  })
  expect(streams.filter((one) => one.hasEnded())).toEqual([])
  const mark = await audit.mark()
  const storedMs = await end()
  const haveEnded = (): true | undefined => {
    const open = streams.filter((one) => !one.hasEnded()).map(({ kind }) => kind.kind)
    if (open.length > 0) throw new Error(`open: ${open.join(', ')}`)
    return true
  }
  await eventually('all have ended', haveEnded, { withinMs: 40_000 })
  const allowanceMs = lag.maxMs(storedMs)
  const endedMs = await Promise.all(streams.map(({ ended }) => ended))
  await after?.()
  const sinceMs = isOfTarget ? await comparedMs(mark, storedMs) : storedMs
  const unsaid = streams.filter(
    ({ kind, received }) => kind.hasReason && !received().slice(-400).includes(says),
  )
  expect(unsaid.map(({ kind, received }) => `${kind.kind}: ${received().slice(-400)}`)).toEqual([])
  expect(Math.max(...endedMs) - sinceMs - allowanceMs, `round ${round}`).toBeLessThanOrEqual(
    withinMs,
  )
  expect(Math.max(...endedMs) - storedMs - allowanceMs).toBeLessThanOrEqual(
    withinMs + (isOfTarget ? COMPARED_EVERY_MS : 0),
  )
  const lags = endedMs.map((ms) => ms - sinceMs)
  for (const [at, { kind }] of streams.entries()) lagsOf.get(kind.kind)?.push(lags[at] ?? NaN)
  return lags
}

/** All rounds; how long each of their streams took to end. */
async function measureRounds(way: Way): Promise<readonly number[]> {
  const lags: number[] = []
  const { atOnce = 1 } = way
  for (let round = 0; round < ROUNDS; round += atOnce) {
    const rounds = Array.from({ length: atOnce }, (_, of) => measureRound(way, round + of))
    lags.push(...(await Promise.all(rounds)).flat())
  }
  print(way.way, lags)
  return lags
}

const EXPECTED = ROUNDS * STREAMS.length

test.concurrent.each(WAYS)(
  `a stream of each kind ends in time when $way, ${ROUNDS} times (13.4)`,
  async (way) => {
    expect(await measureRounds(way)).toHaveLength(EXPECTED)
  },
)

// Not meanwhile: the cap is that of all keys.
test(`a stream of each kind ends in time when ${CAPPED.way}, ${ROUNDS} times (13.4)`, async () => {
  expect(await measureRounds(CAPPED)).toHaveLength(EXPECTED)
})

/** Prints p99 and maximum. */
function print(what: string, lags: readonly number[]): void {
  const figures = [0.5, 0.99, 1].map((share) => quantile(lags, share))
  console.log(
    `measured: ${what}: ms to the end of ${lags.length} streams: p50, p99, max ${figures.join(', ')}`,
  )
}

afterAll(() => {
  for (const [kind, lags] of lagsOf) print(kind, lags)
})
