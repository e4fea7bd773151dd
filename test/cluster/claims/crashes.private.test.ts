/** @module-tag no-retry */
// The delivery process is killed at each of its writes, and the next one goes on: at no moment has a Secret a key that does not
// work, or a claim more than three keys, and none is left over (contract 28.3, 28.5, 28.6).
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { ACCESS_KEYS, CLAIM_LABEL } from '../../../src/api/names.ts'
import { pathOf } from '../../../src/kube/client/client.ts'
import { POSITIONS, keysStuckInDeletion, lateAnswer } from '../../faults/operator-crash.ts'
import { recordClaims } from '../../support/claims/claim-history.ts'
import { claimNamespace, deliveryKubeconfig, startDelivery } from '../../support/claims/delivery.ts'
import { outputOf, plaintextIn } from '../../support/claims/plaintext-search.ts'
import { claimsOf } from '../../support/claims/stored-claims.ts'
import { type OwnProcess, startOperator } from '../../support/command-process.ts'
import { privateControlPlane } from '../../support/control-plane.ts'
import { eventuallyPasses } from '../../support/eventually.ts'
import { type Match, first, startProxy } from '../../support/fault-proxy.ts'
import { repeated } from '../../support/tier.ts'
import { claimWritePoints } from './crash-points.ts'

const ROUNDS = repeated(5, 50)
const SOON = { withinMs: 40_000 }

const plane = await privateControlPlane()
const proxy = await startProxy(plane)
afterAll(() => proxy[Symbol.asyncDispose]())
const [namespace, endingNamespace] = (await Promise.all(
  ['crashes', 'crashes-ending'].map((name) => claimNamespace(plane, name)),
)) as [string, string]
const history = await recordClaims(plane, namespace)
const points = claimWritePoints({ plane, claims: claimsOf(plane), namespace, endingNamespace })

/** Each write, in turn with each position, until there are enough. */
const rounds = Array.from({ length: ROUNDS }, (_, at) => {
  const turn = Math.floor(at / points.length)
  const position = POSITIONS[(at + turn) % POSITIONS.length] ?? POSITIONS[0]
  return { round: at + 1, point: points[at % points.length]?.(), position }
}).flatMap(({ point, position, round }) =>
  point && position ? [{ round, point, position, name: point.name, how: position.name }] : [],
)

const outputs: Record<string, string> = {}
const kubeconfig = await proxy.kubeconfig(await deliveryKubeconfig(plane))
const start = () => startDelivery(plane, { kubeconfig, flags: ['--log-level=debug'] })
/** The manager takes its time: a Secret that does not wait for it has a key that does not work yet. */
const isKeyStatus: Match = ({ method, path }) =>
  method === 'PATCH' && path.startsWith(`${pathOf(ACCESS_KEYS, {})}/`) && path.endsWith('/status')
proxy.on(isKeyStatus, { kind: 'delay', ms: 200 })
let manager: OwnProcess
let delivery: OwnProcess
beforeAll(async () => {
  ;[manager, delivery] = await Promise.all([
    startOperator({ kubeconfig: await proxy.kubeconfig(await plane.operatorKubeconfig()) }),
    start(),
  ])
  await Promise.all(rounds.map(({ point }) => point.prepare()))
})
afterAll(() => Promise.all([manager?.stop(), delivery?.stop()]))

test.each(rounds)(
  'round $round: after a kill at $name, $how, the next process completes (28.3)',
  async ({ point, position: { act, arrives }, round }) => {
    const rule = proxy.on(first(1, point.matches), act)
    onTestFinished(() => rule.remove())
    await point.trigger()
    await rule.reached(SOON)
    delivery.kill('SIGKILL')
    expect(await delivery.exited).toEqual({ code: null, signal: 'SIGKILL' })
    outputs[`log of round ${round}`] = await outputOf(delivery, false)
    if (arrives === 'never') rule.remove()
    if (arrives === 'before') rule.release()
    delivery = await start()
    await point.completed()
    if (arrives !== 'late') return
    await lateAnswer(rule)
    await point.completed()
  },
)

test('each Secret always had a key that works, and no claim more than three keys (28.3)', async () => {
  expect(await history.faults()).toEqual([])
})

test('no key is left over (28.3)', async () => {
  const isClean = async (): Promise<void> => {
    expect(await keysStuckInDeletion(plane.admin)).toEqual([])
    const { items } = await plane.admin.list(ACCESS_KEYS, { labelSelector: CLAIM_LABEL }, 10_000)
    const owners = items.map(({ metadata }) => metadata.labels?.[CLAIM_LABEL])
    expect(owners.length).toBe(new Set(owners).size)
  }
  await eventuallyPasses('each claim has one key', isClean, SOON)
})

test('no key in clear is outside its Secret (3.5, 28.3)', async () => {
  const keys = await history.delivered()
  expect(keys.length).toBeGreaterThanOrEqual(ROUNDS)
  outputs['delivery'] = await outputOf(delivery)
  outputs['manager'] = await outputOf(manager)
  expect(await plaintextIn(plane, keys, { namespace, outputs })).toEqual([])
})
