// What the log says of a request: what was read of it, and never its bytes. People paste keys into paths
// and queries.
import type { Caller } from '../../authn/caller.ts'
import { keyIdOf } from '../../domain/accesskey/access-key.ts'
import { type ScopedRequest, resourceOf } from '../../domain/scope/request-info.ts'
import { isResourceRequest } from '../../domain/scope/sensitive.ts'
import type { LogFields } from '../../runtime/log.ts'

/** What a request has turned out to be; null = it did not get so far. */
export interface Knowledge {
  readonly target: string
  readonly caller: Caller | null
  readonly asked: ScopedRequest | null
}

/** The fields of a request; those that it does not have are absent. */
export function toldOf(method: string, { target, caller, asked }: Knowledge): LogFields {
  return {
    method,
    target,
    ...(asked && askedFields(asked)),
    ...(caller && { keyName: caller.key.name, keyID: keyIdOf(caller.key) }),
  }
}

/** Of a path that is no object's only the verb: it may be anything. */
function askedFields(asked: ScopedRequest): LogFields {
  const { verb } = asked
  if (!isResourceRequest(asked)) return { verb }
  const { group, namespace, name } = asked
  const parts = Object.entries({ group, resource: resourceOf(asked), namespace, name })
  const named = parts.filter(([, part]) => part !== '').map(([field, part]) => [field, shown(part)])
  return { verb, ...Object.fromEntries(named) }
}

/** No key in clear is shorter (contract 1.2); a name that is longer is not told either. */
const shown = (part: string): string => (/[\w-]{32}/.test(part) ? '<hidden>' : part)
