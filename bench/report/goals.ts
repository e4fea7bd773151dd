// The goals, and what a run says of each. They are verdicts of the benchmark and never fail a test: the machine decides
// too.
import { type Spread, shortNumber } from '../measure/rounds.ts'
import { type Results, figureIn, ratioIn } from './results.ts'

/** A goal and its verdict. */
export interface Verdict {
  readonly goal: string
  /** Whether only `make bench-full` measures it. */
  readonly isOfFullScale: boolean
  /** The bound in words, such as `at most 1.15`. */
  readonly wanted: string
  /** The median, and the range in brackets; `not measured` where there is none. */
  readonly found: string
  readonly verdict: 'met' | 'not met' | 'not measured'
}

interface Goal {
  readonly goal: string
  readonly section: string
  readonly bound: Bound
  readonly unit: string
  readonly found: (results: Results) => Spread | null
}

type Bound = { readonly atMost: number } | { readonly atLeast: number }

const PRODUCT = 'product'
const GATEWAY = 'gateway'

const ratio = (
  goal: string,
  [section, figure]: readonly [string, string],
  bound: Bound,
  beside: string,
  name = PRODUCT,
): Goal => ({
  goal: `${goal}, beside ${beside}`,
  section,
  bound,
  unit: '',
  found: (results) => ratioIn(results, section, figure, name, beside),
})

const figure = (
  goal: string,
  [section, name, its]: readonly [string, string, string],
  bound: Bound,
  unit: string,
): Goal => ({
  goal,
  section,
  bound,
  unit,
  found: (results) => figureIn(results, section, name, its),
})

/** Sections that only `make bench-full` has. */
const OF_FULL_SCALE: ReadonlySet<string> = new Set([
  'burst-3000',
  'burst-10000',
  'start-100000',
  'many',
])

