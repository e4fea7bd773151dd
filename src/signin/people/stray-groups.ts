// Takes away the groups of an identity that has left a User (contract 24.3), at the replica that leads.
import { isConflict } from '../../kube/client/api-error.ts'
import type { EventLoopShare } from '../../runtime/concurrency/event-loop.ts'
import type { Log } from '../../runtime/log.ts'
import type { Warn } from '../../runtime/log-throttle.ts'
import type { SignInUsers } from './sign-in-user.ts'
import { type StatusDeps, readUser, recordGroups } from './writes.ts'

/** The parts that clearStrayGroups uses. */
interface StrayGroupsDeps extends StatusDeps {
  readonly users: SignInUsers
  readonly eventLoop: EventLoopShare
  readonly log: Log
  readonly warn: Warn
  /** Ends the work. */
  readonly signal: AbortSignal
}

/** One round over all Users. One that can't be written now has its turn in the next round. */
export async function clearStrayGroups(deps: StrayGroupsDeps): Promise<void> {
  const { users, eventLoop, warn, signal } = deps
  for (const { username, strayConnectors } of users.store.values()) {
    await eventLoop.waitForTurn()
    if (signal.aborted) return
    if (strayConnectors.length === 0) continue
    try {
      await clearGroups(username, deps)
    } catch (err) {
      if (!isConflict(err))
        warn('groups', { err, user: username }, 'groups of a User cannot be written, trying again')
    }
  }
}

/** By the User as the API server has it: the watch may be behind a sign-in. */
async function clearGroups(username: string, deps: StrayGroupsDeps): Promise<void> {
  const user = await readUser(username, deps)
  for (const connector of user?.strayConnectors ?? []) {
    if (user === null) return
    await recordGroups(user, connector, [], deps)
    deps.log.info({ user: username, provider: connector }, 'groups of a former identity removed')
  }
}
