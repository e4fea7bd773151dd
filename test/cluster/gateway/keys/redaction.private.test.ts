// No answer of the gateway shows a hidden field (contract 12.4, threats C8): every form of request by the owner of the
// object, by a cluster admin, and by a user without rights to it.
import { beforeAll, describe, expect, test } from 'vitest'
import { API_VERSION } from '../../../../src/api/names.ts'
import { findCanaries } from '../../../support/canary.ts'
import { privateControlPlane } from '../../../support/control-plane.ts'
import { eventually } from '../../../support/eventually.ts'
import { LAST_APPLIED } from '../../../support/installed-control-plane.ts'
import { uniqueName } from '../../../support/object-builder.ts'
import { bindRole } from '../../policies/rbac-users.ts'
import { SOON, startTestGateway } from '../test-gateway.ts'
import {
  LAST_APPLIED_VALUE,
  type RedactionCase,
  KEY,
  NAME,
  SECRET_SPEC,
  SETTINGS,
  TOKEN_REQUESTS,
  CONFIG_WRITES,
  WRITES,
  readsOf,
  revealsObject,
  secrets,
  moveConfigEntries,
} from './redaction-requests.ts'
import {
  type ParsedAnswer,
  type KeyCaller,
  type ResponseObject,
  JSON_PATCH,
  GROUP_PATH,
  createCaller,
  watchUntil,
} from './self-service-gateway.ts'

const setup = await startTestGateway(await privateControlPlane())
const { plane, operator } = setup

/** The JWT of the token; known once it is issued. */
const issued = { label: 'token', secret: '' }
const canaries = () => [...Object.values(secrets), issued]

const pathOf = (plural: string, name = ''): string =>
  `${GROUP_PATH}/${plural}${name === '' ? '' : `/${name}`}`

type CallerName = 'owner' | 'admin' | 'other'
let callers: Readonly<Record<CallerName, KeyCaller>>

beforeAll(async () => {
  await bindRole(plane, 'root-user', 'cluster-admin')
  callers = {
    owner: await createCaller(setup, { user: 'ada', type: 'Login' }),
    admin: await createCaller(setup, { user: 'root-user', type: 'Login' }),
    other: await createCaller(setup, { user: 'bob', type: 'Login' }),
  }
  const { uid } = await createKeyWithSecrets(NAME)
  const owner = {
    apiVersion: API_VERSION,
    kind: 'OwnedAccessKey',
    name: NAME,
    uid,
    controller: true,
  }
  await asAdmin('POST', pathOf('directclusterendpointtokens'), {
    apiVersion: API_VERSION,
    kind: 'DirectClusterEndpointToken',
    metadata: { name: NAME, ownerReferences: [owner] },
    spec: {},
  })
  const token = async () => {
    const path = pathOf('directclusterendpointtokens', NAME)
    return (await asAdmin('GET', path)).status.token
  }
  // The end is the signature; the claims before it are in the status as well.
  issued.secret = (await eventually('the token is issued', token, SOON)).slice(-64)
  await asAdmin('PATCH', pathOf('configs', SETTINGS), {
    spec: { auth: { oidc: { clientSecret: secrets.clientSecret.secret } } },
  })
})

/** A request as an administrator, past the gateway. @throws Error when the API server refuses it */
async function asAdmin(
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE',
  path: string,
  body?: object,
): Promise<ResponseObject> {
  const answer = await plane.raw<ResponseObject>(method, path, body)
  if (answer.code >= 300) throw new Error(`${method} ${path}: ${answer.code}`)
  return answer.body
}

/** A key of ada with every hidden field; a second one needs another secret. */
async function createKeyWithSecrets(
  name: string,
  key = secrets.key.secret,
): Promise<ResponseObject['metadata']> {
  const { metadata } = await asAdmin('POST', pathOf('ownedaccesskeys'), {
    apiVersion: API_VERSION,
    kind: 'OwnedAccessKey',
    metadata: { name, labels: { name }, annotations: { [LAST_APPLIED]: LAST_APPLIED_VALUE } },
    spec: { ...SECRET_SPEC, key },
  })
  return metadata
}

/** Neither body nor headers of the answer contain a secret. */
function expectNoSecret({ text, headers }: ParsedAnswer): void {
  expect(findCanaries({ answer: `${text}\n${JSON.stringify(headers)}` }, canaries())).toEqual([])
}

/** The answer to a caller; a watch is repeated until it delivers the object. */
function answerTo(by: CallerName, request: RedactionCase, about = NAME): Promise<ParsedAnswer> {
  const ask = (): Promise<ParsedAnswer> =>
    callers[by].ask(request.method ?? 'GET', request.path, request)
  return request.path.includes('watch=') ? watchUntil(ask, (text) => text.includes(about)) : ask()
}

