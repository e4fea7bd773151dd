// The kinds of load, each in rounds over its ways.
import type { Raw } from '../../test/support/raw-client.ts'
import { type Figures, type Measured, interleaved } from '../measure/rounds.ts'
import { KINDS, type Kind, type KindFiles, type KindName } from './kinds.ts'
import { NAMESPACE, configMapPath } from './objects.ts'
import { type Asked, measureRequests, measureWatches } from './request.ts'
import { WAYS, type Way, type WayName } from './way.ts'

/** Options of all loads. */
export interface LoadOptions {
  /** The Go program. */
  readonly load: string
  readonly ways: readonly Way[]
  readonly files: KindFiles
  readonly raw: Raw
  /** Kubeconfig of the client that patches the watched objects. */
  readonly adminKubeconfig: string
  readonly rounds: number
  /** Duration of each load of requests, in seconds. */
  readonly seconds: number
  /** Duration of the loads that GET one object, in seconds: most goals are about these. */
  readonly getSeconds: number
  /** Patches of the watched object, for each load of watches. */
  readonly watchEvents: number
  readonly log: (line: string) => void
}

const WATCHES = 500
const WATCH_ROUNDS = 3
const WARM_UP_SHARE = 0.5
const WARM_UP_REQUESTS_EACH = 600

/** Sends ten thousand requests to the gateway that no figure counts: Node compiles code that runs often. */
export async function warmUp(options: LoadOptions): Promise<void> {
  const asked = { ...KINDS.get.asked(), flags: [`--warm-up=${WARM_UP_REQUESTS_EACH}`] }
  for (const way of among(options, ['gateway']))
    await measureRequests(options.load, way, asked, { seconds: 0.01 })
}

/** Sends one kind of request as fast as it goes, 16 at a time. @returns the figures of measureRequests by way */
export async function measureKind(name: KindName, options: LoadOptions): Promise<Measured> {
  const { load, files, raw } = options
  const seconds = name === 'get' ? options.getSeconds : options.seconds
  const { ways, asked, changes }: Kind = KINDS[name]
  const measure = async (way: Way, forSeconds: number): Promise<Figures> => {
    const before = changes === undefined ? null : await versionOf(raw, changes)
    const figures = await measureRequests(load, way, asked(way.name, files), {
      seconds: forSeconds,
    })
    if (changes !== undefined && (await versionOf(raw, changes)) === before)
      throw new Error(`${name} by ${way.name} wrote nothing to ${changes}`)
    return figures
  }
  // The first run fills caches, and is not counted.
  for (const way of among(options, ways)) await measure(way, seconds * WARM_UP_SHARE)
  return inRounds(name, among(options, ways), options, (way) => measure(way, seconds))
}

/**
 * Sends the requests of `get` at half the rate that the gateway reached in the same round.
 *
 * @param get what measureKind found
 * @returns besides the usual figures, of each proxy addedP50Ms and addedP99Ms: how much later than direct
 */
export async function measureHalfLoad(get: Measured, options: LoadOptions): Promise<Measured> {
  const measured = await inRounds(
    'half-load',
    among(options, ['direct', 'gateway', 'delegate']),
    options,
    (way, round) =>
      measureRequests(options.load, way, KINDS.get.asked(), {
        seconds: options.getSeconds,
        perSecond: (get['gateway']?.[round]?.['perSecond'] ?? 0) / 2,
      }),
  )
  const { direct = [], ...proxies } = measured
  const withAdded = (figures: Figures, round: number): Figures => {
    const added = (figure: string): number =>
      (figures[figure] ?? 0) - (direct[round]?.[figure] ?? 0)
    return { ...figures, addedP50Ms: added('p50Ms'), addedP99Ms: added('p99Ms') }
  }
  const ofProxies = Object.entries(proxies).map(
    ([name, rounds]) => [name, rounds.map(withAdded)] as const,
  )
  return { direct, ...Object.fromEntries(ofProxies) }
}

/**
 * Opens 500 watches of one ConfigMap, and patches it; in three rounds at most, as the opening takes a second.
 *
 * @returns the figures of measureWatches by way
 */
export async function measureWatch(options: LoadOptions): Promise<Measured> {
  const { load, adminKubeconfig: kubeconfig, watchEvents: events } = options
  const fields = 'fieldSelector=metadata.name%3Dwatched'
  const asked: Asked = { path: `${configMapPath('')}?watch=true&${fields}`, status: 200 }
  const watched = { watches: WATCHES, events, configMap: `${NAMESPACE}/watched`, kubeconfig }
  const fewer = { ...options, rounds: Math.min(options.rounds, WATCH_ROUNDS) }
  return inRounds('watch', among(options, WAYS), fewer, (way) =>
    measureWatches(load, way, asked, watched),
  )
}

const among = ({ ways }: LoadOptions, names: readonly WayName[]): readonly Way[] =>
  ways.filter(({ name }) => names.includes(name))

function inRounds(
  kind: string,
  ways: readonly Way[],
  { rounds, log }: LoadOptions,
  measure: (way: Way, round: number) => Promise<Figures>,
): Promise<Measured> {
  const byName = new Map(ways.map((way) => [way.name, way]))
  const measureNamed = (name: WayName, round: number): Promise<Figures> => {
    const way = byName.get(name)
    if (!way) throw new Error(`there is no way ${name}`)
    return measure(way, round)
  }
  return interleaved([...byName.keys()], rounds, measureNamed, (line) => log(`${kind}, ${line}`))
}

async function versionOf(raw: Raw, path: string): Promise<string> {
  const { code, body } = await raw<{ readonly metadata: { readonly resourceVersion: string } }>(
    'GET',
    path,
  )
  if (code !== 200) throw new Error(`GET ${path} is answered ${code}`)
  return body.metadata.resourceVersion
}
