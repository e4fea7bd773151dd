// A manifest that creates a key can be PUT again, and a key above the size limit can be disabled (contract 12.1, 12.2).
import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { uniqueName } from '../../../support/object-builder.ts'
import type { SelfServiceSetup } from './self-service-gateway.ts'

const EXAMPLE = new URL('../../../../docs/examples/shop-deploy.yaml', import.meta.url)

/** An empty text and a ttl of 0 equal absent (contract 1.2). */
const withoutEmpty = (spec: object = {}): object =>
  Object.fromEntries(Object.entries(spec).filter(([, value]) => Boolean(value)))

/** Declares the tests of keys that are written again. */
export function testKeysPutAgain(setup: SelfServiceSetup): void {
  const { callers, keys, plane } = setup
  describe('the manifest that created a key (12.1)', () => {
    test('is created and replaced by kubectl, and the key works on', async () => {
      const name = uniqueName('shop-deploy')
      const manifest = readFileSync(EXAMPLE, 'utf8').replace('name: shop-deploy', `name: ${name}`)
      const { kubeconfig } = callers.login
      const run = (verb: string) =>
        plane.kubectl([verb, '-f', '-'], { kubeconfig, input: manifest })
      expect(await run('create')).toMatchObject({ code: 0 })
      const before = await keys.shown(name, 'Active')
      for (let round = 0; round < 2; round += 1)
        expect(await run('replace')).toMatchObject({ code: 0 })
      expect((await keys.read(name))?.spec).toEqual(before.spec)
      expect(before.spec.user).toBe('ada')
    })

    test.each(['login', 'userKey', 'scoped', 'expiring'] as const)(
      'is PUT again by %s, with what the create filled in, empty values as well',
      async (by) => {
        const metadata = { name: uniqueName('again') }
        const created = { metadata, spec: { displayName: 'x' } }
        const { code: made } = await callers[by].ask('POST', 'ownedaccesskeys', { body: created })
        expect(made).toBe(201)
        for (const spec of [
          { displayName: 'x' },
          { displayName: 'y', user: '', type: '', ttl: 0 },
        ]) {
          const before = await keys.shown(metadata.name, 'Active')
          const { resourceVersion } = before.metadata
          const body = { metadata: { ...metadata, resourceVersion }, spec }
          const { code, json } = await callers[by].ask('PUT', `ownedaccesskeys/${metadata.name}`, {
            body,
          })
          expect({ code, message: json.message }).toMatchObject({ code: 200 })
          const stored = await keys.read(metadata.name)
          expect(withoutEmpty(stored?.spec)).toEqual({
            ...withoutEmpty(before.spec),
            displayName: spec.displayName,
          })
        }
      },
    )
  })

  test('a key above 64 KiB is disabled and shortened by its user, and grows no further (12.2)', async () => {
    const annotations = { 'example.com/large': 'x'.repeat(80 * 1024) }
    const { name } = (await keys.create({ user: 'ada', type: 'User', ttl: 7200 }, { annotations }))
      .metadata
    await keys.shown(name, 'Active')
    const path = `ownedaccesskeys/${name}`
    const codeOf = async (body: object) => (await callers.login.ask('PATCH', path, { body })).code
    expect(await codeOf({ spec: { description: 'more' } })).toBe(413)
    expect(await codeOf({ spec: { ttl: 60 } })).toBe(200)
    expect(await codeOf({ spec: { disabled: true } })).toBe(200)
    expect((await keys.read(name))?.spec).toMatchObject({ disabled: true, ttl: 60 })
  })
}
