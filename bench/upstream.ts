// How requests are best passed on to the API server: `node bench/upstream.ts [kubeconfig]`. Starts a
// control plane of its own without a kubeconfig. Prints each figure, and its ratio to the product's.
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { connect } from '../src/kube/client/connection.ts'
import { systemClock } from '../src/runtime/clock.ts'
import { startControlPlane } from '../tools/control-plane/control-plane.ts'
import type { Figures } from './upstream-measure.ts'
import { TRANSPORTS } from './upstream-transports.ts'

const WATCHES = 2000
const ROUNDS = 2
const MEASURE = join(import.meta.dirname, 'upstream-measure.ts')

async function main(): Promise<void> {
  const [given] = process.argv.slice(2)
  if (given !== undefined) return compare(given)
  const plane = await startControlPlane({ controllers: 'none', log: console.error })
  try {
    await compare(plane.adminKubeconfig)
  } finally {
    await plane.stop()
  }
}

/** Four objects of a megabyte each, in a namespace of their own: one list of 4 MB. */
async function fill(kubeconfig: string): Promise<void> {
  const connection = await connect({ kind: 'files', paths: [kubeconfig] }, systemClock())
  const { calls, headers } = await connection.open()
  const post = async (path: string, body: object): Promise<void> => {
    const sent = { ...headers, 'content-type': 'application/json' }
    const answer = await calls.request({
      method: 'POST',
      path,
      headers: sent,
      body: JSON.stringify(body),
    })
    await answer.body.dump()
    if (answer.statusCode !== 201 && answer.statusCode !== 409)
      throw new Error(`POST ${path}: ${answer.statusCode}`)
  }
  await post('/api/v1/namespaces', { metadata: { name: 'bench' } })
  const data = { text: 'x'.repeat(1_000_000) }
  for (const name of ['a', 'b', 'c', 'd'])
    await post('/api/v1/namespaces/bench/configmaps', { metadata: { name }, data })
  await connection.close()
}

async function compare(kubeconfig: string): Promise<void> {
  await fill(kubeconfig)
  const seen = new Map<string, Figures>()
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const name of Object.keys(TRANSPORTS)) {
      const figures = await figuresOf(name, kubeconfig)
      seen.set(name, better(seen.get(name), figures))
    }
  }
  print(seen)
}

async function figuresOf(name: string, kubeconfig: string): Promise<Figures> {
  const args = ['--expose-gc', MEASURE, name, kubeconfig, String(WATCHES)]
  const { stdout } = await promisify(execFile)(process.execPath, args)
  return JSON.parse(stdout) as Figures
}

/** The better of two rounds in each figure: what disturbs a round only ever makes it worse. */
function better(one: Figures | undefined, other: Figures): Figures {
  if (!one) return other
  const pick = (name: keyof Figures): readonly [string, number] => [
    name,
    (name.endsWith('PerSecond') ? Math.max : Math.min)(one[name], other[name]),
  ]
  return Object.fromEntries(
    Object.keys(one).map((name) => pick(name as keyof Figures)),
  ) as unknown as Figures
}

function print(seen: ReadonlyMap<string, Figures>): void {
  const product = seen.get('product')
  if (!product) throw new Error('the product was not measured')
  for (const [name, figures] of seen) {
    console.log(`\n${name}`)
    for (const key of Object.keys(figures) as (keyof Figures)[]) {
      const ratio = figures[key] / product[key]
      console.log(
        `  ${key.padEnd(20)} ${figures[key].toFixed(3).padStart(10)}  ${ratio.toFixed(2)}x`,
      )
    }
  }
}

await main()
