// What the verb sign-in is worth, and who may say who people and teams are, in every way of writing (contract 5.5, 24.5).
// No operator runs.
import { describe, expect, test } from 'vitest'
import { ACCESS_KEYS, API_VERSION, type Resource, TEAMS, USERS } from '../../../src/api/names.ts'
import { pathOf } from '../../../src/kube/client/client.ts'
import { findCanaries, plantCanary } from '../../support/canary.ts'
import { privateControlPlane } from '../../support/control-plane.ts'
import { uniqueName } from '../../support/object-builder.ts'
import { PEOPLE_CALLERS, teamRows, userRows } from './people-cases.ts'
import { rbacUsers } from './rbac-users.ts'
import { SIGN_IN_CALLERS, markRows, refreshRows, typeRows } from './sign-in-cases.ts'
import { type Way, tableTester } from './write-methods.ts'

const plane = await privateControlPlane()
const kubeconfigOf = await rbacUsers(plane, { ...SIGN_IN_CALLERS, ...PEOPLE_CALLERS })
const eachWay = tableTester(plane, kubeconfigOf)
const ONE_WAY_EACH = { oneInQuick: true } as const
// kubectl apply reads the object first, which the signer may not.
const WITHOUT_READING = { ...ONE_WAY_EACH, isTested: (way: Way) => way !== 'kubectl apply' }

describe('the type of a key (5.5, 24.5)', () => {
  eachWay(ACCESS_KEYS, typeRows, WITHOUT_READING)
})

describe('annotation identity-gone (5.5, 24.5)', () => {
  eachWay(ACCESS_KEYS, markRows, WITHOUT_READING)
})

describe('the time of the last refresh of a Login key (5.5, 24.5, 25.7)', () => {
  eachWay(ACCESS_KEYS, refreshRows, WITHOUT_READING)
})

describe('a User (5.5, 24.5)', () => {
  eachWay(USERS, userRows, ONE_WAY_EACH)
})

describe('a Team (5.5, 24.5)', () => {
  eachWay(TEAMS, teamRows, ONE_WAY_EACH)
})

const KEY = plantCanary('of another')

/** The requests by which a holder of sign-in could learn or end a key, at its path. */
// biome-ignore format: a table
const ATTEMPTS = [
  { name: 'an empty merge patch', method: 'PATCH', body: {} },
  { name: 'an empty JSON patch', method: 'PATCH', body: [], contentType: 'application/json-patch+json' },
  { name: 'a JSON patch that tests a field', method: 'PATCH', body: [{ op: 'test', path: '/spec/user', value: 'bob' }], contentType: 'application/json-patch+json' },
  { name: 'an apply of nothing', method: 'PATCH', body: { apiVersion: API_VERSION, kind: ACCESS_KEYS.kind }, contentType: 'application/apply-patch+yaml', query: 'fieldManager=x' },
  { name: 'a forced apply', method: 'PATCH', body: { apiVersion: API_VERSION, kind: ACCESS_KEYS.kind, spec: { disabled: true } }, contentType: 'application/apply-patch+yaml', query: 'fieldManager=x&force=true' },
  { name: 'a patch of a label', method: 'PATCH', body: { metadata: { labels: { a: 'b' } } } },
  { name: 'a delete', method: 'DELETE', body: undefined },
  { name: 'a delete in the foreground', method: 'DELETE', body: { apiVersion: 'v1', kind: 'DeleteOptions', propagationPolicy: 'Foreground' } },
] as const

