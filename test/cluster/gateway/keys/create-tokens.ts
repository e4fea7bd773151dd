// Tokens that are made through a gateway (contract 12.2, 12.3).
import { describe, expect, test } from 'vitest'
import type {
  DirectClusterEndpointToken,
  DirectClusterEndpointTokenSpec,
} from '../../../../src/api/directclusterendpointtoken.gen.ts'
import { API_VERSION, TOKENS } from '../../../../src/api/names.ts'
import { eventually } from '../../../support/eventually.ts'
import { uniqueName } from '../../../support/object-builder.ts'
import { SOON } from '../test-gateway.ts'
import { type Answered, type Hand, TABLE, hand } from './self-service-clients.ts'
import { CORNER, KEEPER, SHOP, type World } from './self-service-gateway.ts'

const PLURAL = TOKENS.plural

const make = (
  by: Hand,
  spec: DirectClusterEndpointTokenSpec = {},
  metadata: object = {},
): Promise<Answered> => by.ask('POST', PLURAL, { body: { metadata, spec } })

/** Tests of tokens. */
export function testTokens(world: World): void {
  const { hands, plane, keys } = world

  describe('a token that is made (12.2)', () => {
    test.each(['person', 'plain', 'ending', 'team'] as const)(
      'by %s is issued in the answer, and is the calling key’s',
      async (by) => {
        const { code, json } = await make(hands[by], { ttl: 60 })
        expect(code).toBe(201)
        expect(json.status.token).toMatch(/^eyJ[\w-]+\.[\w-]+\.[\w-]+$/)
        const { name, uid } = hands[by].object.metadata
        expect(json.metadata.ownerReferences).toEqual([
          { apiVersion: API_VERSION, kind: 'OwnedAccessKey', name, uid, controller: true },
        ])
        expect(json.status).toMatchObject({ owner: { name, uid } })
        const { token } = json.status
        const read = await hands[by].ask('GET', `${PLURAL}/${json.metadata.name}`)
        expect(read.json.status.token).toBe(token)
        const list = await hands[by].ask('GET', PLURAL)
        expect(list.text).toContain(token)
      },
    )

    test('is replaced by its user, and keeps what is hidden', async () => {
      const { json } = await make(hands.person, { ttl: 60 })
      const { token, ...status } = json.status
      const labelled = { ...json, status, metadata: { ...json.metadata, labels: { team: 'a' } } }
      const path = `${PLURAL}/${json.metadata.name}`
      const replaced = await hands.person.ask('PUT', path, { body: labelled })
      expect(replaced.code).toBe(200)
      expect(replaced.json.metadata.labels).toEqual({ team: 'a' })
      const read = await hands.person.ask('GET', path)
      expect(read.json.status.token).toBe(token)
    })

    test('as a Table has its token in the row', async () => {
      const path = `${PLURAL}?includeObject=Object`
      const { code, json } = await hands.person.ask('POST', path, { body: {}, accept: TABLE })
      expect(code).toBe(201)
      expect(json.rows[0]?.object?.status.token).toMatch(/^eyJ/)
    })

    test('by a scoped key has its scope, or less', async () => {
      for (const spec of [{}, { scope: SHOP }, { scope: CORNER }])
        expect((await make(hands.scoped, spec)).code).toBe(201)
      const wide = await make(hands.scoped, { scope: { projects: [{ project: 'bank' }] } })
      expect({ code: wide.code, message: wide.json.message }).toEqual({
        code: 403,
        message: expect.stringMatching(/^spec\.scope\.projects\[0\]: /) as string,
      })
    })

    test('as another key’s is not made', async () => {
      const { name, uid } = hands.plain.object.metadata
      const owner = { apiVersion: API_VERSION, kind: 'OwnedAccessKey', name, uid, controller: true }
      const refused = await make(hands.person, {}, { ownerReferences: [owner] })
      expect({ code: refused.code, message: refused.json.message }).toEqual({
        code: 403,
        message: expect.stringMatching(/^metadata\.ownerReferences: /) as string,
      })
    })

    test('and refused by the operator is told of, and leaves nothing behind', async () => {
      const name = uniqueName('large')
      const scope = {
        projects: Array.from({ length: 64 }, (_, at) => ({ project: `${at}`.padStart(200, 'x') })),
      }
      const refused = await make(hands.person, { scope }, { name })
      expect({ code: refused.code, message: refused.json.message }).toEqual({
        code: 403,
        message: expect.stringMatching(/^no token is issued: .* more than 8192/) as string,
      })
      const isGone = async () => (await plane.admin.get(TOKENS, { name })) === null || undefined
      await eventually('nothing is left of it', isGone, SOON)
    })

    test('tried only, is not issued', async () => {
      const { code, json } = await hands.person.ask('POST', `${PLURAL}?dryRun=All`, { body: {} })
      expect(code).toBe(201)
      expect(await plane.admin.get(TOKENS, json.metadata)).toBeNull()
    })
  })

  describe('a token that is there (12.1, 12.3, 12.4)', () => {
    test('is changed in what does not matter, and in nothing else', async () => {
      const { name } = (await make(hands.person)).json.metadata
      const labelled = { metadata: { labels: { a: 'b' } } }
      const path = `${PLURAL}/${name}`
      expect((await hands.person.ask('PATCH', path, { body: labelled })).code).toBe(200)
      const freed = { metadata: { ownerReferences: null } }
      expect((await hands.person.ask('PATCH', path, { body: freed })).code).toBe(403)
      const longer = { spec: { ttl: 9999 } }
      expect((await hands.person.ask('PATCH', path, { body: longer })).code).toBe(422)
    })

    test('of a key that stands for its user is read by no lesser key', async () => {
      const made = await make(hands.person)
      const path = `${PLURAL}/${made.json.metadata.name}`
      const token = made.json.status.token ?? ''
      const lesser = await hands.plain.ask('GET', path)
      expect(lesser.code).toBe(200)
      expect(lesser.text).not.toContain(token)
      expect((await hands.plain.ask('GET', PLURAL)).text).not.toContain(token)
      expect((await hands.scoped.ask('GET', path)).code).toBe(404)
      expect((await hands.scoped.ask('GET', PLURAL)).text).not.toContain(made.json.metadata.name)
      const root = await hands.root.ask('GET', path)
      expect(root.code).toBe(200)
      expect(root.text).not.toContain(token)
    })

    test('goes with the key that it was made with', async () => {
      const key = await hand(world, { user: 'ada', type: 'User', scope: KEEPER })
      const { name } = (await make(key)).json.metadata
      expect((await hands.person.ask('DELETE', `ownedaccesskeys/${key.name}`)).code).toBe(200)
      const isGone = async () => (await plane.admin.get(TOKENS, { name })) === null || undefined
      await eventually('the token is gone', isGone, SOON)
      await keys.gone(key.name)
    })

    test('is deleted, alone or with others, by who owns it', async () => {
      const label = uniqueName('many')
      const labels = { many: label }
      const metadata = { labels }
      const one = (await make(hands.person, {}, metadata)).json.metadata.name
      for (const by of ['person', 'scoped'] as const) await make(hands[by], {}, metadata)
      expect((await hands.person.ask('DELETE', `${PLURAL}/${one}`)).code).toBe(200)
      const all = await hands.scoped.ask('DELETE', `${PLURAL}?labelSelector=many%3D${label}`)
      expect(all.code).toBe(200)
      expect(all.json.items).toHaveLength(1)
      const left = async () => {
        const { json } = await hands.person.ask('GET', `${PLURAL}?labelSelector=many%3D${label}`)
        return json.items.length === 1 || undefined
      }
      await eventually('the token of the other key is left', left, SOON)
    })

    test('and is nobody’s is seen by who RBAC lets see it', async () => {
      const name = uniqueName('nobodys')
      const body = { apiVersion: API_VERSION, kind: TOKENS.kind, metadata: { name }, spec: {} }
      await plane.admin.create<DirectClusterEndpointToken>(TOKENS, body, 'test')
      expect((await hands.root.ask('GET', `${PLURAL}/${name}`)).code).toBe(200)
      for (const by of ['person', 'plain', 'team'] as const)
        expect((await hands[by].ask('GET', `${PLURAL}/${name}`)).code).toBe(404)
      expect((await hands.scoped.ask('GET', `${PLURAL}/${name}`)).code).toBe(404)
    })
  })
  test('a token that the operator does not issue in time is told of, and is not there (12.2)', async () => {
    const name = uniqueName('late')
    world.operator.kill('SIGSTOP')
    try {
      const late = await make(hands.person, {}, { name })
      expect({ code: late.code, reason: late.json.reason }).toEqual({
        code: 504,
        reason: 'Timeout',
      })
      expect(await plane.admin.get(TOKENS, { name })).toBeNull()
    } finally {
      world.operator.kill('SIGCONT')
    }
  })
}
