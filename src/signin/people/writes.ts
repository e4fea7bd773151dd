// What a sign-in makes of a person (contract 25.4): the User, its groups, and Teams for new groups. Decisions are in plan.ts and
// groups.ts.
import { API_VERSION, TEAMS, USERS } from '../../api/names.ts'
import type { KubeObject } from '../../api/objects.ts'
import { hasExpectedName } from '../../domain/people/object-name.ts'
import { SignInRefused } from '../../domain/signin/refusals.ts'
import { formatTimestamp } from '../../domain/time.ts'
import { isConflict, isTestFailed } from '../../kube/client/api-error.ts'
import type { KubeClient, PatchOperation } from '../../kube/client/client.ts'
import { objectNameFor } from '../../people/people-index.ts'
import type { Clock } from '../../runtime/clock.ts'
import { createSemaphore } from '../../runtime/concurrency/semaphore.ts'
import type { Log } from '../../runtime/log.ts'
import type { ProviderGroupName, ProviderIdentity } from '../providers/provider.ts'
import { type GroupTeam, mergedMemberships, newTeams, sameMemberships } from './groups.ts'
import {
  type Account,
  type AccountStep,
  type KnownUsers,
  accountStep,
  namesAccount,
  textForPeople,
} from './plan.ts'
import { type SignInUser, type SignInUsers, signInUserOf } from './sign-in-user.ts'

/** Why people are written, for metrics. */
export const PEOPLE_WRITE_REASONS = ['create', 'claim', 'signIn', 'groups'] as const

/** The writer's view of the cluster. */
export interface PeopleDeps {
  readonly client: KubeClient
  readonly users: SignInUsers
  /** Whether a Team of this name exists, and how many exist. */
  readonly teams: { readonly has: (teamName: string) => boolean; readonly count: () => number }
  /** Beyond it no Teams are made (`--max-teams`). */
  readonly maxTeams: number
  /** A group has no Team, because there are too many. */
  readonly teamsFull: () => void
  readonly clock: Clock
  readonly log: Log
}

/** Another replica, or an administrator, may write the same User meanwhile. */
const MOST_TRIES = 4

/**
 * The User of an account at a provider: found, claimed or made, and read from the API server.
 *
 * @throws SignInRefused
 */
export async function userOfAccount(
  account: Account,
  profile: ShownProfile,
  { mayCreate, deps }: { readonly mayCreate: boolean; readonly deps: PeopleDeps },
): Promise<SignInUser> {
  for (let tries = 0; tries < MOST_TRIES; tries += 1) {
    const sameName = account.username === null ? null : await readObject(account.username, deps)
    const step = accountStep(account, knownUsers(account, sameName, deps), mayCreate)
    const user = await perform(step, account, profile, deps)
    if (user !== null) return user
  }
  throw new SignInRefused('key_not_made', 'the User was written by others several times in a row')
}

/** What the watch says, and above it the object that was just read: another replica may have made it a moment ago. */
function knownUsers(
  account: Account,
  sameName: SignInUser | null,
  { users }: PeopleDeps,
): KnownUsers {
  const watched = users.withAccount(account.connector, account.subject)
  const others = watched.filter(({ name }) => name !== sameName?.name)
  const isIts = sameName !== null && namesAccount(sameName, account)
  return { withAccount: isIts ? [sameName, ...others] : others, sameName }
}

/** The User as it is after the step; null = it has changed meanwhile, decide again. */
async function perform(
  step: AccountStep,
  account: Account,
  profile: ShownProfile,
  deps: PeopleDeps,
): Promise<SignInUser | null> {
  switch (step.kind) {
    case 'refuse':
      throw new SignInRefused(step.reason, step.cause)
    case 'use': {
      const current = await readObject(step.user.username, deps)
      if (current?.uid !== step.user.uid || !namesAccount(current, account)) return null
      const again = accountStep(account, { withAccount: [current], sameName: null }, false)
      if (again.kind === 'refuse') throw new SignInRefused(again.reason, again.cause)
      return current
    }
    case 'claim': {
      const path = `/spec/identities/${step.entry}/subject`
      const operation: PatchOperation = { op: 'add', path, value: account.subject }
      return unlessConflict(patchUser(step.user, [operation], 'claim', deps))
    }
    case 'create':
      return unlessConflict(createUser(step.username, account, profile, deps))
    default:
      return step satisfies never
  }
}

/** The object that a User of this name would be, as the API server has it now; null = there is none. The store learns it, too. */
async function readObject(
  username: string,
  { client, users }: Pick<PeopleDeps, 'client' | 'users'>,
): Promise<SignInUser | null> {
  const found = await client.get(USERS, { name: objectNameFor(username) })
  if (found === null) return null
  users.store.observe(found)
  return signInUserOf(found)
}

/** The User of this name as the API server has it now; null = there is none, or its object counts for nothing. */
export async function readUser(
  username: string,
  deps: Pick<PeopleDeps, 'client' | 'users'>,
): Promise<SignInUser | null> {
  const user = await readObject(username, deps)
  return user?.username === username && hasExpectedName(user) ? user : null
}

/** What people see of a person. */
type ShownProfile = Pick<ProviderIdentity, 'displayName' | 'email'>

function shownTexts(profile: ShownProfile): Readonly<Record<string, string>> {
  const [displayName, email] = [profile.displayName, profile.email].map(textForPeople)
  return { ...(displayName ? { displayName } : {}), ...(email ? { email } : {}) }
}

