// Tokens that are created through a gateway (contract 12.2, 12.3).
import { describe, expect, test } from 'vitest'
import type {
  DirectClusterEndpointToken,
  DirectClusterEndpointTokenSpec,
} from '../../../../src/api/directclusterendpointtoken.gen.ts'
import { API_VERSION, TOKENS } from '../../../../src/api/names.ts'
import { eventually } from '../../../support/eventually.ts'
import { uniqueName } from '../../../support/object-builder.ts'
import { SOON } from '../test-gateway.ts'
import {
  type ParsedAnswer,
  type KeyCaller,
  TABLE,
  createCaller,
  CORNER,
  KEEPER,
  SHOP,
  type SelfServiceSetup,
} from './self-service-gateway.ts'

const PLURAL = TOKENS.plural

const createToken = (
  by: KeyCaller,
  spec: DirectClusterEndpointTokenSpec = {},
  metadata: object = {},
): Promise<ParsedAnswer> => by.ask('POST', PLURAL, { body: { metadata, spec } })

/** Declares the tests of tokens. */
export function testTokenCreation(setup: SelfServiceSetup): void {
  const { callers, plane, keys } = setup

  describe('a created token (12.2)', () => {
    test.each(['login', 'userKey', 'expiring', 'team'] as const)(
      'by %s has the JWT in the answer, and the calling key as owner',
      async (by) => {
        const { code, json } = await createToken(callers[by], { ttl: 60 })
        expect(code).toBe(201)
        expect(json.status.token).toMatch(/^eyJ[\w-]+\.[\w-]+\.[\w-]+$/)
        const { name, uid } = callers[by].object.metadata
        expect(json.metadata.ownerReferences).toEqual([
          { apiVersion: API_VERSION, kind: 'OwnedAccessKey', name, uid, controller: true },
        ])
        expect(json.status).toMatchObject({ owner: { name, uid } })
        const { token } = json.status
        const read = await callers[by].ask('GET', `${PLURAL}/${json.metadata.name}`)
        expect(read.json.status.token).toBe(token)
        const list = await callers[by].ask('GET', PLURAL)
        expect(list.text).toContain(token)
      },
    )

    test('keeps its hidden JWT when its user replaces it', async () => {
      const { json } = await createToken(callers.login, { ttl: 60 })
      const { token, ...status } = json.status
      const labelled = { ...json, status, metadata: { ...json.metadata, labels: { team: 'a' } } }
      const path = `${PLURAL}/${json.metadata.name}`
      const replaced = await callers.login.ask('PUT', path, { body: labelled })
      expect(replaced.code).toBe(200)
      expect(replaced.json.metadata.labels).toEqual({ team: 'a' })
      const read = await callers.login.ask('GET', path)
      expect(read.json.status.token).toBe(token)
    })

    test('as a Table has its JWT in the row', async () => {
      const path = `${PLURAL}?includeObject=Object`
      const { code, json } = await callers.login.ask('POST', path, { body: {}, accept: TABLE })
      expect(code).toBe(201)
      expect(json.rows[0]?.object?.status.token).toMatch(/^eyJ/)
    })

    test('by a scoped key has the scope of the key, or a narrower one', async () => {
      for (const spec of [{}, { scope: SHOP }, { scope: CORNER }])
        expect((await createToken(callers.scoped, spec)).code).toBe(201)
      const wide = await createToken(callers.scoped, { scope: { projects: [{ project: 'bank' }] } })
      expect({ code: wide.code, message: wide.json.message }).toEqual({
        code: 403,
        message: expect.stringMatching(/^spec\.scope\.projects\[0\]: /) as string,
      })
    })

    test('with another key as owner is refused', async () => {
      const { name, uid } = callers.userKey.object.metadata
      const owner = { apiVersion: API_VERSION, kind: 'OwnedAccessKey', name, uid, controller: true }
      const refused = await createToken(callers.login, {}, { ownerReferences: [owner] })
      expect({ code: refused.code, message: refused.json.message }).toEqual({
        code: 403,
        message: expect.stringMatching(/^metadata\.ownerReferences: /) as string,
      })
    })

    test('that the operator refuses is a 403 with the reason, and is deleted', async () => {
      const name = uniqueName('large')
      const scope = {
        projects: Array.from({ length: 64 }, (_, at) => ({ project: `${at}`.padStart(200, 'x') })),
      }
      const refused = await createToken(callers.login, { scope }, { name })
      expect({ code: refused.code, message: refused.json.message }).toEqual({
        code: 403,
        message: expect.stringMatching(/^no token is issued: .* more than 8192/) as string,
      })
      const isGone = async () => (await plane.admin.get(TOKENS, { name })) === null || undefined
      await eventually('the token is deleted', isGone, SOON)
    })

    test('by a dry run is not stored', async () => {
      const { code, json } = await callers.login.ask('POST', `${PLURAL}?dryRun=All`, { body: {} })
      expect(code).toBe(201)
      expect(await plane.admin.get(TOKENS, json.metadata)).toBeNull()
    })
  })

  describe('an existing token (12.1, 12.3, 12.4)', () => {
    test('accepts changes of labels, but not of owner and spec', async () => {
      const { name } = (await createToken(callers.login)).json.metadata
      const labelled = { metadata: { labels: { a: 'b' } } }
      const path = `${PLURAL}/${name}`
      expect((await callers.login.ask('PATCH', path, { body: labelled })).code).toBe(200)
      const freed = { metadata: { ownerReferences: null } }
      expect((await callers.login.ask('PATCH', path, { body: freed })).code).toBe(403)
      const longer = { spec: { ttl: 9999 } }
      expect((await callers.login.ask('PATCH', path, { body: longer })).code).toBe(422)
    })

    test('of a login key shows its JWT to no other key of the user', async () => {
      const made = await createToken(callers.login)
      const path = `${PLURAL}/${made.json.metadata.name}`
      const token = made.json.status.token ?? ''
      const lesser = await callers.userKey.ask('GET', path)
      expect(lesser.code).toBe(200)
      expect(lesser.text).not.toContain(token)
      expect((await callers.userKey.ask('GET', PLURAL)).text).not.toContain(token)
      expect((await callers.scoped.ask('GET', path)).code).toBe(404)
      expect((await callers.scoped.ask('GET', PLURAL)).text).not.toContain(made.json.metadata.name)
      const byAdmin = await callers.admin.ask('GET', path)
      expect(byAdmin.code).toBe(200)
      expect(byAdmin.text).not.toContain(token)
    })

    test('is deleted with its owner key', async () => {
      const key = await createCaller(setup, { user: 'ada', type: 'User', scope: KEEPER })
      const { name } = (await createToken(key)).json.metadata
      expect((await callers.login.ask('DELETE', `ownedaccesskeys/${key.name}`)).code).toBe(200)
      const isGone = async () => (await plane.admin.get(TOKENS, { name })) === null || undefined
      await eventually('the token is deleted', isGone, SOON)
      await keys.gone(key.name)
    })

    test('is deleted by its user, one by name and others by deletecollection', async () => {
      const label = uniqueName('many')
      const labels = { many: label }
      const metadata = { labels }
      const one = (await createToken(callers.login, {}, metadata)).json.metadata.name
      for (const by of ['login', 'scoped'] as const) await createToken(callers[by], {}, metadata)
      expect((await callers.login.ask('DELETE', `${PLURAL}/${one}`)).code).toBe(200)
      const all = await callers.scoped.ask('DELETE', `${PLURAL}?labelSelector=many%3D${label}`)
      expect(all.code).toBe(200)
      expect(all.json.items).toHaveLength(1)
      const left = async () => {
        const { json } = await callers.login.ask('GET', `${PLURAL}?labelSelector=many%3D${label}`)
        return json.items.length === 1 || undefined
      }
      await eventually('only the token of the other key is left', left, SOON)
    })

    test('without an owner is visible to a cluster admin only', async () => {
      const name = uniqueName('ownerless')
      const body = { apiVersion: API_VERSION, kind: TOKENS.kind, metadata: { name }, spec: {} }
      await plane.admin.create<DirectClusterEndpointToken>(TOKENS, body, 'test')
      expect((await callers.admin.ask('GET', `${PLURAL}/${name}`)).code).toBe(200)
      for (const by of ['login', 'userKey', 'team'] as const)
        expect((await callers[by].ask('GET', `${PLURAL}/${name}`)).code).toBe(404)
      expect((await callers.scoped.ask('GET', `${PLURAL}/${name}`)).code).toBe(404)
    })
  })

  test('a token that the operator does not issue in time is a 504, and is not stored (12.2)', async () => {
    const name = uniqueName('late')
    setup.operator.kill('SIGSTOP')
    try {
      const late = await createToken(callers.login, {}, { name })
      expect({ code: late.code, reason: late.json.reason }).toEqual({
        code: 504,
        reason: 'Timeout',
      })
      expect(await plane.admin.get(TOKENS, { name })).toBeNull()
    } finally {
      setup.operator.kill('SIGCONT')
    }
  })
}
