import { describe, expect, test } from 'vitest'
import { ACCESS_KEYS, TOKENS } from '../../../../src/api/names.ts'
import type { JsonMap } from '../../../../src/domain/json/json.ts'
import { defaulted, finished, isForSelf } from '../../../../src/gateway/selfservice/defaulting.ts'
import { callers, MADE_WITH_CI, newKey, owner, project } from './key-objects.ts'

const KEY = 'pak_generated'
const REVOKE = 'management.platform.sh/revoke'
const CREATED = 'management.platform.sh/created'
const of = (by: keyof typeof callers, sent: JsonMap) =>
  defaulted(ACCESS_KEYS, sent, callers[by], () => KEY)

describe('an object that a caller creates (12.1, 12.3)', () => {
  test.each([
    { spec: {}, own: true },
    { spec: { user: 'ada' }, own: true },
    { spec: { user: '', team: '', subject: '' }, own: true },
    { spec: { type: 'Other' }, own: true },
    { spec: { user: 'bob' }, own: false },
    { spec: { team: 'ops' }, own: false },
    { spec: { subject: 'ada' }, own: false },
    { spec: { user: 'ada', team: 'ops' }, own: false },
    { spec: { type: 'Login' }, own: false },
  ])('with the spec $spec is the caller’s own: $own', ({ spec, own }) => {
    expect(isForSelf(ACCESS_KEYS, { spec }, callers.person)).toBe(own)
    expect(isForSelf(ACCESS_KEYS, { spec }, callers.team)).toBe(false)
    expect(isForSelf(TOKENS, { spec }, callers.team)).toBe(true)
  })
})

describe('a key to be created (12.2, 12.3)', () => {
  const marks = { labels: MADE_WITH_CI, finalizers: [REVOKE] }

  test.each([
    { by: 'person', spec: { user: 'ada', key: KEY }, metadata: marks },
    {
      by: 'plain',
      spec: { user: 'ada', key: KEY, type: 'User' },
      metadata: { ...marks, ownerReferences: [owner('ci')] },
    },
    {
      by: 'scoped',
      spec: { user: 'ada', key: KEY, type: 'User', scope: project('shop') },
      metadata: { ...marks, ownerReferences: [owner('ci')] },
    },
    { by: 'team', spec: { key: KEY }, metadata: { finalizers: [REVOKE] } },
  ] as const)('gets the fields that it lacks when its caller is $by', ({ by, spec, metadata }) => {
    const { object, claimed } = of(by, {})
    expect(claimed).toEqual({ spec, metadata })
    expect(object).toEqual({
      apiVersion: 'management.platform.sh/v1',
      kind: 'OwnedAccessKey',
      metadata: { generateName: 'key-', ...metadata },
      spec,
    })
  })

  test('keeps what was sent, and the gateway owns only the other fields', () => {
    const sent = {
      metadata: { name: 'mine', labels: { mine: 'x' }, finalizers: ['a.b/c'], ownerReferences: [] },
      spec: { user: 'ada', key: 'given', scope: project('x'), type: 'User' },
      status: { lastActivity: 'x' },
    }
    const { object, claimed } = of('scoped', sent)
    expect(object['spec']).toEqual(sent.spec)
    expect(object).not.toHaveProperty('status')
    expect(object['metadata']).toEqual({
      name: 'mine',
      labels: { mine: 'x', ...MADE_WITH_CI },
      finalizers: ['a.b/c', REVOKE],
      ownerReferences: [owner('ci')],
    })
    expect(claimed).toEqual({
      metadata: { labels: MADE_WITH_CI, finalizers: [REVOKE], ownerReferences: [owner('ci')] },
    })
  })

  test.each([
    { name: 'texts that are empty', spec: { user: '', key: '', type: '' } },
    { name: 'nulls', spec: { user: null, key: null, type: null } },
  ])('gets defaults for $name', ({ spec }) => {
    expect(of('plain', { spec }).object['spec']).toMatchObject({
      user: 'ada',
      key: KEY,
      type: 'User',
    })
  })

  test('for another user gets no owner of the caller', () => {
    for (const spec of [{ user: 'bob' }, { team: 'ops' }, { subject: 'robot' }])
      expect(of('person', { spec }).object['spec']).toEqual({ ...spec, key: KEY })
  })

  test("with a digest is stored by the caller's rights, not the gateway's, and so has no label (12.1)", () => {
    const { object } = of('person', { spec: { key: `sha256:${'0'.repeat(64)}` } })
    expect(object['metadata']).toEqual({ generateName: 'key-', finalizers: [REVOKE] })
  })

  test('has the creation time of its dry run, and ends with the calling key (2.8, 12.3)', () => {
    const first = of('ending', {})
    const last = finished(ACCESS_KEYS, first, newKey(), callers.ending)
    expect(last.object).toMatchObject({
      metadata: { annotations: { [CREATED]: '2026-11-21T10:00:00Z' } },
      spec: { ttl: 3600 },
    })
    expect(last.claimed).toMatchObject({ spec: { ttl: 3600 } })
    const short = finished(
      ACCESS_KEYS,
      of('ending', { spec: { ttl: 5 } }),
      newKey(),
      callers.ending,
    )
    expect(short.object['spec']).toMatchObject({ ttl: 5 })
    expect(short.claimed['spec']).not.toHaveProperty('ttl')
    for (const by of ['person', 'plain'] as const)
      expect(
        finished(ACCESS_KEYS, of(by, {}), newKey(), callers[by]).object['spec'],
      ).not.toHaveProperty('ttl')
  })
})

test('a token to be created belongs to the calling key (12.2)', () => {
  const { object, claimed } = defaulted(TOKENS, { spec: { ttl: 5 } }, callers.person, () => KEY)
  expect(claimed).toEqual({ metadata: { ownerReferences: [owner('ci')] } })
  expect(object).toMatchObject({
    kind: 'DirectClusterEndpointToken',
    metadata: { generateName: 'token-' },
    spec: { ttl: 5 },
  })
})

test('the fields of a request never set a prototype (E7)', () => {
  const sent = JSON.parse(
    '{"metadata":{"__proto__":{"name":"x"}},"spec":{"__proto__":{"user":"bob"}}}',
  ) as JsonMap
  const { object } = of('person', sent)
  expect(object['spec']).toMatchObject({ user: 'ada' })
  expect(JSON.stringify(object)).toContain('"__proto__":{"user":"bob"}')
  expect(Object.keys(Object.prototype)).toEqual([])
  expect(({} as Record<string, unknown>)['user']).toBeUndefined()
})
