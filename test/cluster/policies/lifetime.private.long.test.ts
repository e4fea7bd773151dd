/** @module-tag no-retry */
// The admission warning about a ttl above the cap, and requests that a cap must not block (contract 2.2, 5.5). No
// operator runs: the test writes the cap into the status of Config.
import { beforeEach, describe, expect, test } from 'vitest'
import {
  ACCESS_KEYS,
  API_VERSION,
  CONFIGS,
  REVOKE_FINALIZER,
  type Resource,
  TOKENS,
} from '../../../src/api/names.ts'
import { pathOf } from '../../../src/kube/client/client.ts'
import { privateControlPlane } from '../../support/control-plane.ts'
import { eventually } from '../../support/eventually.ts'
import { uniqueName } from '../../support/object-builder.ts'

const CONFIG = { name: 'platform-manager-config' }
/** The API server reloads the parameters of policies only now and then. */
const WITHIN_A_MINUTE = { withinMs: 60_000 }

const { admin, raw } = await privateControlPlane()

await admin.create(
  CONFIGS,
  { apiVersion: API_VERSION, kind: CONFIGS.kind, metadata: CONFIG, spec: {} },
  'test',
)

describe('a ttl above the cap in force (2.2, 5.5)', () => {
  beforeEach(() => setCap(60))

  // biome-ignore format: a table
  test.each([
    { name: 'a key above the cap', resource: ACCESS_KEYS, spec: { ttl: 61 }, warns: warningOf(61) },
    { name: 'a token above the cap', resource: TOKENS, spec: { ttl: 2_147_483_647 }, warns: warningOf(2_147_483_647) },
    { name: 'a key with exactly the cap', resource: ACCESS_KEYS, spec: { ttl: 60 }, warns: '' },
    { name: 'a key without a ttl', resource: ACCESS_KEYS, spec: {}, warns: '' },
    { name: 'a key with a ttl of 0', resource: ACCESS_KEYS, spec: { ttl: 0 }, warns: '' },
  ])('warns only above the cap, and stores the object: $name', async ({ resource, spec, warns }) => {
    expect(await make(resource, spec)).toMatchObject({ code: 201, warning: warns })
  })

  // biome-ignore format: a table
  test.each([
    { name: 'raised', patch: { spec: { ttl: 7200 } }, warns: warningOf(7200) },
    { name: 'lowered and still above the cap', patch: { spec: { ttl: 120 } }, warns: warningOf(120) },
    { name: 'lowered below the cap', patch: { spec: { ttl: 30 } }, warns: '' },
    { name: 'removed', patch: { spec: { ttl: null } }, warns: '' },
    { name: 'unchanged', patch: { spec: { disabled: true } }, warns: '' },
  ])('warns only of a changed ttl above the cap: $name', async ({ patch, warns }) => {
    const { path } = await make(ACCESS_KEYS, { ttl: 3600 })
    expect(await send('PATCH', path, patch)).toEqual({ code: 200, warning: warns })
  })
})

test.each([ACCESS_KEYS, TOKENS])(
  'a lowered cap blocks neither changes nor the deletion of a $kind with a longer ttl (2.2, 5.5)',
  async (resource) => {
    await setCap(0)
    const { path, warning } = await make(resource, { ttl: 3600 }, [REVOKE_FINALIZER])
    expect(warning).toBe('')
    await setCap(60)
    const done = { code: 200, warning: '' }
    const labelled = { metadata: { labels: { seen: 'yes' } } }
    expect(await send('PATCH', path, labelled)).toEqual(done)
    expect(await send('DELETE', path)).toEqual(done)
    expect(await send('PATCH', path, { metadata: { finalizers: null } })).toEqual(done)
    expect((await raw('GET', path)).code).toBe(404)
  },
)

test('the policy gives no warning without a Config (5.5)', async () => {
  await setCap(60)
  expect((await raw('DELETE', pathOf(CONFIGS, CONFIG))).code).toBe(200)
  await eventuallyWarns('')
})

function warningOf(ttl: number): string {
  const reported = `spec.ttl: ${ttl} s is above accessKeyMaxTTLSeconds of Config platform-manager-config, which ends the credential 60 s after its creation`
  return expect.stringMatching(new RegExp(`^299 - "Validation failed for .*: ${reported}"$`))
}

/** Sets the cap, 0 = none, and waits until the policy uses it. */
async function setCap(seconds: number): Promise<void> {
  const status = { auth: { accessKeyMaxTTLSeconds: seconds } }
  const { code } = await raw('PATCH', pathOf(CONFIGS, CONFIG, 'status'), { status })
  if (code !== 200) throw new Error(`status of Config: ${code}`)
  await eventuallyWarns(seconds === 0 ? '' : warningOf(61))
}

async function eventuallyWarns(warning: string): Promise<void> {
  await eventually(
    'the policy uses the cap',
    async () => {
      const seen = await make(ACCESS_KEYS, { ttl: 61 })
      expect(seen.warning).toEqual(warning)
      return seen
    },
    WITHIN_A_MINUTE,
  )
}

async function make(resource: Resource, spec: object, finalizers: readonly string[] = []) {
  const name = uniqueName('capped')
  const { kind } = resource
  const object = { apiVersion: API_VERSION, kind, metadata: { name, finalizers }, spec }
  return { path: pathOf(resource, { name }), ...(await send('POST', pathOf(resource, {}), object)) }
}

async function send(method: 'POST' | 'PATCH' | 'DELETE', path: string, body?: object) {
  const { code, headers } = await raw(method, path, body)
  return { code, warning: headers['warning'] ?? '' }
}
