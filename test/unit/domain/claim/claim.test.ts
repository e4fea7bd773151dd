import { describe, expect, test } from 'vitest'
import type { AccessKeyClaimSpec } from '../../../../src/api/accesskeyclaim.gen.ts'
import { ROTATE_ANNOTATION } from '../../../../src/api/names.ts'
import { type Claim, claimOf, identityOf } from '../../../../src/domain/claim/claim.ts'
import { type Parts, claimObject } from '../../../support/object-builder.ts'

const parsed = (parts: Parts<ReturnType<typeof claimObject>>): Claim => claimOf(claimObject(parts))
const claimWith = (spec: AccessKeyClaimSpec): Claim => parsed({ spec })
/** A spec or status that an API server with another schema stored. */
const odd = (fields: unknown): never => fields as never

const BARE: Claim = {
  name: 'deploy',
  namespace: 'shop',
  uid: 'uid-deploy',
  resourceVersion: '1',
  generation: 1,
  creationMs: Date.UTC(2026, 10, 21, 10),
  isDeleting: false,
  finalizers: [],
  key: {
    user: '',
    team: '',
    subject: 'claim:shop:deploy',
    groups: [],
    displayName: '',
    description: '',
    ttlSeconds: 2_592_000,
    scope: null,
  },
  token: null,
  rotateAfterSeconds: null,
  overlapSeconds: null,
  isSuspended: false,
  secret: {
    name: 'deploy',
    type: 'Opaque',
    labels: {},
    annotations: {},
    data: { key: '$(KEY)' },
    target: 'management',
  },
  rotateRequest: null,
  published: { conditions: [] },
}

describe('a claim (28.1)', () => {
  test('with an empty spec asks for a key of its own for 30 days, in a Secret of its name', () => {
    expect(claimWith({})).toEqual(BARE)
  })

  test('without spec and status is the same', () => {
    const { spec: _, ...bare } = claimObject()
    expect(claimOf(bare)).toEqual(BARE)
  })

  test('with the zero values that generated clients send is the same (1.2)', () => {
    const scope = null as never
    const zero: AccessKeyClaimSpec = {
      key: { user: '', team: '', subject: '', displayName: '', description: '', ttl: 0, scope },
      suspend: false,
      secret: { name: '', type: '', target: '', labels: {}, annotations: {} },
    }
    expect(claimWith({ ...zero, key: { ...zero.key, groups: [] } })).toEqual(BARE)
  })

  test('can set every field', () => {
    const scope = { roles: [{ role: 'viewer' as const }] }
    const key = { displayName: 'CI', description: 'Builds.', groups: ['dev'], ttl: 600, scope }
    const secret = {
      name: 'npm',
      type: 'kubernetes.io/basic-auth' as const,
      labels: { app: 'ci' },
      annotations: { 'example.com/owner': 'core' },
      data: { password: '$(TOKEN)' },
      target: 'project/web/space/blue',
    }
    expect(
      claimWith({
        key: { ...key, team: 'core' },
        token: { ttl: 120, scope },
        rotateAfter: 300,
        overlap: 0,
        suspend: true,
        secret,
      }),
    ).toEqual({
      ...BARE,
      key: {
        ...BARE.key,
        displayName: 'CI',
        description: 'Builds.',
        groups: ['dev'],
        ttlSeconds: 600,
        scope,
        team: 'core',
        subject: '',
      },
      token: { ttlSeconds: 120, scope },
      rotateAfterSeconds: 300,
      overlapSeconds: 0,
      isSuspended: true,
      secret,
    })
  })

  test('with a token delivers the token, of a day', () => {
    const { token, secret } = claimWith({ token: {} })
    expect({ token, data: secret.data }).toEqual({
      token: { ttlSeconds: 86_400, scope: null },
      data: { token: '$(TOKEN)' },
    })
  })

  test('that is being deleted, with what holds it', () => {
    const metadata = { deletionTimestamp: '2026-11-21T11:00:00Z', finalizers: ['example.com/hold'] }
    expect(parsed({ metadata })).toEqual({
      ...BARE,
      isDeleting: true,
      finalizers: ['example.com/hold'],
    })
  })

  test.each([
    { spec: {}, identity: 'subject:claim:shop:deploy' },
    { spec: { user: 'ada' }, identity: 'user:ada' },
    { spec: { team: 'core' }, identity: 'team:core' },
    { spec: { subject: 'ci/build' }, identity: 'subject:ci/build' },
    { spec: { groups: ['dev'] }, identity: 'subject:claim:shop:deploy' },
  ])('acts as $identity (28.2)', ({ spec, identity }) => {
    expect(identityOf(claimWith({ key: spec }).key)).toBe(identity)
  })
})

