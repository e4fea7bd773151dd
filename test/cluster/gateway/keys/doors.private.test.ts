// Every door through which what is hidden might come out (contract 12.4, threats C8), tried by its owner, by
// somebody who may do everything, and by who may see nothing of it.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { API_VERSION } from '../../../../src/api/group.ts'
import { canary, scan } from '../../../support/canary.ts'
import { eventually } from '../../../support/eventually.ts'
import { LAST_APPLIED } from '../../../support/installed.ts'
import { uniqueName } from '../../../support/objects.ts'
import { bound } from '../../policies/callers.ts'
import { SOON, startFront } from '../front.ts'
import {
  APPLY_PATCH,
  type Answered,
  type Hand,
  type Held,
  hand,
  JSON_PATCH,
  METADATA,
  METADATA_LIST,
  OURS,
  type Sending,
  TABLE,
} from './hands.ts'

const front = await startFront()
const { plane, operator } = front

const secrets = {
  key: canary('key'),
  connectorData: canary('connectorData'),
  idToken: canary('idToken'),
  accessToken: canary('accessToken'),
  refreshToken: canary('refreshToken'),
  clientSecret: canary('clientSecret'),
}
/** The signed token of a token object; known once it is issued. */
const issued = { label: 'token', secret: '' }
const canaries = () => [...Object.values(secrets), issued]

/** One key and one token of that name, and the Config in force. */
const NAME = 'guarded'
const SETTINGS = 'platform-manager-config'
const SECRET_SPEC = {
  user: 'ada',
  key: secrets.key.secret,
  identity: { username: 'ada', connectorData: secrets.connectorData.secret },
  oidcLogin: {
    idToken: secrets.idToken.secret,
    accessToken: secrets.accessToken.secret,
    refreshToken: secrets.refreshToken.secret,
  },
}
/** As client-side apply would have left it; the policy on it looks for the key alone. */
const APPLIED = JSON.stringify({
  metadata: { annotations: { note: `of ${secrets.idToken.secret}` } },
  spec: { ...SECRET_SPEC, key: undefined },
})

const ours = (plural: string, name = ''): string =>
  `${OURS}/${plural}${name === '' ? '' : `/${name}`}`

type By = 'owner' | 'root' | 'stranger'
let hands: Readonly<Record<By, Hand>>

beforeAll(async () => {
  await bound(plane, 'root-user', 'cluster-admin')
  hands = {
    owner: await hand(front, { user: 'ada', type: 'Login' }),
    root: await hand(front, { user: 'root-user', type: 'Login' }),
    stranger: await hand(front, { user: 'bob', type: 'Login' }),
  }
  const { uid } = await makeSecret(NAME)
  const owner = {
    apiVersion: API_VERSION,
    kind: 'OwnedAccessKey',
    name: NAME,
    uid,
    controller: true,
  }
  await must('POST', ours('directclusterendpointtokens'), {
    apiVersion: API_VERSION,
    kind: 'DirectClusterEndpointToken',
    metadata: { name: NAME, ownerReferences: [owner] },
    spec: {},
  })
  const token = async () => {
    const path = ours('directclusterendpointtokens', NAME)
    return (await must('GET', path)).status['token']
  }
  // Its end is its signature: what stands before is told in status anyway.
  issued.secret = String(await eventually('the token is issued', token, SOON)).slice(-64)
  await must('PATCH', ours('configs', SETTINGS), {
    spec: { auth: { oidc: { clientSecret: secrets.clientSecret.secret } } },
  })
})

afterAll(() => {
  const logs = [...front.gateways, operator].map((one) => JSON.stringify(one.logs()))
  expect(scan({ logs: logs.join('\n') }, canaries())).toEqual([])
})

/** As an administrator, past the gateway. @throws Error when the API server refuses */
async function must(
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE',
  path: string,
  body?: object,
): Promise<Held> {
  const answer = await plane.raw<Held>(method, path, body)
  if (answer.code >= 300) throw new Error(`${method} ${path}: ${answer.code}`)
  return answer.body
}

/** A key of ada with every secret that a key may have; a second one can't have the same. */
async function makeSecret(name: string, key = secrets.key.secret): Promise<Held['metadata']> {
  const { metadata } = await must('POST', ours('ownedaccesskeys'), {
    apiVersion: API_VERSION,
    kind: 'OwnedAccessKey',
    metadata: { name, labels: { name }, annotations: { [LAST_APPLIED]: APPLIED } },
    spec: { ...SECRET_SPEC, key },
  })
  return metadata
}

/** What is done, and the code for who may. */
interface Door extends Sending {
  readonly name: string
  readonly method?: string
  readonly path: string
  readonly code?: number
}

