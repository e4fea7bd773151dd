// Objects written to etcd directly, so never validated against the schema, as a watch delivers them.
import { describe, expect, test } from 'vitest'
import type { DirectClusterEndpointToken } from '../../../../src/api/directclusterendpointtoken.gen.ts'
import type { OwnedAccessKey } from '../../../../src/api/ownedaccesskey.gen.ts'
import { secretDigest } from '../../../../src/authn/credential-index.ts'
import { plan as planToken } from '../../../../src/controllers/directclusterendpointtoken/plan.ts'
import { plan } from '../../../../src/controllers/ownedaccesskey/plan.ts'
import { accessKeyOf } from '../../../../src/domain/accesskey/access-key.ts'
import { tokenOf } from '../../../../src/domain/token/token.ts'
import { circumstances } from '../../../support/key-builder.ts'
import {
  ISSUER,
  UNDER_CI,
  claimsIn,
  issuedObject,
  token,
  tokenCircumstances,
  tokenObject,
} from '../../../support/token-builder.ts'
import { createTestAuthenticator, key, secretOf } from '../../authn/test-authenticator.ts'

const TYPES = {
  text: ['x', 'true', '7'],
  number: [7, 0, -1, 1.5],
  boolean: [true, false],
  list: [[], ['x'], [7], [null], [['x']]],
  map: [{}, { x: 1 }],
} as const

/** The effect on a key of a field of the wrong type, and the right types. */
const SPEC = {
  user: ['nobody', 'text'],
  team: ['nobody', 'text'],
  subject: ['nobody', 'text'],
  groups: ['nobody', 'list'],
  disabled: ['disabled', 'boolean'],
  ttl: ['disabled', 'number'],
  type: ['disabled', 'text'],
  ttlAfterLastActivity: ['disabled', 'boolean'],
  scope: ['grants nothing', 'map'],
  key: ['unknown', 'text'],
  displayName: ['ada', 'text'],
  description: ['ada', 'text'],
} as const

const values = (type: keyof typeof TYPES): readonly unknown[] => TYPES[type]

const wrongFor = (right: keyof typeof TYPES): readonly unknown[] =>
  (Object.keys(TYPES) as (keyof typeof TYPES)[]).flatMap((type) =>
    type === right ? [] : values(type),
  )

/** Values of the right type that the schema rejects nevertheless. */
const REFUSED: Readonly<Record<string, readonly unknown[]>> = {
  groups: [[7], [null], [['x']]],
  ttl: [-1, 1.5],
}

const rows = Object.entries(SPEC).flatMap(([field, [is, right]]) =>
  [...wrongFor(right), ...(REFUSED[field] ?? [])].map((value) => ({ field, value, is })),
)

/** Rows for a table, which would spread lists. */
const each = (all: readonly unknown[]) => all.map((value) => ({ value }))

const keyWith = (spec: object): OwnedAccessKey => key('a', spec)

/** A key as the gateway reads it. */
async function standingOf(object: OwnedAccessKey): Promise<string> {
  const { callers } = createTestAuthenticator(object)
  const found = await callers.authenticate(secretOf('a'))
  if (!found.ok) return found.because === 'noIdentity' ? 'nobody' : found.because
  if (found.caller.scope === null) return found.caller.identity.user
  return found.caller.scope.length === 0 ? 'grants nothing' : 'scoped'
}

describe('a key with a field of a wrong type has no identity, is disabled or grants nothing (10.3)', () => {
  test.each(rows)('$field: $value is $is', async ({ field, value, is }) => {
    const object = keyWith({ [field]: value })
    expect(await standingOf(object)).toBe(is)
    expect(() => plan(accessKeyOf(object, secretDigest), circumstances())).not.toThrow()
  })

  test.each(Object.keys(SPEC))('%s: null is absent', async (field) => {
    const { [field]: _, ...rest } = { ...keyWith({}).spec } as Readonly<Record<string, unknown>>
    const [absent, nulled] = [rest, { ...rest, [field]: null }].map((spec) =>
      accessKeyOf({ ...keyWith({}), spec }, secretDigest),
    )
    expect(nulled).toEqual(absent)
  })

  test.each(each([...wrongFor('map'), null]))(
    'a spec that is $value has no identity',
    ({ value: spec }) => {
      const view = accessKeyOf({ ...keyWith({}), spec } as OwnedAccessKey, secretDigest)
      expect(view).toMatchObject({ identity: null, digest: null })
    },
  )

  test.each(['roles', 'projects', 'spaces', 'virtualClusters', 'clusters', 'rules'])(
    'scope.%s of another type grants nothing (11.2)',
    async (list) => {
      for (const value of [...wrongFor('list'), null, [7], [null], ['*'], [['*']], [false]])
        expect(await standingOf(keyWith({ scope: { [list]: value } }))).toBe('grants nothing')
    },
  )
})