async function createUser(
  username: string,
  { connector, subject }: Account,
  profile: ShownProfile,
  { client, users, log }: PeopleDeps,
): Promise<SignInUser> {
  const created = await client.create<KubeObject>(
    USERS,
    {
      apiVersion: API_VERSION,
      kind: USERS.kind,
      metadata: { name: objectNameFor(username) },
      spec: {
        username,
        ...shownTexts(profile),
        identities: [{ connector, subject }],
      },
    },
    'create',
  )
  users.store.observe(created)
  log.info({ user: username, provider: connector }, 'user created at the first sign-in')
  return signInUserOf(created)
}

/** Patches a User as it was read. @throws StatusError 409 or a failed test when it has changed */
async function patchUser(
  { name, resourceVersion }: SignInUser,
  operations: readonly PatchOperation[],
  reason: (typeof PEOPLE_WRITE_REASONS)[number],
  { client, users }: StatusDeps,
  subresource?: 'status',
): Promise<SignInUser> {
  const test: PatchOperation = {
    op: 'test',
    path: '/metadata/resourceVersion',
    value: resourceVersion,
  }
  const patched = await client.patch<KubeObject>(
    USERS,
    { name },
    [test, ...operations],
    reason,
    subresource,
  )
  users.store.observe(patched)
  return signInUserOf(patched)
}

/** null when the object has changed, or exists already. */
async function unlessConflict<T>(written: Promise<T>): Promise<T | null> {
  try {
    return await written
  } catch (error) {
    if (isConflict(error) || isTestFailed(error)) return null
    throw error
  }
}

/** What a provider said of a person at this sign-in. */
interface SignInRecord extends Pick<ProviderIdentity, 'email'> {
  readonly connector: string
  readonly groups: readonly ProviderGroupName[]
}

/**
 * Writes groups, e-mail and time of the sign-in into the User.
 *
 * @throws SignInRefused `too_many_groups`
 */
export async function recordSignIn(
  user: SignInUser,
  { connector, groups, email }: SignInRecord,
  deps: PeopleDeps,
): Promise<void> {
  const written = await writeStatus(user, 'signIn', deps, ({ memberships }) => ({
    groups: mergedMemberships(memberships, connector, groups),
    lastSignIn: formatTimestamp(deps.clock.nowMs()),
  }))
  await recordEmail(written, email, deps)
}

/**
 * Writes what groups of this connector the person has now, if they are others.
 *
 * @throws SignInRefused `too_many_groups`
 */
export async function recordGroups(
  user: SignInUser,
  connector: string,
  groups: readonly ProviderGroupName[],
  deps: StatusDeps,
): Promise<void> {
  await writeStatus(user, 'groups', deps, ({ memberships }) => {
    const merged = mergedMemberships(memberships, connector, groups)
    return sameMemberships(memberships, merged) ? null : { groups: merged }
  })
}

/** The parts that a write of a status needs. */
export type StatusDeps = Pick<PeopleDeps, 'client' | 'users'>

/**
 * Writes fields of the status, again when the User has changed meanwhile.
 *
 * @param fieldsFor gives them for the User as it is; null = nothing is to be written
 * @returns the User as it is then
 */
async function writeStatus(
  user: SignInUser,
  reason: (typeof PEOPLE_WRITE_REASONS)[number],
  deps: StatusDeps,
  fieldsFor: (user: SignInUser) => Readonly<Record<string, unknown>> | null,
): Promise<SignInUser> {
  let current = user
  for (let tries = 0; tries < MOST_TRIES; tries += 1) {
    const fields = fieldsFor(current)
    if (fields === null) return current
    const whole: PatchOperation = { op: 'add', path: '/status', value: fields }
    const each = Object.entries(fields).map(
      ([field, value]): PatchOperation => ({ op: 'add', path: `/status/${field}`, value }),
    )
    const operations = current.hasStatus ? each : [whole]
    const written = await unlessConflict(patchUser(current, operations, reason, deps, 'status'))
    if (written !== null) return written
    const read = await readUser(current.username, deps)
    if (read === null || read.uid !== current.uid)
      throw new SignInRefused('key_not_made', 'the User was deleted meanwhile')
    current = read
  }
  throw new SignInRefused('key_not_made', 'the User was written by others several times in a row')
}

/** An e-mail is for people only, so a change that fails meanwhile comes with the next sign-in. */
async function recordEmail(
  user: SignInUser,
  given: string | null,
  deps: PeopleDeps,
): Promise<void> {
  const email = textForPeople(given)
  if (email === null || email === user.email) return
  const operation: PatchOperation = { op: 'add', path: '/spec/email', value: email }
  await unlessConflict(patchUser(user, [operation], 'signIn', deps))
}

const TEAMS_AT_ONCE = 4

/** Makes Teams for the groups that have none, as far as their number allows. */
export async function makeTeams(
  connector: string,
  groups: readonly ProviderGroupName[],
  deps: PeopleDeps,
): Promise<void> {
  const { teams, maxTeams, teamsFull, log } = deps
  const missing = newTeams(connector, groups, teams.has)
  const room = Math.max(0, maxTeams - teams.count())
  if (missing.length > room) {
    teamsFull()
    log.warn(
      { provider: connector, teams: teams.count(), maxTeams },
      'no more teams are made for groups',
    )
  }
  const oneOf = createSemaphore(TEAMS_AT_ONCE, TEAMS_AT_ONCE)
  const made = missing.slice(0, room).map((team) => oneOf(connector, () => createTeam(team, deps)))
  await Promise.all(made)
}

/** A Team that exists is never changed (contract 24.4). */
async function createTeam(
  { teamName, displayName, group }: GroupTeam,
  { client }: PeopleDeps,
): Promise<void> {
  const spec = {
    name: teamName,
    ...(displayName === null ? {} : { displayName }),
    groups: [group],
  }
  const metadata = { name: objectNameFor(teamName) }
  await unlessConflict(
    client.create(TEAMS, { apiVersion: API_VERSION, kind: TEAMS.kind, metadata, spec }, 'create'),
  )
}
