/** @module-tag no-retry */
// Two replicas of the delivery process, of which the leading one is stopped in the middle of its work, and woken once the other has
// taken over: it writes nothing more, no Secret has a key that does not work, and no key is left over (contract 8.1, 28.3).
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { keysStuckInDeletion, lateAnswer } from '../../faults/operator-crash.ts'
import { SHORT_LEASE, untilItLeads } from '../../faults/competing-managers.ts'
import { recordClaims } from '../../support/claims/claim-history.ts'
import { claimNamespace, deliveryKubeconfig, startDelivery } from '../../support/claims/delivery.ts'
import { outputOf, plaintextIn } from '../../support/claims/plaintext-search.ts'
import { claimsOf } from '../../support/claims/stored-claims.ts'
import { type OwnProcess, startOperator } from '../../support/command-process.ts'
import { privateControlPlane } from '../../support/control-plane.ts'
import { eventually } from '../../support/eventually.ts'
import {
  type FaultProxy,
  type Match,
  first,
  isWrite,
  startProxy,
} from '../../support/fault-proxy.ts'
import { claimWritePoints } from './crash-points.ts'

const SOON = { withinMs: 40_000 }

const plane = await privateControlPlane()
const namespace = await claimNamespace(plane, 'leaders')
const endingNamespace = await claimNamespace(plane, 'leaders-ending')
const history = await recordClaims(plane, namespace)
const points = claimWritePoints({ plane, claims: claimsOf(plane), namespace, endingNamespace })
const kubeconfig = await deliveryKubeconfig(plane)

interface Replica {
  readonly process: OwnProcess
  readonly proxy: FaultProxy
}

const outputs: Record<string, string> = {}
let started = 0

async function startReplica(): Promise<Replica> {
  const proxy = await startProxy(plane)
  const own = await proxy.kubeconfig(kubeconfig)
  const flags = [...SHORT_LEASE, '--log-level=debug']
  const process = await startDelivery(plane, { kubeconfig: own, flags, until: 'serving' })
  return { process, proxy }
}

async function end({ process, proxy }: Replica): Promise<void> {
  await process.stop()
  started += 1
  outputs[`log of replica ${started}`] = await outputOf(process, false)
  await proxy[Symbol.asyncDispose]()
}

let manager: OwnProcess
let leader: Replica
let standby: Replica
beforeAll(async () => {
  manager = await startOperator({ kubeconfig: await plane.operatorKubeconfig() })
  leader = await startReplica()
  await untilItLeads(leader.process)
  standby = await startReplica()
})
afterAll(async () => {
  await Promise.all([leader, standby].map(end))
  await manager.stop()
})

/** Whether the write that the leader is stopped at was answered, or still is on its way when another leads. */
const STOPS = ['before its answer', 'on its way, and received late'] as const
const rounds = points.flatMap((point, at) => {
  const how = STOPS[at % STOPS.length] ?? STOPS[0]
  // Between the creation of a key and its Secret the leader has the key in its memory.
  return at === 0 ? STOPS.map((each) => ({ point: point(), how: each })) : [{ point: point(), how }]
})

const isOurWrite: Match = (request) => isWrite(request) && !request.path.includes('/leases')

test.each(rounds.map((round) => ({ ...round, name: round.point.name })))(
  'a leader stopped at $name, $how, and woken again writes nothing more (8.1, 28.3)',
  async ({ point, how }) => {
    await point.prepare()
    const isHeld = how !== STOPS[0]
    const act = isHeld ? ({ kind: 'hold' } as const) : ({ kind: 'delay', ms: 0 } as const)
    const rule = leader.proxy.on(first(1, point.matches), act)
    onTestFinished(() => rule.remove())
    await point.trigger()
    const write = await rule.reached(SOON)
    if (!isHeld) await eventually('the write is answered', () => write.status ?? undefined, SOON)
    leader.process.kill('SIGSTOP')
    const sentBefore = leader.proxy.requests.length
    await untilItLeads(standby.process)
    await point.completed()
    if (isHeld) await lateAnswer(rule)
    leader.process.kill('SIGCONT')
    expect(await leader.process.exited).toEqual({ code: 1, signal: null })
    // What it had sent before it was stopped may have come to the proxy after.
    const sent = leader.proxy.requests.slice(sentBefore).filter(isOurWrite)
    expect(sent.map(({ method, path }) => `${method} ${path}`)).toEqual([])
    await point.completed()
    await end(leader)
    leader = standby
    standby = await startReplica()
  },
)

test('each Secret always had a key that works, and no claim more than three keys (28.3)', async () => {
  expect(await history.faults()).toEqual([])
  expect(await keysStuckInDeletion(plane.admin)).toEqual([])
})

test('no key in clear is outside its Secret (3.5, 28.3)', async () => {
  const keys = await history.delivered()
  outputs['leader'] = await outputOf(leader.process)
  outputs['manager'] = await outputOf(manager)
  expect(await plaintextIn(plane, keys, { namespace, outputs })).toEqual([])
})
