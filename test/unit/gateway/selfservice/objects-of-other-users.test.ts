// Names of other users' objects (contract 12.1): without RBAC rights they look like names that do
// not exist.
import { describe, expect, test } from 'vitest'
import { ACCESS_KEYS, TOKENS } from '../../../../src/api/names.ts'
import type { OwnedAccessKeySpec } from '../../../../src/api/ownedaccesskey.gen.ts'
import { nestedString } from '../../../../src/domain/json/field-path.ts'
import { type Json, type JsonMap, parseJsonMap } from '../../../../src/domain/json/json.ts'
import { deleteOne } from '../../../../src/gateway/selfservice/delete.ts'
import { get } from '../../../../src/gateway/selfservice/read.ts'
import type { SelfServiceRequest, Verb } from '../../../../src/gateway/selfservice/request.ts'
import { update } from '../../../../src/gateway/selfservice/update.ts'
import type { UpstreamCall } from '../../../../src/kube/proxy/types.ts'
import { DEPS } from './echoing-api-server.ts'
import { key, owner, project, token } from './key-objects.ts'
import { exchangeOf } from './self-service-request.ts'

const CALLERS = {
  person: { user: 'ada', type: 'Login' },
  plain: { user: 'ada', type: 'User' },
  scoped: { user: 'ada', type: 'User', scope: project('shop') },
  team: { user: '', team: 'ops' },
} as const satisfies Readonly<Record<string, OwnedAccessKeySpec>>
type By = keyof typeof CALLERS

const PART = { spaces: [{ project: 'shop', space: 'a' }] }
const KINDS = {
  key: {
    resource: ACCESS_KEYS,
    object: key({
      metadata: { name: 'theirs', uid: 'uid-theirs', resourceVersion: '5' },
      spec: { user: 'bob', scope: PART },
    }),
  },
  token: {
    resource: TOKENS,
    object: token({
      metadata: { name: 'theirs', resourceVersion: '5', ownerReferences: [owner('other')] },
      spec: { scope: PART },
    }),
  },
} as const
type Kind = keyof typeof KINDS

const refusedBy = (who: string): JsonMap => ({
  kind: 'Status',
  message: `"theirs" is forbidden: ${who}`,
  code: 403,
})

/** Verbs that RBAC grants on it; a policy refuses every write. */
function serving(kind: Kind, grants: readonly string[]) {
  return ({ method, path, impersonation, body }: UpstreamCall): readonly [number, JsonMap] => {
    if (path.includes('selfsubjectaccessreviews')) {
      const asked = nestedString(parseJsonMap((body as Buffer).toString()) ?? {}, [
        'spec',
        'resourceAttributes',
        'verb',
      ])
      return [201, { kind: 'SelfSubjectAccessReview', status: { allowed: grants.includes(asked) } }]
    }
    const verb = { GET: 'get', PUT: 'update', PATCH: 'patch', DELETE: 'delete' }[method] ?? ''
    if (impersonation !== null && !grants.includes(verb)) return [403, refusedBy('User')]
    if (!path.includes('/theirs')) return [404, { kind: 'Status', message: 'not there', code: 404 }]
    return method === 'GET' ? [200, KINDS[kind].object] : [403, refusedBy('a policy')]
  }
}

interface Act {
  readonly verb: Verb
  readonly isStatus?: boolean
  readonly type?: string
  readonly json?: Json
  readonly run: (
    exchange: SelfServiceRequest,
  ) => Promise<{ readonly status: number; body: unknown }>
}
const changing = (exchange: SelfServiceRequest) => update(exchange, DEPS)
const merge = {
  verb: 'patch',
  type: 'application/merge-patch+json',
  json: {},
  run: changing,
} as const
const put = {
  verb: 'update',
  type: 'application/json',
  json: { metadata: { resourceVersion: '5' } },
  run: changing,
} as const
const apply = { ...merge, type: 'application/apply-patch+yaml' } as const
const ACTS: Readonly<Record<string, Act>> = {
  get: { verb: 'get', run: get },
  'get of status': { verb: 'get', isStatus: true, run: get },
  PUT: put,
  'PUT of status': { ...put, isStatus: true },
  'merge patch': merge,
  'merge patch of status': { ...merge, isStatus: true },
  'apply of status': { ...apply, isStatus: true },
  'JSON patch': { ...merge, type: 'application/json-patch+json', json: [] },
  deletion: { verb: 'delete', run: deleteOne },
}

