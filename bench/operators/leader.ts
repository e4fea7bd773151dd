// The end of the leader: killed, the other replica takes over when the Lease is over; stopped, at once.
import { eventually } from '../../test/support/eventually.ts'
import { metric } from '../../test/support/metrics-page.ts'
import type { Figures } from '../measure/rounds.ts'
import { type Testbed, startManager } from './comparators.ts'
import { createLoad } from './load.ts'
import { removeSeeds } from './seed.ts'

const SOON = { withinMs: 60_000 }

/** Kills the leader of two replicas with a key to be reconciled, then stops the other one. */
export async function measureLeader(bed: Testbed): Promise<Figures> {
  const leader = await startManager(bed)
  await eventually('the first replica leads', async () => (await leads(leader)) || undefined, SOON)
  const standby = await startManager(bed)
  const killedMs = performance.now()
  leader.kill('SIGKILL')
  await leader.exited
  await createLoad(bed, { prefix: 'leaderless', count: 1 })
  const takeOverMs = performance.now() - killedMs
  const stopStartMs = performance.now()
  await standby.stop()
  const stopMs = performance.now() - stopStartMs
  await removeSeeds(bed, 'leaderless')
  return { takeOverMs, stopMs }
}

const leads = async (operator: Parameters<typeof metric>[0]): Promise<boolean> =>
  (await metric(operator, 'leader_election_master_status')) === 1
