// What a key says of its person (contract 25.4).
import type { ProviderGroupName, ProviderIdentity } from '../providers/provider.ts'

/** Characters of a text that the schema of keys takes; a longer one is left out. */
const LONGEST_TEXT = 1024

/** Field `identity` of the key: a record of what the provider said, with the groups that were kept. It grants nothing. */
export function keyIdentity(
  connector: string,
  identity: ProviderIdentity,
  groups: readonly ProviderGroupName[],
): Readonly<Record<string, unknown>> {
  const { userId, username, preferredUsername, email, emailVerified, extraClaims } = identity
  const texts = Object.entries({ userId, username, preferredUsername, email }).filter(
    ([, text]) => text !== null && text.length <= LONGEST_TEXT,
  )
  return {
    connector,
    ...Object.fromEntries(texts),
    emailVerified,
    ...(Object.keys(extraClaims).length === 0 ? {} : { extraClaims }),
    ...(groups.length === 0 ? {} : { groups: groups.map(({ name }) => name) }),
  }
}