const INCLUDES = ['None', 'Metadata', 'Object'] as const
const YAML = 'application/yaml'

const readsOf = (plural: string): readonly Door[] => {
  const one = `${plural}/${plural.startsWith('config') ? SETTINGS : NAME}`
  const watch = `${plural}?watch=true&timeoutSeconds=1`
  const initial =
    'sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan'
  return [
    { name: 'get', path: one },
    { name: 'get of status', path: `${one}/status` },
    { name: 'get as YAML', path: one, accept: YAML },
    { name: 'get of metadata', path: one, accept: METADATA },
    { name: 'list', path: plural },
    { name: 'list by pages', path: `${plural}?limit=1` },
    { name: 'list from the cache', path: `${plural}?resourceVersion=0` },
    { name: 'list as YAML', path: plural, accept: YAML },
    { name: 'list of metadata', path: plural, accept: METADATA_LIST },
    { name: 'watch', path: watch },
    { name: 'watch from the beginning', path: `${watch}&${initial}` },
    { name: 'watch of metadata', path: watch, accept: METADATA },
    ...INCLUDES.flatMap((include): readonly Door[] => [
      { name: `Table of one, ${include}`, path: `${one}?includeObject=${include}`, accept: TABLE },
      {
        name: `Table of all, ${include}`,
        path: `${plural}?includeObject=${include}`,
        accept: TABLE,
      },
      {
        name: `watch of a Table, ${include}`,
        path: `${watch}&includeObject=${include}`,
        accept: TABLE,
      },
    ]),
  ]
}

const KEY = `ownedaccesskeys/${NAME}`
const apply = `${KEY}?fieldManager=hand&force=true`
const labels = { labels: { hand: 'x' } }
const applied = {
  apiVersion: API_VERSION,
  kind: 'OwnedAccessKey',
  metadata: { name: NAME, ...labels },
}
const patch = (name: string, operations: readonly object[], code = 422): Door => ({
  name,
  method: 'PATCH',
  path: KEY,
  type: JSON_PATCH,
  body: operations,
  code,
})
const merge = (name: string, body: object, code = 200, query = ''): Door => ({
  name,
  method: 'PATCH',
  path: KEY + query,
  body,
  code,
})
const SAME = { op: 'test', path: '/spec/key', value: secrets.key.secret }

const WRITES: readonly Door[] = [
  merge('merge patch', { metadata: labels }),
  merge('merge patch, tried', { metadata: labels }, 200, '?dryRun=All'),
  merge('merge patch of what is unknown', { spec: { unknown: 1 } }, 422),
  merge('merge patch of a wrong type', { spec: { ttl: 'x' } }, 422),
  merge('merge patch of another key', { spec: { key: `x${secrets.key.secret}` } }, 422),
  {
    ...merge('merge patch, as a Table', { metadata: labels }, 200, '?includeObject=Object'),
    accept: TABLE,
  },
  { ...merge('merge patch, as YAML', { metadata: labels }), accept: YAML },
  patch('JSON patch', [{ op: 'add', path: '/metadata/annotations/a', value: 'b' }], 200),
  patch('JSON patch of what is unknown', [{ op: 'add', path: '/spec/unknown', value: 1 }]),
  patch('copy', [{ op: 'copy', from: '/spec/key', path: '/spec/displayName' }]),
  patch('copy of all', [{ op: 'copy', from: '/spec', path: '/metadata/annotations/a' }]),
  patch('copy after another', [SAME, { op: 'copy', from: '/spec/key', path: '/spec/description' }]),
  patch('move', [{ op: 'move', from: '/spec/key', path: '/spec/displayName' }]),
  patch('move of sign-on data', [
    { op: 'move', from: '/spec/oidcLogin', path: '/spec/identity/x' },
  ]),
  patch('test', [SAME]),
  patch('test of another value', [{ ...SAME, value: 'x' }]),
  patch('test above', [{ op: 'test', path: '/spec', value: SECRET_SPEC }]),
  patch('test of all', [{ op: 'test', path: '', value: {} }]),
  patch('test below', [{ op: 'test', path: '/spec/oidcLogin/idToken', value: 'x' }]),
  patch('test in other letters', [{ op: 'test', path: '/spec/identity', value: {} }]),
  patch('test of an annotation with secrets', [
    {
      op: 'test',
      path: `/metadata/annotations/${LAST_APPLIED.replace('/', '~1')}`,
      value: APPLIED,
    },
  ]),
  patch('a test that fails', [{ op: 'test', path: '/spec/user', value: 'x' }]),
  { name: 'apply', method: 'PATCH', path: apply, type: APPLY_PATCH, body: applied },
  {
    name: 'apply, tried',
    method: 'PATCH',
    path: `${apply}&dryRun=All`,
    type: APPLY_PATCH,
    body: applied,
  },
  {
    name: 'apply of what is unknown',
    method: 'PATCH',
    path: apply,
    type: APPLY_PATCH,
    body: { ...applied, spec: { unknown: 1 } },
    code: 500,
  },
  { name: 'create of the same', method: 'POST', path: 'ownedaccesskeys', body: applied, code: 409 },
  {
    name: 'create, tried',
    method: 'POST',
    path: 'ownedaccesskeys?dryRun=All',
    body: { spec: { key: secrets.key.secret } },
    code: 201,
  },
  {
    name: 'create with what is no key',
    method: 'POST',
    path: 'ownedaccesskeys',
    body: { spec: { key: `${secrets.key.secret}!` } },
    code: 422,
  },
  {
    name: 'create with what is unknown',
    method: 'POST',
    path: 'ownedaccesskeys',
    body: { spec: { key: secrets.key.secret, unknown: 1 } },
    code: 400,
  },
  { name: 'deletion, tried', method: 'DELETE', path: `${KEY}?dryRun=All` },
  { name: 'deletion of all, tried', method: 'DELETE', path: 'ownedaccesskeys?dryRun=All' },
  {
    name: 'deletion of a version that was',
    method: 'DELETE',
    path: KEY,
    body: { preconditions: { resourceVersion: '1' } },
    code: 409,
  },
]

