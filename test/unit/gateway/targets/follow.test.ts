import { expect, test } from 'vitest'
import type { ConnectedTarget } from '../../../../src/gateway/targets/resolver.ts'
import { refused } from '../../../support/fake-kube-client.ts'
import { call } from '../../kube/proxy/upstream-server.ts'
import { cluster, followTargets } from './followed-targets.ts'
import { kubeconfig } from './target-secrets.ts'

const C1 = cluster('c1')
const C2 = cluster('c2')
const SPACE: ConnectedTarget = { kind: 'ProjectSpace', project: 'p', space: 's' }
const spaceData = { name: 's', project: 'p', cluster: 'c1', namespace: 'shop' }
const OTHER = kubeconfig('https://other.test')

test('no target is found before the first comparison, and the targets are not fresh (9.5, 10.4)', async () => {
  const { targets, clock } = followTargets()
  expect([targets.find(C1), targets.isFresh()]).toEqual([null, false])
  await clock.advance(0)
  expect([targets.find(C1), targets.isFresh()]).toEqual([null, true])
  expect([...targets.readiness()]).toEqual([])
})

test('an added Secret is a target within 5 s, and has an Event once it works (9.5)', async () => {
  const { targets, compared, put, events, connection, recorded, open } = followTargets()
  await compared()
  put()
  await compared()
  expect(targets.find(C1)).toMatchObject({ kind: 'usable', namespace: null })
  expect(connection(C1)).toBe(connection(C1))
  expect([...targets.readiness()]).toEqual([[{ kind: 'cluster', project: '', name: 'c1' }, true]])
  expect(events()).toEqual(['c1: TargetReady: The cluster c1 is ready.'])
  expect(recorded[0]).toMatchObject({
    type: 'Normal',
    regarding: { apiVersion: 'v1', kind: 'Secret', namespace: 'targets', uid: 'uid-c1' },
  })
  // Of probes nothing stays open.
  expect(open()).toEqual([])
})

test('a Secret is read only when it has changed, and changes no other target (9.5)', async () => {
  const { compared, put, reads, connection, ended, events } = followTargets()
  put()
  put({ name: 'c2', data: { name: 'c2', kubeconfig: kubeconfig() } })
  await compared()
  expect(reads.toSorted()).toEqual(['c1', 'c2'])
  const before = [connection(C1), connection(C2)]
  put({ name: 'c2', data: { name: 'c2', kubeconfig: OTHER } })
  await compared()
  await compared()
  expect(reads.slice(2)).toEqual(['c2'])
  expect(ended).toEqual([before[1]])
  expect(connection(C1)).toBe(before[0])
  expect(connection(C2)).not.toBe(before[1])
  expect(events().length).toBe(2 + 0 + 0)
})

test('another kubeconfig is another connection, and the old one is closed; anything else keeps it (13.4)', async () => {
  const { compared, put, connection, ended, open, clock } = followTargets()
  put()
  await compared()
  const before = connection(C1)
  const answer = await before.upstream.send(call())
  await answer.body.toArray()
  put()
  await compared()
  expect([connection(C1), ended]).toEqual([before, []])
  put({ data: { name: 'c1', kubeconfig: OTHER } })
  await clock.advance(4900)
  expect(ended).toEqual([before])
  await expect(before.upstream.send(call())).rejects.toThrow('gone or has changed')
  await clock.advance(500)
  expect(open()).toEqual([])
  expect(connection(C1)).not.toBe(before)
})

test('a Secret that breaks ends its target, tells why, and is back when it is repaired (9.5, 13.4)', async () => {
  const { targets, compared, put, connection, ended, events, lines } = followTargets()
  put()
  await compared()
  const before = connection(C1)
  put({ data: { name: 'c1', kubeconfig: kubeconfig('http://c1.test') } })
  await compared()
  const because =
    'the kubeconfig is refused: clusters[0].cluster.server must be an https URL of host, port and path'
  expect(targets.find(C1)).toEqual({ kind: 'unusable', because })
  expect([...targets.readiness()].map(([, isReady]) => isReady)).toEqual([false])
  expect(ended).toEqual([before])
  put({ label: 'Cluster' })
  await compared()
  expect([targets.find(C1), [...targets.readiness()]]).toEqual([null, []])
  put()
  await compared()
  expect(targets.find(C1)?.kind).toBe('usable')
  expect(events()).toEqual([
    'c1: TargetReady: The cluster c1 is ready.',
    `c1: TargetUnusable: The cluster c1 does not work: ${because}.`,
    'c1: TargetUnusable: This Secret defines no target: label management.platform.sh/target must be one of cluster, virtualcluster, space.',
    'c1: TargetReady: The cluster c1 is ready.',
  ])
  expect(lines.map(({ level, fields }) => `${level} ${String(fields['reason'])}`)).toEqual([
    'info TargetReady',
    'warn TargetUnusable',
    'warn TargetUnusable',
    'info TargetReady',
  ])
})

