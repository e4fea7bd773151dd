// A create of a token waits until the operator has issued it (contract 12.2).
import { TOKENS } from '../../api/names.ts'
import { nestedField, nestedString } from '../../domain/json/field-path.ts'
import { isList, type JsonMap } from '../../domain/json/json.ts'
import { TOKEN } from '../../domain/redaction/fields.ts'
import { objectIn } from '../../domain/redaction/redact.ts'
import { backoffMs } from '../../runtime/backoff.ts'
import { type Clock, sleep } from '../../runtime/clock.ts'
import { type Answer, refuse } from '../../serving/http/answer.ts'
import { SELF_SERVICE_ERRORS } from './errors.ts'
import { type SelfServiceRequest, afterWrite } from './request.ts'
import type { UpstreamReply } from './response.ts'
import { sendAndRead } from './upstream-client.ts'

/** The issued token in the negotiated form, or the answer without one. */
type Issued =
  | { readonly ok: true; readonly reply: UpstreamReply }
  | { readonly ok: false; readonly answer: Answer }

const TIMEOUT_MS = 5000
const BACK_OFF = { firstMs: 25, longestMs: 400 }

/** Waits until the operator has issued the token of this object. Without a token in time, the object is deleted. */
export async function awaitToken(
  request: SelfServiceRequest,
  made: JsonMap,
  clock: Clock,
): Promise<Issued> {
  const name = nestedString(made, ['metadata', 'name'])
  const uid = nestedString(made, ['metadata', 'uid'])
  const endMs = clock.monotonicMs() + TIMEOUT_MS
  let state: TokenState = { is: 'awaited', message: '' }
  for (let reads = 0; state.is === 'awaited'; reads += 1) {
    if (clock.monotonicMs() >= endMs || request.signal.aborted) break
    await sleep(clock, backoffMs(BACK_OFF, reads), request.signal)
    state = await readState(request, name, uid)
  }
  if (state.is === 'issued') return { ok: true, reply: state.reply }
  await deleteObject(request, name, uid)
  return { ok: false, answer: withoutToken(state) }
}

/** The state of the token at one read. */
type TokenState =
  | { readonly is: 'issued'; readonly reply: UpstreamReply }
  | { readonly is: 'refused' | 'awaited' | 'gone'; readonly message: string }

/** The reasons of Ready with which the operator will not issue the token any more. */
const FINAL_REASONS: ReadonlySet<string> = new Set([
  'ScopeExceedsOwner',
  'ScopeTooLarge',
  'Expired',
  'Revoked',
])

async function readState(
  request: SelfServiceRequest,
  name: string,
  uid: string,
): Promise<TokenState> {
  const reply = await readOnce(request, name)
  const object = objectIn(reply?.json ?? {})
  if (!reply || nestedString(object, ['metadata', 'uid']) !== uid)
    return { is: 'gone', message: '' }
  if (nestedString(object, TOKEN) !== '') return { is: 'issued', reply }
  const conditions = nestedField(object, ['status', 'conditions'])
  const all = isList(conditions) ? conditions : []
  const ready = all.find((one) => nestedString(one, ['type']) === 'Ready')
  const isRefused = FINAL_REASONS.has(nestedString(ready, ['reason']))
  return { is: isRefused ? 'refused' : 'awaited', message: nestedString(ready, ['message']) }
}

/** Reads the object once; null when the client has disconnected: the object must still be deleted. */
async function readOnce(request: SelfServiceRequest, name: string): Promise<UpstreamReply | null> {
  const { form, signal } = request
  const upstreamRequest = {
    as: 'gateway',
    method: 'GET',
    resource: TOKENS,
    name,
    query: [],
    form,
  } as const
  try {
    return await sendAndRead(request, upstreamRequest)
  } catch (error) {
    if (signal.aborted) return null
    throw error
  }
}

function withoutToken(state: Exclude<TokenState, { is: 'issued' }>): Answer {
  if (state.is === 'refused')
    return refuse(SELF_SERVICE_ERRORS.tokenRefused, { because: state.message })
  const because = state.message || 'the operator has not reported on it yet'
  return refuse(SELF_SERVICE_ERRORS.tokenNotIssued, { seconds: TIMEOUT_MS / 1000, because })
}

/** Deletes the object without a token. */
async function deleteObject(request: SelfServiceRequest, name: string, uid: string): Promise<void> {
  // By a signal of its own: the request's signal has aborted if the client has disconnected, or the key has ended.
  const signal = AbortSignal.timeout(TIMEOUT_MS)
  const json = { apiVersion: 'v1', kind: 'DeleteOptions', preconditions: { uid } }
  const body = { type: 'application/json', json }
  const upstreamRequest = {
    as: 'gateway',
    method: 'DELETE',
    resource: TOKENS,
    name,
    query: [],
    body,
  } as const
  await sendAndRead({ ...afterWrite(request), signal }, upstreamRequest)
}
