// Parses the documents of the issuer (contract 7.2, 7.4, 9.2).
import { setImmediate as nextTurn } from 'node:timers/promises'
import { parseJsonMap } from '../../domain/json/json.ts'
import { namespacePrefix } from '../../domain/settings/formats.ts'
import type { PublicJwk } from '../../domain/signingkey/signing-key.ts'
import { parseRevokedList, type RevokedList, type Steps } from '../../domain/token/revoked-list.ts'
import { PROJECT_PREFIX_MEMBER } from '../../domain/token/token-claims.ts'
import { parseJwks } from '../jwks.ts'

/** A parsed document, or why it is rejected, as a clause. */
export type ParsedDocument<Document> =
  | { readonly ok: true; readonly value: Document }
  | { readonly ok: false; readonly because: string; readonly isOfAnotherIssuer?: true }

/** Parses the discovery document. @returns the prefix of the namespaces of projects */
export function parseDiscovery(body: Buffer, issuer: string): ParsedDocument<string> {
  const document = parseJsonMap(body.toString())
  if (document === null) return rejected('it is not a JSON object')
  if (document['issuer'] !== issuer)
    return { ok: false, because: 'it names another issuer', isOfAnotherIssuer: true }
  const prefix = document[PROJECT_PREFIX_MEMBER]
  if (prefix === undefined)
    return rejected(`it has no ${PROJECT_PREFIX_MEMBER}: upgrade the gateway of the platform`)
  return typeof prefix === 'string' && namespacePrefix(prefix) === null
    ? { ok: true, value: prefix }
    : rejected(`its ${PROJECT_PREFIX_MEMBER} is not a prefix of namespaces`)
}

/** Parses the public signing keys. Unsound keys are left out; a set without a sound key is rejected. */
export function parseKeys(body: Buffer): ParsedDocument<readonly PublicJwk[]> {
  const parsed = parseJwks(body.toString())
  if (!parsed.ok) return rejected(`it ${parsed.because}`)
  if (parsed.jwks.length > 0) return { ok: true, value: parsed.jwks }
  return rejected(`it has no sound key${parsed.faults.map((fault) => `, ${fault}`).join('')}`)
}

/** Parses the list of revoked tokens, in steps; null = it is malformed. */
export const parseListDocument = (body: Buffer): Steps<RevokedList | null> =>
  // Ids and times are ASCII; the parser rejects any other byte.
  parseRevokedList(body.toString('latin1'))

/** Runs each step in a turn of the event loop of its own. */
export async function inTurns<Result>(steps: Steps<Result>): Promise<Result> {
  for (;;) {
    const step = steps.next()
    if (step.done) return step.value
    await nextTurn()
  }
}

const rejected = (because: string): { readonly ok: false; readonly because: string } => ({
  ok: false,
  because,
})