/** Code and leaks of an answer, and whether it has the object at all. */
async function outcomeFor(by: CallerName, request: RedactionCase): Promise<object> {
  const { code, text } = await answerTo(by, request)
  return { code, leaks: findCanaries({ text }, canaries()), isAboutIt: text.includes(NAME) }
}

describe('a key (12.4, C8)', () => {
  const reads = readsOf('ownedaccesskeys')
  const cases = [...reads, ...WRITES]

  // Concurrently, as a watch takes a second.
  test.concurrent.each(reads)(
    '$name shows no secret to the owner and to a cluster admin',
    async (request) => {
      const outcomes = await Promise.all(
        (['owner', 'admin'] as const).map((by) => outcomeFor(by, request)),
      )
      for (const outcome of outcomes)
        expect(outcome).toEqual({ code: 200, leaks: [], isAboutIt: true })
    },
  )

  test.each(WRITES)(
    '$name shows no secret to the owner and to a cluster admin',
    async (request) => {
      const { code = 200 } = request
      for (const by of ['owner', 'admin'] as const)
        expect(await outcomeFor(by, request)).toMatchObject({ code, leaks: [] })
    },
  )

  test.concurrent.each(cases.filter(({ method = 'GET' }) => method !== 'POST'))(
    '$name does not reveal the object to another user',
    async (request) => {
      const answer = await callers.other.ask(request.method ?? 'GET', request.path, request)
      expectNoSecret(answer)
      expect(revealsObject(request, answer)).toBe(false)
    },
  )

  test('keeps its hidden fields after a PUT of the answer to a GET', async () => {
    for (const by of ['owner', 'admin'] as const) {
      // A PUT needs the current resourceVersion, and the operator writes observedGeneration.
      await setup.keys.until(
        NAME,
        'is observed by the operator',
        ({ metadata, status }) => status.observedGeneration === metadata.generation,
      )
      const { json } = await callers[by].ask('GET', KEY)
      const put = await callers[by].ask('PUT', KEY, {
        body: { ...json, spec: { ...json.spec, displayName: by } },
      })
      expectNoSecret(put)
      expect(put.json.spec).toMatchObject({ displayName: by })
    }
    expect((await asAdmin('GET', pathOf('ownedaccesskeys', NAME))).spec).toMatchObject(SECRET_SPEC)
  })

  test('keeps its hidden fields after a JSON patch that replaces its spec', async () => {
    const { json } = await callers.owner.ask('GET', KEY)
    const body = [{ op: 'replace', path: '/spec', value: { ...json.spec, displayName: 'part' } }]
    const answer = await callers.owner.ask('PATCH', KEY, { type: JSON_PATCH, body })
    expectNoSecret(answer)
    expect(answer.json.spec).toMatchObject({ displayName: 'part' })
    expect((await asAdmin('GET', pathOf('ownedaccesskeys', NAME))).spec).toMatchObject(SECRET_SPEC)
  })

  test('still has all hidden fields after the requests above', async () => {
    expect((await asAdmin('GET', pathOf('ownedaccesskeys', NAME))).spec).toMatchObject(SECRET_SPEC)
  })

  test.each(['owner', 'admin'] as const)(
    'is deleted by %s, by name and by deletecollection, without a secret in the answers',
    async (by) => {
      const [one, two] = ['one', 'two'].map((name) => `${by}-${name}`) as [string, string]
      await createKeyWithSecrets(one, `${by}-1-${'x'.repeat(32)}`)
      await createKeyWithSecrets(two, `${by}-2-${'x'.repeat(32)}`)
      const alone = await callers[by].ask('DELETE', `ownedaccesskeys/${one}`)
      const all = await callers[by].ask('DELETE', `ownedaccesskeys?labelSelector=name%3D${two}`)
      for (const answer of [alone, all]) {
        expectNoSecret(answer)
        expect(answer.text).not.toContain(`${by}-1-x`)
        expect(answer.text).not.toContain(`${by}-2-x`)
        expect(answer.code).toBe(200)
      }
      for (const name of [one, two]) await setup.keys.gone(name)
    },
  )

  test('shows its generated secret in the answer to the create only', async () => {
    const name = uniqueName('shown')
    const made = await callers.owner.ask('POST', 'ownedaccesskeys', {
      body: { metadata: { name } },
    })
    expect(made.code).toBe(201)
    const key = made.json.spec.key ?? ''
    expect(key).toMatch(/^pak_[0-9A-Za-z]{43}_[0-9A-Za-z]{6}$/)
    for (const by of ['owner', 'admin'] as const)
      expect((await callers[by].ask('GET', `ownedaccesskeys/${name}`)).text).not.toContain(key)
  })
})

