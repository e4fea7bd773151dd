// The OIDC endpoints that verifiers of tokens use, while their ConfigMaps change, break and are unavailable. Only the
// gateway runs: the test writes the ConfigMaps.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { AS_OF_HEADER } from '../../../src/api/names.ts'
import { checkJwk } from '../../../src/authn/jwks.ts'
import { ownControlPlane } from '../../support/control-plane.ts'
import { eventually, eventuallyPasses, staysTrue } from '../../support/eventually.ts'
import { type OwnGateway, ask, gatewayCa, startGateway } from '../../support/gateway-process.ts'
import { GATEWAY_ACCOUNT } from '../../support/installed-control-plane.ts'
import { valueOf } from '../../support/metrics-page.ts'
import { writeOidcSources, newJwk } from './oidc-config-maps.ts'

const plane = await ownControlPlane()
const sources = writeOidcSources(plane.raw)
const { namespace, name: account } = GATEWAY_ACCOUNT
const kubeconfig = await plane.serviceAccountKubeconfig(namespace, account)

const SOON = { withinMs: 20_000 }
const DISCOVERY = '/oidc/.well-known/openid-configuration'
const HOUR = '2099112111'
const EXP = '2099-11-21T11:30:00Z'
const ISSUER = 'https://platform.example.com/oidc'
const [one, two] = [newJwk(), newJwk()]

let gateway: OwnGateway
let ca: string

beforeAll(async () => {
  gateway = await startGateway({ kubeconfig, until: 'serving' })
  await eventually('the gateway serves', () => gateway.url(), SOON)
  ca = await gatewayCa(plane.admin)
})
afterAll(async () => void (await gateway?.stop()))

const get = (path: string, headers: Readonly<Record<string, string>> = {}) =>
  ask(`${gateway.url()}${path}`, { ca, headers })

/** The parsed body of a 200. @throws Error for any other answer */
async function read(path: string) {
  const { code, body } = await get(path)
  if (code !== 200) throw new Error(`${path} answers ${code}: ${body}`)
  return JSON.parse(body)
}

/** The x coordinates of the served keys, to tell them apart. */
const servedKeys = async (): Promise<readonly string[]> =>
  (await read('/oidc/keys')).keys.map(({ x }: { readonly x: string }) => x)
const revokedTokens = async () => (await read('/oidc/revoked')).tokens
const asOfMs = async (): Promise<number> => Date.parse((await read('/oidc/revoked')).asOf)

/** asOf once it no longer changes: the list is built at most once a second. */
async function settledAsOf(): Promise<number> {
  let [asOf, sinceMs] = [0, 0]
  const readAsOf = async () => {
    const nowMs = await asOfMs()
    if (nowMs !== asOf) [asOf, sinceMs] = [nowMs, performance.now()]
    return performance.now() - sinceMs > 1500 ? asOf : undefined
  }
  return eventually('asOf no longer changes', readAsOf, SOON)
}

/** Publishes a JWK Set with kids and, wrongly, with private members. */
async function publish(...keys: readonly Readonly<Record<string, string>>[]): Promise<void> {
  const withKids = keys.map((key) => {
    const checked = checkJwk(key)
    return checked.ok ? { ...key, kid: checked.jwk.kid } : key
  })
  await sources.keys(JSON.stringify({ keys: withKids }))
}

describe('a gateway without settings and keys (7.2, 8.2)', () => {
  test('is not ready, and names the failing checks', async () => {
    await eventuallyPasses(
      'only settings and keys are missing',
      async () => {
        const { code, body } = await get('/readyz')
        expect(code).toBe(500)
        expect(body).toBe(
          [
            '[+]not-stopping ok',
            '[+]crds-served ok',
            '[+]stores-synced ok',
            '[-]settings-seen failed: no settings in force have been seen',
            '[-]keys-known failed: no public signing keys have been seen',
            '[+]keys-listed ok',
            '[+]people-listed ok',
            '[+]heartbeat-heard ok',
            '[+]people-heard ok',
            '[+]settings-read ok',
            '[+]roles-read ok',
            '[+]may-act ok',
            '[+]certificate ok',
            'readyz check failed',
            '',
          ].join('\n'),
        )
        expect(await gateway.health('/readyz')).toEqual({ code, body })
      },
      SOON,
    )
    expect((await get('/healthz')).code).toBe(200)
  })

  test('answers 503 with the reason to discovery and keys', async () => {
    for (const [path, reason] of [
      [DISCOVERY, /set --issuer-url, or platformHost/],
      ['/oidc/keys', /not known yet/],
    ] as const) {
      const { code, headers, body } = await get(path)
      expect({ code, retry: headers['retry-after'] }).toEqual({ code: 503, retry: '5' })
      expect(JSON.parse(body)).toMatchObject({
        kind: 'Status',
        reason: 'ServiceUnavailable',
        message: expect.stringMatching(reason),
      })
    }
  })

  test('serves an empty list of revoked tokens (7.4)', async () => {
    expect(await revokedTokens()).toEqual({})
  })
})

