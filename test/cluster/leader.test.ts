// Electors that compete for a real Lease (threats E6). No test measures time: bounds only limit waits.
import { randomUUID } from 'node:crypto'
import { afterEach, describe, expect, test } from 'vitest'
import { CONFIG_MAPS, FIELD_MANAGER, LEASES } from '../../src/api/names.ts'
import { NotLeaderError } from '../../src/kube/client/api-error.ts'
import { type KubeClient, createClient } from '../../src/kube/client/client.ts'
import { connect } from '../../src/kube/client/connection.ts'
import { runLeaderElection } from '../../src/kube/leader-election/elector.ts'
import type { Lease, LeaseSpec } from '../../src/kube/leader-election/rules.ts'
import { type Clock, systemClock } from '../../src/runtime/clock.ts'
import { sharedControlPlane } from '../support/control-plane.ts'
import { eventually } from '../support/eventually.ts'
import { memoryLog } from '../support/memory-log.ts'

const plane = await sharedControlPlane()
const { admin, adminKubeconfig } = plane

/** Long enough that a busy machine that stops for seconds does not lose the Lease. */
const shortLease = { leaseDurationMs: 10_000, renewDeadlineMs: 8000, retryPeriodMs: 500 }
/** Does not expire within a test: only a release hands the Lease over. */
const longLease = { leaseDurationMs: 600_000, renewDeadlineMs: 400_000, retryPeriodMs: 500 }
const soon = { withinMs: 30_000 }

const running: ReturnType<typeof runLeaderElection>[] = []
afterEach(async () => {
  await Promise.all(running.splice(0).map((election) => election.release()))
})

/** A candidate for a Lease, and whether it leads. */
function join(ref: Ref, identity: string, differs: Differences = {}) {
  const { timing = shortLease, client = admin, clock = systemClock() } = differs
  const { log } = memoryLog()
  const election = runLeaderElection({ ...timing, client, clock, log, ref, identity })
  running.push(election)
  const ends = { acquired: false, lost: false }
  void election.acquired.then(() => (ends.acquired = true))
  void election.lost.then(() => (ends.lost = true))
  const until = (end: keyof typeof ends) =>
    eventually(`${identity}: ${end}`, () => ends[end] || undefined, soon)
  return { election, until, ends }
}

type Ref = { readonly namespace: string; readonly name: string }
type Differences = {
  readonly timing?: typeof shortLease
  readonly client?: KubeClient
  readonly clock?: Clock
}

const newRef = (): Ref => ({ namespace: 'default', name: `leader-${randomUUID()}` })

async function read(ref: Ref): Promise<Lease & { readonly spec: Required<LeaseSpec> }> {
  const lease = await admin.get<Lease & { spec: Required<LeaseSpec> }>(LEASES, ref)
  if (lease === null) throw new Error('there is no Lease')
  return lease
}

/** A client that gets no responses after `cut`, as from a dead network. */
function cuttable(): { readonly client: KubeClient; cut(): void } {
  let isCut = false
  const unlessCut = async <T>(answer: () => Promise<T>): Promise<T> =>
    isCut ? new Promise<never>(() => undefined) : answer()
  const client: KubeClient = {
    ...admin,
    get: (...args) => unlessCut(() => admin.get(...args)),
    create: (...args) => unlessCut(() => admin.create(...args)),
    replace: (...args) => unlessCut(() => admin.replace(...args)),
  }
  return { client, cut: () => void (isCut = true) }
}

test('a leader without responses stops before the next one leads', async () => {
  const ref = newRef()
  const line = cuttable()
  const a = join(ref, 'a', { client: line.client })
  await a.until('acquired')
  const b = join(ref, 'b')
  const first = await read(ref)
  await eventually(
    'a renewal',
    async () => {
      const { renewTime } = (await read(ref)).spec
      return renewTime > first.spec.renewTime || undefined
    },
    soon,
  )
  expect(b.ends.acquired).toBe(false)
  line.cut()
  const last = await read(ref)
  expect(last.spec).toMatchObject({ holderIdentity: 'a', leaseTransitions: 0 })
  expect(last.spec.acquireTime).toBe(first.spec.acquireTime)

  await a.until('lost')
  expect(() => a.election.mayWrite()).toThrow(NotLeaderError)
  await b.until('acquired')
  const { spec } = await read(ref)
  expect(spec).toMatchObject({ holderIdentity: 'b', leaseDurationSeconds: 10, leaseTransitions: 1 })
  const betweenMs = Date.parse(spec.acquireTime) - Date.parse(last.spec.renewTime)
  expect(betweenMs).toBeGreaterThanOrEqual(shortLease.leaseDurationMs)

  const stale = admin.replace(LEASES, last, 'test')
  await expect(stale).rejects.toMatchObject({ name: 'StatusError', code: 409 })
  expect((await read(ref)).spec.holderIdentity).toBe('b')
})

