// The person of a grant, as the API server has it now (contract 26.3): what locks somebody out ends what apps were granted.
import { isLockedOut } from '../../../domain/people/user.ts'
import type { SignInUser } from '../../people/sign-in-user.ts'
import { readUser } from '../../people/writes.ts'
import type { RouteContext } from '../route.ts'
import { readSession } from '../../sessions/writes.ts'
import type { AppGrant } from '../../apps/grants.ts'
import { claimsOf } from '../../apps/scopes.ts'

/** The User of this name and uid; null = it is gone, disabled, or another one. */
export async function readPerson(
  { user, userUid }: Pick<AppGrant, 'user' | 'userUid'>,
  { people }: Pick<RouteContext['deps'], 'people'>,
): Promise<SignInUser | null> {
  const found = await readUser(user, people)
  return found === null || found.uid !== userUid || isLockedOut(found) ? null : found
}

/** Whether the session of that name goes on, and is of this person. */
export async function hasSession(
  { session, userUid }: Pick<AppGrant, 'session' | 'userUid'>,
  { sessions }: Pick<RouteContext['deps'], 'sessions'>,
): Promise<boolean> {
  const stored = await readSession(session, sessions)
  return stored?.session.userUid === userUid && stored.session.endedMs === null
}

/** The claims of a person, as they are now, that the scopes open. */
export const currentClaims = (
  user: SignInUser,
  scopes: readonly string[],
  { apps }: Pick<RouteContext['deps'], 'apps'>,
): Readonly<Record<string, unknown>> => claimsOf({ ...user, teams: apps.teamsOf(user) }, scopes)