describe('the annotation that asks for a rotation (28.5)', () => {
  test.each([
    { name: 'is absent', annotations: {}, request: null },
    { name: 'is empty', annotations: { [ROTATE_ANNOTATION]: '' }, request: null },
    { name: 'has a text', annotations: { [ROTATE_ANNOTATION]: 'now' }, request: 'now' },
    {
      name: 'has more characters than status has room for, of which one takes four bytes',
      annotations: { [ROTATE_ANNOTATION]: `🔑${'x'.repeat(300)}` },
      request: `🔑${'x'.repeat(255)}`,
    },
    { name: 'is a number', annotations: odd({ [ROTATE_ANNOTATION]: 7 }), request: null },
    { name: 'is among null', annotations: odd(null), request: null },
  ])('$name', ({ annotations, request }) => {
    expect(parsed({ metadata: { annotations } }).rotateRequest).toBe(request)
  })
})

describe('a spec that the schema refuses is suspended and widens nothing (10.3)', () => {
  // biome-ignore format: a table
  const rows: readonly { readonly name: string; readonly spec: unknown; readonly differs?: object }[] = [
    { name: 'a list as spec', spec: [] },
    { name: 'a key as text', spec: { key: 'x' } },
    { name: 'a number as user', spec: { key: { user: 7 } } },
    { name: 'a user and a team', spec: { key: { user: 'ada', team: 'core' } } },
    { name: 'a user and a list as subject', spec: { key: { user: 'ada', subject: [] } } },
    { name: 'groups as text', spec: { key: { groups: 'system:masters' } } },
    { name: 'a group that is none', spec: { key: { groups: ['dev', 7] } } },
    { name: 'a negative ttl', spec: { key: { ttl: -1 } }, differs: { key: { ...BARE.key, ttlSeconds: 600 } } },
    { name: 'a ttl as text', spec: { key: { ttl: '30d' } }, differs: { key: { ...BARE.key, ttlSeconds: 600 } } },
    { name: 'a scope as text', spec: { key: { scope: '*' } }, differs: { key: { ...BARE.key, scope: {} } } },
    { name: 'a token as text', spec: { token: 'x' }, differs: { token: { ttlSeconds: 86_400, scope: {} }, secret: { ...BARE.secret, data: { token: '$(TOKEN)' } } } },
    { name: 'a token ttl as text', spec: { token: { ttl: '1h' } }, differs: { token: { ttlSeconds: 120, scope: null }, secret: { ...BARE.secret, data: { token: '$(TOKEN)' } } } },
    { name: 'a token scope as list', spec: { token: { scope: [] } }, differs: { token: { ttlSeconds: 86_400, scope: {} }, secret: { ...BARE.secret, data: { token: '$(TOKEN)' } } } },
    { name: 'a rotateAfter of a second', spec: { rotateAfter: 1 } },
    { name: 'a rotateAfter of 0', spec: { rotateAfter: 0 } },
    { name: 'a rotateAfter as text', spec: { rotateAfter: '1h' } },
    { name: 'a negative overlap', spec: { overlap: -1 }, differs: { overlapSeconds: 0 } },
    { name: 'a suspend as text', spec: { suspend: 'false' } },
    { name: 'an exchange', spec: { exchange: {} } },
    { name: 'a secret as list', spec: { secret: [] } },
    { name: 'another type of Secret', spec: { secret: { type: 'kubernetes.io/service-account-token' } } },
    { name: 'a type as number', spec: { secret: { type: 7 } } },
    { name: 'a name with a slash', spec: { secret: { name: '../x' } } },
    { name: 'a target with a query', spec: { secret: { target: 'cluster/blue?x' } } },
    { name: 'a target that leaves the path', spec: { secret: { target: 'cluster/../x' } } },
    { name: 'a label that is a number', spec: { secret: { labels: { app: 7 } } } },
    { name: 'an annotation that is a number', spec: { secret: { annotations: { app: null } } } },
    { name: 'data as text', spec: { secret: { data: 'x' } }, differs: { secret: { ...BARE.secret, data: {} } } },
    { name: 'an entry that is a number', spec: { secret: { data: { a: '$(KEY)', b: 7 } } }, differs: { secret: { ...BARE.secret, data: { a: '$(KEY)' } } } },
  ]
  test.each(rows)('$name', ({ spec, differs = {} }) => {
    expect(parsed({ spec: odd(spec) })).toEqual({ ...BARE, isSuspended: true, ...differs })
  })

  test('labels and annotations that only others set are left out (28.4, K3)', () => {
    const ours = 'management.platform.sh'
    const { secret } = claimWith({
      secret: {
        labels: {
          app: 'ci',
          [`${ours}/target`]: 'Cluster',
          [`${ours}/secret-store`]: 'Push',
          'example.kubernetes.io/x': 'y',
        },
        annotations: {
          note: 'x',
          [`${ours}/secret-store-path`]: 'a',
          [`${ours}/secret-store-version`]: '2',
          [`${ours}/secret-store`]: 'Push',
          'kubernetes.io/service-account.name': 'default',
          'x.k8s.io/y': 'z',
        },
      },
    })
    expect(secret).toMatchObject({
      labels: { app: 'ci', [`${ours}/secret-store`]: 'Push' },
      annotations: {
        note: 'x',
        [`${ours}/secret-store-path`]: 'a',
        [`${ours}/secret-store-version`]: '2',
      },
    })
    expect(Object.keys(secret.labels)).toHaveLength(2)
    expect(Object.keys(secret.annotations)).toHaveLength(3)
  })

  test('an entry may be called like what every object inherits', () => {
    const data = odd(JSON.parse('{"__proto__": "$(KEY)", "constructor": "x"}'))
    const { secret } = claimWith({ secret: { data } })
    expect(Object.entries(secret.data)).toEqual([
      ['__proto__', '$(KEY)'],
      ['constructor', 'x'],
    ])
  })
})

