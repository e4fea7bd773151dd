// Faults of what the operator stands on: the API server, its watches and history, the CRDs, the
// operator's own credentials. One operator lives through them; a second one stands by meanwhile, its
// watches cut without a word, because to notice that takes longer than everything else.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { LEASES } from '../../src/api/group.ts'
import { keysOf, type StoredKey } from '../cluster/keys/keys.ts'
import { isReadyBy, settingsOf } from '../support/config.ts'
import { privateControlPlane } from '../support/control-plane.ts'
import { eventually, eventuallyPasses, staysTrue } from '../support/eventually.ts'
import { newKey } from '../support/objects.ts'
import { type OwnOperator, startOperator } from '../support/operator.ts'
import { startProxy } from '../support/proxy.ts'
import { refusal } from '../support/proxy-rules.ts'
import { rounds } from '../support/rounds.ts'
import { crdsOf } from './crds.ts'
import { LEASE, type Manager, PATIENTLY, startManager, untilItLeads } from './managers.ts'
import { writesInAMinute } from './quiet.ts'
import { expectSound, isAlive } from './sound.ts'
import { tokenFileOf } from './tokens.ts'
import { isWatch, restartsFor, untilRestarted, WATCHES } from './watches.ts'

const plane = await privateControlPlane()
const { admin, apiServer } = plane
const own = await plane.operatorKubeconfig()
const proxy = await startProxy(plane)
afterAll(() => proxy[Symbol.asyncDispose]())
const kubeconfig = await proxy.kubeconfig(own)
const keys = keysOf(plane)
const settings = settingsOf(plane)
const crds = crdsOf(plane)
const tokens = tokenFileOf(plane)

const SOON = { withinMs: 20_000 }
/** After the API server is ready, everything must be as it should be within this time. */
const RECOVERED = { withinMs: 10_000 }
/** Bookmarks come once a minute; the operator waits for one and a half times that. */
const NOTICED = { withinMs: 150_000 }

let operator: OwnOperator
let standby: Manager
beforeAll(async () => {
  operator = await startOperator({ kubeconfig })
})
afterAll(async () => {
  await operator.stop()
  await standby[Symbol.asyncDispose]()
})

/** What the operator serves from now on it serves by what it has heard. */
async function serves(bound = SOON): Promise<void> {
  const key = await eventually('a key can be created', () => keys.create(), bound)
  await becomes(key, 'Active', bound)
}

/** As `keys.shown`, within another bound. */
async function becomes(key: StoredKey, reason: string, bound: typeof SOON): Promise<void> {
  await eventuallyPasses(
    `the key is ${reason}`,
    async () => {
      const { status } = (await keys.read(key)) ?? { status: undefined }
      expect(status?.conditions?.[0]).toMatchObject({ type: 'Ready', reason })
    },
    bound,
  )
}
