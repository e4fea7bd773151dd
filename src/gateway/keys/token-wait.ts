// A token that was just made is the operator's to issue (contract 12.2).
import { TOKENS } from '../../api/group.ts'
import { isList, type JsonMap } from '../../domain/config/json.ts'
import { type Clock, sleep } from '../../runtime/clock.ts'
import { type Answer, failure } from '../http/answer.ts'
import { at, textAt } from './at.ts'
import { ask, type Exchange, type Reply } from './exchange.ts'
import { TOKEN } from './hidden.ts'
import { objectIn } from './objects.ts'

/** The token, in the form that was asked for; else the answer that says why there is none. */
export type Issued =
  | { readonly ok: true; readonly reply: Reply }
  | { readonly ok: false; readonly answer: Answer }

const WITHIN_MS = 5000
const FIRST_LOOK_MS = 25
const LONGEST_WAIT_MS = 400

/** Refused for good: nothing that the operator waits for can change it. */
const REFUSED: ReadonlySet<string> = new Set([
  'ScopeExceedsOwner',
  'ScopeTooLarge',
  'Expired',
  'Revoked',
])

/** Waits for the token of this object, which is deleted when there is none in time. */
export async function awaitToken(exchange: Exchange, made: JsonMap, clock: Clock): Promise<Issued> {
  const name = textAt(made, ['metadata', 'name'])
  const uid = textAt(made, ['metadata', 'uid'])
  const lookUp = { as: 'gateway', method: 'GET', resource: TOKENS, name, query: [] } as const
  const endMs = clock.monotonicMs() + WITHIN_MS
  let said = 'the operator has not looked at it yet'
  for (
    let waitMs = FIRST_LOOK_MS;
    clock.monotonicMs() < endMs && !exchange.signal.aborted;
    waitMs *= 2
  ) {
    await sleep(clock, Math.min(waitMs, LONGEST_WAIT_MS), exchange.signal)
    const reply = await ask(exchange, { ...lookUp, form: exchange.form })
    const object = objectIn(reply.json)
    if (reply.status !== 200 || textAt(object, ['metadata', 'uid']) !== uid) break
    if (textAt(object, TOKEN) !== '') return { ok: true, reply }
    const ready = readyOf(object)
    if (REFUSED.has(textAt(ready, ['reason']))) {
      await withdraw(exchange, name, uid)
      return {
        ok: false,
        answer: failure('Forbidden', `no token is issued: ${textAt(ready, ['message'])}`),
      }
    }
    said = textAt(ready, ['message']) || said
  }
  await withdraw(exchange, name, uid)
  return {
    ok: false,
    answer: failure('Timeout', `no token was issued within ${WITHIN_MS / 1000} s: ${said}`),
  }
}

function readyOf(object: JsonMap): JsonMap {
  const conditions = at(object, ['status', 'conditions'])
  const found = isList(conditions)
    ? conditions.find((one) => textAt(one, ['type']) === 'Ready')
    : undefined
  return (found ?? {}) as JsonMap
}

/** Also when the client is gone: it would never know of the token. */
async function withdraw(exchange: Exchange, name: string, uid: string): Promise<void> {
  const signal = AbortSignal.timeout(WITHIN_MS)
  const json = { apiVersion: 'v1', kind: 'DeleteOptions', preconditions: { uid } }
  const body = { type: 'application/json', json }
  await ask(
    { ...exchange, signal },
    { as: 'gateway', method: 'DELETE', resource: TOKENS, name, query: [], body },
  )
}
