// Every door through which what is hidden might come out (contract 12.4, threats C8), tried by its owner, by
// somebody who may do everything, and by who may see nothing of it.
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
  APPLIED,
  type Door,
  KEY,
  NAME,
  SECRET_SPEC,
  SETTINGS,
  WRITES,
  labels,
  readsOf,
  secrets,
} from './doors.ts'
import { movesEntries } from './moved-entries.ts'
import type { Answered, Hand, Held } from './self-service-clients.ts'
import { APPLY_PATCH, JSON_PATCH, OURS, hand, tellsAll } from './self-service-clients.ts'

const front = await startTestGateway(await privateControlPlane())
const { plane, operator } = front

/** The signed token of a token object; known once it is issued. */
const issued = { label: 'token', secret: '' }
const canaries = () => [...Object.values(secrets), issued]

const ours = (plural: string, name = ''): string =>
  `${OURS}/${plural}${name === '' ? '' : `/${name}`}`

type By = 'owner' | 'root' | 'stranger'
let hands: Readonly<Record<By, Hand>>

beforeAll(async () => {
  await bindRole(plane, 'root-user', 'cluster-admin')
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
    return (await must('GET', path)).status.token
  }
  // Its end is its signature: what stands before is told in status anyway.
  issued.secret = (await eventually('the token is issued', token, SOON)).slice(-64)
  await must('PATCH', ours('configs', SETTINGS), {
    spec: { auth: { oidc: { clientSecret: secrets.clientSecret.secret } } },
  })
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

/** Nothing of the answer, its headers included, holds any secret. */
function clean({ text, headers }: Answered): void {
  expect(findCanaries({ answer: `${text}\n${JSON.stringify(headers)}` }, canaries())).toEqual([])
}

/** What is answered at a door to who may; a watch is to tell of the object. */
function asked(by: By, door: Door, about = NAME): Promise<Answered> {
  const ask = (): Promise<Answered> => hands[by].ask(door.method ?? 'GET', door.path, door)
  return door.path.includes('watch=') ? tellsAll(ask, (text) => text.includes(about)) : ask()
}

/** What comes out of a door; what is hidden must not be hidden for want of the object. */
async function triedBy(by: By, door: Door): Promise<object> {
  const { code, text } = await asked(by, door)
  return { code, leaks: findCanaries({ text }, canaries()), isAboutIt: text.includes(NAME) }
}

/** Whether somebody was told more than he may know: of one object, or of it among others. */
function learned({ path, type }: Door, { code, text }: Answered): boolean {
  const isOne = /^[a-z]+\/[a-z]/.test(path)
  // An apply would make what is not there.
  const isApply = type === APPLY_PATCH && !path.includes('/status')
  return isOne ? code !== (isApply ? 409 : 404) : code !== 200 || text.includes(NAME)
}

describe('a key (12.4, C8)', () => {
  const reads = readsOf('ownedaccesskeys')
  const doors = [...reads, ...WRITES]

  // At the same time: a watch takes a second.
  test.concurrent.each(reads)(
    '$name: neither its owner nor who may do everything sees a secret',
    async (door) => {
      for (const by of ['owner', 'root'] as const)
        expect(await triedBy(by, door)).toEqual({ code: 200, leaks: [], isAboutIt: true })
    },
  )

  test.each(WRITES)(
    '$name: neither its owner nor who may do everything sees a secret',
    async (door) => {
      const { code = 200 } = door
      for (const by of ['owner', 'root'] as const)
        expect(await triedBy(by, door)).toMatchObject({ code, leaks: [] })
    },
  )

  test.concurrent.each(doors.filter(({ method = 'GET' }) => method !== 'POST'))(
    '$name: somebody else learns nothing',
    async (door) => {
      const answer = await hands.stranger.ask(door.method ?? 'GET', door.path, door)
      clean(answer)
      expect(learned(door, answer)).toBe(false)
    },
  )

  test('a PUT of what was read keeps what was not shown', async () => {
    for (const by of ['owner', 'root'] as const) {
      // A PUT is of a version, and the operator writes what it has seen last.
      await front.keys.until(
        NAME,
        'is seen as it is',
        ({ metadata, status }) => status.observedGeneration === metadata.generation,
      )
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

  test.concurrent.each(doors)(
    '$name: who may do everything does not see the token',
    async (door) => {
      const answer = await asked('root', door)
      clean(answer)
      expect(answer.code).toBe(200)
      expect(answer.text).toContain(NAME)
    },
  )

  // One after the other: his tokens are picked out of all, and one list of a key at a time is (13.3).
  test.each(doors)('$name: somebody else learns nothing', async (door) => {
    const answer = await hands.stranger.ask(door.method ?? 'GET', door.path, door)
    clean(answer)
    expect(learned(door, answer)).toBe(false)
  })

  test('its owner does', async () => {
    const { json } = await hands.owner.ask('GET', `directclusterendpointtokens/${NAME}`)
    expect(json.status.token?.slice(-64)).toBe(issued.secret)
  })
})

describe('a Config (6.3, 9.3, 12.4)', () => {
  const doors = readsOf('configs').concat(readsOf('config'))

  test.concurrent.each(doors)('$name: nobody sees a secret', async (door) => {
    for (const by of ['root', 'stranger'] as const) {
      const answer = await asked(by, door, SETTINGS)
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

  test('a JSON patch that moves entries of a list tells nothing of them, and keeps them (12.4, X4)', async () => {
    const config = (method: 'GET' | 'PATCH', body?: object): Promise<Held> =>
      must(method, ours('configs', SETTINGS), body)
    const { found, wanted } = await movesEntries({ hands, config, clean })
    expect(found).toMatchObject(wanted)
  })

  test('a PUT of what was read keeps what was not shown', async () => {
    const put = await eventually(
      'a PUT of a version that the operator has not moved',
      async () => {
        const { json } = await hands.root.ask('GET', `config/${SETTINGS}`)
        expect(json.spec).toMatchObject({ auth: { oidc: { clientSecret: 'REDACTED' } } })
        const answer = await hands.root.ask('PUT', `configs/${SETTINGS}`, { body: json })
        return answer.code === 409 ? undefined : answer
      },
      SOON,
    )
    clean(put)
    expect(put.code).toBe(200)
    expect((await must('GET', ours('configs', SETTINGS))).spec).toMatchObject({
      auth: { oidc: { clientSecret: secrets.clientSecret.secret } },
    })
  })

  test('is written by who may, until disableConfigEndpoint says that nobody does', async () => {
    const note = { metadata: { annotations: { note: 'x' } } }
    const path = `configs/${SETTINGS}`
    expect((await hands.root.ask('PATCH', path, { body: note })).code).toBe(200)
    expect((await hands.stranger.ask('PATCH', path, { body: note })).code).toBe(403)
    await must('PATCH', ours('configs', SETTINGS), {
      spec: { auth: null, disableConfigEndpoint: true },
    })
    const closed = await eventually(
      'the endpoint is closed',
      async () => {
        const answer = await hands.root.ask('PATCH', path, { body: note })
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
      expect((await hands.root.ask(method, to, { body: {} })).code).toBe(403)
    expect((await hands.stranger.ask('GET', 'config')).code).toBe(200)
  })
})

test('neither the gateway nor the operator has said any of the secrets (3.5, 12.4)', () => {
  const logs = [...front.gateways, operator].map((one) => JSON.stringify(one.logs()))
  expect(findCanaries({ logs: logs.join('\n') }, canaries())).toEqual([])
})