/** Nothing of the answer, its headers included, holds any secret. */
function clean({ text, headers }: Answered): void {
  expect(scan({ answer: `${text}\n${JSON.stringify(headers)}` }, canaries())).toEqual([])
}

const named = ({ path }: Door): boolean => /^[a-z]+\/[a-z]/.test(path)

describe('a key (12.4, C8)', () => {
  const doors = [...readsOf('ownedaccesskeys'), ...WRITES]

  test.each(doors)(
    '$name: neither its owner nor who may do everything sees a secret',
    async (door) => {
      const { path, method = 'GET', code = 200 } = door
      for (const by of ['owner', 'root'] as const) {
        const answer = await hands[by].ask(method, path, door)
        clean(answer)
        expect({ by, code: answer.code, text: answer.text.slice(0, 400) }).toMatchObject({
          by,
          code,
        })
        // What is hidden is hidden from an answer about the key, and not for want of one.
        if (code === 200) expect(answer.text).toContain(NAME)
      }
    },
  )

  test.each(doors.filter(({ method = 'GET' }) => method !== 'POST'))(
    '$name: somebody else learns nothing',
    async (door) => {
      const answer = await hands.stranger.ask(door.method ?? 'GET', door.path, door)
      clean(answer)
      if (named(door)) expect([403, 409, 422]).toContain(answer.code)
      else
        expect({ code: answer.code, text: answer.text.includes(NAME) }).toEqual({
          code: 200,
          text: false,
        })
    },
  )

  test('a PUT of what was read keeps what was not shown', async () => {
    for (const by of ['owner', 'root'] as const) {
      const { json } = await hands[by].ask('GET', KEY)
      const put = await hands[by].ask('PUT', KEY, {
        body: { ...json, spec: { ...json.spec, displayName: by } },
      })
      clean(put)
      expect(put.json.spec).toMatchObject({ displayName: by })
    }
    expect((await must('GET', ours('ownedaccesskeys', NAME))).spec).toMatchObject(SECRET_SPEC)
  })

  test('a JSON patch that replaces a whole part keeps what was not shown', async () => {
    const { json } = await hands.owner.ask('GET', KEY)
    const body = [{ op: 'replace', path: '/spec', value: { ...json.spec, displayName: 'part' } }]
    const answer = await hands.owner.ask('PATCH', KEY, { type: JSON_PATCH, body })
    clean(answer)
    expect(answer.json.spec).toMatchObject({ displayName: 'part' })
    expect((await must('GET', ours('ownedaccesskeys', NAME))).spec).toMatchObject(SECRET_SPEC)
  })

  test('all of that has changed nothing of what is hidden', async () => {
    expect((await must('GET', ours('ownedaccesskeys', NAME))).spec).toMatchObject(SECRET_SPEC)
  })

  test.each(['owner', 'root'] as const)('its deletion by %s, alone and with others', async (by) => {
    const [one, two] = ['one', 'two'].map((name) => `${by}-${name}`) as [string, string]
    await makeSecret(one, `${by}-1-${'x'.repeat(32)}`)
    await makeSecret(two, `${by}-2-${'x'.repeat(32)}`)
    const alone = await hands[by].ask('DELETE', `ownedaccesskeys/${one}`)
    const all = await hands[by].ask('DELETE', `ownedaccesskeys?labelSelector=name%3D${two}`)
    for (const answer of [alone, all]) {
      clean(answer)
      expect(answer.text).not.toContain(`${by}-1-x`)
      expect(answer.text).not.toContain(`${by}-2-x`)
      expect(answer.code).toBe(200)
    }
    for (const name of [one, two]) await front.keys.gone(name)
  })

  test('the answer that makes a key is the only one that shows it', async () => {
    const name = uniqueName('shown')
    const made = await hands.owner.ask('POST', 'ownedaccesskeys', { body: { metadata: { name } } })
    expect(made.code).toBe(201)
    const key = made.json.spec.key ?? ''
    expect(key).toMatch(/^pak_[0-9A-Za-z]{43}_[0-9A-Za-z]{6}$/)
    for (const by of ['owner', 'root'] as const)
      expect((await hands[by].ask('GET', `ownedaccesskeys/${name}`)).text).not.toContain(key)
  })
})

