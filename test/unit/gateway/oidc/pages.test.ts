import { generateKeyPairSync } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { JWKS_CONFIG_MAP, REVOKED_TOKENS_PREFIX } from '../../../../src/api/names.ts'
import { checkJwk, followJwks } from '../../../../src/authn/jwks.ts'
import { createKeysPage, discoveryAnswer } from '../../../../src/gateway/oidc/documents.ts'
import { Store } from '../../../../src/kube/informer/store.ts'
import { platformConfigMap } from '../../../../src/settings/follow.ts'
import { memoryLog } from '../../../support/memory-log.ts'
import { configMap, statusOf, textOf } from './config-map-pages.ts'

describe('the discovery document (contract 7.2)', () => {
  test('has the fields that a verifier needs', () => {
    const issuer = 'https://p.example.com/oidc'
    const answer = discoveryAnswer(issuer, 'p-')
    expect(answer).toMatchObject({
      status: 200,
      headers: { 'content-type': 'application/json', 'cache-control': 'max-age=300' },
    })
    expect(JSON.parse(textOf(answer))).toEqual({
      issuer,
      jwks_uri: `${issuer}/keys`,
      response_types_supported: ['id_token'],
      subject_types_supported: ['public'],
      id_token_signing_alg_values_supported: ['ES256', 'RS256'],
      project_namespace_prefix: 'p-',
    })
  })

  test('is unavailable while the prefix of the namespaces of projects is unknown (9.2)', () => {
    expect(statusOf(discoveryAnswer('https://p.example.com/oidc', null))).toEqual({
      status: 503,
      message: 'the settings in force are not known here yet, try again',
    })
  })

  test('names the setting that is missing while the issuer is unknown', () => {
    expect(statusOf(discoveryAnswer(null, 'p-'))).toEqual({
      status: 503,
      message:
        'the issuer of tokens is unknown: set --issuer-url, or platformHost in the spec of Config',
    })
  })
})

/** A private key and its public part with a kid. */
function keyPair() {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const secret = privateKey.export({ format: 'jwk' })
  const checked = checkJwk(secret)
  if (!checked.ok) throw new Error(checked.because)
  return { secret: { ...secret, kid: checked.jwk.kid }, jwk: checked.jwk }
}

describe('the published signing keys (contract 7.2, 7.3; threats D5, D6)', () => {
  function keysOver() {
    const store = new Store(platformConfigMap)
    const { log, lines } = memoryLog()
    const page = createKeysPage(followJwks(store, 'platform-system', log))
    const put = (keys: unknown): void =>
      store.put(configMap(JWKS_CONFIG_MAP, { 'jwks.json': JSON.stringify(keys) }))
    return { store, page, put, lines }
  }

  test('are unavailable before the first list', () => {
    expect(statusOf(keysOver().page())).toEqual({
      status: 503,
      message: 'the public signing keys are not known yet',
    })
  })

  test('are the public members of valid keys, and nothing else', () => {
    const { page, put } = keysOver()
    const [one, two] = [keyPair(), keyPair()]
    const odd = { kty: 'OKP', crv: 'X25519', kid: 'odd', x: 'AAAA' }
    put({ keys: [one.secret, odd, two.jwk, null] })
    const answer = page()
    expect(answer).toMatchObject({
      status: 200,
      headers: { 'content-type': 'application/jwk-set+json', 'cache-control': 'max-age=300' },
    })
    expect(JSON.parse(textOf(answer))).toEqual({ keys: [one.jwk, two.jwk] })
    expect(textOf(answer)).not.toContain(String(one.secret.d))
  })

  test('are the same bytes for every client until they change', () => {
    const { page, put } = keysOver()
    const [one, two] = [keyPair(), keyPair()]
    put({ keys: [one.jwk] })
    const first = page()
    expect(page().body).toBe(first.body)
    put({ keys: [one.jwk, two.jwk] })
    expect(JSON.parse(textOf(page()))).toEqual({ keys: [one.jwk, two.jwk] })
  })

  test.each([
    { name: 'malformed', data: { 'jwks.json': '{"keys": [' } },
    { name: 'without its key', data: {} },
  ])('stay unchanged while the ConfigMap is $name', ({ data }) => {
    const { store, page, put } = keysOver()
    put({ keys: [keyPair().jwk] })
    const before = textOf(page())
    store.put(configMap(JWKS_CONFIG_MAP, data))
    expect(textOf(page())).toBe(before)
  })

  test('stay unchanged when the ConfigMap is deleted', () => {
    const { store, page, put } = keysOver()
    put({ keys: [keyPair().jwk] })
    const before = textOf(page())
    store.begin()
    store.end()
    expect(store.size).toBe(0)
    expect(textOf(page())).toBe(before)
  })
})

test('the informer keeps no data of other ConfigMaps', () => {
  const data = { a: 'HUNTER2' }
  expect(JSON.stringify(platformConfigMap(configMap('other', data)))).not.toContain('HUNTER2')
  for (const name of ['platform-jwks', 'platform-config-in-force', `${REVOKED_TOKENS_PREFIX}x`])
    expect(platformConfigMap(configMap(name, data)).object.data).toEqual(data)
})
