import { expect, it, onTestFinished } from 'vitest'
import { systemClock } from '../../../../src/runtime/clock.ts'
import { refreshSessions } from '../../../../src/signin/refresh/refresh-loop.ts'
import { confirmedAt } from '../../../../src/signin/sessions/refresh-state.ts'
import { sessionSecret } from '../../../../src/signin/sessions/session.ts'
import { NAMESPACE, stateWith } from '../../../support/signin/leader.ts'
import { REFRESHED, RotatingProvider } from '../../../support/signin/refreshes.ts'
import { comeBack } from '../../../support/signin/requests.ts'
import { storedSession } from '../../../support/signin/stored-session.ts'
import { SignInWorld } from '../../../support/signin/world.ts'

it('people sign in at once while 1,000 sessions wait for a provider that does not answer (25.7, 25.5)', async () => {
  const world = new SignInWorld()
  const silent = new RotatingProvider()
  silent.delay = new Promise(() => undefined)
  const stop = new AbortController()
  onTestFinished(() => stop.abort())
  for (let at = 0; at < 1000; at += 1) {
    const digits = at.toString(2).padStart(26, '0').replaceAll('0', 'c').replaceAll('1', 'b')
    const session = storedSession({
      ...REFRESHED,
      name: `login-${digits}`,
      refresh: confirmedAt(0),
    })
    world.cluster.put(sessionSecret(session, NAMESPACE) as never)
  }
  const state = stateWith({ providers: new Map([['oidc', silent.provider()]]) })
  const { cluster, secrets, users, clock, memory } = world
  refreshSessions({
    client: cluster.client,
    namespace: NAMESPACE,
    secrets,
    settings: { current: () => state, subscribe: () => undefined },
    people: {
      client: cluster.client,
      users,
      teams: { has: () => false, count: () => 0 },
      maxTeams: 1,
      teamsFull: () => undefined,
      clock,
      log: memory.log,
    },
    // Its own time goes on, that of the people stands still: whoever waits for it never gets in.
    clock: systemClock(),
    log: memory.log,
    warn: () => undefined,
    intervalMs: 3_600_000,
    observer: { refreshed: () => undefined, overdue: () => undefined },
    mayLead: () => undefined,
    signal: stop.signal,
  })
  while (silent.asks.length < 10) await new Promise((resolve) => setTimeout(resolve, 20))
  for (const _ of [1, 2, 3]) expect((await comeBack(world)).text).toContain('Signed in as ada')
})
