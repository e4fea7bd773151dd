// The groups of a person, and those that the settings demand (contract 25.6 "saml"). Pure.
import { SignInRefused } from '../../../domain/signin/refusals.ts'

const MOST_GROUPS = 5000
/** No field of a User has longer ones. */
const LONGEST_GROUP = 1024

/**
 * The names, each once; empty ones are none.
 *
 * @throws SignInRefused `groups_unreadable` for more than 5,000, `provider_answer` for a long one
 */
export function distinctGroups(names: readonly string[]): readonly string[] {
  if (names.length > MOST_GROUPS)
    throw new SignInRefused(
      'groups_unreadable',
      `the attribute of groupsAttr has more than ${MOST_GROUPS} groups`,
    )
  if (names.some((name) => name.length > LONGEST_GROUP))
    throw new SignInRefused(
      'provider_answer',
      `the attribute of groupsAttr has a group of more than ${LONGEST_GROUP} characters`,
    )
  return [...new Set(names.filter((name) => name !== ''))]
}

/**
 * The groups that allowedGroups names, one at least; all groups where it is empty.
 *
 * @throws SignInRefused `groups_required`
 */
export function requiredGroups(
  groups: readonly string[],
  allowed: readonly string[],
): readonly string[] {
  if (allowed.length === 0) return groups
  const found = groups.filter((name) => allowed.includes(name))
  if (found.length === 0)
    throw new SignInRefused('groups_required', 'none of allowedGroups is there', {
      detail: 'allowedGroups',
    })
  return found
}