test('two Secrets for one target: neither is used, and both tell so; the last one is used again (9.5)', async () => {
  const { targets, compared, put, remove, connection, ended, events, recorded } = followTargets()
  put({ name: 'x' })
  await compared()
  const before = connection(C1)
  put({ name: 'y', data: { name: 'c1', kubeconfig: OTHER } })
  await compared()
  expect(targets.find(C1)).toEqual({ kind: 'unusable', because: 'several Secrets define it' })
  expect(ended).toEqual([before])
  expect([...targets.readiness()]).toEqual([[{ kind: 'cluster', project: '', name: 'c1' }, false]])
  remove('x')
  await compared()
  expect(targets.find(C1)?.kind).toBe('usable')
  const note = 'The cluster c1 is defined by several Secrets, so none of them is used: x, y.'
  expect(events()).toEqual([
    'x: TargetReady: The cluster c1 is ready.',
    `x: TargetConflict: ${note}`,
    `y: TargetConflict: ${note}`,
    'y: TargetReady: The cluster c1 is ready.',
  ])
  expect(recorded.map(({ type }) => type)).toEqual(['Normal', 'Warning', 'Warning', 'Normal'])
})

test('a Secret that is removed, or whose name another one takes, ends its target (9.5, 13.4)', async () => {
  const { targets, compared, put, remove, connection, ended, clock } = followTargets()
  put()
  await compared()
  const first = connection(C1)
  remove('c1')
  await compared()
  expect([targets.find(C1), [...targets.readiness()], ended]).toEqual([null, [], [first]])
  put({ uid: 'new', data: { name: 'c2', kubeconfig: kubeconfig() } })
  await compared()
  expect(targets.find(C2)?.kind).toBe('usable')
  remove('c1')
  await compared()
  await clock.advance(500)
  // The comparison alone waits.
  expect(clock.pending()).toBe(1)
})

test('a space goes to its cluster, inside its namespace, and ends with either (9.5, 13.4)', async () => {
  const { targets, compared, put, remove, connection, ended, events } = followTargets()
  put({ name: 's', label: 'space', data: spaceData })
  await compared()
  expect(targets.find(SPACE)).toEqual({
    kind: 'unusable',
    because: 'no Secret defines its cluster',
  })
  put()
  await compared()
  expect(targets.find(SPACE)).toMatchObject({ kind: 'usable', namespace: 'shop' })
  const [ofCluster, ofSpace] = [connection(C1), connection(SPACE)]
  expect(ofSpace).not.toBe(ofCluster)
  expect(ofSpace.upstream).toBe(ofCluster.upstream)
  put({ name: 's', label: 'space', data: { ...spaceData, namespace: 'other' } })
  await compared()
  expect(ended).toEqual([ofSpace])
  expect(connection(C1)).toBe(ofCluster)
  const moved = connection(SPACE)
  put({ data: { name: 'c1', kubeconfig: OTHER } })
  await compared()
  expect(new Set(ended)).toEqual(new Set([ofSpace, ofCluster, moved]))
  expect(connection(SPACE).upstream).toBe(connection(C1).upstream)
  remove('c1')
  await compared()
  expect(targets.find(SPACE)?.kind).toBe('unusable')
  expect(events().filter((event) => event.startsWith('s: '))).toEqual([
    's: TargetUnusable: The space s of project p does not work: no Secret defines its cluster.',
    's: TargetReady: The space s of project p is ready.',
    's: TargetUnusable: The space s of project p does not work: no Secret defines its cluster.',
  ])
})

test('a target that refuses is not asked by requests, one that is away is; both are tried again soon (9.5)', async () => {
  const { targets, compared, put, api, events, clock, connection } = followTargets()
  api.answers = (text) => (text === OTHER ? 'away' : 'refuses')
  put()
  put({ name: 'c2', data: { name: 'c2', kubeconfig: OTHER } })
  put({ name: 's', label: 'space', data: spaceData })
  await compared()
  const because = 'the credential of the kubeconfig may not impersonate there'
  expect(targets.find(C1)).toEqual({ kind: 'unusable', because })
  expect(targets.find(SPACE)).toEqual({
    kind: 'unusable',
    because: `its cluster does not work: ${because}`,
  })
  const away = connection(C2)
  expect([...targets.readiness()].map(([, isReady]) => isReady)).toEqual([false, false, false])
  api.answers = () => 'ready'
  await clock.advance(10_000)
  expect([...targets.readiness()].map(([, isReady]) => isReady)).toEqual([true, true, true])
  expect(connection(C2)).toBe(away)
  expect(events().toSorted()).toEqual([
    'c1: TargetReady: The cluster c1 is ready.',
    `c1: TargetUnusable: The cluster c1 does not work: ${because}.`,
    'c2: TargetReady: The cluster c2 is ready.',
    'c2: TargetUnusable: The cluster c2 does not work: its API server cannot be reached.',
    's: TargetReady: The space s of project p is ready.',
    `s: TargetUnusable: The space s of project p does not work: its cluster does not work: ${because}.`,
  ])
  // A target that stops is found by the next probe, a minute later at most.
  api.answers = () => 'away'
  await clock.advance(60_000)
  expect([...targets.readiness()].some(([, isReady]) => isReady)).toBe(false)
})

