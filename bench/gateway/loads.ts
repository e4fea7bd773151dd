// The kinds of load, each in rounds over its ways.
import type { Raw } from '../../test/support/raw-client.ts'
import { FEW_ROUNDS, type Figures, type Measured, interleaved } from '../measure/rounds.ts'
import { restingMb } from './footprint.ts'
import { KINDS, type Kind, type KindFiles, type KindName } from './kinds.ts'
import { CONNECTIONS, NAMESPACE, configMapPath } from './objects.ts'
import type { GatewayOptions } from './options.ts'
import {
  type Asked,
  measureRequests,
  measureWatches,
  sendRequests,
  untilAnswers,
} from './request.ts'
import { WAYS, type Way, type WayName } from './way.ts'
import type { Ways } from './ways.ts'

/** Options of all loads. */
export interface LoadOptions extends Omit<GatewayOptions, 'keys' | 'activeKeys' | 'subjects'> {
  /** The Go program. */
  readonly load: string
  readonly ways: readonly Way[]
  readonly files: KindFiles
  readonly raw: Raw
  /** Kubeconfig of the client that patches the watched objects. */
  readonly adminKubeconfig: string
  readonly startAnother: Ways['startAnother']
}

const WATCHES = 500
/** Kinds and ways that no goal is about. */
const WITHOUT_GOAL = {
  kinds: ['own-key', 'refused-rbac', 'refused-scope', 'unknown-key'] as readonly KindName[],
  ways: ['nginx', 'haproxy'] as readonly WayName[],
}
const FIRST_SHARE = 0.5

/** Sends requests to the gateway, and as many to the delegate, that no figure counts. */
export async function warmUp(options: LoadOptions): Promise<void> {
  const { load, files, log } = options
  // PATCHes first: they make Node compile again what GETs have in common with them, and GETs are measured first.
  for (const name of ['patch', 'get'] as const) {
    const kind: Kind = KINDS[name]
    const each = `--warm-up=${Math.ceil(options.warmUp[name] / CONNECTIONS)}`
    for (const way of among(options, ['gateway', 'delegate'])) {
      const { requests } = await sendRequests(load, way, kind.asked(way.name, files), [
        each,
        '--seconds=0.01',
      ])
      log(`warm-up, ${way.name}: ${requests} requests of ${name}`)
    }
  }
}

/** Sends one kind of request as fast as it goes, 16 at a time, in each round. @returns the figures of measureRequests by way */
export async function measureKind(name: KindName, options: LoadOptions): Promise<Measured> {
  const { load, files, raw } = options
  const seconds = secondsOf(name, options)
  const { ways, asked, changes }: Kind = KINDS[name]
  const measure = async (way: Way): Promise<Figures> => {
    const before = changes === undefined ? null : await versionOf(raw, changes)
    const figures = await measureRequests(load, way, asked(way.name, files), { seconds })
    if (changes !== undefined && (await versionOf(raw, changes)) === before)
      throw new Error(`${name} by ${way.name} wrote nothing to ${changes}`)
    return figures
  }
  // The first run fills caches, and is not counted.
  const first = [`--seconds=${seconds * FIRST_SHARE}`]
  for (const way of among(options, ways))
    await sendRequests(load, way, asked(way.name, files), first)
  const rounds = WITHOUT_GOAL.kinds.includes(name) ? inFewRounds(options) : options
  return inRounds(name, among(options, ways), rounds, measure)
}

/** Window of each load of a kind, in seconds. */
export function secondsOf(
  name: KindName,
  { seconds, getSeconds, patchSeconds }: LoadOptions,
): number {
  if (name === 'get' || name === 'list') return getSeconds
  return name === 'patch' ? patchSeconds : seconds
}

/**
 * Sends the requests of `get` at half the rate that the gateway reached in the same round.
 *
 * @param get what measureKind found
 * @returns besides the usual figures, of each proxy addedP50Ms: how much later than direct
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
  const withAdded = (figures: Figures, round: number): Figures => ({
    ...figures,
    addedP50Ms: (figures['p50Ms'] ?? 0) - (direct[round]?.['p50Ms'] ?? 0),
  })
  const ofProxies = Object.entries(proxies).map(
    ([name, rounds]) => [name, rounds.map(withAdded)] as const,
  )
  return { direct, ...Object.fromEntries(ofProxies) }
}

/**
 * Opens 500 watches of one ConfigMap, and patches it; in three rounds at most, as the opening takes a second. Then as many at
 * processes of their own: one that has worked has free memory of its own, which hides what watches need.
 *
 * @returns the figures of measureWatches by way
 */
export async function measureWatch(options: LoadOptions): Promise<Measured> {
  const { load, watchEvents } = options
  const few = inFewRounds(options)
  const measured = await inRounds('watch', among(options, WAYS), few, (way) =>
    watchOnce(way, options, watchEvents, null),
  )
  const fresh = among(options, ['gateway', 'delegate'])
  const memory = await inRounds('watch, memory', fresh, few, async ({ name }) => {
    await using way = await options.startAnother(name)
    await untilAnswers(load, way, KINDS.get.asked())
    const idleMb = await restingMb(way)
    const { kbPerWatch } = await watchOnce(way, options, 1, idleMb)
    return { kbPerWatch: kbPerWatch ?? Number.NaN }
  })
  const withMemory = Object.entries(memory).map(
    ([name, rounds]) =>
      [name, rounds.map((round, at) => ({ ...measured[name]?.[at], ...round }))] as const,
  )
  return { ...measured, ...Object.fromEntries(withMemory) }
}

/** Opens 500 watches of one ConfigMap, and patches it so often. @returns as measureWatches */
export function watchOnce(
  way: Way,
  { load, adminKubeconfig: kubeconfig }: LoadOptions,
  events: number,
  idleMb: number | null,
): Promise<Figures> {
  const fields = 'fieldSelector=metadata.name%3Dwatched'
  const asked: Asked = { path: `${configMapPath('')}?watch=true&${fields}`, status: 200 }
  const configMap = `${NAMESPACE}/watched`
  return measureWatches(load, way, asked, {
    watches: WATCHES,
    configMap,
    kubeconfig,
    events,
    idleMb,
  })
}

/** With three rounds at most. */
export const inFewRounds = (options: LoadOptions): LoadOptions => ({
  ...options,
  rounds: Math.min(options.rounds, FEW_ROUNDS),
})

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
  const named = (line: string): void => log(`${kind}, ${line}`)
  return interleaved([...byName.keys()], rounds, measureNamed, named, WITHOUT_GOAL.ways)
}

async function versionOf(raw: Raw, path: string): Promise<string> {
  const { code, body } = await raw<{ readonly metadata: { readonly resourceVersion: string } }>(
    'GET',
    path,
  )
  if (code !== 200) throw new Error(`GET ${path} is answered ${code}`)
  return body.metadata.resourceVersion
}
