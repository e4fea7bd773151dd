// The refusals that only the direct endpoint gives (contract 9.2). docs/direct-endpoint.md has their table from here.
import { refusalCatalogue } from '../serving/http/answer.ts'

const CHALLENGE = { 'www-authenticate': 'Bearer' }
const SOON = { 'retry-after': '5' }

/** The catalogue, in the order of the documentation. */
export const TOKEN_ERRORS = refusalCatalogue({
  tokenNotAccepted: {
    reason: 'Unauthorized',
    message: 'the token is not accepted. Please get a new one',
    headers: CHALLENGE,
    because:
      'no token, or one that is forged, revoked, for another cluster, or signed with a key that is not published: the answer does not say which, the metric `platform_gateway_authentication_total` does',
  },
  tokenExpired: {
    reason: 'Unauthorized',
    message: 'the token expired. Please get a new one',
    headers: CHALLENGE,
    because: 'the token is past its `exp`',
  },
  tooManyChecks: {
    reason: 'TooManyRequests',
    message: 'too many tokens to check at this server (limit <limit>); try again in 1 s',
    headers: { 'retry-after': '1' },
    because:
      'too many tokens that this server has not verified yet arrived at once, genuine or forged: it checks few signatures at a time',
    remedy:
      'if `platform_gateway_authentication_total{reason="signature"}` grows, a client sends forged tokens: block that client',
  },
  tokenUnchecked: {
    reason: 'ServiceUnavailable',
    message:
      'the direct endpoint cannot tell now which tokens are revoked. Please try again, or use the gateway',
    headers: SOON,
    because:
      'its list of revoked tokens is older than `--max-staleness`, or it never had one: no request passes on old data',
    remedy: 'see [RevocationsStale](#managementoperatordirectrevocationsstale)',
  },
})
