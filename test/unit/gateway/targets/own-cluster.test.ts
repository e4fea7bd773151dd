// The targets of a direct endpoint: its spaces are in its own cluster (contract 9.2, 9.5).
import { expect, test } from 'vitest'
import type { ConnectedTarget } from '../../../../src/gateway/targets/resolver.ts'
import { NO_UPSTREAM } from '../handler-builder.ts'
import { cluster, followTargets } from './followed-targets.ts'
import { kubeconfig } from './target-secrets.ts'

const OWN = { ...NO_UPSTREAM }
const SPACE: ConnectedTarget = { kind: 'ProjectSpace', project: 'p', space: 's' }
const VIRTUAL: ConnectedTarget = {
  kind: 'ProjectVirtualCluster',
  project: 'p',
  virtualCluster: 'v',
}
const space = (namespace: string) => ({
  name: 's',
  label: 'space',
  data: { name: 's', project: 'p', cluster: 'ignored', namespace },
})

test('a space is ready at once in the own cluster, without a probe (9.2, 9.5)', async () => {
  const { targets, put, compared, connection, open, events } = followTargets(OWN)
  put(space('shop'))
  await compared()
  expect(targets.find(SPACE)).toMatchObject({ kind: 'usable', namespace: 'shop' })
  expect(connection(SPACE).upstream).toBe(OWN)
  expect(targets.spaces()).toEqual([{ project: 'p', space: 's', namespace: 'shop' }])
  expect([...targets.readiness()]).toEqual([[{ kind: 'space', project: 'p', name: 's' }, true]])
  expect(open()).toEqual([])
  expect(events()).toEqual(['s: TargetReady: The space s of project p is ready.'])
})

test('a space that moves or is removed ends its connection, but not the connection to the cluster (9.5, 13.4)', async () => {
  const { targets, put, remove, compared, connection, ended } = followTargets(OWN)
  put(space('shop'))
  await compared()
  const before = connection(SPACE)
  put(space('other'))
  await compared()
  const moved = connection(SPACE)
  expect(moved).not.toBe(before)
  expect(moved.upstream).toBe(OWN)
  remove('s')
  await compared()
  expect({ found: targets.find(SPACE), spaces: targets.spaces(), ended }).toEqual({
    found: null,
    spaces: [],
    ended: [before, moved],
  })
})

test('a virtual cluster has a connection of its own, and other clusters are not served (9.2, 9.5)', async () => {
  const { targets, put, compared, connection, events } = followTargets(OWN)
  put({
    name: 'v',
    label: 'virtualcluster',
    data: { name: 'v', project: 'p', kubeconfig: kubeconfig() },
  })
  put()
  await compared()
  expect(connection(VIRTUAL).upstream).not.toBe(OWN)
  expect(targets.find(cluster('c1'))).toEqual({
    kind: 'unusable',
    because: 'a direct endpoint serves no other cluster',
  })
  expect(events().toSorted()).toEqual([
    'c1: TargetUnusable: The cluster c1 does not work: a direct endpoint serves no other cluster.',
    'v: TargetReady: The virtual cluster v of project p is ready.',
  ])
})

test('spaces that were read too long ago do not count for the webhook (9.6, 10.4)', async () => {
  const { targets, put, compared, api, clock } = followTargets(OWN)
  put(space('shop'))
  await compared()
  api.listError = new Error('away')
  await clock.advance(30_000)
  expect([targets.spaces(), [...targets.readiness()].map(([, isReady]) => isReady)]).toEqual([
    [],
    [false],
  ])
})
