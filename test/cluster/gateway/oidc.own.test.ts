// What verifiers of tokens are served, and what becomes of it while its sources change, break and are
// away. Nothing else of the product runs: the sources are written by hand.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { checkJwk } from '../../../src/authn/jwks.ts'
import { ownControlPlane } from '../../support/control-plane.ts'
import { eventually, eventuallyPasses, staysTrue } from '../../support/eventually.ts'
import { type OwnGateway, ask, gatewayCa, startGateway } from '../../support/gateway-process.ts'
import { GATEWAY_ACCOUNT } from '../../support/installed-control-plane.ts'
import { valueOf } from '../../support/metrics-text.ts'
import { writeOidcSources, newJwk } from './oidc-sources.ts'

const plane = await ownControlPlane()
const world = writeOidcSources(plane.raw)
const { namespace, name: account } = GATEWAY_ACCOUNT
const kubeconfig = await plane.serviceAccountKubeconfig(namespace, account)

const BOUND = { withinMs: 20_000 }
const DISCOVERY = '/oidc/.well-known/openid-configuration'
const HOUR = '2099112111'
const EXP = '2099-11-21T11:30:00Z'
const ISSUER = 'https://platform.example.com/oidc'
const [one, two] = [newJwk(), newJwk()]

let gateway: OwnGateway
let ca: string

beforeAll(async () => {
  gateway = await startGateway({ kubeconfig, until: 'serving' })
  await eventually('it serves', () => gateway.url(), BOUND)
  ca = await gatewayCa(plane.admin)
})
afterAll(async () => void (await gateway?.stop()))

const get = (path: string, headers: Readonly<Record<string, string>> = {}) =>
  ask(`${gateway.url()}${path}`, { ca, headers })

/** The JSON of an answer. @throws Error for one that is no 200 */
async function read(path: string) {
  const { code, body } = await get(path)
  if (code !== 200) throw new Error(`${path} answers ${code}: ${body}`)
  return JSON.parse(body)
}

/** The x coordinates of the keys that are served: what tells them apart here. */
const servedKeys = async (): Promise<readonly string[]> =>
  (await read('/oidc/keys')).keys.map(({ x }: { readonly x: string }) => x)
const revokedTokens = async () => (await read('/oidc/revoked')).tokens
const asOfMs = async (): Promise<number> => Date.parse((await read('/oidc/revoked')).asOf)

/** asOf once nothing more is heard: the list is built once a second at most. */
async function asOfAtRest(): Promise<number> {
  let [asOf, sinceMs] = [0, 0]
  const look = async () => {
    const nowMs = await asOfMs()
    if (nowMs !== asOf) [asOf, sinceMs] = [nowMs, performance.now()]
    return performance.now() - sinceMs > 1500 ? asOf : undefined
  }
  return eventually('asOf stands still', look, BOUND)
}

/** A JWK Set of these keys, kids and private members included, as no one should ever publish it. */
async function publish(...keys: readonly Readonly<Record<string, string>>[]): Promise<void> {
  const withKids = keys.map((key) => {
    const checked = checkJwk(key)
    return checked.ok ? { ...key, kid: checked.jwk.kid } : key
  })
  await world.keys(JSON.stringify({ keys: withKids }))
}

describe('before there is anything to serve (7.2, 8.2)', () => {
  test('it is not ready, and says why', async () => {
    await eventuallyPasses(
      'only what nobody wrote is missing',
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
            '[+]heartbeat-heard ok',
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
      BOUND,
    )
    expect((await get('/healthz')).code).toBe(200)
  })

  test('discovery says what to set, and keys that there are none yet', async () => {
    for (const [path, says] of [
      [DISCOVERY, /set --issuer-url, or platformHost/],
      ['/oidc/keys', /not known yet/],
    ] as const) {
      const { code, headers, body } = await get(path)
      expect({ code, retry: headers['retry-after'] }).toEqual({ code: 503, retry: '5' })
      expect(JSON.parse(body)).toMatchObject({
        kind: 'Status',
        reason: 'ServiceUnavailable',
        message: expect.stringMatching(says),
      })
    }
  })

  test('the list of revoked tokens is complete: there are none (7.4)', async () => {
    expect(await revokedTokens()).toEqual({})
  })
})

describe('the issuer (7.2)', () => {
  test('comes from the settings in force, without a restart', async () => {
    await world.settings({ platformHost: 'platform.example.com' })
    const document = await eventually('discovery answers', () => read(DISCOVERY), BOUND)
    expect(document).toMatchObject({
      issuer: ISSUER,
      jwks_uri: `${ISSUER}/keys`,
      id_token_signing_alg_values_supported: ['ES256', 'RS256'],
    })
    expect((await get(DISCOVERY)).headers['cache-control']).toBe('max-age=300')
  })

  test('stays when platformHost changes; a gateway that starts then has the new one', async () => {
    await world.settings({ platformHost: 'other.example.com' })
    await eventually(
      'it has seen the change',
      () =>
        gateway
          .logs()
          .find(({ msg }) => msg === 'platformHost has changed, the next start uses it'),
      BOUND,
    )
    expect(await read(DISCOVERY)).toMatchObject({ issuer: ISSUER })
    await using next = await startGateway({ kubeconfig, until: 'serving' })
    await eventually('it serves', () => next.url(), BOUND)
    const { body } = await ask(`${next.url()}${DISCOVERY}`, { ca })
    expect(JSON.parse(body)).toMatchObject({ issuer: 'https://other.example.com/oidc' })
  })

  test('is the flag where it is given', async () => {
    const flags = ['--issuer-url=https://tokens.example.com']
    await using flagged = await startGateway({ kubeconfig, flags, until: 'serving' })
    await eventually('it serves', () => flagged.url(), BOUND)
    const { body } = await ask(`${flagged.url()}${DISCOVERY}`, { ca })
    expect(JSON.parse(body)).toMatchObject({
      issuer: 'https://tokens.example.com',
      jwks_uri: 'https://tokens.example.com/keys',
    })
  })
})

