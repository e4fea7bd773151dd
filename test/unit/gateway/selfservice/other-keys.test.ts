// Creates of keys that are no self-service: where RBAC refuses, the answer names the field (contract 12.1).
import { describe, expect, test } from 'vitest'
import type { OwnedAccessKeySpec } from '../../../../src/api/ownedaccesskey.gen.ts'
import type { Json, JsonMap } from '../../../../src/domain/json/json.ts'
import { create } from '../../../../src/gateway/selfservice/create.ts'
import { update } from '../../../../src/gateway/selfservice/update.ts'
import type { Answer } from '../../../../src/serving/http/answer.ts'
import { systemClock } from '../../../../src/runtime/clock.ts'
import { key, project } from './key-objects.ts'
import { COUNTS, exchangeOf } from './self-service-request.ts'

const DEPS = {
  caps: () => ({ maxTtlSeconds: null, loginTtlSeconds: null }),
  newKey: () => 'x',
  clock: systemClock(),
  counts: COUNTS,
}

/** As kube-apiserver 1.36 words it. */
const refusalBy = (verb: string): string =>
  `ownedaccesskeys.management.platform.sh is forbidden: User "ada" cannot ${verb} resource "ownedaccesskeys" in API group "management.platform.sh" at the cluster scope`

const forbidden = (message: string): readonly [number, JsonMap] => [
  403,
  { kind: 'Status', reason: 'Forbidden', code: 403, message },
]

const messageOf = ({ status, body }: Answer): string =>
  `${status} ${(JSON.parse((body as Buffer).toString()) as { message: string }).message}`

const created = async (
  spec: JsonMap,
  by: OwnedAccessKeySpec,
  answer = forbidden(refusalBy('create')),
): Promise<string> => {
  const body = { type: 'application/json', json: { metadata: { name: 'x' }, spec } }
  const exchange = exchangeOf({ verb: 'create', name: '', body, answers: () => answer }, by)
  return messageOf(await create(exchange, DEPS))
}

const DIGEST = `sha256:${'0'.repeat(64)}`
const CASES: readonly (readonly [field: string, spec: JsonMap])[] = [
  ['spec.team', { team: 'ops' }],
  ['spec.subject', { subject: 'robot' }],
  ['spec.user', { user: 'bob' }],
  ['spec.type', { type: 'Login' }],
  ['spec.type', { type: 'Workspace' }],
  ['spec.key', { key: DIGEST }],
  ['spec.team', { team: 'ops', type: 'Login' }],
]

describe('a create that is no self-service and that RBAC refuses names the field (12.1)', () => {
  test.each(CASES)('%s, by a person: %j', async (field, spec) => {
    expect(await created(spec, { type: 'Login' })).toMatch(
      new RegExp(`^403 ${field}: you create `, 'u'),
    )
  })

  // A key that is not a person's never makes a key of type Login, whatever else the key says.
  test.each(CASES)('%s, by a key with a scope: %j', async (field, spec) => {
    const named = 'team' in spec && spec['type'] === 'Login' ? 'spec.type' : field
    const message = await created(spec, { type: 'User', scope: project('shop') })
    expect(message).toMatch(new RegExp(`^403 ${named}: `, 'u'))
  })

  test('an admission policy that refuses it keeps its own words', async () => {
    const message = "ownedaccesskeys is forbidden: ValidatingAdmissionPolicy 'p' denied request: no"
    expect(await created({ team: 'ops' }, { type: 'Login' }, forbidden(message))).toBe(
      `403 ${message}`,
    )
  })

  test("a team's key, which has no self-service of keys, gets the words of RBAC", async () => {
    const by = { user: '', team: 'ops', type: 'User' } as const
    expect(await created({ user: 'bob' }, by)).toBe(`403 ${refusalBy('create')}`)
  })
})

test('a digest that a person brings into an own key is refused with its field where RBAC opens no change (12.1)', async () => {
  const json: Json = { spec: { key: DIGEST } }
  const body = { type: 'application/merge-patch+json', json }
  const answers = ({ method }: { readonly method: string }): readonly [number, JsonMap] =>
    method === 'GET' ? [200, key()] : forbidden(refusalBy('patch'))
  const exchange = exchangeOf({ verb: 'patch', name: 'ci', body, answers }, { type: 'Login' })
  expect(messageOf(await update(exchange, DEPS))).toMatch(
    /^403 spec\.key: you cannot store a digest/u,
  )
})
