// Reads the documents of the issuer from the bytes of its answers (contract 7.2, 7.4, 9.2).
import { setImmediate as nextTurn } from 'node:timers/promises'
import { parseJsonMap } from '../../domain/json/json.ts'
import { namespacePrefix } from '../../domain/settings/formats.ts'
import type { PublicJwk } from '../../domain/signingkey/signing-key.ts'
import { type RevokedList, type Steps, parseRevokedList } from '../../domain/token/revoked-list.ts'
import { PROJECT_PREFIX_MEMBER } from '../../domain/token/token-claims.ts'
import { parseJwks } from '../jwks.ts'

/** A document, or why it is not taken, as a clause. */
export type Read<Document> =
  | { readonly ok: true; readonly value: Document }
  | { readonly ok: false; readonly because: string; readonly isOfAnotherIssuer?: true }

/** Reads the prefix of the namespaces of projects from the discovery document. */
export function readDiscovery(body: Buffer, issuer: string): Read<string> {
  const document = parseJsonMap(body.toString())
  if (document === null) return refusal('it is no JSON object')
  if (document['issuer'] !== issuer)
    return { ok: false, because: 'it names another issuer', isOfAnotherIssuer: true }
  const prefix = document[PROJECT_PREFIX_MEMBER]
  if (prefix === undefined)
    return refusal(`it has no ${PROJECT_PREFIX_MEMBER}: upgrade the gateway of the centre`)
  return typeof prefix === 'string' && namespacePrefix(prefix) === null
    ? { ok: true, value: prefix }
    : refusal(`its ${PROJECT_PREFIX_MEMBER} is no prefix of namespaces`)
}

/** Reads the public signing keys. Unsound keys are left out; a set without a sound key is refused. */
export function readKeys(body: Buffer): Read<readonly PublicJwk[]> {
  const parsed = parseJwks(body.toString())
  if (!parsed.ok) return refusal(`it ${parsed.because}`)
  if (parsed.jwks.length > 0) return { ok: true, value: parsed.jwks }
  return refusal(`it has no sound key${parsed.faults.map((fault) => `, ${fault}`).join('')}`)
}

/** Reads the list of revoked tokens, and yields to the event loop in between. */
export async function readRevokedList(body: Buffer): Promise<Read<RevokedList>> {
  // Ids and times are ASCII; any other byte is refused by the parser.
  const value = await inTurns(parseRevokedList(body.toString('latin1')))
  return value === null ? refusal('it is no list of revoked tokens') : { ok: true, value }
}

/** Runs each step in a turn of the event loop of its own. */
export async function inTurns<Result>(steps: Steps<Result>): Promise<Result> {
  for (;;) {
    const step = steps.next()
    if (step.done) return step.value
    await nextTurn()
  }
}

const refusal = (because: string): { readonly ok: false; readonly because: string } => ({
  ok: false,
  because,
})
