// The upstream of a target (contract 9.1, 9.5).
import { describe, expect, test } from 'vitest'
import type { RequestTarget } from '../../../../src/domain/scope/request-info.ts'
import {
  type ConnectedTarget,
  type TargetState,
  createTargetRegistry,
} from '../../../../src/gateway/targets/resolver.ts'
import { NO_UPSTREAM, managementOf } from '../handler-builder.ts'

const MANAGEMENT: RequestTarget = { kind: 'Management' }
const EAST: ConnectedTarget = { kind: 'Cluster', cluster: 'east' }
const VC: ConnectedTarget = { kind: 'ProjectVirtualCluster', project: 'p', virtualCluster: 'v' }
const SPACE: ConnectedTarget = { kind: 'ProjectSpace', project: 'p', space: 's' }

describe('a target', () => {
  const connection = { upstream: { ...NO_UPSTREAM } }
  const registry = (state: TargetState | null, isFresh = true) =>
    createTargetRegistry(managementOf(NO_UPSTREAM), { find: () => state, isFresh: () => isFresh })

  test.each([null, 'x'])('resolves with the namespace %s of its space (9.5)', (namespace) => {
    const { resolve } = registry({ kind: 'usable', connection, namespace })
    expect(resolve(SPACE)).toEqual({
      ok: true,
      upstream: connection.upstream,
      connection,
      namespace,
    })
  })

  test('of the management cluster needs no Secret (9.5)', () => {
    expect(registry(null, false).resolve(MANAGEMENT)).toEqual({
      ok: true,
      upstream: NO_UPSTREAM,
      connection: null,
      namespace: null,
    })
  })

  test.each<{
    readonly name: string
    readonly target: RequestTarget
    readonly state: TargetState | null
    readonly isFresh?: false
    readonly answer: object
    readonly message: string
  }>([
    {
      name: 'unknown',
      target: VC,
      state: null,
      answer: { status: 404, refusal: 'targetUnknown' },
      message: 'virtual cluster "p/v" is unknown here',
    },
    {
      name: 'with a fault',
      target: EAST,
      state: { kind: 'unusable', because: 'two Secrets define it' },
      answer: { status: 503, refusal: 'targetUnusable' },
      message: 'cluster "east" cannot be used: two Secrets define it',
    },
    {
      name: 'usable, but by Secrets that were read too long ago',
      target: EAST,
      state: { kind: 'usable', connection, namespace: null },
      isFresh: false,
      answer: { status: 503, refusal: 'targetsStale' },
      message: 'the targets are not known here now, try again',
    },
  ])('$name is refused (9.5, 10.4)', ({ target, state, isFresh, answer, message }) => {
    const resolved = registry(state, isFresh ?? true).resolve(target)
    expect(resolved).toMatchObject({ ok: false, answer, isUnknown: state === null })
    expect(resolved.ok ? '' : resolved.answer.body.toString()).toContain(
      JSON.stringify(message).slice(1, -1),
    )
  })
})

describe('a target at a direct endpoint', () => {
  const find = () => null
  const known = (isFresh: boolean) =>
    createTargetRegistry({ target: EAST, upstream: NO_UPSTREAM }, { find, isFresh: () => isFresh })

  test('of its own cluster needs no Secret (9.2)', () => {
    expect(known(false).resolve({ kind: 'Cluster', cluster: 'east' })).toEqual({
      ok: true,
      upstream: NO_UPSTREAM,
      connection: null,
      namespace: null,
    })
  })

  test.each([
    { target: { kind: 'Cluster', cluster: 'west' } as const, isFresh: true, status: 404 },
    { target: { kind: 'Cluster', cluster: 'west' } as const, isFresh: false, status: 503 },
    { target: SPACE, isFresh: true, status: 404 },
    { target: VC, isFresh: false, status: 503 },
  ])('$target is none that it serves without a Secret: $status (9.2, 10.4)', (row) => {
    expect(known(row.isFresh).resolve(row.target)).toMatchObject({
      ok: false,
      answer: { status: row.status },
    })
  })

  test('of the management cluster is a fault of the program (9.2)', () => {
    expect(() => known(true).resolve(MANAGEMENT)).toThrow('no route of a direct endpoint leads')
  })
})
