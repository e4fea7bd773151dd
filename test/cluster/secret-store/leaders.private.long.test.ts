/** @module-tag no-retry */
// Two replicas of the delivery process, of which the leading one is killed, or stopped in the middle of a sync and woken once the
// other has taken over: it writes nothing more, neither into a Secret nor into the store (contract 8.1, 36.5).
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { SHORT_LEASE, untilItLeads } from '../../faults/competing-managers.ts'
import { lateAnswer } from '../../faults/operator-crash.ts'
import { deliveryKubeconfig, startDelivery } from '../../support/claims/delivery.ts'
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
import {
  BEFORE_WRITES,
  type FrontedPlatform,
  SYNC_WRITES,
  isStoreWrite,
  startFrontedPlatform,
  synced,
} from './store-front.ts'
import { type Project, createProject, storeProgram } from './store-world.ts'

const SOON = { withinMs: 60_000 }
const LONG = 180_000

interface Replica {
  readonly process: OwnProcess
  /** Before the API server. */
  readonly proxy: FaultProxy
}

const program = await storeProgram()
const plane = await privateControlPlane()
const kubeconfig = await deliveryKubeconfig(plane)

let manager: OwnProcess
let platform: FrontedPlatform
let web: Project
let leader: Replica
let standby: Replica

async function startReplica(): Promise<Replica> {
  const proxy = await startProxy(plane)
  const own = await proxy.kubeconfig(kubeconfig)
  const flags = [...SHORT_LEASE, platform.flag]
  const process = await startDelivery(plane, { kubeconfig: own, flags, until: 'serving' })
  return { process, proxy }
}

async function end({ process, proxy }: Replica): Promise<void> {
  await process.stop()
  await proxy[Symbol.asyncDispose]()
}

/** The standby leads, and another one stands by. */
async function replaced(): Promise<void> {
  await end(leader)
  leader = standby
  standby = await startReplica()
}

beforeAll(async () => {
  manager = await startOperator({ kubeconfig: await plane.operatorKubeconfig() })
  platform = await startFrontedPlatform(plane, program)
  web = await createProject(plane)
  leader = await startReplica()
  await untilItLeads(leader.process)
  standby = await startReplica()
}, LONG)
afterAll(async () => {
  await Promise.all([leader, standby].filter(Boolean).map(end))
  await manager?.stop()
  await platform?.[Symbol.asyncDispose]()
})

const isOurWrite: Match = (request) => isWrite(request) && !request.path.includes('/leases')
const linesOf = (requests: FaultProxy['requests'], match: Match): readonly string[] =>
  requests.filter(match).map(({ method, path }) => `${method} ${path}`)

/** A read is answered only when the other leads, a write before the stop or late. */
const rounds = [
  { point: BEFORE_WRITES, isHeld: true },
  ...SYNC_WRITES.flatMap((point) => [false, true].map((isHeld) => ({ point, isHeld }))),
].map(({ point, isHeld }, nth) => ({
  point,
  isHeld,
  secret: `stopped-${nth}`,
  name: point.name,
  how: isHeld ? 'on its way, and received late' : 'received',
}))

test.each(rounds)(
  'a leader stopped at $name, $how, and woken again writes nothing more (8.1)',
  async ({ point, isHeld, secret }) => {
    const one = synced(platform, web, point.direction, secret)
    await one.create('one')
    await one.isInStep('one')
    const proxy = point.at === 'store' ? platform.front : leader.proxy
    const act = isHeld ? ({ kind: 'hold' } as const) : ({ kind: 'delay', ms: 0 } as const)
    const rule = proxy.on(first(1, point.matches(web, secret)), act)
    onTestFinished(() => rule.remove())
    await one.change('two')
    const seen = await rule.reached(SOON)
    if (!isHeld) await eventually('the write is answered', () => seen.status ?? undefined, SOON)
    leader.process.kill('SIGSTOP')
    await untilItLeads(standby.process)
    await one.isInStep('two')
    const [atServer, atStore] = [leader.proxy.requests.length, platform.front.requests.length]
    if (isHeld) await lateAnswer(rule)
    leader.process.kill('SIGCONT')
    expect(await leader.process.exited).toEqual({ code: 1, signal: null })
    expect(linesOf(leader.proxy.requests.slice(atServer), isOurWrite)).toEqual([])
    // The other one has nothing to write: all is in step.
    const sent = linesOf(platform.front.requests.slice(atStore), isStoreWrite)
    await one.isInStep('two')
    expect(await one.version()).toBe(2)
    // Late custom metadata of the same version are the same.
    expect(sent).toEqual([])
    await replaced()
  },
  LONG,
)

test(
  'a leader stopped with an old value in hand does not put it over the new one (8.1, 36.4)',
  async () => {
    const one = synced(platform, web, 'Push', 'old-value')
    await one.create('one')
    await one.isInStep('one')
    const [entry] = SYNC_WRITES
    const rule = platform.front.on(first(1, entry.matches(web, one.secret)), { kind: 'hold' })
    onTestFinished(() => rule.remove())
    await one.change('two')
    await rule.reached(SOON)
    leader.process.kill('SIGSTOP')
    await one.change('three')
    await untilItLeads(standby.process)
    await one.isInStep('three')
    expect(await lateAnswer(rule)).toBe(400)
    leader.process.kill('SIGCONT')
    await leader.process.exited
    await one.isInStep('three')
    expect(await one.version()).toBe(2)
    await replaced()
  },
  LONG,
)

test(
  'a leader that is killed is followed by the other one (8.1)',
  async () => {
    const one = synced(platform, web, 'Push', 'killed')
    await one.create('one')
    await one.isInStep('one')
    leader.process.kill('SIGKILL')
    await leader.process.exited
    await one.change('two')
    await one.isInStep('two')
    expect(await one.version()).toBe(2)
    await replaced()
  },
  LONG,
)
