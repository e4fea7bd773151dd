// Good and bad manifests against a real API server on which no operator runs: the rules of the
// schemas hold without it (contract 1.2 to 1.4).

import { describe, expect, test } from 'vitest'
import type { KubeObject } from '../../src/api/meta.ts'
import { scan } from '../support/canary.ts'
import { privateControlPlane } from '../support/control-plane.ts'
import { acceptedKeys, refusedKeys } from './manifests/access-keys.ts'
import { keyChanges, tokenChanges } from './manifests/changes.ts'
import { acceptedConfigs, refusedConfigs } from './manifests/configs.ts'
import {
  type Accepted,
  type Change,
  KEY,
  LOGIN,
  NUMBER_KEY,
  type Refused,
  SECRETS,
  type SpecOf,
} from './manifests/manifest.ts'
import { acceptedScopes, refusedScopes } from './manifests/scopes.ts'
import { acceptedTokens, refusedTokens } from './manifests/tokens.ts'

/** What the API server answers instead of an object. */
interface Failure {
  readonly message: string
  readonly details?: {
    readonly causes?: readonly { readonly field: string; readonly message: string }[]
  }
}

const GROUP = '/apis/management.platform.sh/v1'

const { raw, kubectl } = await privateControlPlane()

let count = 0

/** A name that no other test uses. */
const newName = (): string => `manifest-${(count += 1)}`

/** Sends a new object as kubectl does, under strict validation. */
function create(kind: string, name: string, spec: SpecOf | undefined) {
  const text = typeof spec === 'string' ? spec : JSON.stringify(spec)
  const envelope = { apiVersion: 'management.platform.sh/v1', kind, metadata: { name } }
  const body = `${JSON.stringify(envelope).slice(0, -1)}${text === undefined ? '' : `,"spec":${text}`}}`
  return raw<KubeObject & Failure>('POST', `${collection(kind)}?fieldValidation=Strict`, body)
}

const collection = (kind: string): string => `${GROUP}/${kind.toLowerCase()}s`

const read = (kind: string, name: string) => raw<KubeObject>('GET', `${collection(kind)}/${name}`)

/** The secrets of which a part stands in what the API server said. */
const shown = (answer: unknown) =>
  scan({ answer: JSON.stringify(answer) }, [KEY, LOGIN, NUMBER_KEY])

async function expectAccepted(kind: string, { spec, stored = spec }: Omit<Accepted, 'name'>) {
  const name = newName()
  const { code, body } = await create(kind, name, spec)
  expect({ code, message: body.message }).toEqual({ code: 201, message: undefined })
  expect((await read(kind, name)).body.spec).toEqual(stored)
}

async function expectRefused(kind: string, row: Omit<Refused, 'name'>) {
  const name = newName()
  const { code, body } = await create(kind, name, row.spec)
  expect(code).toBe(row.code ?? 422)
  if (row.field === undefined) expect(body.message).toMatch(row.says)
  else expect(body.details?.causes).toContainEqual(causeOf(row.field, row.says))
  expect(shown(body)).toEqual([])
  expect((await read(kind, name)).code).toBe(404)
}

const causeOf = (field: string, says: RegExp) =>
  expect.objectContaining({ field, message: expect.stringMatching(says) })

async function expectChange(kind: string, { from, patch, to }: Change) {
  const name = newName()
  const before = await create(kind, name, from)
  expect(before.code).toBe(201)
  const contentType = `application/${Array.isArray(patch) ? 'json' : 'merge'}-patch+json`
  const path = `${collection(kind)}/${name}?fieldValidation=Strict`
  const { code, body } = await raw<KubeObject & Failure>('PATCH', path, patch, { contentType })
  const after = (await read(kind, name)).body
  if (!('says' in to)) {
    expect({ code, spec: after.spec }).toEqual({ code: 200, spec: to })
    return
  }
  expect({ code, message: body.message }).toEqual({
    code: 422,
    message: expect.stringMatching(to.says as RegExp),
  })
  expect(shown(body)).toEqual([])
  expect(after.metadata.resourceVersion).toBe(before.body.metadata.resourceVersion)
}

/** A bad spec beside good secrets, unless it is about the secrets or no object at all. */
const besideSecrets = (spec: SpecOf | undefined): SpecOf | undefined =>
  typeof spec === 'object' ? { ...SECRETS, ...spec } : spec

describe('an access key is taken with', () => {
  test.each(acceptedKeys)('$name', (row) => expectAccepted('OwnedAccessKey', row))
})

describe('an access key is refused for', () => {
  test.each(refusedKeys)('$name', (row) =>
    expectRefused('OwnedAccessKey', { ...row, spec: besideSecrets(row.spec) }),
  )
})

describe('a token is taken with', () => {
  test.each(acceptedTokens)('$name', (row) => expectAccepted('DirectClusterEndpointToken', row))
})

describe('a token is refused for', () => {
  test.each(refusedTokens)('$name', (row) => expectRefused('DirectClusterEndpointToken', row))
})

describe.each(['OwnedAccessKey', 'DirectClusterEndpointToken'])('the scope of %s', (kind) => {
  test.each(acceptedScopes)('may hold $name', ({ scope }) =>
    expectAccepted(kind, { spec: { scope } }),
  )

  test.each(refusedScopes)('must not hold $name', ({ scope, field, says }) => {
    const secrets = kind === 'OwnedAccessKey' ? SECRETS : {}
    const path = field ? `spec.scope.${field}` : 'spec.scope'
    return expectRefused(kind, { spec: { ...secrets, scope }, field: path, says })
  })
})

describe('a Config is taken with', () => {
  test.each(acceptedConfigs)('$name', (row) => expectAccepted('Config', row))
})

describe('a Config is refused for', () => {
  test.each(refusedConfigs)('$name', (row) => expectRefused('Config', row))
})

describe('a change of an access key to', () => {
  test.each(keyChanges)('$name', (row) => expectChange('OwnedAccessKey', row))
})

describe('a change of a token to', () => {
  test.each(tokenChanges)('$name', (row) => expectChange('DirectClusterEndpointToken', row))
})
