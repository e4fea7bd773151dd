import { describe, expect, it, onTestFinished } from 'vitest'
import { SIGN_IN_KEYS_SECRET } from '../../../../src/api/names.ts'
import type { Secret } from '../../../../src/api/objects.ts'
import { fullObject, Store } from '../../../../src/kube/informer/store.ts'
import { keepKeys } from '../../../../src/signin/kept-keys.ts'
import { sealingKind } from '../../../../src/signin/sealing/plan.ts'
import { refused } from '../../../support/fake-kube-client.ts'
import { manualClock } from '../../../support/manual-clock.ts'
import { memoryLog } from '../../../support/memory-log.ts'
import { MemoryCluster } from '../../../support/signin/memory-cluster.ts'

const NAMESPACE = 'platform-sign-in'
const START_MS = Date.UTC(2026, 10, 21)
const DAY_MS = 86_400_000

describe('the keys that seal (25.3)', () => {
  const { read, renewed } = sealingKind((bytes) => Buffer.alloc(bytes, 7))
  const textOf = (...keys: readonly (readonly [id: string, madeMs: number])[]): string =>
    JSON.stringify(
      keys.map(([id, madeMs]) => ({ id, key: Buffer.alloc(32, 1).toString('base64'), madeMs })),
    )
  const idsIn = (text: string | null) => read(text)?.map(({ id }) => id)

  it('are made where there are none', () => {
    expect(read(renewed(null, START_MS))).toEqual([
      { id: '07070707', key: Buffer.alloc(32, 7), madeMs: START_MS },
    ])
  })

  it('are kept for 30 days; then a new one seals, and two older ones open', () => {
    const ids = ['00000003', '00000002', '00000001']
    const stored = read(textOf(...ids.map((id, at) => [id, START_MS - at * 30 * DAY_MS] as const)))
    expect(renewed(stored, START_MS + 30 * DAY_MS - 1)).toBeNull()
    expect(idsIn(renewed(stored, START_MS + 30 * DAY_MS))).toEqual([
      '07070707',
      '00000003',
      '00000002',
    ])
  })

  it('are read the newest first, whatever their order', () => {
    const text = textOf(['00000001', 1], ['00000002', 2], ['00000000', 0])
    expect(idsIn(text)).toEqual(['00000002', '00000001', '00000000'])
  })

  it.each([
    null,
    '',
    '{}',
    '[]',
    'null',
    '[null]',
    '[{}]',
    JSON.stringify([{ id: 'x', key: Buffer.alloc(32).toString('base64'), madeMs: 1 }]),
    JSON.stringify([{ id: '00000001', key: Buffer.alloc(31).toString('base64'), madeMs: 1 }]),
    JSON.stringify([{ id: '00000001', key: Buffer.alloc(32).toString('base64') }]),
    JSON.stringify([{ id: '00000001', key: Buffer.alloc(32).toString('base64'), madeMs: 'now' }]),
  ])('are not read from %j', (text) => {
    expect(read(text)).toBeNull()
  })
})

/** A replica that keeps the keys of a cluster. */
function replica(cluster = new MemoryCluster(), clock = manualClock(START_MS), fill = 1) {
  const secrets = new Store(fullObject<Secret>)
  const { log, lines } = memoryLog()
  const stop = new AbortController()
  onTestFinished(() => stop.abort())
  let count = fill * 16
  const kind = sealingKind((bytes) => Buffer.alloc(bytes, (count += 1)))
  const kept = keepKeys(kind, {
    client: cluster.client,
    secrets,
    namespace: NAMESPACE,
    clock,
    log,
    signal: stop.signal,
  })
  const start = (): void => cluster.feed('Secret', secrets)
  return { cluster, clock, kept, lines, start }
}

const idsOf = ({ kept }: ReturnType<typeof replica>) => kept.current()?.map(({ id }) => id)

describe('a replica that keeps the keys (25.3)', () => {
  it('makes none before it has seen the Secrets', async () => {
    const { cluster, clock, kept } = replica()
    await clock.advance(60_000)
    expect(kept.current()).toBeNull()
    expect(kept.fault()).toContain(SIGN_IN_KEYS_SECRET)
    expect(cluster.calls).toEqual([])
  })

  it('makes them once, and has the ones of whoever was first', async () => {
    const one = replica()
    const other = replica(one.cluster, one.clock, 2)
    one.start()
    other.start()
    await one.clock.advance(1000)
    expect(idsOf(one)).toHaveLength(1)
    expect(idsOf(other)).toEqual(idsOf(one))
    expect(one.kept.fault()).toBeNull()
  })

  it('tries again while the API server is away', async () => {
    const { cluster, clock, kept, start } = replica()
    cluster.before = () => {
      throw refused(503, 'ServiceUnavailable')
    }
    start()
    await clock.advance(1000)
    expect(kept.current()).toBeNull()
    cluster.before = () => undefined
    await clock.advance(60_000)
    expect(kept.current()).toHaveLength(1)
  })

  it('renews them after 30 days, so that two replicas agree', async () => {
    const one = replica()
    const other = replica(one.cluster, one.clock, 2)
    one.start()
    other.start()
    await one.clock.advance(1000)
    const [first] = idsOf(one) ?? []
    one.clock.setNow(START_MS + 31 * DAY_MS)
    await one.clock.advance(3_600_000)
    expect(idsOf(one)).toHaveLength(2)
    expect(idsOf(one)?.[1]).toBe(first)
    expect(idsOf(other)).toEqual(idsOf(one))
  })

  it('leaves a malformed Secret to an administrator, and keeps what it had', async () => {
    const one = replica()
    one.start()
    await one.clock.advance(1000)
    const before = idsOf(one)
    const secret = one.cluster.object('Secret', SIGN_IN_KEYS_SECRET)
    one.cluster.put({ ...secret, data: { keys: 'e30=' } } as never)
    await one.clock.advance(7_200_000)
    expect(idsOf(one)).toEqual(before)
    expect(one.cluster.object('Secret', SIGN_IN_KEYS_SECRET)).toMatchObject({
      data: { keys: 'e30=' },
    })
    expect(one.lines.some(({ level }) => level === 'error')).toBe(true)
  })

  it('makes new ones as soon as the Secret is deleted', async () => {
    const one = replica()
    one.start()
    await one.clock.advance(1000)
    const before = idsOf(one)
    one.cluster.remove('Secret', SIGN_IN_KEYS_SECRET)
    await one.clock.advance(1000)
    expect(one.cluster.object('Secret', SIGN_IN_KEYS_SECRET)).toBeDefined()
    expect(idsOf(one)).not.toEqual(before)
  })
})
