// A create of a token waits until the operator has issued it (contract 12.2).
import { TOKENS } from '../../api/names.ts'
import { nestedField, nestedString } from '../../domain/json/field-path.ts'
import { type JsonMap, isList } from '../../domain/json/json.ts'
import { type Clock, sleep } from '../../runtime/clock.ts'
import { backoffMs } from '../../runtime/concurrency/rate-limiter.ts'
import { type Answer, refuse } from '../../serving/http/answer.ts'
import { TOKEN } from '../redaction/fields.ts'
import { objectIn } from '../redaction/redact.ts'
import { SELF_SERVICE_ERRORS } from './errors.ts'
import type { SelfServiceRequest } from './request.ts'
import type { UpstreamReply } from './response.ts'
import { ask } from './upstream-client.ts'

/** The issued token in the negotiated form, or the answer without one. */
type Issued =
  | { readonly ok: true; readonly reply: UpstreamReply }
  | { readonly ok: false; readonly answer: Answer }

const WITHIN_MS = 5000
const BACK_OFF = { firstMs: 25, longestMs: 400 }

/** Waits for the token of this object, which is deleted when there is none in time. */
export async function awaitToken(
  request: SelfServiceRequest,
  made: JsonMap,
  clock: Clock,
): Promise<Issued> {
  const name = nestedString(made, ['metadata', 'name'])
  const uid = nestedString(made, ['metadata', 'uid'])
  const endMs = clock.monotonicMs() + WITHIN_MS
  let look: Look = { is: 'awaited', said: '' }
  for (let looks = 0; look.is === 'awaited'; looks += 1) {
    if (clock.monotonicMs() >= endMs || request.signal.aborted) break
    await sleep(clock, backoffMs(BACK_OFF, looks), request.signal)
    look = await lookAt(request, name, uid)
  }
  if (look.is === 'issued') return { ok: true, reply: look.reply }
  await withdraw(request, name, uid)
  return { ok: false, answer: withoutToken(look) }
}

/** The state of the token at one look. */
type Look =
  | { readonly is: 'issued'; readonly reply: UpstreamReply }
  | { readonly is: 'refused' | 'awaited' | 'gone'; readonly said: string }

/** Ready reasons that are final: the operator will not issue the token. */
const REFUSED: ReadonlySet<string> = new Set([
  'ScopeExceedsOwner',
  'ScopeTooLarge',
  'Expired',
  'Revoked',
])

async function lookAt(request: SelfServiceRequest, name: string, uid: string): Promise<Look> {
  const reply = await readOnce(request, name)
  const object = objectIn(reply?.json ?? {})
  if (!reply || nestedString(object, ['metadata', 'uid']) !== uid) return { is: 'gone', said: '' }
  if (nestedString(object, TOKEN) !== '') return { is: 'issued', reply }
  const conditions = nestedField(object, ['status', 'conditions'])
  const all = isList(conditions) ? conditions : []
  const ready = all.find((one) => nestedString(one, ['type']) === 'Ready')
  const isRefused = REFUSED.has(nestedString(ready, ['reason']))
  return { is: isRefused ? 'refused' : 'awaited', said: nestedString(ready, ['message']) }
}

/** null when the client has gone meanwhile: the token is still to be withdrawn. */
async function readOnce(request: SelfServiceRequest, name: string): Promise<UpstreamReply | null> {
  const { form, signal } = request
  const question = {
    as: 'gateway',
    method: 'GET',
    resource: TOKENS,
    name,
    query: [],
    form,
  } as const
  try {
    return await ask(request, question)
  } catch (error) {
    if (signal.aborted) return null
    throw error
  }
}

function withoutToken(look: Exclude<Look, { is: 'issued' }>): Answer {
  if (look.is === 'refused') return refuse(SELF_SERVICE_ERRORS.tokenRefused, { because: look.said })
  const because = look.said || 'the operator has said nothing about it yet'
  return refuse(SELF_SERVICE_ERRORS.tokenNotIssued, { seconds: WITHIN_MS / 1000, because })
}

async function withdraw(request: SelfServiceRequest, name: string, uid: string): Promise<void> {
  // Also for a client that has gone: its own signal would end this request.
  const signal = AbortSignal.timeout(WITHIN_MS)
  const json = { apiVersion: 'v1', kind: 'DeleteOptions', preconditions: { uid } }
  const body = { type: 'application/json', json }
  const question = {
    as: 'gateway',
    method: 'DELETE',
    resource: TOKENS,
    name,
    query: [],
    body,
  } as const
  await ask({ ...request, signal }, question)
}
