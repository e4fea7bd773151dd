// A long run: `node bench/soak.ts [--minutes=30] [--per-minute=4000]`. Access keys are created all the time; those of
// every second minute expire, the others are deleted; some are used through the gateway. Every minute all connections of
// operator and gateway to the API server are cut, and after a quarter of the time the API server is restarted. Fails when
// an object is missed or stuck, when memory grows, or when file descriptors do. Linux only. On two cores the API server
// can't do what 4,000 keys a minute need, six writes each: --per-minute=2000.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { ISSUER, startOperator } from '../test/support/command-process.ts'
import { eventually } from '../test/support/eventually.ts'
import { ask, startGateway } from '../test/support/gateway-process.ts'
import { GATEWAY_ACCOUNT } from '../test/support/installed-control-plane.ts'
import { KEYS_PATH, createAll, keyOf, newSecret } from './gateway/objects.ts'
import type { Testbed } from './operators/comparators.ts'
import { createLoad, deleteLoad } from './operators/load.ts'
import { servingCa } from './product.ts'
import { withTestbed } from './sections.ts'
import { useShippedProgram } from './shipped-program.ts'
import { layCable } from './soak/cable.ts'
import { type Sample, descriptorGrowth, growthMb, sampleOf } from './soak/samples.ts'

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '30' },
    'per-minute': { type: 'string', default: '4000' },
  },
})
const MINUTES = Number(values.minutes)
const PER_SECOND = Number(values['per-minute']) / 60
/**
 * More than the operator is behind on two cores after a restart of the API server: a key that ends before is not ready.
 */
const TTL_SECONDS = 150
const RETENTION_SECONDS = 5
const MINUTE_MS = 60_000
const USED_KEYS = 20
const USE_EVERY_MS = 500
const SAMPLE_EVERY_MS = 5000
const LARGEST_GROWTH_MB = 1
const OUTPUT = join(import.meta.dirname, '../.bench')

/** A server that has just started refuses everybody, until it has read the roles. */
const REFUSES_FOR_MS = 15_000

let refusesUntilMs = Number.NEGATIVE_INFINITY
const faults: string[] = []
const fault = (text: string): void => {
  faults.push(text)
  console.log(`FAULT: ${text}`)
}

await useShippedProgram()
await withTestbed(soak)
for (const text of faults) console.log(text)
console.log(faults.length === 0 ? 'nothing missed, nothing stuck' : `${faults.length} faults`)
process.exitCode = faults.length === 0 ? 0 : 1

async function soak(bed: Testbed): Promise<void> {
  const { plane } = bed
  const cable = await layCable(plane.url)
  const { namespace, name } = GATEWAY_ACCOUNT
  const flags = [`--issuer-url=${ISSUER}`]
  await using operator = await startOperator({
    kubeconfig: await cable.kubeconfig(bed.operatorKubeconfig),
    flags: [...flags, `--expired-retention=${RETENTION_SECONDS}s`],
  })
  await using gateway = await startGateway({
    kubeconfig: await cable.kubeconfig(await plane.serviceAccountKubeconfig(namespace, name)),
    flags,
  })
  const startMs = Date.now()
  const minuteNow = (): number => (Date.now() - startMs) / MINUTE_MS
  const samples: Record<'operator' | 'gateway', Sample[]> = { operator: [], gateway: [] }
  const abort = new AbortController()
  const beside = [
    every(SAMPLE_EVERY_MS, abort.signal, async () => {
      samples.operator.push(sampleOf(operator.pid, minuteNow()))
      samples.gateway.push(sampleOf(gateway.pid, minuteNow()))
    }),
    every(MINUTE_MS, abort.signal, async () => cable.cut()),
    useKeys(bed, gateway.url(), abort.signal),
  ]
  // In the first third, which the growth of memory leaves out: the pools of a restart fill once.
  const restarted = sleep((MINUTES * MINUTE_MS) / 4).then(async () => {
    console.log('restarting the API server')
    refusesUntilMs = Number.POSITIVE_INFINITY
    await plane.apiServer.stop()
    await plane.apiServer.start()
    refusesUntilMs = Date.now() + REFUSES_FOR_MS
  })
  const waves: Promise<void>[] = []
  for (let minute = 0; minute < MINUTES; minute += 1) {
    waves.push(wave(bed, minute))
    await sleep(startMs + (minute + 1) * MINUTE_MS - Date.now())
    const last = [samples.operator.at(-1), samples.gateway.at(-1)]
    console.log(
      `minute ${minute + 1}: operator and gateway have ${last.map((one) => `${one?.mb.toFixed(0)} MB, ${one?.descriptors} descriptors`).join(' and ')}`,
    )
  }
  await Promise.all([...waves, restarted])
  abort.abort()
  await Promise.all(beside)
  await eventually('all keys are gone', async () => (await keysLeft(bed, '')) === 0 || undefined, {
    withinMs: MINUTE_MS,
  }).catch((error: Error) => fault(error.message))
  judge(samples)
  await cable.close()
}

