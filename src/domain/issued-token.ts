// The claims of the signed token in status: the record of what was issued.
import { mapIn } from './config/json.ts'
import type { Scope } from '../api/scope.gen.ts'
import { isConfinedTo } from './token-claims.ts'

/** The claims of an issued token that later decisions use. The token itself is not kept. */
export interface IssuedToken {
  readonly identity: string
  /** The groups claim in the form of groupSet, compared as a whole. */
  readonly groups: string
  /** The scope claim: compact JSON, `*` when unrestricted. */
  readonly scope: string
  /** Whether only verifiers that enforce scopes accept it (contract 7.1). */
  readonly isConfined: boolean
  readonly expiresMs: number
}

/**
 * Reads a token of ours without verification: only the operator may write status. null when it is malformed,
 * or was issued for another object.
 *
 * @param jti uid of the object that holds it
 */
export function readIssued(token: string, jti: string): IssuedToken | null {
  const [, payload = ''] = token.split('.')
  const claims = decoded(payload)
  if (claims?.['jti'] !== jti) return null
  const { sub, groups, exp, iss, aud } = claims
  const scope = (claims['platform.sh'] as { readonly scope?: unknown } | null | undefined)?.scope
  const isWhole = typeof sub === 'string' && isScopeText(scope) && Number.isSafeInteger(exp)
  if (!isWhole || !Array.isArray(groups)) return null
  const isConfined = isConfinedTo(aud, String(iss))
  return {
    identity: sub,
    groups: groupSet(groups),
    scope,
    isConfined,
    expiresMs: Number(exp) * 1000,
  }
}

/** Groups as one text: equal for equal sets, in any order. */
export const groupSet = (groups: readonly string[]): string =>
  [...new Set(groups)].toSorted().join('\n')

/** The scope that a token was issued with; null = unrestricted. */
export const issuedScopeOf = ({ scope }: IssuedToken): Scope | null =>
  scope === '*' ? null : (JSON.parse(scope) as Scope)

const isScopeText = (text: unknown): text is string =>
  text === '*' || (typeof text === 'string' && mapIn(text) !== null)

function decoded(payload: string): Readonly<Record<string, unknown>> | null {
  try {
    const binary = atob(payload.replaceAll('-', '+').replaceAll('_', '/'))
    const bytes = Uint8Array.from(binary, (character) => character.charCodeAt(0))
    return mapIn(new TextDecoder().decode(bytes))
  } catch {
    return null
  }
}
