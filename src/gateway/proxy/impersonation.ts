// The impersonation headers of a forwarded request (contract 10.5).
import { SCOPE_EXTRA } from '../../api/names.ts'
import {
  AUTHENTICATED_GROUP,
  type Caller,
  type UserInfo,
  extrasOf,
  isKeyCaller,
} from '../../authn/caller.ts'
import { isSendableScope } from '../../domain/token/verified-token.ts'
import type { Impersonation } from '../../kube/proxy/types.ts'

/** The header of an extra. Its name is percent-encoded: the name of a header can't have a slash. */
const extraHeader = (name: string): string =>
  `impersonate-extra-${encodeURIComponent(name).toLowerCase()}`

/** One printable word. With a blank user, the request would run as the gateway itself. */
const VISIBLE_ASCII = /^[!-~]+$/
const RESERVED_NAME = /^system:/i

/** What a credential runs as. Its object is another one after each change, and so is the identity after one of its teams. */
interface BuiltImpersonation {
  readonly identity: UserInfo
  readonly impersonation: Impersonation
}

const built = new WeakMap<object, BuiltImpersonation>()

/** The headers that make a request run as the caller, built once for each state of its credential. @throws as impersonationOf */
export function impersonationOfCaller(caller: Caller): Impersonation {
  const credential = isKeyCaller(caller) ? caller.key : caller.token
  const { identity } = caller
  const known = built.get(credential)
  if (known?.identity === identity) return known.impersonation
  const impersonation = impersonationOf(identity, extrasOf(caller))
  built.set(credential, { identity, impersonation })
  return impersonation
}

/**
 * The headers that make a request run as the identity, with at least one extra: if the user header gets lost on the way,
 * the API server answers 400 to the extra alone.
 *
 * @throws Error for a name or an extra that can't be sent, or that is reserved for the API server (`system:`): the
 * authenticator refuses such credentials before
 */
export function impersonationOf(
  { user, groups }: UserInfo,
  extras: Readonly<Record<string, string>>,
): Impersonation {
  const identityNames = [user, ...groups.filter((group) => group !== AUTHENTICATED_GROUP)]
  for (const name of identityNames) {
    if (!VISIBLE_ASCII.test(name))
      throw new Error('a name in the identity of a caller cannot be sent')
    if (RESERVED_NAME.test(name))
      throw new Error('a name in the identity of a caller begins with system:')
  }
  const headers: Record<string, string | readonly string[]> & { 'impersonate-user': string } = {
    'impersonate-user': user,
    'impersonate-group': Object.freeze([...groups]),
  }
  for (const name of Object.keys(extras)) {
    const value = extras[name] ?? ''
    const isVisible = VISIBLE_ASCII.test(value)
    if (!(name === SCOPE_EXTRA ? isSendableScope(value) : isVisible))
      throw new Error('an extra of a caller cannot be sent')
    // Node sends each character of a header as one byte, and the API server reads UTF-8.
    headers[extraHeader(name)] = isVisible ? value : Buffer.from(value, 'utf8').toString('latin1')
  }
  // Frozen, as one object serves many requests.
  return Object.freeze(headers)
}