describe('the keys (7.2, 7.3)', () => {
  test('are served once they are published, without private members; then it is ready (8.2)', async () => {
    await publish(one)
    await eventually('the key is served', servedKeys, BOUND)
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
      'both are served',
      async () => ((await servedKeys()).length === 2 ? true : undefined),
      BOUND,
    )
    await publish(two)
    await eventually(
      'one has gone',
      async () => ((await servedKeys()).length === 1 ? true : undefined),
      BOUND,
    )
    expect(await servedKeys()).toEqual([two['x']])
  })

  test('stay as they were when the ConfigMap is garbled, and when it is gone', async () => {
    const faults = () =>
      gateway.logs().filter(({ msg }) => msg === 'published signing keys are not all sound').length
    await world.keys('{"keys": [')
    await eventually('it has seen that', () => faults() || undefined, BOUND)
    expect(await servedKeys()).toEqual([two['x']])
    await world.remove('platform-jwks')
    await world.revoked(HOUR, { 'after-removal': EXP })
    await eventually(
      'it has seen that',
      async () => (await revokedTokens())['after-removal'],
      BOUND,
    )
    expect(await servedKeys()).toEqual([two['x']])
    expect((await get('/readyz')).code).toBe(200)
    await publish(one)
    await eventually(
      'it follows again',
      async () => ((await servedKeys())[0] === one['x'] ? true : undefined),
      BOUND,
    )
  })
})

describe('the revoked tokens (7.4)', () => {
  test('follow the ConfigMaps of all hours', async () => {
    await world.revoked(HOUR, { a: EXP })
    await world.revoked(`${HOUR}-1`, { b: EXP })
    await eventually(
      'both are listed',
      async () => (Object.keys(await revokedTokens()).length === 2 ? true : undefined),
      BOUND,
    )
    expect(await revokedTokens()).toEqual({ a: EXP, b: EXP })
    await world.remove(`platform-revoked-tokens-${HOUR}`)
    await eventually(
      'what is over is gone',
      async () => (Object.keys(await revokedTokens()).length === 1 ? true : undefined),
      BOUND,
    )
  })

  test('are not sent to who holds them, until they or asOf change', async () => {
    const { headers } = await eventually(
      'nothing has changed between two looks',
      async () => {
        const first = await get('/oidc/revoked')
        const { code, body } = await get('/oidc/revoked', {
          'if-none-match': String(first.headers.etag),
        })
        return code === 304 && body === '' ? first : undefined
      },
      BOUND,
    )
    expect(headers['cache-control']).toBe('no-cache')
    await world.revoked(HOUR, { c: EXP })
    await eventually(
      'it is sent again',
      async () => {
        const { code, body } = await get('/oidc/revoked', { 'if-none-match': String(headers.etag) })
        return (code === 200 && body.includes('"c"')) || undefined
      },
      BOUND,
    )
  })
})

describe('while the API server is away', () => {
  test('keys and issuer are served on, the list of revoked tokens ages, and both go on afterwards (7.2, 7.4)', async () => {
    const before = await asOfMs()
    await plane.apiServer.stop()
    const asOf = await asOfAtRest()
    expect(asOf).toBeGreaterThanOrEqual(before)
    await staysTrue(
      'what was known is served, with its age',
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
    await world.revoked(HOUR, { c: EXP, d: EXP })
    await eventually(
      'what came meanwhile is listed',
      async () => (await revokedTokens())['d'],
      BOUND,
    )
    expect(await asOfMs()).toBeGreaterThan(asOf)
  })
})

test('what was answered is counted (8.4, 15)', async () => {
  const metrics = await gateway.metrics()
  const count = (series: string): number => valueOf(metrics, series)
  const requests = 'platform_gateway_requests_total'
  expect(count(`${requests}{target="Public",verb="get",code="200"}`)).toBeGreaterThan(10)
  expect(count(`${requests}{target="Public",verb="get",code="304"}`)).toBeGreaterThan(0)
  expect(count(`${requests}{target="Public",verb="get",code="503"}`)).toBeGreaterThan(1)
  expect(
    count('platform_watch_restarts_total{resource="configmaps",reason="failed"}'),
  ).toBeGreaterThan(0)
  // The authority, and the certificate that it signed.
  expect(count('platform_api_writes_total{kind="Secret",reason="create"}')).toBe(2)
})
