/** @module-tag no-retry */
// Streams of every kind on a connected cluster end within a second after their key or their target ends, measured at
// the socket of the client (contract 9.5, 13.4).
import { afterAll, expect, test } from 'vitest'
import { HEARTBEAT_KEY } from '../../../src/api/names.ts'
import { type Audit, answeredIn, auditOf } from '../../support/audit-log.ts'
import { settingsOf } from '../../support/config-client.ts'
import { privateControlPlane } from '../../support/control-plane.ts'
import { eventually } from '../../support/eventually.ts'
import { GATEWAY_USER } from '../../support/installed-control-plane.ts'
import { mustKubectl } from '../../support/kubectl.ts'
import { startNode } from '../../support/node.ts'
import { createdMs } from '../keys/key-client.ts'
import { LOCAL_TARGETS, TARGET_NAMESPACE, TEAM, connectOwnTargets } from './own-targets.ts'
import { STREAMS, openStream, startStreamPods } from './raw-streams.ts'
import { SOON, type UsableKey, startTestGateway } from './test-gateway.ts'
import { measureMachineLag, quantile } from './timed-requests.ts'

const setup = await startTestGateway(await privateControlPlane(), 1, LOCAL_TARGETS)
const { plane, keys } = setup
const audit: Audit = auditOf(plane)
const settings = settingsOf(plane)
const [gateway] = setup.gateways
const node = await startNode(plane)
const targets = await connectOwnTargets(setup)
await mustKubectl(plane, [
  'create',
  'rolebinding',
  'ada',
  '-n',
  TEAM,
  '--clusterrole=cluster-admin',
  '--group=platform:user:ada',
])
const pods = await startStreamPods(setup, node, TEAM)

const ROUNDS = 3
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
const TTL_SECONDS = 15

async function expiring(): Promise<Ending> {
  const key = await setup.key({ ttl: TTL_SECONDS })
  const endMs = Date.parse(key.object.status.expirationTimestamp ?? '')
  return { key, target: EAST, end: async () => endMs }
}

async function capped(): Promise<Ending> {
  const key = await setup.key()
  const oldMs = createdMs(key.object) + 4000
  await eventually('the key is older than the cap', () => Date.now() > oldMs || undefined, SOON)
  const end = () => answered(settings.declare({ auth: { accessKeyMaxTTLSeconds: 3 } }))
  const after = async (): Promise<void> => {
    await settings.declare({})
    await settings.settled('no cap is in force', ({ auth }) => !auth?.accessKeyMaxTTLSeconds)
  }
  return { key, target: EAST, end, after }
}

const SECRET = ['secret', 'cluster-gone', '-n', TARGET_NAMESPACE]

async function ofTarget(change: () => Promise<unknown>): Promise<Ending> {
  const apply = ['apply', '--server-side', '--force-conflicts', '-f', '-']
  await mustKubectl(plane, apply, { input: targets.secretOf('gone') })
  const key = await setup.key()
  const target = '/kubernetes/cluster/gone'
  const isReady = async () => ((await gateway?.metrics()) ?? '').includes(',name="gone"} 1')
  await eventually('the target is ready', async () => (await isReady()) || undefined, SOON)
  return { key, target, end: () => answered(change()) }
}

const removed = () => mustKubectl(plane, ['delete', ...SECRET])
const changed = () => {
  // The same for the gateway's client, but another text.
  const kubeconfig = Buffer.from(`${targets.kubeconfig}# ${Date.now()}\n`).toString('base64')
  const patch = JSON.stringify({ data: { kubeconfig } })
  return mustKubectl(plane, ['patch', ...SECRET, '-p', patch])
}

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

const WAYS: readonly {
  readonly way: string
  readonly says: string
  readonly begin: () => Promise<Ending>
  readonly withinMs?: number
  readonly isOfTarget?: true
}[] = [
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
  { way: 'its key expires', says: EXPIRED, begin: expiring },
  // 2 s until the cap is in force (6.6), and 1 s for the streams.
  { way: 'a lower cap ends its key', says: EXPIRED, begin: capped, withinMs: 3000 },
  {
    way: 'its target is removed',
    says: TARGET_CHANGED,
    begin: () => ofTarget(removed),
    isOfTarget: true,
  },
  {
    way: 'its target gets another kubeconfig',
    says: TARGET_CHANGED,
    begin: () => ofTarget(changed),
    isOfTarget: true,
  },
]

const allLags = new Map<string, number[]>()

test.each(WAYS)(
  `a stream of each kind ends in time when $way, ${ROUNDS} times (13.4)`,
  async ({ way, says, begin, withinMs = CUT_WITHIN_MS, isOfTarget }) => {
    const lags: number[] = []
    for (let round = 0; round < ROUNDS; round += 1) {
      const { key, target, end, after } = await begin()
      const streams = await Promise.all(
        STREAMS.map((kind) => openStream(setup, kind, { key, target, pods })),
      )
      expect(streams.filter((one) => one.hasEnded())).toEqual([])
      const mark = await audit.mark()
      await using lag = measureMachineLag(async () => {
        await keys.read(HEARTBEAT_KEY)
        await gateway?.health('/healthz')
      })
      const storedMs = await end()
      const haveEnded = (): true | undefined => {
        const open = streams.filter((one) => !one.hasEnded()).map(({ kind }) => kind.kind)
        if (open.length > 0) throw new Error(`open: ${open.join(', ')}`)
        return true
      }
      await eventually('all have ended', haveEnded, { withinMs: 40_000 })
      const endedMs = await Promise.all(streams.map(({ ended }) => ended))
      await after?.()
      const sinceMs = isOfTarget ? await comparedMs(mark, storedMs) : storedMs
      for (const [at, { kind }] of streams.entries()) {
        const ms = (endedMs[at] ?? Number.NaN) - sinceMs
        lags.push(ms)
        allLags.set(kind.kind, [...(allLags.get(kind.kind) ?? []), ms])
      }
      const unsaid = streams.filter(
        ({ kind, received }) => kind.hasReason && !received().slice(-400).includes(says),
      )
      expect(unsaid.map(({ kind, received }) => `${kind.kind}: ${received().slice(-400)}`)).toEqual(
        [],
      )
      const allowanceMs = lag.maxMs()
      expect(Math.max(...endedMs) - sinceMs - allowanceMs, `round ${round}`).toBeLessThanOrEqual(
        withinMs,
      )
      expect(Math.max(...endedMs) - storedMs - allowanceMs).toBeLessThanOrEqual(
        withinMs + (isOfTarget ? COMPARED_EVERY_MS : 0),
      )
    }
    print(way, lags)
  },
)

/** Prints p99 and maximum. */
function print(what: string, lags: readonly number[]): void {
  const figures = [0.5, 0.99, 1].map((share) => quantile(lags, share))
  console.log(
    `measured: ${what}: ms to the end of ${lags.length} streams: p50, p99, max ${figures.join(', ')}`,
  )
}

afterAll(() => {
  for (const [kind, lags] of allLags) print(kind, lags)
})
