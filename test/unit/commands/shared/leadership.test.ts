// Leader election of a manager whose other requests all hang, on a server of the test.
import { expect, onTestFinished, test } from 'vitest'
import { ACCESS_KEYS, CONTROLLER_NAME } from '../../../../src/api/names.ts'
import { clientDeps, connectCluster } from '../../../../src/commands/shared/cluster-client.ts'
import { joinElection } from '../../../../src/commands/shared/leadership.ts'
import { readManagerSettings } from '../../../../src/commands/manager/flags.ts'
import { createManagerMetrics } from '../../../../src/commands/manager/metrics.ts'
import { createClient } from '../../../../src/kube/client/client.ts'
import { eventually } from '../../../support/eventually.ts'
import { manualClock } from '../../../support/manual-clock.ts'
import { memoryLog } from '../../../support/memory-log.ts'
import {
  type Answer,
  json,
  refuse,
  neverAnswer,
  startScriptedServer,
  writeKubeconfig,
} from '../../kube/informer/scripted-server.ts'

const SOON = { withinMs: 20_000 }

/** A server that stores the Lease and answers no other request. */
function leasesOnly(): Answer {
  let version = 0
  let lease: object | null = null
  return (response, request) => {
    if (!request.path.includes('/leases')) return neverAnswer(response, request)
    if (request.method !== 'GET') {
      version += 1
      const { metadata, ...rest } = JSON.parse(request.body) as { readonly metadata: object }
      lease = { ...rest, metadata: { ...metadata, resourceVersion: String(version) } }
    }
    const answer = lease === null ? refuse(404) : json(200, lease)
    answer(response, request)
  }
}

function settingsOf(kubeconfig: string) {
  const argv = [`--kubeconfig=${kubeconfig}`, '--namespace=platform-system', '--leader-elect']
  const invocation = readManagerSettings(argv, { env: () => null, file: () => null })
  if (invocation.kind !== 'run') throw new Error('these are no flags')
  return invocation.settings
}

test('a leader renews its Lease while all its other requests hang (8.1)', async () => {
  const server = await startScriptedServer(leasesOnly())
  const settings = settingsOf(await writeKubeconfig({ server: server.url }))
  const clock = manualClock(Date.parse('2026-11-21T10:00:00Z'))
  const { log } = memoryLog()
  const metrics = createManagerMetrics(settings)
  const stops: (() => unknown)[] = []
  let ended: string | null = null
  const lifecycle = {
    onStop: (_: string, __: number, stop: () => unknown) => void stops.unshift(stop),
    stop: (because: string) => {
      ended = because
    },
  }
  onTestFinished(async () => {
    for (const stop of stops) await stop()
  })
  const self = { settings, clock, log, metrics, lifecycle }
  const connection = await connectCluster(settings.kubeconfig, clock)
  lifecycle.onStop('connection', 0, () => connection.close())
  const lease = { namespace: settings.namespace, name: CONTROLLER_NAME }
  const leadership = await joinElection(self, {
    kubeconfig: settings.kubeconfig,
    leaderElection: settings.leaderElection,
    lease,
    identity: 'it',
  })
  const client = createClient(clientDeps(self, connection, leadership.mayWrite))
  await leadership.acquired

  const calls = Array.from({ length: 80 }, (_, n) => client.get(ACCESS_KEYS, { name: `key-${n}` }))
  const ends = Promise.allSettled(calls)
  const asked = (): number => server.received.filter(({ method }) => method === 'PUT').length
  await eventually('calls wait', () => server.received.length > 30 || undefined, SOON)
  // Twice the renew deadline, one retry period at a time.
  for (let renewals = 1; renewals <= 10; renewals += 1) {
    await clock.advance(2000)
    await eventually(`renewal ${renewals}`, () => asked() >= renewals || undefined, SOON)
  }
  expect(() => leadership.mayWrite()).not.toThrow()
  expect(ended).toBeNull()
  await connection.close()
  await ends
})
