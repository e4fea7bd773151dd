import { describe, expect, test } from 'vitest'
import type { Json } from '../../../../src/domain/json/json.ts'
import { TRANSLATORS } from '../../../../src/sync/kinds/translators.ts'
import { context, settings, virtual } from '../translation.ts'

const { secrets, configMaps } = TRANSLATORS
type Fields = Readonly<Record<string, Json>>

const TOKEN = 'kubernetes.io/service-account-token'
const TLS = 'kubernetes.io/tls'

describe('Secrets and ConfigMaps on the host (18.5)', () => {
  test.each<{ name: string; fields: Fields; host: Fields }>([
    {
      name: 'all crosses',
      fields: { type: TLS, data: { ['__proto__']: 'eA==', a: 'eQ==' }, immutable: true },
      host: { type: TLS, data: { ['__proto__']: 'eA==', a: 'eQ==' }, immutable: true },
    },
    {
      name: 'a token of a ServiceAccount is opaque',
      fields: { type: TOKEN, data: { token: 'eA==' } },
      host: { type: 'Opaque', data: { token: 'eA==' } },
    },
    ...['helm.sh/release.v1', 'bootstrap.kubernetes.io/token', 'example.org/any'].map((type) => ({
      name: `one of type ${type} is opaque (17.3)`,
      fields: { type, data: { a: 'eA==' } },
      host: { type: 'Opaque', data: { a: 'eA==' } },
    })),
    ...['dockercfg', 'dockerconfigjson', 'basic-auth', 'ssh-auth'].map((name) => ({
      name: `one of type ${name} keeps it (17.3)`,
      fields: { type: `kubernetes.io/${name}` },
      host: { type: `kubernetes.io/${name}` },
    })),
    { name: 'no type', fields: { data: {} }, host: { data: {} } },
  ])('a Secret: $name', ({ fields, host }) => {
    expect(secrets.toHost(virtual(fields), context())).toEqual(virtual(host))
  })

  test('a ConfigMap crosses as it is', () => {
    const object = virtual({ data: { a: 'x' }, binaryData: { b: 'eA==' }, immutable: true })
    expect(configMaps.toHost(object, context())).toBe(object)
  })

  test.each([
    { kind: 'Secrets', translator: secrets },
    { kind: 'ConfigMaps', translator: configMaps },
  ])('$kind: nothing is refused, kept from the host, or flows back', ({ translator }) => {
    const [mine, host] = [virtual({ data: { ip: '127.0.0.1' } }), virtual({ data: { a: 'x' } })]
    expect(translator.check(mine, settings(), context())).toEqual({ object: mine, refusals: [] })
    expect(translator.withHostValues(mine, host)).toBe(mine)
    expect(translator.toVirtual(mine, host)).toBe(mine)
  })
})

describe('changes that the API server refuses: deleted and created again (18.3)', () => {
  const data = { a: 'eA==', b: 'eQ==' }
  const frozen = { immutable: true, data }
  const rows: { name: string; desired: Fields; host: Fields; needed: boolean }[] = [
    { name: 'other data', desired: { data: {} }, host: { data }, needed: false },
    {
      name: 'the same immutable data in another order',
      desired: { immutable: true, data: { b: 'eQ==', a: 'eA==' } },
      host: frozen,
      needed: false,
    },
    {
      name: 'other immutable data',
      desired: { immutable: true, data: { ...data, a: 'eg==' } },
      host: frozen,
      needed: true,
    },
    {
      name: 'more immutable data',
      desired: { ...frozen, binaryData: { c: 'eA==' } },
      host: frozen,
      needed: true,
    },
    {
      name: 'fewer immutable data',
      desired: { immutable: true },
      host: frozen,
      needed: true,
    },
    {
      name: 'none and empty data are the same',
      desired: { immutable: true, binaryData: null },
      host: { immutable: true, data: {}, binaryData: {} },
      needed: false,
    },
    { name: 'no longer immutable', desired: { data }, host: frozen, needed: true },
    {
      name: 'explicitly not immutable',
      desired: { data, immutable: false },
      host: frozen,
      needed: true,
    },
    { name: 'immutable now', desired: frozen, host: { data: {} }, needed: false },
    { name: 'not immutable', desired: { data }, host: { immutable: false }, needed: false },
  ]
  test.each(rows)('$name: $needed', ({ desired, host, needed }) => {
    for (const translator of [secrets, configMaps])
      expect(translator.needsRecreation(virtual(desired), virtual(host))).toBe(needed)
  })

  test.each<{ desired: string | undefined; host: string | undefined; needed: boolean }>([
    { desired: TLS, host: 'Opaque', needed: true },
    { desired: TLS, host: TLS, needed: false },
    { desired: undefined, host: 'Opaque', needed: false },
    { desired: 'Opaque', host: undefined, needed: false },
    { desired: undefined, host: TLS, needed: true },
  ])('type $desired, $host before: $needed', ({ desired, host, needed }) => {
    const secret = (type: string | undefined) => virtual(type === undefined ? {} : { type })
    expect(secrets.needsRecreation(secret(desired), secret(host))).toBe(needed)
  })
})
