import { generateKeyPairSync } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { CONFIG_MAPS, JWKS_CONFIG_MAP, REVOKED_TOKENS_PREFIX } from '../../../../src/api/group.ts'
import type { KubeObject } from '../../../../src/api/meta.ts'
import { ourConfigMap } from '../../../../src/credentials/config-maps.ts'
import { checkJwk, followJwks } from '../../../../src/credentials/jwks.ts'
import type { Answer } from '../../../../src/gateway/http/answer.ts'
import { discoveryAnswer } from '../../../../src/gateway/oidc/discovery.ts'
import { createKeysPage } from '../../../../src/gateway/oidc/keys.ts'
import { createRevokedPage } from '../../../../src/gateway/oidc/revoked.ts'
import { Store } from '../../../../src/kube/store.ts'
import { rememberingLog } from '../../../support/log.ts'
import { callTo } from '../calls.ts'

const NOW_MS = Date.parse('2026-11-21T10:00:00Z')

let version = 0
function configMap(name: string, data: Readonly<Record<string, string>>): KubeObject {
  version += 1
  const metadata = {
    name,
    uid: name,
    resourceVersion: String(version),
    creationTimestamp: '2026-11-21T10:00:00Z',
  }
  const object = { apiVersion: 'v1', kind: CONFIG_MAPS.kind, metadata, data }
  return object
}

const textOf = ({ body }: Answer): string => String(Buffer.isBuffer(body) && body.toString())
const statusOf = (answer: Answer) => ({
  status: answer.status,
  message: JSON.parse(textOf(answer)).message,
})