describe('the issuer (7.2)', () => {
  test('follows the settings in force without a restart', async () => {
    await sources.settings({ platformHost: 'platform.example.com' })
    const document = await eventually('discovery answers', () => read(DISCOVERY), SOON)
    expect(document).toMatchObject({
      issuer: ISSUER,
      jwks_uri: `${ISSUER}/keys`,
      id_token_signing_alg_values_supported: ['ES256', 'RS256'],
      project_namespace_prefix: 'p-',
    })
    expect((await get(DISCOVERY)).headers['cache-control']).toBe('max-age=300')
  })

  test('keeps the first platformHost; a gateway that starts later has the new one', async () => {
    await sources.settings({ platformHost: 'other.example.com' })
    await eventually(
      'the change is logged',
      () =>
        gateway
          .logs()
          .find(({ msg }) => msg === 'platformHost has changed, the next start uses it'),
      SOON,
    )
    expect(await read(DISCOVERY)).toMatchObject({ issuer: ISSUER })
    await using next = await startGateway({ kubeconfig, until: 'serving' })
    await eventually('the gateway serves', () => next.url(), SOON)
    const { body } = await ask(`${next.url()}${DISCOVERY}`, { ca })
    expect(JSON.parse(body)).toMatchObject({ issuer: 'https://other.example.com/oidc' })
  })

  test('is the value of --issuer-url where it is given', async () => {
    const flags = ['--issuer-url=https://tokens.example.com']
    await using flagged = await startGateway({ kubeconfig, flags, until: 'serving' })
    await eventually('the gateway serves', () => flagged.url(), SOON)
    const { body } = await ask(`${flagged.url()}${DISCOVERY}`, { ca })
    expect(JSON.parse(body)).toMatchObject({
      issuer: 'https://tokens.example.com',
      jwks_uri: 'https://tokens.example.com/keys',
    })
  })
})

describe('the served keys (7.2, 7.3)', () => {
  test('have no private members, and make the gateway ready (8.2)', async () => {
    await publish(one)
    await eventually('the key is served', servedKeys, SOON)
    const { code, headers, body } = await get('/oidc/keys')
    expect(code).toBe(200)
    expect(headers).toMatchObject({
      'content-type': 'application/jwk-set+json',
      'cache-control': 'max-age=300',
    })
    expect(body).not.toContain(one['d'])
    expect(JSON.parse(body)).toEqual({
      keys: [
        {
          kty: 'EC',
          crv: 'P-256',
          x: one['x'],
          y: one['y'],
          kid: expect.any(String),
          alg: 'ES256',
          use: 'sig',
        },
      ],
    })
    expect((await get('/readyz')).code).toBe(200)
  })

  test('follow the ConfigMap', async () => {
    await publish(one, two)
    await eventually(
      'both keys are served',
      async () => ((await servedKeys()).length === 2 ? true : undefined),
      SOON,
    )
    await publish(two)
    await eventually(
      'one key is removed',
      async () => ((await servedKeys()).length === 1 ? true : undefined),
      SOON,
    )
    expect(await servedKeys()).toEqual([two['x']])
  })

  test('stay unchanged when the ConfigMap is invalid, and when it is deleted', async () => {
    const faults = () =>
      gateway.logs().filter(({ msg }) => msg === 'published signing keys are not all sound').length
    await sources.keys('{"keys": [')
    await eventually('the invalid ConfigMap is logged', () => faults() || undefined, SOON)
    expect(await servedKeys()).toEqual([two['x']])
    await sources.remove('platform-jwks')
    await sources.revoked(HOUR, { 'after-removal': EXP })
    await eventually(
      'the gateway has seen the deletion',
      async () => (await revokedTokens())['after-removal'],
      SOON,
    )
    expect(await servedKeys()).toEqual([two['x']])
    expect((await get('/readyz')).code).toBe(200)
    await publish(one)
    await eventually(
      'the new key is served',
      async () => ((await servedKeys())[0] === one['x'] ? true : undefined),
      SOON,
    )
  })
})