describe('a published status (28.7)', () => {
  const READY = {
    type: 'Ready',
    status: 'True' as const,
    reason: 'Delivered',
    message: 'The Secret has a key that works.',
    lastTransitionTime: '2026-11-21T10:00:00Z',
    observedGeneration: 1,
  }
  test('is kept', () => {
    const status = {
      key: { name: 'a', keyID: '0', expirationTimestamp: '2026-12-21T10:00:00Z' },
      previous: { name: 'b' },
      token: { name: 'c' },
      identity: 'user:ada',
      lastRotate: 'now',
      observedGeneration: 1,
      conditions: [READY],
    }
    expect(parsed({ status }).published).toEqual(status)
  })

  test.each([
    { name: 'a text as status', status: 'x', published: {} },
    { name: 'a key as text', status: { key: 'x' }, published: {} },
    { name: 'a name as number', status: { key: { name: 7 } }, published: { key: {} } },
    { name: 'a generation as text', status: { observedGeneration: '1' }, published: {} },
    { name: 'a time as number', status: { nextRotation: 7 }, published: {} },
    { name: 'conditions as map', status: { conditions: READY }, published: {} },
    {
      name: 'a condition without a type',
      status: { conditions: [{ ...READY, type: undefined }, null, READY] },
      published: { conditions: [READY] },
    },
  ])('is kept but for $name', ({ status, published }) => {
    expect(parsed({ status: odd(status) }).published).toEqual({ conditions: [], ...published })
  })
})
