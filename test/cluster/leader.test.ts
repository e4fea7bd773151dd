// Electors that meet on a real Lease. Nothing is timed: bounds only say when to give up waiting.
import { randomUUID } from 'node:crypto'
import { afterEach, describe, expect, test } from 'vitest'
import { CONFIG_MAPS, FIELD_MANAGER, LEASES } from '../../src/api/names.ts'
import { NotLeaderError } from '../../src/kube/client/api-error.ts'
import { type KubeClient, createClient } from '../../src/kube/client/client.ts'
import { connect } from '../../src/kube/client/connection.ts'
import { type LeaderElection, runLeaderElection } from '../../src/kube/leader-election/elector.ts'
import type { Lease, LeaseSpec } from '../../src/kube/leader-election/rules.ts'
import { type Clock, systemClock } from '../../src/runtime/clock.ts'
import { sharedControlPlane } from '../support/control-plane.ts'
import { eventually } from '../support/eventually.ts'
import { memoryLog } from '../support/memory-log.ts'

const plane = await sharedControlPlane()
const { admin, adminKubeconfig } = plane

/** So long that a machine that stops for seconds costs no one the Lease. */
const brief = { leaseDurationMs: 10_000, renewDeadlineMs: 8000, retryPeriodMs: 500 }
/** So long that within a test only a release can hand the Lease over. */
const patient = { leaseDurationMs: 600_000, renewDeadlineMs: 400_000, retryPeriodMs: 500 }
const soon = { withinMs: 30_000 }

const running: LeaderElection[] = []
afterEach(async () => {
  await Promise.all(running.splice(0).map((election) => election.release()))
})

/** A candidate for a Lease, and whether it leads. */
function join(ref: Ref, identity: string, differs: Differences = {}) {
  const { timing = brief, client = admin, clock = systemClock() } = differs
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
  readonly timing?: typeof brief
  readonly client?: KubeClient
  readonly clock?: Clock
}

const newRef = (): Ref => ({ namespace: 'default', name: `leader-${randomUUID()}` })

async function read(ref: Ref): Promise<Lease & { readonly spec: Required<LeaseSpec> }> {
  const lease = await admin.get<Lease & { spec: Required<LeaseSpec> }>(LEASES, ref)
  if (lease === null) throw new Error('there is no Lease')
  return lease
}

/** A client whose line can be cut: nothing comes back then, as from a dead network. */
function cuttable(): { readonly client: KubeClient; cut(): void } {
  let silent = false
  const orSilence = async <T>(answer: () => Promise<T>): Promise<T> =>
    silent ? new Promise<never>(() => undefined) : answer()
  const client: KubeClient = {
    ...admin,
    get: (...args) => orSilence(() => admin.get(...args)),
    create: (...args) => orSilence(() => admin.create(...args)),
    replace: (...args) => orSilence(() => admin.replace(...args)),
  }
  return { client, cut: () => void (silent = true) }
}

test('a leader that is cut off stops before the next one starts', async () => {
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
  expect(betweenMs).toBeGreaterThanOrEqual(brief.leaseDurationMs)

  const stale = admin.replace(LEASES, last, 'test')
  await expect(stale).rejects.toMatchObject({ name: 'StatusError', code: 409 })
  expect((await read(ref)).spec.holderIdentity).toBe('b')
})

test('of five that start at once, one leads', async () => {
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
  test('hands over long before the lease would run out', async () => {
    const ref = newRef()
    const a = join(ref, 'a', { timing: patient })
    await a.until('acquired')
    const b = join(ref, 'b', { timing: patient })
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

test('who annotates the Lease costs no leadership, and the annotation stays', async () => {
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

test('a process that stood still sends no write and does not renew', async () => {
  const ref = newRef()
  const clock = skippingClock()
  const a = join(ref, 'a', { timing: patient, clock })
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
    clock.skip(patient.renewDeadlineMs)
    await expect(create(`${ref.name}-after`)).rejects.toBeInstanceOf(NotLeaderError)
    const missing = { namespace: 'default', name: `${ref.name}-after` }
    expect(await admin.get(CONFIG_MAPS, missing)).toBeNull()
    await a.until('lost')
    // One that was sent before may still have arrived.
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

/** A clock that can be ahead at once, as it is for a process that was stopped. */
function skippingClock(): Clock & { skip(ms: number): void } {
  const clock = systemClock()
  let aheadMs = 0
  return {
    ...clock,
    monotonicMs: () => clock.monotonicMs() + aheadMs,
    skip: (ms) => void (aheadMs += ms),
  }
}
