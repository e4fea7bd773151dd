// The fetch of openid-client. Every call goes the way out of 25.6, and the answer of the token endpoint waits until the
// discovery has looked for the key of its ID token.
import type { CustomFetch } from 'openid-client'
import type { JsonMap } from '../../../domain/json/json.ts'
import { SignInRefused } from '../../../domain/signin/refusals.ts'
import { boundedJsonMap } from '../answers.ts'
import type { Outgoing, OutgoingAnswer } from '../outgoing.ts'
import { tokenHeader } from './id-token.ts'

/** What one sign-in calls. */
interface FetchOptions {
  readonly send: Outgoing
  readonly tokenEndpoint: string
  /** Sent as it is: openid-client has it from a URL, which may spell it otherwise. */
  readonly redirectURI: string
  /** Called with the key that the ID token names, before the token is verified; null = it names none. */
  readonly expectKey: (keyId: string | null) => Promise<void>
  readonly signal: AbortSignal
}

/** Creates the fetch of one sign-in. */
export const createFetch =
  ({ send, tokenEndpoint, redirectURI, expectKey, signal }: FetchOptions): CustomFetch =>
  async (url, { headers, body }) => {
    const form = url === tokenEndpoint && body instanceof URLSearchParams ? body : null
    form?.set('redirect_uri', redirectURI)
    const sent = form === null ? null : Buffer.from(form.toString())
    const answer = await send({ url, headers, body: sent }, signal)
    const fields = boundedJsonMap(answer.body)
    if (fields === null)
      throw new SignInRefused(
        'provider_answer',
        'the answer must be a JSON object within the bounds',
      )
    if (form !== null && answer.status === 200) await expectKey(keyIdIn(fields))
    return responseOf(answer)
  }

/** The key that the ID token in an answer names. */
function keyIdIn({ id_token: idToken }: JsonMap): string | null {
  const header = typeof idToken === 'string' ? tokenHeader(idToken) : null
  if (header === null)
    throw new SignInRefused('provider_answer', 'the ID token is absent or has another form')
  return header.keyId
}

/** Without headers: openid-client would parse challenges in them, which take any form. */
const responseOf = ({ status, body }: OutgoingAnswer): Response =>
  new Response(new Uint8Array(body), { status, headers: { 'content-type': 'application/json' } })
