/** @module-tag no-retry */
// Secrets of targets that change all the time, under requests and open streams: nobody else's are touched, and nothing
// is left behind (contract 9.5, 13.4; threats C4).
import { readFile, readdir, readlink } from 'node:fs/promises'
import { Agent } from 'node:https'
import { setTimeout as delay } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { eventually, eventuallyPasses } from '../../support/eventually.ts'
import { ask } from '../../support/gateway-process.ts'
import { mustKubectl } from '../../support/kubectl.ts'
import { seriesOf } from '../../support/metrics-page.ts'
import { uniqueName } from '../../support/object-builder.ts'
import { TARGET_NAMESPACE, TEAM, startForSessions } from './own-targets.ts'
import { type RawStream, STREAMS, openStream, startStreamPods } from './raw-streams.ts'

const { setup, targets, node } = await startForSessions()
const { plane, ca } = setup
const [gateway] = setup.gateways
if (!gateway) throw new Error('there is no gateway')
const kubectl = (args: readonly string[], input = '') => mustKubectl(plane, args, { input })
const pods = await startStreamPods(setup, node, TEAM)
const ada = await setup.key()

const CONFIG_MAPS = `/api/v1/namespaces/${TEAM}/configmaps`
const SOON = { withinMs: 40_000 }

const apply = (...manifests: readonly string[]) =>
  kubectl(['apply', '--server-side', '--force-conflicts', '-f', '-'], manifests.join('---\n'))
const remove = (...names: readonly string[]) =>
  kubectl(['delete', 'secret', '-n', TARGET_NAMESPACE, ...names])

/** Whether the cluster works by the metric; undefined = no Secret names it. */
async function readinessOf(name: string): Promise<number | undefined> {
  const series = `platform_gateway_target_ready{kind="cluster",project="",name="${name}"}`
  return new Map(seriesOf((await gateway?.metrics()) ?? '')).get(series)
}

const clusterPath = (name: string): string => `/kubernetes/cluster/${name}`

async function codeOf(path: string, agent?: Agent): Promise<number> {
  const headers = { authorization: `Bearer ${ada.token}` }
  const options = { ca, headers, ...(agent ? { agent } : {}) }
  const answer = await ask(`${gateway?.url()}${path}`, options).catch(() => ({ code: 0 }))
  return answer.code
}

/** Repeats a request until the signal; how many answers there were of each code, 0 = none. */
async function poll(path: string, over: AbortSignal): Promise<Readonly<Record<number, number>>> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const counts: Record<number, number> = {}
  while (!over.aborted) {
    const code = await codeOf(path, agent)
    counts[code] = (counts[code] ?? 0) + 1
    await delay(10)
  }
  agent.destroy()
  return counts
}

const AGAIN = 3

test(`a Secret is changed, broken, repaired and removed ${AGAIN} times, and no request to another target fails (9.5)`, async () => {
  const { kubeconfig, secretOf, token } = targets
  const steps: readonly {
    readonly step: string
    readonly act: () => Promise<unknown>
    readonly readiness: number | undefined
  }[] = [
    { step: 'added', act: () => apply(secretOf('west')), readiness: 1 },
    {
      step: 'broken by a field that is forbidden',
      act: () => apply(secretOf('west', kubeconfig.replace('token:', 'tokenFile:'))),
      readiness: 0,
    },
    {
      step: 'changed and repaired',
      act: () => apply(secretOf('west', `${kubeconfig}# ${uniqueName('changed')}`)),
      readiness: 1,
    },
    {
      step: 'broken by a credential that nobody knows',
      act: () => apply(secretOf('west', kubeconfig.replace(token, 'nobody'))),
      readiness: 0,
    },
    { step: 'repaired', act: () => apply(secretOf('west')), readiness: 1 },
    {
      step: 'beside another one for the same target',
      act: () => apply(secretOf('west').replace('cluster-west', 'another')),
      readiness: 0,
    },
    {
      step: 'removed',
      act: () => remove('cluster-west', 'another'),
      readiness: undefined,
    },
  ]
  const target = clusterPath('east')
  const streams = await Promise.all(
    STREAMS.map((kind) => openStream(setup, kind, { key: ada, target, pods })),
  )
  const over = new AbortController()
  const others = ['/kubernetes/project/p/space/team', '/kubernetes/project/p/virtualcluster/vc']
  const polls = [target, target, ...others, clusterPath('west')].map((path) =>
    poll(`${path}${CONFIG_MAPS}`, over.signal),
  )
  try {
    for (let time = 0; time < AGAIN; time += 1) {
      for (const { step, act, readiness } of steps) {
        await act()
        const takesEffect = async () => expect(await readinessOf('west')).toBe(readiness)
        await eventuallyPasses(`the Secret is ${step}`, takesEffect, SOON)
      }
    }
  } finally {
    over.abort()
  }
  const counts = await Promise.all(polls)
  console.log(`measured: codes of each target, west last: ${JSON.stringify(counts)}`)
  const west = counts.pop() ?? {}
  for (const one of counts) expect(Object.keys(one)).toEqual(['200'])
  // Those of the target itself are told what it is: unknown, or not usable now.
  expect(Object.keys(west).filter((code) => !['200', '404', '503'].includes(code))).toEqual([])
  expect(west).toMatchObject({
    200: expect.any(Number),
    404: expect.any(Number),
    503: expect.any(Number),
  })

  expect(streams.filter((one) => one.hasEnded()).map(({ kind }) => kind.kind)).toEqual([])
  const name = uniqueName('after')
  await plane.raw('POST', CONFIG_MAPS, { metadata: { name } })
  for (const { kind, received } of streams.filter((one) => one.kind.kind.startsWith('watch')))
    await eventually(`${kind.kind} goes on`, () => received().includes(name) || undefined, SOON)
  for (const stream of streams) stream.close()
})