/** Creates the keys of a minute. They expire, or are deleted; either way they are gone in the end. */
async function wave(bed: Testbed, minute: number): Promise<void> {
  const prefix = `soak-${minute}`
  const expires = minute % 2 === 0
  const count = Math.round(PER_SECOND * 60)
  const flags = { prefix, count, rate: PER_SECOND, timeout: '180s', patient: 'true' }
  try {
    const { latencyMs } = await createLoad(bed, expires ? { ...flags, ttl: TTL_SECONDS } : flags)
    if (!expires) await deleteAll(bed, prefix)
    await eventually(`${prefix} is gone`, async () => isGone(bed, prefix), {
      withinMs: 5 * MINUTE_MS,
    })
    console.log(
      `${prefix}: ${count} keys, ready after p50 ${latencyMs.p50} ms, p99 ${latencyMs.p99} ms`,
    )
  } catch (error) {
    fault(error instanceof Error ? error.message : String(error))
  }
}

/** Deletes them one by one: a request for all would take longer than a request may. Again, when the API server is away. */
async function deleteAll(bed: Testbed, prefix: string): Promise<void> {
  await eventually(
    `${prefix} is deleted`,
    async () => {
      await sleep(1000)
      return deleteLoad(bed, { prefix, timeout: '120s' })
    },
    { withinMs: 3 * MINUTE_MS },
  )
}

async function isGone(bed: Testbed, prefix: string): Promise<true | undefined> {
  await sleep(1000)
  return (await keysLeft(bed, `labelSelector=bench%3D${prefix}&`)) === 0 || undefined
}

/** How many keys of the load there are; while the API server is away, an error. */
async function keysLeft({ raw }: Testbed, selector: string): Promise<number> {
  const query = selector === '' ? 'labelSelector=bench&' : selector
  const { code, body } = await raw<{
    readonly items: readonly unknown[]
    readonly metadata: { readonly remainingItemCount?: number }
  }>('GET', `${KEYS_PATH}?${query}limit=1`)
  if (code !== 200) throw new Error(`the list is answered ${code}`)
  return body.items.length
}

/** Calls with a few keys that stay, so that their last use is recorded. */
async function useKeys(bed: Testbed, url: string, signal: AbortSignal): Promise<void> {
  const ca = await servingCa(bed.plane)
  const used = Array.from({ length: USED_KEYS }, (_, n) => ({
    name: `used-${n}`,
    key: newSecret(),
  }))
  await createAll(
    bed.raw,
    KEYS_PATH,
    used.map(({ name, key }) => keyOf(name, key)),
  )
  const use = ({ name, key }: (typeof used)[number]) =>
    ask(`${url}/kubernetes/management${KEYS_PATH}/${name}`, {
      ca,
      headers: { authorization: `Bearer ${key}` },
    })
  // The gateway learns of a new key by a watch.
  for (const one of used)
    await eventually(`${one.name} works`, async () => (await use(one)).code === 200 || undefined, {
      withinMs: MINUTE_MS,
    })
  let n = 0
  await every(USE_EVERY_MS, signal, async () => {
    const one = used[n++ % USED_KEYS]
    if (!one) return
    const answer = await use(one)
    // While connections are cut, or the API server is away, an honest gateway may say that it can't know.
    const isExcused = answer.code === 403 && Date.now() < refusesUntilMs
    if (!isExcused && ![200, 502, 503, 504].includes(answer.code))
      fault(`a use of ${one.name} is answered ${answer.code}`)
  })
}

/** Does it at once and then in this interval, one at a time, until the signal. */
async function every(ms: number, signal: AbortSignal, act: () => Promise<void>): Promise<void> {
  while (!signal.aborted) {
    await act()
    await sleep(ms, undefined, { signal }).catch(() => undefined)
  }
}

function judge(samples: Readonly<Record<string, readonly Sample[]>>): void {
  for (const [name, its] of Object.entries(samples)) {
    const growth = growthMb(its)
    const descriptors = descriptorGrowth(its)
    console.log(
      `${name}: memory ${growth?.toFixed(2)} MB more in ten minutes, ${descriptors} descriptors more`,
    )
    if (growth !== null && growth > LARGEST_GROWTH_MB) fault(`memory of the ${name} grows`)
    if (descriptors > 0) fault(`file descriptors of the ${name} grow`)
  }
  mkdirSync(OUTPUT, { recursive: true })
  writeFileSync(join(OUTPUT, 'soak.json'), `${JSON.stringify({ samples, faults }, null, 2)}\n`)
}