describe('discovery (contract 7.2)', () => {
  test('says what a verifier needs', () => {
    const issuer = 'https://p.example.com/oidc'
    const answer = discoveryAnswer(issuer)
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
    })
  })

  test('says what to set while the issuer is unknown', () => {
    expect(statusOf(discoveryAnswer(null))).toEqual({
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

describe('keys (contract 7.2, 7.3; threats D5, D6)', () => {
  function keysOver() {
    const store = new Store(ourConfigMap)
    const { log, lines } = rememberingLog()
    const page = createKeysPage(followJwks(store, log))
    const put = (keys: unknown): void =>
      store.put(configMap(JWKS_CONFIG_MAP, { 'jwks.json': JSON.stringify(keys) }))
    return { store, page, put, lines }
  }

  test('are not known at first', () => {
    expect(statusOf(keysOver().page())).toEqual({
      status: 503,
      message: 'the public signing keys are not known yet',
    })
  })

  test('are the public members of sound keys, and nothing else', () => {
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

  test('are the same bytes for everybody until they change', () => {
    const { page, put } = keysOver()
    const [one, two] = [keyPair(), keyPair()]
    put({ keys: [one.jwk] })
    const first = page()
    expect(page().body).toBe(first.body)
    put({ keys: [one.jwk, two.jwk] })
    expect(JSON.parse(textOf(page()))).toEqual({ keys: [one.jwk, two.jwk] })
  })

  test.each([
    { name: 'garbled', data: { 'jwks.json': '{"keys": [' } },
    { name: 'without its key', data: {} },
  ])('stay as they were while the ConfigMap is $name', ({ data }) => {
    const { store, page, put } = keysOver()
    put({ keys: [keyPair().jwk] })
    const before = textOf(page())
    store.put(configMap(JWKS_CONFIG_MAP, data))
    expect(textOf(page())).toBe(before)
  })

  test('stay as they were when the ConfigMap goes', () => {
    const { store, page, put } = keysOver()
    put({ keys: [keyPair().jwk] })
    const before = textOf(page())
    store.begin()
    store.end()
    expect(store.size).toBe(0)
    expect(textOf(page())).toBe(before)
  })
})

describe('revoked tokens (contract 7.4)', () => {
  const HOUR = '2026112111'
  const EXP = '2026-11-21T11:30:00Z'
  const NAME = `${REVOKED_TOKENS_PREFIX}${HOUR}`

  function revokedOver() {
    const store = new Store(ourConfigMap)
    let heardMs: number | null = null
    const page = createRevokedPage({ configMaps: store, heardMs: () => heardMs })
    const get = (held?: string): Answer =>
      page(
        callTo('/oidc/revoked', { headers: held === undefined ? {} : { 'if-none-match': held } }),
      )
    const hear = (ms: number): void => {
      heardMs = ms
    }
    return { store, get, hear }
  }
  const etagOf = ({ headers }: Answer): string => String(headers['etag'])

  test('are not known before they are complete', () => {
    const { store, get } = revokedOver()
    store.put(configMap(NAME, { a: EXP }))
    expect(statusOf(get())).toEqual({
      status: 503,
      message: 'the revoked tokens are not known yet',
    })
  })

  test('are those of all ConfigMaps, as of when these were last known to be complete', () => {
    const { store, get, hear } = revokedOver()
    store.put(configMap(NAME, { b: EXP }))
    store.put(configMap(`${NAME}-1`, { a: EXP }))
    store.put(configMap('other', { c: EXP }))
    hear(NOW_MS)
    const answer = get()
    expect(answer).toMatchObject({
      status: 200,
      headers: { 'content-type': 'application/json', 'cache-control': 'no-cache' },
    })
    expect(JSON.parse(textOf(answer))).toEqual({
      asOf: '2026-11-21T10:00:00Z',
      tokens: { a: EXP, b: EXP },
    })
  })

  test('asOf stands still while nothing is heard, however often it is asked for', () => {
    const { get, hear } = revokedOver()
    hear(NOW_MS)
    const first = get()
    expect(get()).toEqual(first)
    hear(NOW_MS + 60_000)
    expect(JSON.parse(textOf(get())).asOf).toBe('2026-11-21T10:01:00Z')
  })

  test('follow what comes and goes', () => {
    const { store, get, hear } = revokedOver()
    const tokens = () => JSON.parse(textOf(get())).tokens
    hear(NOW_MS)
    expect(tokens()).toEqual({})
    store.put(configMap(NAME, { a: EXP }))
    expect(tokens()).toEqual({ a: EXP })
    store.put(configMap(NAME, { a: EXP, b: EXP }))
    expect(tokens()).toEqual({ a: EXP, b: EXP })
    store.remove(configMap(NAME, {}))
    expect(tokens()).toEqual({})
  })

  test.each([
    { name: 'the same', held: (etag: string) => etag },
    { name: 'the same, weak', held: (etag: string) => `W/${etag}` },
    { name: 'one of several', held: (etag: string) => `"x", ${etag} , "y"` },
  ])('are not sent again to who holds $name', ({ held }) => {
    const { get, hear } = revokedOver()
    hear(NOW_MS)
    const etag = etagOf(get())
    expect(etag).toMatch(/^"[\w-]{43}"$/)
    const answer = get(held(etag))
    expect(answer).toMatchObject({ status: 304, headers: { etag, 'cache-control': 'no-cache' } })
    expect(answer.body).toHaveLength(0)
  })

  test.each([
    { name: 'nothing', held: undefined },
    { name: 'another', held: '"x"' },
    { name: 'a text without quotes', held: 'x' },
    { name: 'nothing at all', held: '' },
  ])('are sent to who holds $name', ({ held }) => {
    const { get, hear } = revokedOver()
    hear(NOW_MS)
    expect(get(held).status).toBe(200)
  })

  test('are sent again with another tag when a token or asOf has changed', () => {
    const { store, get, hear } = revokedOver()
    hear(NOW_MS)
    const first = etagOf(get())
    store.put(configMap(NAME, { a: EXP }))
    const second = get(first)
    expect(second.status).toBe(200)
    hear(NOW_MS + 1000)
    const third = get(etagOf(second))
    expect(third.status).toBe(200)
    expect(new Set([first, etagOf(second), etagOf(third)]).size).toBe(3)
  })
})

test('of ConfigMaps that are not ours no data is kept', () => {
  const data = { a: 'HUNTER2' }
  expect(JSON.stringify(ourConfigMap(configMap('other', data)))).not.toContain('HUNTER2')
  for (const name of ['platform-jwks', 'platform-config-in-force', `${REVOKED_TOKENS_PREFIX}x`])
    expect(ourConfigMap(configMap(name, data)).object.data).toEqual(data)
})