/** What the gateway holds. */
interface Held {
  readonly sockets: number
  readonly memoryMiB: number
}

async function held(): Promise<Held> {
  const proc = `/proc/${gateway?.pid}`
  const files = await readdir(`${proc}/fd`)
  const links = await Promise.all(files.map((fd) => readlink(`${proc}/fd/${fd}`).catch(() => '')))
  const status = await readFile(`${proc}/status`, 'utf8')
  return {
    sockets: links.filter((link) => link.startsWith('socket:')).length,
    memoryMiB: Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) / 1024,
  }
}

/** Connections are closed a moment after their target has ended. */
const untilAtMost = (sockets: number): Promise<void> =>
  eventuallyPasses(
    `there are at most ${sockets} sockets`,
    async () => expect((await held()).sockets).toBeLessThanOrEqual(sockets),
    SOON,
  )

// Secrets are compared every 5 s: 200 rotations of one would take a quarter of an hour.
const ROTATED = Array.from({ length: 20 }, (_, at) => `rotated-${at}`)
const WARMING = 3
/** Sockets that open and close for other reasons. */
const SOCKETS = 6
const ROTATIONS = 10

test(`${ROTATIONS * ROTATED.length} rotations of kubeconfigs under requests and watches leave no socket and no memory (9.5)`, async () => {
  const { kubeconfig, secretOf, token } = targets
  const another = await kubectl(['create', 'token', 'gateway', '-n', 'platform-gateway'])
  const kind = STREAMS.find((one) => one.kind === 'watch')
  if (!kind) throw new Error('no kind of stream is a watch')
  const rotate = (time: number) => {
    const rotated = kubeconfig.replace(token, time % 2 === 0 ? token : another.trim())
    return apply(...ROTATED.map((name) => secretOf(name, `${rotated}# ${time}\n`)))
  }
  const untilServed = (name: string) => {
    const path = `${clusterPath(name)}${CONFIG_MAPS}`
    return eventually(`${name} serves`, async () => (await codeOf(path)) === 200 || undefined, SOON)
  }
  const open = async (): Promise<readonly RawStream[]> => {
    await Promise.all(ROTATED.map(untilServed))
    return Promise.all(
      ROTATED.map((name) => openStream(setup, kind, { key: ada, target: clusterPath(name), pods })),
    )
  }
  await rotate(0)
  let watches = await open()
  const before = await held()
  const rounds: Held[] = []
  for (let time = 1; time <= WARMING + ROTATIONS; time += 1) {
    await rotate(time)
    await Promise.all(watches.map(({ ended }) => ended))
    for (const { received } of watches)
      expect(received()).toContain('the target of the request was removed or changed')
    watches = await open()
    await untilAtMost(before.sockets + SOCKETS)
    if (time > WARMING) rounds.push(await held())
  }
  for (const watch of watches) watch.close()
  await remove(...ROTATED.map((name) => `cluster-${name}`))
  await eventuallyPasses(
    'the targets are gone',
    async () => expect(await codeOf(`${clusterPath('rotated-0')}/version`)).toBe(404),
    SOON,
  )
  // Each target has one connection for its requests and its watch, and each watch one of its client.
  await untilAtMost(before.sockets - 2 * ROTATED.length + SOCKETS)
  const texts = [before, ...rounds, await held()].map(
    ({ sockets, memoryMiB }) => `${sockets} sockets ${memoryMiB.toFixed(0)} MiB`,
  )
  console.log(
    `measured: before, after each ${ROTATED.length} rotations, and after the targets: ${texts.join(', ')}`,
  )
  // Between two collections of garbage the memory grows: what counts is what is left after them.
  const leastMiB = (of: readonly Held[]) => Math.min(...of.map(({ memoryMiB }) => memoryMiB))
  const half = ROTATIONS / 2
  expect(leastMiB(rounds.slice(half)) - leastMiB(rounds.slice(0, half))).toBeLessThan(40)
})
