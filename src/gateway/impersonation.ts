// As whom the API server takes a request that is forwarded (contract 10.5).
import type { Identity } from '../authn/caller.ts'
import { AUTHENTICATED } from '../authn/user-info.ts'
import type { Impersonation } from '../kube/proxy/upstream.ts'

/** Key `platform.sh/access-key`: a slash can't stand in the name of a header. */
const ACCESS_KEY_EXTRA = 'impersonate-extra-platform.sh%2faccess-key'

/** One printable word. A blank user would make the request run as the gateway itself. */
const VISIBLE = /^[!-~]+$/
const RESERVED = /^system:/i

/**
 * The headers that make a request run as the identity, with the name of the key as an extra: should the
 * user get lost on the way, the extra alone makes the API server answer 400.
 *
 * @throws Error when a name can't be sent as it is, or is one of the API server's own: a key with such
 * an identity is refused long before
 */
export function impersonationOf({ user, groups }: Identity, keyName: string): Impersonation {
  const given = [user, ...groups.filter((group) => group !== AUTHENTICATED)]
  if (![...given, keyName].every((name) => VISIBLE.test(name)))
    throw new Error('a name in the identity of an access key can not be sent')
  if (given.some((name) => RESERVED.test(name)))
    throw new Error('a name in the identity of an access key begins with system:')
  return { 'impersonate-user': user, 'impersonate-group': groups, [ACCESS_KEY_EXTRA]: keyName }
}
