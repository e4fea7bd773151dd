// Parses a User into the form that all decisions use (contract 24.1).
import type { User, UserSpec, UserStatus } from '../../api/user.gen.ts'
import { type Untyped, fieldsOf, isAbsent, isStringOrAbsent, stringOf } from '../json/json.ts'
import { type ExpectedName, objectNameOf } from './object-name.ts'
import type { ProviderGroup } from '../../api/provider-group.gen.ts'

/** A User, as decisions need it. */
export interface PlatformUser extends ExpectedName {
  readonly uid: string
  readonly resourceVersion: string
  /** The user name in force. */
  readonly username: string
  /** Whether spec locks the person out; also true when the field is malformed. */
  readonly isDisabled: boolean
  readonly isDeleting: boolean
  /** Groups at sign-in providers, as providerGroupsOf gives them. */
  readonly groups: readonly string[]
}

/**
 * Parses an object. Never throws: a value that the schema refuses disables the person, or leaves the object without an
 * effect (contract 10.3).
 *
 * @param sha256 returns the SHA-256 of a text in hex
 */
export function userOf(
  { metadata, spec, status }: User,
  sha256: (text: string) => string,
): PlatformUser {
  const { username, disabled }: Untyped<UserSpec> = fieldsOf(spec)
  const { groups }: Untyped<UserStatus> = fieldsOf(status)
  const inForce = stringOf(username) || metadata.name
  return {
    name: metadata.name,
    uid: metadata.uid,
    resourceVersion: metadata.resourceVersion,
    username: inForce,
    expectedName: objectNameOf(inForce, sha256),
    isDisabled: !(isAbsent(disabled) || disabled === false) || !isStringOrAbsent(username),
    isDeleting: metadata.deletionTimestamp !== undefined,
    groups: providerGroupsOf(groups),
  }
}

const IDENTITY_PREFIX = 'user:'

/** The identity of the person's keys. */
export const identityOfUser = ({ username }: Pick<PlatformUser, 'username'>): string =>
  IDENTITY_PREFIX + username

/** The user name in the identity of a key; null for a key that acts as no user. */
export const usernameIn = (identity: string | null): string | null =>
  identity?.startsWith(IDENTITY_PREFIX) ? identity.slice(IDENTITY_PREFIX.length) : null

/** Whether every key of the person is refused (contract 10.3, 24.2). */
export const isLockedOut = ({
  isDisabled,
  isDeleting,
}: Pick<PlatformUser, 'isDisabled' | 'isDeleting'>): boolean => isDisabled || isDeleting

/** One empty list for all objects without groups, to save memory. */
const NO_GROUPS: readonly string[] = []

/**
 * Groups at sign-in providers, each as one text: groups of different providers never have the same. A malformed entry
 * is left out, because a group only ever grants.
 */
export function providerGroupsOf(value: unknown): readonly string[] {
  if (!Array.isArray(value) || value.length === 0) return NO_GROUPS
  const groups = value.flatMap((entry: unknown) => {
    const { connector, name }: { [Field in keyof ProviderGroup]: unknown } = fieldsOf(entry)
    const isWellFormed = Boolean(stringOf(connector)) && Boolean(stringOf(name))
    return isWellFormed ? [JSON.stringify([connector, name])] : []
  })
  return [...new Set(groups)]
}
