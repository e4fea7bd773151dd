// Good and bad manifests against a real API server on which no operator runs: the rules of the
// schemas hold without it (contract 1.2, 1.3, 1.4).

import { describe, expect, test } from 'vitest'
import { API_VERSION } from '../../src/api/names.ts'
import type { KubeObject } from '../../src/api/objects.ts'
import { privateControlPlane } from '../support/control-plane.ts'
import { acceptedKeys, refusedKeys } from './manifests/access-key-cases.ts'
import {
  change,
  changed,
  collectionOf,
  create,
  newName,
  refused,
  taken,
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
import { KEY, SECRETS, besideSecrets, secretsIn } from './manifests/planted-secrets.ts'
import { acceptedScopes, refusedScopes } from './manifests/scope-cases.ts'

const KEYS = 'OwnedAccessKey'
const TOKENS = 'DirectClusterEndpointToken'
const CONFIGS = 'Config'

const { raw } = await privateControlPlane()

describe('an access key', () => {
  test.each(acceptedKeys)('is taken with $name', async (row) => {
    expect(await create(raw, KEYS, row.spec)).toEqual(taken(row))
  })

  test.each(refusedKeys)('is refused for $name', async (row) => {
    expect(await create(raw, KEYS, besideSecrets(row.spec))).toEqual(refused(row))
  })

  test.each(keyChanges)('may change to $name', async (row) => {
    expect(await change(raw, KEYS, row)).toEqual(changed(row.to))
  })

  test.each(refusedKeyChanges)('must not change to $name', async (row) => {
    expect(await change(raw, KEYS, row)).toEqual(unchanged(row))
  })
})

describe('a token', () => {
  test.each(acceptedTokens)('is taken with $name', async (row) => {
    expect(await create(raw, TOKENS, row.spec)).toEqual(taken(row))
  })

  test.each(refusedTokens)('is refused for $name', async (row) => {
    expect(await create(raw, TOKENS, row.spec)).toEqual(refused(row))
  })

  test.each(tokenChanges)('may change to $name', async (row) => {
    expect(await change(raw, TOKENS, row)).toEqual(changed(row.to))
  })

  test.each(refusedTokenChanges)('must not change to $name', async (row) => {
    expect(await change(raw, TOKENS, row)).toEqual(unchanged(row))
  })
})

describe.each([
  { kind: KEYS, beside: SECRETS },
  { kind: TOKENS, beside: {} },
])('the scope of a $kind', ({ kind, beside }) => {
  test.each(acceptedScopes)('may hold $name', async ({ scope }) => {
    const spec = { ...beside, scope }
    expect(await create(raw, kind, spec)).toEqual(taken({ spec }))
  })

  test.each(refusedScopes)('must not hold $name', async ({ scope, field, says }) => {
    const path = field === '' ? 'spec.scope' : `spec.scope.${field}`
    expect(await create(raw, kind, { ...beside, scope })).toEqual(refused({ field: path, says }))
  })
})

describe('a Config', () => {
  test.each(acceptedConfigs)('is taken with $name', async (row) => {
    expect(await create(raw, CONFIGS, row.spec)).toEqual(taken(row))
  })

  test.each(refusedConfigs)('is refused for $name', async (row) => {
    expect(await create(raw, CONFIGS, row.spec)).toEqual(refused(row))
  })
})

/** Applies an access key as a tool does, forced. */
function apply(name: string, spec: object, manager: string) {
  const path = `${collectionOf(KEYS)}/${name}?fieldManager=${manager}&force=true`
  const body = { apiVersion: API_VERSION, kind: KEYS, metadata: { name }, spec }
  const contentType = 'application/apply-patch+yaml'
  return raw<KubeObject & { readonly message?: string }>('PATCH', path, body, { contentType })
}

describe('an access key with a key', () => {
  test('keeps it under server-side apply of a tool that does not mention it', async () => {
    const name = newName()
    await apply(name, { user: 'jane' }, 'tool')
    await apply(name, { key: KEY.secret }, 'generator')
    const { code, body } = await apply(name, { user: 'joe' }, 'tool')
    expect({ code, spec: body.spec }).toEqual({ code: 200, spec: { user: 'joe', key: KEY.secret } })
  })

  test('keeps it against a forced apply of another', async () => {
    const name = newName()
    await apply(name, { key: KEY.secret }, 'generator')
    const { code, body } = await apply(name, { key: `${KEY.secret}x` }, 'tool')
    expect({ code, leaked: secretsIn(JSON.stringify(body)) }).toEqual({ code: 422, leaked: [] })
    expect(body.message).toMatch(/key is immutable once it is set/)
  })

  test('keeps it against a full update without it', async () => {
    const name = newName()
    const { body: stored } = await apply(name, { user: 'jane', key: KEY.secret }, 'tool')
    const path = `${collectionOf(KEYS)}/${name}`
    const update = { ...stored, spec: { user: 'jane' } }
    const { code, body } = await raw<{ readonly message: string }>('PUT', path, update)
    expect({ code, leaked: secretsIn(JSON.stringify(body)) }).toEqual({ code: 422, leaked: [] })
    expect(body.message).toMatch(/key is immutable once it is set/)
  })
})

test('an object without a name is refused, and its secrets are not shown', async () => {
  const body = { apiVersion: API_VERSION, kind: KEYS, metadata: {}, spec: SECRETS }
  const answer = await raw<{ readonly message: string }>('POST', collectionOf(KEYS), body)
  expect(answer.code).toBe(422)
  expect(answer.body.message).toMatch(/name or generateName is required/)
  expect(secretsIn(JSON.stringify(answer.body))).toEqual([])
})

test('what is looked for in refusals is found where it stands', async () => {
  const name = newName()
  await create(raw, KEYS, SECRETS, name)
  const { body } = await raw('GET', `${collectionOf(KEYS)}/${name}`)
  expect(secretsIn(JSON.stringify(body))).toEqual(expect.arrayContaining(['key', 'login']))
})