test('a fault that comes back has an Event again, with another discriminator (9.5)', async () => {
  const { put, api, recorded, clock } = followTargets()
  put()
  for (const answer of ['ready', 'away', 'ready', 'away'] as const) {
    api.answers = () => answer
    await clock.advance(11 * 60_000)
  }
  expect(recorded.map(({ reason }) => reason)).toEqual([
    'TargetReady',
    'TargetUnusable',
    'TargetReady',
    'TargetUnusable',
  ])
  expect(new Set(recorded.map(({ discriminator }) => discriminator)).size).toBe(4)
})

test('comparisons that fail keep the targets, which are stale after 15 s, and log one line (10.4)', async () => {
  const { targets, compared, put, api, lines, ended, clock } = followTargets()
  put()
  await compared()
  api.listError = refused(403, 'Forbidden')
  await clock.advance(10_000)
  expect([targets.find(C1)?.kind, targets.isFresh()]).toEqual(['usable', true])
  await clock.advance(10_000)
  expect([targets.find(C1)?.kind, targets.isFresh()]).toEqual(['usable', false])
  expect([...targets.readiness()].map(([, isReady]) => isReady)).toEqual([false])
  await clock.advance(60_000)
  expect(ended).toEqual([])
  const told = () => lines.filter(({ fields }) => fields['name'] === 'targets')
  expect(told().map(({ level }) => level)).toEqual(['warn'])
  api.listError = null
  await compared()
  expect(targets.isFresh()).toBe(true)
  expect([...targets.readiness()].map(([, isReady]) => isReady)).toEqual([true])
  expect(told().map(({ level }) => level)).toEqual(['warn', 'info'])
})

test('a process without the namespace or the right has no targets, and they are not fresh (10.4)', async () => {
  const { targets, clock, lines, api } = followTargets()
  api.listError = refused(403, 'Forbidden')
  await clock.advance(60_000)
  expect([targets.find(C1), targets.isFresh(), lines.length]).toEqual([null, false, 1])
})

test('a Secret that cannot be read is unusable after 15 s, and concerns no other (9.5, 10.4)', async () => {
  const { targets, compared, put, api, connection, events, clock } = followTargets()
  put()
  put({ name: 'c2', data: { name: 'c2', kubeconfig: OTHER } })
  await compared()
  const before = connection(C1)
  put()
  api.readError = refused(500, 'InternalError')
  put({ name: 'c3', data: { name: 'c3', kubeconfig: OTHER } })
  await clock.advance(10_000)
  expect(connection(C1)).toBe(before)
  await clock.advance(5000)
  const because = 'the Secret cannot be read'
  expect(targets.find(C1)).toEqual({ kind: 'unusable', because })
  expect([targets.find(C2)?.kind, targets.find(cluster('c3')), targets.isFresh()]).toEqual([
    'usable',
    null,
    true,
  ])
  api.readError = null
  await compared()
  expect([targets.find(C1)?.kind, targets.find(cluster('c3'))?.kind]).toEqual(['usable', 'usable'])
  expect(events().filter((event) => !event.startsWith('c2'))).toEqual([
    'c1: TargetReady: The cluster c1 is ready.',
    `c3: TargetUnusable: This Secret defines no target: ${because}.`,
    `c1: TargetUnusable: The cluster c1 does not work: ${because}.`,
    'c1: TargetReady: The cluster c1 is ready.',
    'c3: TargetReady: The cluster c3 is ready.',
  ])
})

test('a Secret whose read gets no answer proves nothing (10.4)', async () => {
  const { targets, clock, put, api } = followTargets()
  put()
  api.readError = new Error('no answer')
  await clock.advance(20_000)
  expect([targets.find(C1), targets.isFresh()]).toEqual([null, false])
})

test('200 rotations leave as many connections and timers as one (9.5)', async () => {
  const { put, compared, connection, clock, open, ended } = followTargets()
  for (let rotation = 0; rotation < 200; rotation += 1) {
    const text = kubeconfig(undefined, { user: { token: `t${rotation}` } })
    put({ data: { name: 'c1', kubeconfig: text } })
    await compared()
    const answer = await connection(C1).upstream.send(call())
    await answer.body.toArray()
  }
  await clock.advance(500)
  expect([open().length, ended.length]).toEqual([1, 199])
  // The next comparison, the next probe, and the wait of the idle connection.
  expect(clock.pending()).toBeLessThanOrEqual(4)
})
