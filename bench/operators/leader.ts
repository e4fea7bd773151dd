// The end of the leader: killed, the other replica takes over when the Lease is over; stopped, at once.
import { ISSUER, startOperator } from '../../test/support/command-process.ts'
import { eventually } from '../../test/support/eventually.ts'
import { metric } from '../../test/support/metrics-page.ts'
import type { Figures } from '../measure/rounds.ts'
import type { Bed } from './comparators.ts'
import { createLoad } from './load.ts'
import { removeSeeds } from './seed.ts'

const SOON = { withinMs: 60_000 }

/** Kills the leader of two replicas with a key to be reconciled, then stops the other one. */
export async function measureLeader(bed: Bed): Promise<Figures> {
  const options = {
    kubeconfig: bed.operatorKubeconfig,
    flags: [`--issuer-url=${ISSUER}`, '--leader-elect'],
  }
  const leader = await startOperator(options)
  await eventually('the first replica leads', async () => (await leads(leader)) || undefined, SOON)
  const standby = await startOperator(options)
  const killedMs = performance.now()
  leader.kill('SIGKILL')
  await leader.exited
  await createLoad(bed, { prefix: 'leaderless', count: 1 })
  const takeOverMs = performance.now() - killedMs
  const stopStartMs = performance.now()
  await standby.stop()
  await removeSeeds(bed.plane, 'leaderless')
  return { takeOverMs, stopMs: performance.now() - stopStartMs }
}

const leads = async (operator: Parameters<typeof metric>[0]): Promise<boolean> =>
  (await metric(operator, 'leader_election_master_status')) === 1