describe('the list of revoked tokens (7.4)', () => {
  test('follows the ConfigMaps of all hours', async () => {
    await sources.revoked(HOUR, { a: EXP })
    await sources.revoked(`${HOUR}-1`, { b: EXP })
    await eventually(
      'both tokens are listed',
      async () => (Object.keys(await revokedTokens()).length === 2 ? true : undefined),
      SOON,
    )
    expect(await revokedTokens()).toEqual({ a: EXP, b: EXP })
    await sources.remove(`platform-revoked-tokens-${HOUR}`)
    await eventually(
      'the token of the deleted hour is removed',
      async () => (Object.keys(await revokedTokens()).length === 1 ? true : undefined),
      SOON,
    )
  })

  test('is a 304 for its ETag until it changes, with an asOf that advances every five seconds (7.4)', async () => {
    const { headers } = await eventually(
      'the list is unchanged between two requests',
      async () => {
        const first = await get('/oidc/revoked')
        const { code, body } = await get('/oidc/revoked', {
          'if-none-match': String(first.headers.etag),
        })
        return code === 304 && body === '' ? first : undefined
      },
      SOON,
    )
    expect(headers['cache-control']).toBe('no-cache')
    const { etag, [AS_OF_HEADER]: asOf } = headers
    await eventually(
      'asOf advances without a change',
      async () => {
        const answer = await get('/oidc/revoked', { 'if-none-match': String(etag) })
        expect(answer.code).toBe(304)
        return (
          Date.parse(String(answer.headers[AS_OF_HEADER])) > Date.parse(String(asOf)) || undefined
        )
      },
      { withinMs: 20_000 },
    )
    await sources.revoked(HOUR, { c: EXP })
    await eventually(
      'the changed list is sent',
      async () => {
        const { code, body } = await get('/oidc/revoked', { 'if-none-match': String(headers.etag) })
        return (code === 200 && body.includes('"c"')) || undefined
      },
      SOON,
    )
  })
})

describe('during an outage of the API server', () => {
  test('keys, issuer and the list with its old asOf are still served, and follow changes afterwards (7.2, 7.4)', async () => {
    const before = await asOfMs()
    await plane.apiServer.stop()
    const asOf = await settledAsOf()
    expect(asOf).toBeGreaterThanOrEqual(before)
    await staysTrue(
      'the known data is served with its old asOf',
      async () => {
        expect(await servedKeys()).toEqual([one['x']])
        expect(await read(DISCOVERY)).toMatchObject({ issuer: ISSUER })
        expect(await read('/oidc/revoked')).toMatchObject({
          asOf: new Date(asOf).toISOString().replace('.000Z', 'Z'),
          tokens: { b: EXP, c: EXP },
        })
        expect((await get('/healthz')).code).toBe(200)
        expect((await get('/readyz')).code).toBe(200)
      },
      { forMs: 5000 },
    )
    await plane.apiServer.start()
    await sources.revoked(HOUR, { c: EXP, d: EXP })
    await eventually('the new token is listed', async () => (await revokedTokens())['d'], SOON)
    expect(await asOfMs()).toBeGreaterThan(asOf)
  })
})

test('counts requests, watch restarts and writes (8.4, 15)', async () => {
  const metrics = await gateway.metrics()
  const count = (series: string): number => valueOf(metrics, series)
  const requests = 'platform_gateway_requests_total'
  expect(count(`${requests}{target="Public",verb="get",code="200"}`)).toBeGreaterThan(10)
  expect(count(`${requests}{target="Public",verb="get",code="304"}`)).toBeGreaterThan(0)
  expect(count(`${requests}{target="Public",verb="get",code="503"}`)).toBeGreaterThan(1)
  expect(
    count('platform_watch_restarts_total{resource="configmaps",reason="failed"}'),
  ).toBeGreaterThan(0)
  // The CA, and the serving certificate that it signed.
  expect(count('platform_api_writes_total{kind="Secret",reason="create"}')).toBe(2)
})