describe('a token (12.4)', () => {
  const doors: readonly Door[] = [
    ...readsOf('directclusterendpointtokens'),
    {
      name: 'merge patch',
      method: 'PATCH',
      path: `directclusterendpointtokens/${NAME}`,
      body: { metadata: labels },
    },
    {
      name: 'deletion, tried',
      method: 'DELETE',
      path: `directclusterendpointtokens/${NAME}?dryRun=All`,
    },
    {
      name: 'deletion of all, tried',
      method: 'DELETE',
      path: 'directclusterendpointtokens?dryRun=All',
    },
  ]

  test.each(doors)('$name: who may do everything does not see the token', async (door) => {
    const answer = await hands.root.ask(door.method ?? 'GET', door.path, door)
    clean(answer)
    expect(answer.code).toBe(200)
    expect(answer.text).toContain(NAME)
  })

  test.each(doors)('$name: somebody else learns nothing', async (door) => {
    const answer = await hands.stranger.ask(door.method ?? 'GET', door.path, door)
    clean(answer)
    if (named(door)) expect(answer.code).toBe(403)
    else
      expect({ code: answer.code, text: answer.text.includes(NAME) }).toEqual({
        code: 200,
        text: false,
      })
  })

  test('its owner does', async () => {
    const { json } = await hands.owner.ask('GET', `directclusterendpointtokens/${NAME}`)
    expect(String(json.status['token']).slice(-64)).toBe(issued.secret)
  })
})

describe('a Config (6.3, 9.3, 12.4)', () => {
  const doors = readsOf('configs').concat(readsOf('config'))

  test.each(doors)('$name: nobody sees a secret', async (door) => {
    for (const by of ['root', 'stranger'] as const) {
      const answer = await hands[by].ask('GET', door.path, door)
      clean(answer)
      expect(answer.code).toBe(200)
      expect(answer.text).toContain(SETTINGS)
    }
  })

  test.each([
    { name: 'merge patch', method: 'PATCH', body: { metadata: labels }, code: 200 },
    {
      name: 'merge patch of what is unknown',
      method: 'PATCH',
      body: { spec: { x: 1 } },
      code: 422,
    },
    {
      name: 'test',
      method: 'PATCH',
      type: JSON_PATCH,
      body: [{ op: 'test', path: '/spec/auth', value: {} }],
      code: 422,
    },
    {
      name: 'copy',
      method: 'PATCH',
      type: JSON_PATCH,
      body: [{ op: 'copy', from: '/spec/auth', path: '/metadata/annotations/a' }],
      code: 422,
    },
    { name: 'deletion, tried', method: 'DELETE', body: { dryRun: ['All'] }, code: 200 },
  ])('$name: who may write it does not see a secret', async ({ method, code, ...sending }) => {
    const answer = await hands.root.ask(method, `configs/${SETTINGS}`, sending)
    clean(answer)
    expect(answer.code).toBe(code)
  })

  test('a PUT of what was read keeps what was not shown', async () => {
    const { json } = await hands.root.ask('GET', `config/${SETTINGS}`)
    expect(json.spec).toMatchObject({ auth: { oidc: { clientSecret: 'REDACTED' } } })
    const put = await hands.root.ask('PUT', `configs/${SETTINGS}`, { body: json })
    clean(put)
    expect(put.code).toBe(200)
    expect((await must('GET', ours('configs', SETTINGS))).spec).toMatchObject({
      auth: { oidc: { clientSecret: secrets.clientSecret.secret } },
    })
  })
})