// biome-ignore format: a table
const GOALS: readonly Goal[] = [
  ratio('create to status at 50/s, p50', ['operators', 'steadyP50Ms'], { atMost: 1.15 }, 'echo'),
  ratio('create to status at 50/s, p50', ['operators', 'steadyP50Ms'], { atMost: 1 }, 'controller-runtime'),
  ratio('create to status at 50/s, p99', ['operators', 'steadyP99Ms'], { atMost: 1 }, 'controller-runtime'),
  ...[['a burst', 'operators'], ['a burst of 3,000', 'burst-3000'], ['a burst of 10,000', 'burst-10000']].flatMap(([burst, section = '']) => [
    ratio(`keys a second in ${burst}`, [section, 'burstPerSecond'], { atLeast: 0.95 }, 'floor-apply'),
    ratio(`keys a second in ${burst}`, [section, 'burstPerSecond'], { atLeast: 1 }, 'controller-runtime'),
  ]),
  figure('a new key while all others are refreshed, p99 beside an idle operator', ['refresh', PRODUCT, 'times'], { atMost: 2 }, ''),
  ratio('operator CPU a key in a burst', ['operators', 'burstCpuMsPerKey'], { atMost: 0.7 }, 'controller-runtime'),
  figure('a reconcile without work', ['no-op', PRODUCT, 'noOpUs'], { atMost: 20 }, 'µs'),
  figure('memory for 10,000 keys', ['start', PRODUCT, 'mbPer10000'], { atMost: 25 }, 'MB'),
  figure('idle memory of the manager', ['operators', PRODUCT, 'idleMb'], { atMost: 110 }, 'MB'),
  ratio('memory with 100,000 keys', ['start-100000', 'mb'], { atMost: 0.6 }, 'controller-runtime'),
  ratio('CPU that 10,000 keys add to a start', ['start', 'cpuMs'], { atMost: 1.3 }, 'list and parse'),
  ratio('CPU that 100,000 keys add to a start', ['start-100000', 'cpuMs'], { atMost: 1.3 }, 'list and parse'),
  figure('writes at a restart with 10,000 keys', ['start', PRODUCT, 'writes'], { atMost: 0 }, ''),
  figure('writes at a restart with 100,000 keys and 20,000 tokens', ['many', PRODUCT, 'writes'], { atMost: 0 }, ''),
  figure('longest turn of the event loop, CPU time', ['turns', PRODUCT, 'longestMs'], { atMost: 50 }, 'ms'),
  figure('API calls for a key created by kubectl', ['operators', PRODUCT, 'burstCallsPerKey'], { atMost: 2 }, ''),
  figure('API calls for a key created by a gateway', ['lifecycle', PRODUCT, 'gatewayCreateCalls'], { atMost: 1 }, ''),
  figure('API calls for a key that is deleted', ['lifecycle', PRODUCT, 'deleteCalls'], { atMost: 1 }, ''),
  figure('writes for an expiry', ['expiry', PRODUCT, 'writesPerKey'], { atMost: 1 }, ''),
  figure('lag of status when keys end within a minute, p99', ['expiry', PRODUCT, 'lagP99Ms'], { atMost: 500 }, 'ms'),
  ratio('seconds until the last of keys that end at once says so', ['expiry-at-once', 'seconds'], { atMost: 1.15 }, 'floor'),
  ratio('tokens a second in a burst', ['tokens', 'burstPerSecond'], { atLeast: 0.95 }, 'keys'),
  figure('signing, share of the CPU of a token', ['tokens', PRODUCT, 'signingPercent'], { atMost: 3 }, '%'),
  figure('leader killed: until the next reconcile', ['leader', PRODUCT, 'takeOverMs'], { atMost: 16_000 }, 'ms'),
  figure('SIGTERM: until the end of the process', ['operators', PRODUCT, 'stopMs'], { atMost: 1500 }, 'ms'),
  ratio('gateway: get a second', ['get', 'perSecond'], { atLeast: 0.75 }, 'direct', GATEWAY),
  ratio('gateway: get a second', ['get', 'perSecond'], { atLeast: 1 }, 'delegate', GATEWAY),
  ratio('gateway: CPU a GET', ['get', 'cpuUsPerRequest'], { atMost: 1 }, 'delegate', GATEWAY),
  ratio('gateway: list a second', ['list', 'perSecond'], { atLeast: 1.2 }, 'delegate', GATEWAY),
  ratio('gateway: CPU a PATCH', ['patch', 'cpuUsPerRequest'], { atMost: 1.3 }, 'delegate', GATEWAY),
  ratio('gateway: watch events a second', ['watch', 'perSecond'], { atLeast: 1.1 }, 'delegate', GATEWAY),
  figure('gateway: memory of a watch', ['watch', GATEWAY, 'kbPerWatch'], { atMost: 95 }, 'kB'),
  ratio('gateway: CPU a GET with an audit log of level 2', ['audit', 'cpuUsPerRequest'], { atMost: 1.15 }, 'none', 'level 2'),
  ratio('gateway: GETs with an audit log of level 2, p99', ['audit', 'p99Ms'], { atMost: 1.2 }, 'none', 'level 2'),
  ...[['a LIST', 'audit-list'], ['a PATCH', 'audit-patch'], ['an event of a watch', 'audit-watch']].map(([asked, section = '']) =>
    ratio(`gateway: CPU ${asked} with an audit log of level 2`, [section, 'cpuUsPerRequest'], { atMost: 1.15 }, 'none', 'level 2')),
  figure('gateway: added at half load, p50', ['half-load', GATEWAY, 'addedP50Ms'], { atMost: 0.7 }, 'ms'),
  ratio('gateway: CPU time until it is ready', ['gateway-start', 'startCpuMs'], { atMost: 0.75 }, 'unbundled', GATEWAY),
  figure('writes a minute for the last use of a key', ['last-uses', GATEWAY, 'writesPerKeyAndMinute'], { atMost: 1 }, ''),
  figure('last uses of many keys, share of the writes that the API server can do', ['active-keys', GATEWAY, 'percentOfWrites'], { atMost: 5 }, '%'),
  figure('gateway: idle memory', ['memory', GATEWAY, 'idleMb'], { atMost: 120 }, 'MB'),
  figure('gateway: memory at its most', ['memory', GATEWAY, 'peakMb'], { atMost: 200 }, 'MB'),
  figure('authentication of a recognised key, whole', ['authentication', GATEWAY, 'authenticationUs'], { atMost: 10 }, 'µs'),
  figure('revoked, until refused, p99', ['revoked', GATEWAY, 'revokedP99Ms'], { atMost: 500 }, 'ms'),
]

/** The verdicts of a run, in the order of the goals. */
export const verdictsOf = (results: Results): readonly Verdict[] =>
  GOALS.map(({ goal, section, bound, unit, found }) => {
    const spread = found(results)
    const wanted = 'atMost' in bound ? `at most ${bound.atMost}` : `at least ${bound.atLeast}`
    return {
      goal,
      isOfFullScale: OF_FULL_SCALE.has(section),
      wanted: withUnit(wanted, unit),
      found: spread === null ? 'not measured' : withUnit(spreadText(spread), unit),
      verdict:
        spread === null ? 'not measured' : isWithin(spread.median, bound) ? 'met' : 'not met',
    }
  })

const isWithin = (value: number, bound: Bound): boolean =>
  'atMost' in bound ? value <= bound.atMost : value >= bound.atLeast

const withUnit = (text: string, unit: string): string => (unit === '' ? text : `${text} ${unit}`)

/** The median and the range as text, such as `1.02 (0.97 to 1.10)`. */
export const spreadText = ({ median, min, max }: Spread): string =>
  min === max
    ? shortNumber(median)
    : `${shortNumber(median)} (${shortNumber(min)} to ${shortNumber(max)})`