describe('a token (12.4)', () => {
  test.concurrent.each(TOKEN_REQUESTS)(
    '$name does not show the JWT to a cluster admin',
    async (request) => {
      const answer = await answerTo('admin', request)
      expectNoSecret(answer)
      expect(answer.code).toBe(200)
      expect(answer.text).toContain(NAME)
    },
  )

  const isWatch = ({ path }: RedactionCase): boolean => path.includes('watch=')

  // One after the other: a key may have one filtered list in progress (13.3).
  test.each(TOKEN_REQUESTS.filter((request) => !isWatch(request)))(
    '$name does not reveal the object to another user',
    async (request) => {
      const answer = await callers.other.ask(request.method ?? 'GET', request.path, request)
      expectNoSecret(answer)
      expect(revealsObject(request, answer)).toBe(false)
    },
  )

  // By keys of their own: a key may have five filtered watches (13.3).
  test.concurrent.each(TOKEN_REQUESTS.filter(isWatch))(
    '$name does not reveal the object to another user',
    async (request) => {
      const other = await createCaller(setup, { user: 'bob', type: 'Login' })
      const answer = await other.ask(request.method ?? 'GET', request.path, request)
      expectNoSecret(answer)
      expect(revealsObject(request, answer)).toBe(false)
    },
  )

  test('shows its JWT to its owner', async () => {
    const { json } = await callers.owner.ask('GET', `directclusterendpointtokens/${NAME}`)
    expect(json.status.token?.slice(-64)).toBe(issued.secret)
  })
})

describe('a Config (6.3, 9.3, 12.4)', () => {
  const cases = readsOf('configs').concat(readsOf('config'))

  test.concurrent.each(cases)('$name shows no secret to any user', async (request) => {
    const asked = (['admin', 'other'] as const).map((by) => answerTo(by, request, SETTINGS))
    for (const answer of await Promise.all(asked)) {
      expectNoSecret(answer)
      expect(answer.code).toBe(200)
      expect(answer.text).toContain(SETTINGS)
    }
  })

  test.each(CONFIG_WRITES)(
    '$name shows no secret to a user who may write it',
    async ({ method, code, ...sending }) => {
      const answer = await callers.admin.ask(method, `configs/${SETTINGS}`, sending)
      expectNoSecret(answer)
      expect(answer.code).toBe(code)
    },
  )

  test('keeps and hides its secrets when a JSON patch moves entries of a list (12.4, X4)', async () => {
    const config = (method: 'GET' | 'PATCH', body?: object): Promise<ResponseObject> =>
      asAdmin(method, pathOf('configs', SETTINGS), body)
    const { found, wanted } = await moveConfigEntries({ callers, config, expectNoSecret })
    expect(found).toMatchObject(wanted)
  })

  test('keeps its secret after a PUT of the answer to a GET', async () => {
    const put = await eventually(
      'a PUT without a conflict',
      async () => {
        const { json } = await callers.admin.ask('GET', `config/${SETTINGS}`)
        expect(json.spec).toMatchObject({ auth: { oidc: { clientSecret: 'REDACTED' } } })
        const answer = await callers.admin.ask('PUT', `configs/${SETTINGS}`, { body: json })
        return answer.code === 409 ? undefined : answer
      },
      SOON,
    )
    expectNoSecret(put)
    expect(put.code).toBe(200)
    expect((await asAdmin('GET', pathOf('configs', SETTINGS))).spec).toMatchObject({
      auth: { oidc: { clientSecret: secrets.clientSecret.secret } },
    })
  })

  test('can be written by a user with the right, but by none with disableConfigEndpoint', async () => {
    const note = { metadata: { annotations: { note: 'x' } } }
    const path = `configs/${SETTINGS}`
    expect((await callers.admin.ask('PATCH', path, { body: note })).code).toBe(200)
    expect((await callers.other.ask('PATCH', path, { body: note })).code).toBe(403)
    await asAdmin('PATCH', pathOf('configs', SETTINGS), {
      spec: { auth: null, disableConfigEndpoint: true },
    })
    const closed = await eventually(
      'the endpoint is closed',
      async () => {
        const answer = await callers.admin.ask('PATCH', path, { body: note })
        return answer.code === 403 ? answer : undefined
      },
      SOON,
    )
    expect(closed.json.message).toContain('disableConfigEndpoint')
    for (const [method, to] of [
      ['POST', 'configs'],
      ['PUT', path],
      ['DELETE', path],
      ['DELETE', 'config'],
      ['PATCH', `config/${SETTINGS}/status`],
    ] as const)
      expect((await callers.admin.ask(method, to, { body: {} })).code).toBe(403)
    expect((await callers.other.ask('GET', 'config')).code).toBe(200)
  })
})

test('gateway and operator log no secret (3.5, 12.4)', () => {
  const logs = [...setup.gateways, operator].map((one) => JSON.stringify(one.logs()))
  expect(findCanaries({ logs: logs.join('\n') }, canaries())).toEqual([])
})