const KEY_STATUS = ['lastActivity', 'conditions', 'expirationTimestamp', 'observedGeneration']
const TOKEN_STATUS = [...KEY_STATUS, 'token', 'issuedTimestamp', 'keyID', 'owner']

const anything = [...Object.values(TYPES).flat(), null, ['2026-11-21T10:00:00Z']]

const APPLIED = {
  manager: 'management-operator',
  operation: 'Apply',
  subresource: 'status',
} as const

/** Owned by us as a whole, whatever it contains. */
const metadataWith = (field: string) => ({
  managedFields: [{ ...APPLIED, fieldsV1: { 'f:status': { [`f:${field}`]: {} } } }],
})

describe('a status with fields of wrong types is readable (10.3)', () => {
  test.each(KEY_STATUS)('%s of a key', (field) => {
    for (const value of anything) {
      const metadata = { ...keyWith({}).metadata, ...metadataWith(field) }
      const object = { ...keyWith({}), metadata, status: { [field]: value } }
      const view = accessKeyOf(object, secretDigest)
      expect(view.lastActivityMs).toBeNull()
      expect(() => plan(view, circumstances())).not.toThrow()
    }
  })

  test.each(TOKEN_STATUS)('%s of a token', (field) => {
    for (const value of anything) {
      const object = {
        ...tokenObject({ metadata: metadataWith(field) }),
        status: { [field]: value },
      }
      expect(() =>
        planToken(tokenOf(object as DirectClusterEndpointToken), tokenCircumstances()),
      ).not.toThrow()
    }
  })

  test.each(each([...wrongFor('map'), null]))('a status that is $value', ({ value: status }) => {
    const ofKey = { ...keyWith({}), status } as OwnedAccessKey
    expect(accessKeyOf(ofKey, secretDigest).published.conditions).toEqual([])
    const ofToken = { ...tokenObject(), status } as DirectClusterEndpointToken
    expect(tokenOf(ofToken).published.issued).toBeNull()
  })
})

describe('a token with a field of a wrong type grants nothing (10.3)', () => {
  const tokenWith = (spec: unknown) =>
    tokenOf({ ...tokenObject(), spec } as DirectClusterEndpointToken)

  test.each(each(wrongFor('map')))('a scope that is $value grants nothing', ({ value: scope }) => {
    expect(tokenWith({ scope }).scope).toEqual({})
  })

  test.each(each([...wrongFor('number'), -1, 1.5]))(
    'a ttl of $value counts as the shortest',
    ({ value: ttl }) => {
      expect(tokenWith({ ttl }).ttl).toBe(1)
    },
  )

  test.each(
    each([...wrongFor('list'), [7], [null], [{}], [{ cluster: 7 }], [{ cluster: 'a' }, 7]]),
  )(
    'clusters $value give no audience of a server that does not enforce scopes (7.1)',
    ({ value: clusters }) => {
      const object = issuedObject({ spec: { scope: { clusters } } as object })
      expect(claimsIn(object.status?.token ?? '').aud).toEqual([`${ISSUER}/scoped`])
    },
  )

  const [sound] = UNDER_CI.ownerReferences
  test.each(
    each([
      ...wrongFor('list'),
      [7],
      [null],
      [{}],
      ...['apiVersion', 'kind', 'name', 'uid', 'controller'].flatMap((field) =>
        [7, 'true', ['x'], {}]
          .filter((value) => typeof value !== 'string' || field === 'controller')
          .map((value) => [{ ...sound, [field]: value }]),
      ),
    ]),
  )('ownerReferences $value name a missing key (5.4)', ({ value: ownerReferences }) => {
    const view = token({ metadata: { ownerReferences } as object })
    expect(view.ownerRef?.uid).toBe('')
    expect(planToken(view, tokenCircumstances({ nowMs: view.creationMs + 600_000 }))).toMatchObject(
      { kind: 'publish', status: { conditions: [{ reason: 'OwnerNotReady' }] } },
    )
  })
})
