// The refusals of the routes of signing in, which the gateway passes on (contract 25.1). All others on these routes are of the
// sign-in process.
import { refusalCatalogue } from '../../serving/http/answer.ts'

const SOON = { 'retry-after': '1' }
const LATER = { 'retry-after': '5' }

const SIGNING_IN = 'at the paths [of signing in](#signing-in)'
const PROCESS =
  'log line `the sign-in process cannot be used` says why; see [Signing in](gateway.md#signing-in)'

/** The catalogue, in the order of the documentation. */
export const SIGN_IN_ERRORS = refusalCatalogue({
  noSuchSignIn: {
    reason: 'NotFound',
    message: 'there is nothing here: signing in begins at /login',
    because: `${SIGNING_IN}: a path below them that is none of them, or has characters other than \`A-Z\`, \`a-z\`, \`0-9\`, \`.\`, \`_\`, \`~\` and \`-\``,
  },
  signInTooLarge: {
    reason: 'RequestEntityTooLarge',
    message: 'the body of a request for signing in may have 1 MiB',
    because: SIGNING_IN,
  },
  signInCrowded: {
    reason: 'TooManyRequests',
    message: 'too many requests for signing in are in progress (limit <limit>); try again in 1 s',
    headers: SOON,
    because: `${SIGNING_IN}, all clients together. At the limit, the request that has been sending its body for longest gets this answer`,
  },
  signInUnusable: {
    reason: 'ServiceUnavailable',
    message: 'signing in does not work now, try again',
    headers: LATER,
    because: `${SIGNING_IN}: the sign-in process cannot be reached, its certificate is not trusted, or it does not take the token of this gateway`,
    remedy: PROCESS,
  },
  signInLost: {
    reason: 'InternalError',
    code: 502,
    message: 'the sign-in process gave no answer that can be passed on',
    because: `${SIGNING_IN}: its connection broke, or the answer has more than 1 MiB or switches protocols`,
    remedy: PROCESS,
  },
  signInLate: {
    reason: 'Timeout',
    message: 'the request for signing in took more than 30 s',
    because: `${SIGNING_IN}, from the head of the request to the end of the answer`,
    remedy: PROCESS,
  },
})
