// The target of a path, byte by byte, and its upstream (contract 9.1).
import { expect, test } from 'vitest'
import { createTargetRegistry, routeOf } from '../../../../src/gateway/targets/registry.ts'
import type { Upstream } from '../../../../src/kube/proxy/types.ts'

test.each([
  { path: '/kubernetes/management', rest: '' },
  { path: '/kubernetes/management?a', rest: '?a' },
  { path: '/kubernetes/management/api/v1/pods?watch=1', rest: '/api/v1/pods?watch=1' },
  { path: '/kubernetes/management/%2e%2e//x', rest: '/%2e%2e//x' },
])(
  '$path leads to the management cluster with the rest of the path as it was sent (9.1)',
  (row) => {
    expect(routeOf(row.path)).toEqual({ target: { kind: 'Management' }, rest: row.rest })
  },
)

test.each(['/', '/kubernetes', '/kubernetes/managementx', '/kubernetes/%6danagement/api'])(
  '%s leads to no API (9.1)',
  (path) => {
    expect(routeOf(path)).toBeNull()
  },
)

test('a target without an upstream is answered as an unknown one (9.1)', () => {
  const upstream: Upstream = { send: () => Promise.reject(new Error()), close: async () => {} }
  const { resolve } = createTargetRegistry(upstream)
  expect(resolve({ kind: 'Management' })).toEqual({ ok: true, upstream })
  expect(resolve({ kind: 'Cluster', cluster: 'c' })).toMatchObject({
    ok: false,
    answer: { status: 404, refusal: 'noSuchApi' },
  })
})