async function answered(
  act: Act,
  by: By,
  kind: Kind,
  name: string,
  grants: readonly string[] = [],
) {
  const { verb, isStatus = false, type, json, run } = act
  const answers = serving(kind, grants)
  const body = type === undefined ? {} : { body: { type, json: json ?? {} } }
  const { resource } = KINDS[kind]
  const exchange = exchangeOf({ verb, name, resource, isStatus, answers, ...body }, CALLERS[by])
  const answer = await run(exchange)
  return { ...answer, body: String(answer.body) }
}

const everyone = (Object.keys(CALLERS) as readonly By[]).flatMap((by) =>
  (Object.keys(KINDS) as readonly Kind[]).map((kind) => ({ by, kind })),
)

describe('the name of another user’s object (12.1)', () => {
  const rows = everyone.flatMap((one) => Object.keys(ACTS).map((act) => ({ ...one, act })))

  test.each(rows)(
    'is answered like a name that does not exist, for $kind: $act by $by',
    async (row) => {
      const { by, kind, act } = row
      const there = await answered(ACTS[act] as Act, by, kind, 'theirs')
      const nowhere = await answered(ACTS[act] as Act, by, kind, 'nobody')
      expect(there).toEqual({ ...nowhere, body: nowhere.body.replaceAll('nobody', 'theirs') })
      expect(there.status).toBe(404)
    },
  )

  test.each(everyone)(
    'is refused with AlreadyExists to an apply, for $kind: by $by',
    async (row) => {
      const { status, body } = await answered(apply, row.by, row.kind, 'theirs')
      expect({ status, reason: parseJsonMap(body)?.['reason'] }).toEqual({
        status: 409,
        reason: 'AlreadyExists',
      })
      expect(body).toContain('already exists')
    },
  )
})

describe('for a caller with RBAC rights on another user’s object (12.1)', () => {
  test.each([
    { act: 'get', grants: ['get'], by: 'plain', status: 200 },
    // The caller gets the refusal of a policy or of RBAC.
    { act: 'merge patch', grants: ['get'], by: 'plain', status: 403 },
    { act: 'merge patch', grants: ['patch'], by: 'plain', status: 403 },
    { act: 'merge patch', grants: ['delete'], by: 'plain', status: 404 },
    { act: 'PUT', grants: ['update'], by: 'plain', status: 403 },
    { act: 'deletion', grants: ['delete'], by: 'team', status: 403 },
    { act: 'deletion', grants: ['get'], by: 'team', status: 403 },
    { act: 'get of status', grants: [], by: 'person', status: 404 },
    // A scope narrows the caller's rights: with it the caller changes no keys of others.
    { act: 'merge patch', grants: ['get', 'patch'], by: 'scoped', status: 403 },
    { act: 'deletion', grants: ['get'], by: 'scoped', status: 403 },
  ] as const)('$act by $by, granted $grants: $status', async ({ act, grants, by, status }) => {
    const answer = await answered(ACTS[act] as Act, by, 'key', 'theirs', grants)
    expect(answer.status).toBe(status)
  })

  test('an apply that a policy refuses gets the refusal of the policy', async () => {
    const { status, body } = await answered(apply, 'plain', 'key', 'theirs', ['patch'])
    expect({ status, isTold: body.includes('a policy') }).toEqual({ status: 403, isTold: true })
  })
})
