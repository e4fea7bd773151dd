import type { Caller } from '../../authn/caller.ts'
import { type ScopeSurroundings, decide } from '../../domain/scope/authorize.ts'
import type { ScopedRequest } from '../../domain/scope/request-info.ts'
import { type WholeAnswer, failure } from '../../serving/http/answer.ts'

/**
 * The refusal of what the caller's scope does not grant; null where it grants it (contract 11.1).
 *
 * @param mayCreate whether the request creates where nothing is: then it needs `create` as well (11.6)
 */
export function scopeRefusal(
  { scope }: Caller,
  attributes: ScopedRequest,
  mayCreate: boolean,
  surroundings: ScopeSurroundings,
): WholeAnswer | null {
  const asked = mayCreate ? [attributes, { ...attributes, verb: 'create' }] : [attributes]
  for (const request of asked) {
    const decision = decide(scope, request, surroundings)
    if (!decision.allowed) return failure('Forbidden', decision.because)
  }
  return null
}
