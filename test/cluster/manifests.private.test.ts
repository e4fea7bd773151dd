// Valid and invalid manifests on an API server without an operator: the CRD schemas alone validate them (contract 1.2,
// 1.3, 1.4).

import { describe, expect, test } from 'vitest'
import { API_VERSION } from '../../src/api/names.ts'
import type { KubeObject } from '../../src/api/objects.ts'
import { privateControlPlane } from '../support/control-plane.ts'
import { acceptedKeys, refusedKeys } from './manifests/access-key-cases.ts'
import {
  acceptedClaims,
  claimChanges,
  refusedClaimChanges,
  refusedClaims,
} from './manifests/claim-cases.ts'
import {
  KEY,
  SECRETS,
  besideSecrets,
  change,
  changed,
  collectionOf,
  create,
  newName,
  rejected,
  secretsIn,
  accepted,
  unchanged,
} from './manifests/case-runner.ts'
import {
  acceptedConfigs,
  acceptedTokens,
  keyChanges,
  refusedConfigs,
  refusedKeyChanges,
  refusedTokenChanges,
  refusedTokens,
  tokenChanges,
} from './manifests/object-cases.ts'
import {
  acceptedTeams,
  acceptedUsers,
  refusedTeamChanges,
  refusedTeams,
  refusedUserChanges,
  refusedUsers,
  teamChanges,
  userChanges,
} from './manifests/people-cases.ts'
import { acceptedScopes, refusedScopes } from './manifests/scope-cases.ts'

const KEYS = 'OwnedAccessKey'
const TOKENS = 'DirectClusterEndpointToken'
const CONFIGS = 'Config'
const CLAIMS = 'AccessKeyClaim'

const { raw } = await privateControlPlane()

describe('an access key', () => {
  test.each(acceptedKeys)('is accepted: $name', async (row) => {
    expect(await create(raw, KEYS, row.spec)).toEqual(accepted(row))
  })

  test.each(refusedKeys)('is rejected: $name', async (row) => {
    expect(await create(raw, KEYS, besideSecrets(row.spec))).toEqual(rejected(row))
  })

  test.each(keyChanges)('accepts the change: $name', async (row) => {
    expect(await change(raw, KEYS, row)).toEqual(changed(row.to))
  })

  test.each(refusedKeyChanges)('rejects the change: $name', async (row) => {
    expect(await change(raw, KEYS, row)).toEqual(unchanged(row))
  })
})

describe('a token', () => {
  test.each(acceptedTokens)('is accepted: $name', async (row) => {
    expect(await create(raw, TOKENS, row.spec)).toEqual(accepted(row))
  })

  test.each(refusedTokens)('is rejected: $name', async (row) => {
    expect(await create(raw, TOKENS, row.spec)).toEqual(rejected(row))
  })

  test.each(tokenChanges)('accepts the change: $name', async (row) => {
    expect(await change(raw, TOKENS, row)).toEqual(changed(row.to))
  })

  test.each(refusedTokenChanges)('rejects the change: $name', async (row) => {
    expect(await change(raw, TOKENS, row)).toEqual(unchanged(row))
  })
})

describe.each([
  { kind: KEYS, beside: SECRETS },
  { kind: TOKENS, beside: {} },
])('the scope of a $kind', ({ kind, beside }) => {
  test.each(acceptedScopes)('is accepted: $name', async ({ scope }) => {
    const spec = { ...beside, scope }
    expect(await create(raw, kind, spec)).toEqual(accepted({ spec }))
  })

  test.each(refusedScopes)('is rejected: $name', async ({ scope, field, says }) => {
    const path = field === '' ? 'spec.scope' : `spec.scope.${field}`
    expect(await create(raw, kind, { ...beside, scope })).toEqual(rejected({ field: path, says }))
  })
})

describe('a Config', () => {
  test.each(acceptedConfigs)('is accepted: $name', async (row) => {
    expect(await create(raw, CONFIGS, row.spec)).toEqual(accepted(row))
  })

  test.each(refusedConfigs)('is rejected: $name', async (row) => {
    expect(await create(raw, CONFIGS, row.spec)).toEqual(rejected(row))
  })
})