describe('a holder of the verb sign-in alone (5.5, 24.5, C5)', () => {
  const by = { kubeconfig: kubeconfigOf('signer') }
  const TABLE = 'application/json;as=Table;g=meta.k8s.io;v=v1'

  const attempts = ATTEMPTS.flatMap((attempt) =>
    ['', 'dryRun=All'].map((dryRun) => ({ ...attempt, dryRun, as: dryRun || 'in earnest' })),
  )

  test.each(attempts)('learns and ends no User key by $name, $as', async (attempt) => {
    const path = pathOf(ACCESS_KEYS, await made({ type: 'User', user: 'bob', key: KEY.secret }))
    const before = await plane.raw('GET', path)
    for (const accept of ['application/json', TABLE]) {
      const { code, body } = await send(path, attempt, { accept })
      expect({ code, leaked: leaksIn(body) }).toEqual({ code: 403, leaked: [] })
    }
    expect((await plane.raw('GET', path)).body).toEqual(before.body)
  })

  test.each(ATTEMPTS)('may send $name for a Login key', async (attempt) => {
    const path = pathOf(ACCESS_KEYS, await made({ type: 'Login', user: 'bob' }))
    expect((await send(path, { ...attempt, dryRun: '' }, {})).code).toBe(200)
  })

  test.each([
    { type: 'User', code: 403, leaks: false, left: 200 },
    { type: 'Login', code: 200, leaks: true, left: 404 },
  ])('gets $code to the delete of a selection of $type keys', async (row) => {
    const { type, code, leaks, left } = row
    const user = uniqueName('selected')
    const { name } = await made({ type, user, key: KEY.secret })
    const selected = `fieldSelector=${encodeURIComponent(`spec.user=${user}`)}`
    const path = `${pathOf(ACCESS_KEYS, {})}?${selected}`
    const answer = await plane.raw('DELETE', path, undefined, by)
    expect({ code: answer.code, leaks: leaksIn(answer.body).length > 0 }).toEqual({ code, leaks })
    expect((await plane.raw('GET', pathOf(ACCESS_KEYS, { name }))).code).toBe(left)
  })

  test('may not read a key, also not of those that it makes', async () => {
    const { name } = await made({ type: 'Login', user: 'bob' })
    for (const path of [pathOf(ACCESS_KEYS, { name }), pathOf(ACCESS_KEYS, {})])
      expect((await plane.raw('GET', path, undefined, by)).code).toBe(403)
  })

  // The API server reads a patched object before any policy sees it, and quotes what is wrong. No policy prevents it: when
  // this test fails, the docs may drop their advice to grant patch on keys to those only who may read them.
  test('reads a User key by a JSON patch that copies it, as every holder of patch', async () => {
    const path = pathOf(ACCESS_KEYS, await made({ type: 'User', user: 'bob', key: KEY.secret }))
    const copy = [{ op: 'copy', from: '/spec/key', path: '/spec/type' }]
    const contentType = 'application/json-patch+json'
    const { code, body } = await plane.raw('PATCH', path, copy, { ...by, contentType })
    expect({ code, leaks: leaksIn(body).length > 0 }).toEqual({ code: 422, leaks: true })
  })

  function send(
    path: string,
    attempt: {
      readonly method: 'PATCH' | 'DELETE'
      readonly body: unknown
      readonly contentType?: string
      readonly query?: string
      readonly dryRun: string
    },
    headers: Readonly<Record<string, string>>,
  ) {
    const { method, body, contentType, query = '', dryRun } = attempt
    const parameters = [query, dryRun].filter(Boolean).join('&')
    const options = { ...by, headers, ...(contentType !== undefined && { contentType }) }
    return plane.raw(method, `${path}?${parameters}`, body, options)
  }
})

describe('the name of a person or team that the API server makes (5.5, 24.5)', () => {
  const by = { kubeconfig: kubeconfigOf('peopleAdmin') }

  test.each([
    { resource: USERS, right: 'users/made-' },
    { resource: TEAMS, right: 'groups/platform:team:made-' },
  ])('is the name in force of a $resource.kind', async ({ resource, right }) => {
    const object = { ...envelope(resource), metadata: { generateName: 'made-' }, spec: {} }
    const { code, body } = await plane.raw<Status>('POST', pathOf(resource, {}), object, by)
    expect({ code, message: body.message }).toEqual({
      code: 403,
      message: expect.stringContaining(`needs the verb impersonate on ${right}`),
    })
  })
})

describe('people and teams (5.5, 24.5)', () => {
  test.each([USERS, TEAMS])('a $kind is deleted by whoever may delete it', async (resource) => {
    const object = { ...envelope(resource), metadata: { name: uniqueName('left') }, spec: {} }
    const { metadata } = await plane.admin.create(resource, object, 'test')
    const by = { kubeconfig: kubeconfigOf('peopleWriter') }
    expect((await plane.raw('DELETE', pathOf(resource, metadata), undefined, by)).code).toBe(200)
  })
})

interface Status {
  readonly message?: string
}

const envelope = ({ kind }: Resource) => ({ apiVersion: API_VERSION, kind })

const leaksIn = (body: unknown) => findCanaries({ body: JSON.stringify(body) }, [KEY])

async function made(spec: object) {
  const object = { ...envelope(ACCESS_KEYS), metadata: { name: uniqueName('session') }, spec }
  return (await plane.admin.create(ACCESS_KEYS, object, 'test')).metadata
}
