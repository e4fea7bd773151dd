// As whom the requests of a key run (contract 10.5).
import type { AccessKey } from '../domain/access-key.ts'
import type { Identity } from './caller.ts'

/**
 * The one group of the API server's own that callers are in: discovery and self reviews are granted to
 * it.
 */
export const AUTHENTICATED = 'system:authenticated'

/** As whom the API server knows the keys of a team. */
export const teamUser = (team: string): string => `platform:team:${team}`

/** One printable word: the API server trims the value of a header, and reads other bytes in its own way. */
const VISIBLE = /^[!-~]+$/
const RESERVED = /^(?:system|platform):/i

/** Whether a key may name it: never what the API server and this program keep to themselves. */
const mayName = (name: string): boolean => VISIBLE.test(name) && !RESERVED.test(name)

/**
 * Who the key is; null when it names nobody, or anybody that it may not name: the schema refuses such
 * keys, and one that got past it opens nothing.
 */
export function identityOf({ identity, groups }: AccessKey): Identity | null {
  const at = identity?.indexOf(':') ?? -1
  if (identity === null || at === -1) return null
  const [kind, name] = [identity.slice(0, at), identity.slice(at + 1)]
  if (![name, ...groups].every(mayName)) return null
  const own = `platform:${kind}:${name}`
  return {
    user: kind === 'team' ? teamUser(name) : name,
    groups: [
      ...groups,
      ...groups.map((group) => `platform:group:${group}`),
      'platform:authenticated',
      own,
      AUTHENTICATED,
    ],
  }
}
