// Groups of a person: those that settings demand, and look-ups that fail (contract 25.6).
import { SignInRefused } from '../../domain/signin/refusals.ts'
import type { ProviderGroupName } from './provider.ts'

/** Maximum number of entries of a list that a provider gives (contract 25.6 "Outgoing calls"). */
export const MOST_GROUPS = 5000

/**
 * Demands one of the groups of a setting, exactly; absent or empty = none is demanded.
 *
 * @param field that demands it
 * @throws SignInRefused `groups_required`
 */
export function requireGroup(
  groups: readonly string[],
  required: readonly string[] | undefined = [],
  field = 'groups',
): void {
  if (required.length > 0 && !required.some((name) => groups.includes(name)))
    throw new SignInRefused('groups_required', `none of ${field} is there`, { detail: field })
}

/** The groups that a list has; all of them where it is absent or empty. */
export const listedGroups = (
  groups: readonly string[],
  list: readonly string[] | undefined = [],
): readonly string[] => (list.length === 0 ? groups : groups.filter((name) => list.includes(name)))

/** Groups whose names people read. */
export const groupsWithoutTitle = (groups: readonly string[]): readonly ProviderGroupName[] =>
  groups.map((name) => ({ name, displayName: null }))

/** The groups cannot be told. */
export const groupsUnreadable = (because: string): SignInRefused =>
  new SignInRefused('groups_unreadable', because)

/** Looks groups up: whatever fails, but for settings, is `groups_unreadable`. @throws SignInRefused */
export async function lookingUpGroups<T>(act: () => Promise<T>): Promise<T> {
  try {
    return await act()
  } catch (error) {
    if (!(error instanceof SignInRefused) || error.reason === 'provider_unusable') throw error
    throw groupsUnreadable(error.because)
  }
}