describe('a claim (28.1, 28.4)', () => {
  test.each(acceptedClaims)('is accepted: $name', async (row) => {
    expect(await create(raw, CLAIMS, row.spec)).toEqual(accepted(row))
  })

  test.each(refusedClaims)('is rejected: $name', async (row) => {
    expect(await create(raw, CLAIMS, row.spec)).toEqual(rejected(row))
  })

  test.each(claimChanges)('accepts the change: $name', async (row) => {
    expect(await change(raw, CLAIMS, row)).toEqual(changed(row.to))
  })

  test.each(refusedClaimChanges)('rejects the change: $name', async (row) => {
    expect(await change(raw, CLAIMS, row)).toEqual(unchanged(row))
  })

  test('has a name of at most 63 characters', async () => {
    const longest = newName().padEnd(63, 'n')
    expect((await create(raw, CLAIMS, {}, longest)).code).toBe(201)
    const refused = {
      field: '<nil>',
      says: /metadata.name is part of longer names; use at most 63 characters/,
    }
    expect(await create(raw, CLAIMS, {}, `${longest}n`)).toEqual(rejected(refused))
  })

  test.each(['key', 'token'])('takes a server-side apply that empties %s', async (field) => {
    const name = newName()
    expect((await apply(CLAIMS, name, { [field]: { ttl: 600 } }, 'tool')).code).toBe(201)
    const { code, body } = await apply(CLAIMS, name, { [field]: {} }, 'tool')
    expect({ code, spec: body.spec }).toEqual({ code: 200, spec: { [field]: {} } })
  })
})

describe.each([
  {
    kind: 'User',
    taken: acceptedUsers,
    refused: refusedUsers,
    changes: userChanges,
    refusedChanges: refusedUserChanges,
    named: 'username',
  },
  {
    kind: 'Team',
    taken: acceptedTeams,
    refused: refusedTeams,
    changes: teamChanges,
    refusedChanges: refusedTeamChanges,
    named: 'name',
  },
])('a $kind (24.1)', ({ kind, taken, refused, changes, refusedChanges, named }) => {
  test.each(taken)('is accepted: $name', async (row) => {
    expect(await create(raw, kind, row.spec)).toEqual(accepted(row))
  })

  test.each(refused)('is rejected: $name', async (row) => {
    expect(await create(raw, kind, row.spec)).toEqual(rejected(row))
  })

  test.each(changes)('accepts the change: $name', async (row) => {
    expect(await change(raw, kind, row)).toEqual(changed(row.to))
  })

  test.each(refusedChanges)('rejects the change: $name', async (row) => {
    expect(await change(raw, kind, row)).toEqual(unchanged(row))
  })

  test('can have its name written out, and left out again', async () => {
    const name = newName()
    await create(raw, kind, {}, name)
    const path = `${collectionOf(kind)}/${name}`
    for (const value of [name, null]) {
      const { code } = await raw('PATCH', path, { spec: { [named]: value } })
      expect(code).toBe(200)
    }
  })
})

/** A forced server-side apply. */
function apply(kind: string, name: string, spec: object, manager: string) {
  const path = `${collectionOf(kind)}/${name}?fieldManager=${manager}&force=true`
  const body = { apiVersion: API_VERSION, kind, metadata: { name }, spec }
  const contentType = 'application/apply-patch+yaml'
  return raw<KubeObject & { readonly message?: string }>('PATCH', path, body, { contentType })
}

describe('spec.key of an access key', () => {
  test('survives a server-side apply of another manager that omits it', async () => {
    const name = newName()
    await apply(KEYS, name, { user: 'jane' }, 'tool')
    await apply(KEYS, name, { key: KEY.secret }, 'generator')
    const { code, body } = await apply(KEYS, name, { user: 'joe' }, 'tool')
    expect({ code, spec: body.spec }).toEqual({ code: 200, spec: { user: 'joe', key: KEY.secret } })
  })

  test('rejects another value by a forced server-side apply', async () => {
    const name = newName()
    await apply(KEYS, name, { key: KEY.secret }, 'generator')
    const { code, body } = await apply(KEYS, name, { key: `${KEY.secret}x` }, 'tool')
    expect({ code, leaked: secretsIn(JSON.stringify(body)) }).toEqual({ code: 422, leaked: [] })
    expect(body.message).toMatch(/key is immutable once it is set/)
  })

  test('rejects its removal by an update', async () => {
    const name = newName()
    const { body: stored } = await apply(KEYS, name, { user: 'jane', key: KEY.secret }, 'tool')
    const path = `${collectionOf(KEYS)}/${name}`
    const update = { ...stored, spec: { user: 'jane' } }
    const { code, body } = await raw<{ readonly message: string }>('PUT', path, update)
    expect({ code, leaked: secretsIn(JSON.stringify(body)) }).toEqual({ code: 422, leaked: [] })
    expect(body.message).toMatch(/key is immutable once it is set/)
  })
})

test('the rejection of an object without a name shows no secret', async () => {
  const body = { apiVersion: API_VERSION, kind: KEYS, metadata: {}, spec: SECRETS }
  const answer = await raw<{ readonly message: string }>('POST', collectionOf(KEYS), body)
  expect(answer.code).toBe(422)
  expect(answer.body.message).toMatch(/name or generateName is required/)
  expect(secretsIn(JSON.stringify(answer.body))).toEqual([])
})

test('the search for secrets finds them in a stored object', async () => {
  const name = newName()
  await create(raw, KEYS, SECRETS, name)
  const { body } = await raw('GET', `${collectionOf(KEYS)}/${name}`)
  expect(secretsIn(JSON.stringify(body))).toEqual(expect.arrayContaining(['key', 'login']))
})