test('one of five electors that start together leads', async () => {
  const ref = newRef()
  const all = ['a', 'b', 'c', 'd', 'e'].map((identity) => join(ref, identity))
  const { spec } = await eventually('a holder', () => read(ref), soon)
  await eventually(
    'renewed twice',
    async () => {
      const now = (await read(ref)).spec
      return Date.parse(now.renewTime) - Date.parse(spec.renewTime) > 900 || undefined
    },
    soon,
  )
  expect(all.filter(({ ends }) => ends.acquired)).toHaveLength(1)
  expect((await read(ref)).spec.leaseTransitions).toBe(0)
})

describe('release', () => {
  test('hands over the Lease before it expires', async () => {
    const ref = newRef()
    const a = join(ref, 'a', { timing: longLease })
    await a.until('acquired')
    const b = join(ref, 'b', { timing: longLease })
    await a.election.release()
    expect(() => a.election.mayWrite()).toThrow(NotLeaderError)
    await b.until('acquired')
    expect((await read(ref)).spec).toMatchObject({ holderIdentity: 'b', leaseTransitions: 1 })
    expect(a.ends.lost).toBe(false)
  })

  test('leaves a Lease without a holder', async () => {
    const ref = newRef()
    const a = join(ref, 'a')
    await a.until('acquired')
    await a.election.release()
    expect((await read(ref)).spec).toMatchObject({ holderIdentity: '', leaseDurationSeconds: 1 })
  })
})

test('an annotation of the Lease by another client is kept and costs no leadership', async () => {
  const ref = newRef()
  const a = join(ref, 'a')
  await a.until('acquired')
  const { code } = await plane.kubectl([
    'annotate',
    'lease',
    ref.name,
    '-n',
    ref.namespace,
    'team=a',
  ])
  expect(code).toBe(0)
  const { spec } = await read(ref)
  const after = await eventually(
    'a renewal',
    async () => {
      const lease = await read(ref)
      return lease.spec.renewTime > spec.renewTime ? lease : undefined
    },
    soon,
  )
  expect(after.metadata.annotations).toEqual({ team: 'a' })
  expect(after.spec.leaseTransitions).toBe(0)
  expect(() => a.election.mayWrite()).not.toThrow()
})

test('a process that was suspended beyond its lease neither writes nor renews', async () => {
  const ref = newRef()
  const clock = skippingClock()
  const a = join(ref, 'a', { timing: longLease, clock })
  await a.until('acquired')
  const connection = await connect({ kind: 'files', paths: [adminKubeconfig] }, clock)
  const guarded = createClient({
    connection,
    clock,
    observer: { responded: () => undefined, wrote: () => undefined },
    userAgent: 'test',
    fieldManager: FIELD_MANAGER,
    mayWrite: () => a.election.mayWrite(),
  })
  const create = (name: string) =>
    guarded.create(CONFIG_MAPS, configMap(name), 'test').then(({ metadata }) => metadata.name)
  try {
    expect(await create(`${ref.name}-before`)).toBe(`${ref.name}-before`)
    const skippedMs = clock.nowMs()
    clock.skip(longLease.renewDeadlineMs)
    await expect(create(`${ref.name}-after`)).rejects.toBeInstanceOf(NotLeaderError)
    const missing = { namespace: 'default', name: `${ref.name}-after` }
    expect(await admin.get(CONFIG_MAPS, missing)).toBeNull()
    await a.until('lost')
    // A write that was sent before may still have arrived.
    expect(Date.parse((await read(ref)).spec.renewTime)).toBeLessThanOrEqual(skippedMs)
  } finally {
    await connection.close()
  }
})

const configMap = (name: string) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace: 'default' },
})

/** A clock that can jump ahead, as after a suspension of the process. */
function skippingClock(): Clock & { skip(ms: number): void } {
  const clock = systemClock()
  let aheadMs = 0
  return {
    ...clock,
    monotonicMs: () => clock.monotonicMs() + aheadMs,
    skip: (ms) => void (aheadMs += ms),
  }
}
