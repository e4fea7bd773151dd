// The fetch of openid-client. Every call goes the way out of 25.6, and the answer of the token endpoint waits until the key of
// its ID token was looked for.
import type { CustomFetch } from 'openid-client'
import type { JsonMap } from '../../../domain/json/json.ts'
import { SignInRefused } from '../../../domain/signin/refusals.ts'
import { boundedJsonMap } from '../answers.ts'
import type { Outgoing, OutgoingAnswer } from '../outgoing.ts'
import { type UnverifiedToken, unverifiedToken } from './id-token.ts'

/** What one call of the token endpoint, and of userinfo after it, needs. */
export interface FetchOptions {
  readonly send: Outgoing
  readonly tokenEndpoint: string
  /** Sent as it is, with a code: openid-client has it from a URL, which may spell it otherwise. */
  readonly redirectURI: string
  /** An answer of the token endpoint that is there already; null = it is asked. */
  readonly answered: OutgoingAnswer | null
  /** Called with the fields of an answer of 200 of the token endpoint, before anything in it is looked at. */
  readonly receive: (fields: JsonMap) => Promise<void>
  /** Called then with the ID token, if there is one, before it is verified, and with the answer that it came in. */
  readonly expectToken: (token: UnverifiedToken, answer: OutgoingAnswer) => Promise<void>
  readonly signal: AbortSignal
}

/** Creates the fetch of one call. */
export const createFetch =
  ({
    send,
    tokenEndpoint,
    redirectURI,
    answered,
    receive,
    expectToken,
    signal,
  }: FetchOptions): CustomFetch =>
  async (url, { headers, body }) => {
    const form = url === tokenEndpoint && body instanceof URLSearchParams ? body : null
    if (form?.has('redirect_uri')) form.set('redirect_uri', redirectURI)
    const sent = form === null ? null : Buffer.from(form.toString())
    const known = form === null ? null : answered
    const answer = known ?? (await send({ url, headers, body: sent }, signal))
    const fields = boundedJsonMap(answer.body)
    if (fields === null)
      throw new SignInRefused(
        'provider_answer',
        'the answer must be a JSON object within the bounds',
      )
    if (form !== null && answer.status === 200) {
      await receive(fields)
      const token = idTokenIn(fields)
      if (token !== null) await expectToken(token, answer)
    }
    return responseOf(answer)
  }

/** The ID token; null = there is none, which openid-client refuses where one must be there. */
function idTokenIn({ id_token: idToken }: JsonMap): UnverifiedToken | null {
  if (idToken === undefined) return null
  const token = typeof idToken === 'string' ? unverifiedToken(idToken) : null
  if (token === null) throw new SignInRefused('provider_answer', 'the ID token has another form')
  return token
}

/** Without headers: openid-client would parse challenges in them, which take any form. */
const responseOf = ({ status, body }: OutgoingAnswer): Response =>
  new Response(new Uint8Array(body), { status, headers: { 'content-type': 'application/json' } })
