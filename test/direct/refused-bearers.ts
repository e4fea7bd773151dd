// Bearers that are no valid token of a direct endpoint, and how their refusals are compared.
import type { GatewayAnswer } from '../support/gateway-process.ts'
import { mustKubectl } from '../support/kubectl.ts'
import { CLUSTER, type DirectCluster } from './direct-cluster.ts'
import { type Members, type SigningKey, badClaims, badSignatures, forge } from './forged-tokens.ts'
import type { TokenPlatform } from './token-platform.ts'

/** What the bearers are made from. */
interface BearerSources {
  readonly platform: TokenPlatform
  readonly cluster: DirectCluster
  /** The signing key of the platform. */
  readonly key: SigningKey
  /** The claims of a valid token, with some replaced. */
  readonly claims: (different?: Members) => Members
}

/** A bearer that is refused. */
interface RefusedBearer {
  readonly name: string
  readonly bearer: string
}

/** Bad claims of a stock server's table that a direct endpoint accepts, or refuses with a text of its own. */
const OTHERWISE: ReadonlySet<string> = new Set([
  'expired',
  // It enforces scopes.
  'scoped',
  'scoped to this cluster',
  // It does not know --token-max-ttl, which the file of a stock server has: it goes by the most that the flag can be.
  'a lifetime a second too long',
])
const LONGEST_TTL_SECONDS = 5 * 86_400

/** All of them. */
export async function refusedBearers(from: BearerSources): Promise<readonly RefusedBearer[]> {
  const { platform, cluster, key, claims } = from
  const { server, webhookToken } = cluster
  const own = claims()['platform.sh'] as Members
  const now = Math.floor(Date.now() / 1000)
  const forged = badClaims(platform.issuer, CLUSTER, now, own)
    .filter(({ name }) => !OTHERWISE.has(name))
    .map((bad) => ({ name: bad.name, bearer: forge(key, claims(bad.claims)) }))
  const signed = badSignatures(key, claims()).map((bad) => ({ name: bad.name, bearer: bad.token }))
  const account = ['create', 'token', 'direct', '-n', 'platform-system']
  const elsewhere = { clusters: [{ cluster: 'paris' }] }
  const valid = forge(key, claims())
  const start = now - 60
  const tooLong = claims({ iat: start, nbf: start, exp: start + LONGEST_TTL_SECONDS + 1 })
  return [
    ...forged,
    ...signed,
    { name: 'a lifetime beyond the most that an issuer can set', bearer: forge(key, tooLong) },
    { name: 'an empty token', bearer: '' },
    { name: 'an access key of the same user', bearer: platform.accessKey },
    {
      name: 'a ServiceAccount token of the management cluster',
      bearer: await platform.serviceAccountToken(),
    },
    {
      name: 'the ServiceAccount token of the endpoint',
      bearer: (await mustKubectl(server, account)).trim(),
    },
    { name: 'the token of the webhook', bearer: webhookToken },
    {
      name: 'an issued token for another cluster',
      bearer: await platform.issueToken({ scope: elsewhere }),
    },
    { name: 'a valid token and a byte', bearer: `${valid}x` },
    { name: 'more bytes than a token can have', bearer: `${valid}${'x'.repeat(9000)}` },
  ]
}

/** An answer without what differs between any two. */
export function comparable({ code, headers, body }: GatewayAnswer): object {
  const { date: _, 'audit-id': _audit, 'x-request-id': _request, ...others } = headers
  return { code, headers: others, body }
}
