// The fetch of openid-client. Every call goes the way out of 25.6, and the answer of the token endpoint waits until the key of
// its ID token was looked for.
import type { CustomFetch } from 'openid-client'
import type { JsonMap } from '../../../domain/json/json.ts'
import { SignInRefused } from '../../../domain/signin/refusals.ts'
import { boundedJsonMap } from '../answers.ts'
import type { Outgoing, OutgoingAnswer } from '../outgoing.ts'
import { type UnverifiedToken, unverifiedToken } from './id-token.ts'

/** What one sign-in calls. */
interface FetchOptions {
  readonly send: Outgoing
  readonly tokenEndpoint: string
  /** Sent as it is: openid-client has it from a URL, which may spell it otherwise. */
  readonly redirectURI: string
  /** An answer of the token endpoint that is there already; null = it is asked. */
  readonly answered: OutgoingAnswer | null
  /** Called with the ID token before it is verified, and with the answer that it came in. */
  readonly expectToken: (token: UnverifiedToken, answer: OutgoingAnswer) => Promise<void>
  readonly signal: AbortSignal
}

/** Creates the fetch of one sign-in. */
export const createFetch =
  ({
    send,
    tokenEndpoint,
    redirectURI,
    answered,
    expectToken,
    signal,
  }: FetchOptions): CustomFetch =>
  async (url, { headers, body }) => {
    const form = url === tokenEndpoint && body instanceof URLSearchParams ? body : null
    form?.set('redirect_uri', redirectURI)
    const sent = form === null ? null : Buffer.from(form.toString())
    const known = form === null ? null : answered
    const answer = known ?? (await send({ url, headers, body: sent }, signal))
    const fields = boundedJsonMap(answer.body)
    if (fields === null)
      throw new SignInRefused(
        'provider_answer',
        'the answer must be a JSON object within the bounds',
      )
    if (form !== null && answer.status === 200) await expectToken(idTokenIn(fields), answer)
    return responseOf(answer)
  }

function idTokenIn({ id_token: idToken }: JsonMap): UnverifiedToken {
  const token = typeof idToken === 'string' ? unverifiedToken(idToken) : null
  if (token === null)
    throw new SignInRefused('provider_answer', 'the ID token is absent or has another form')
  return token
}

/** Without headers: openid-client would parse challenges in them, which take any form. */
const responseOf = ({ status, body }: OutgoingAnswer): Response =>
  new Response(new Uint8Array(body), { status, headers: { 'content-type': 'application/json' } })
