// Options and results of the gateway's measurements.
import type { Measured } from '../measure/rounds.ts'
import type { WayName } from './way.ts'

/** The subjects of measurements, in this order; `half-load` needs `get`, and the share of `active-keys` needs `patch`. */
export const GATEWAY_SUBJECTS = [
  'get',
  'half-load',
  'list',
  'patch',
  'audit',
  'audit-list',
  'audit-patch',
  'audit-watch',
  'own-key',
  'refused-rbac',
  'refused-scope',
  'unknown-key',
  'watch',
  'memory',
  'last-uses',
  'gateway-start',
  'active-keys',
  'revoked',
  'authentication',
] as const

/** One of GATEWAY_SUBJECTS. */
export type GatewaySubject = (typeof GATEWAY_SUBJECTS)[number]

/** The size of each measurement. */
export interface GatewayOptions {
  readonly rounds: number
  /** Requests of each kind to gateway and delegate before any figure: Node compiles what runs often. */
  readonly warmUp: Readonly<Record<'get' | 'patch', number>>
  /** Window of each load of requests, in seconds. */
  readonly seconds: number
  /** Window of the loads that GET one object or list many, in seconds: most goals are about these. */
  readonly getSeconds: number
  /** Window of the loads that PATCH, in seconds: a write takes long, and few differ much. */
  readonly patchSeconds: number
  /** Patches of the object that 500 watches follow, in each round. */
  readonly watchEvents: number
  /** Number of access keys while keys are revoked, besides the few hundred that are used or revoked. */
  readonly keys: number
  /** Number of keys that are all in use at the same time. */
  readonly activeKeys: number
  readonly subjects: readonly GatewaySubject[]
  /** Gets a line about each measurement. */
  readonly log: (line: string) => void
}

const WARM_UP = { get: 30_000, patch: 3000 }

/** The usual sizes: for `make bench` in eight minutes, and for `make bench-full` in twenty. */
export const GATEWAY_SIZES = {
  quick: {
    rounds: 5,
    warmUp: WARM_UP,
    seconds: 0.4,
    getSeconds: 1,
    patchSeconds: 2,
    watchEvents: 40,
    keys: 300,
    activeKeys: 300,
  },
  full: {
    rounds: 5,
    warmUp: WARM_UP,
    seconds: 3,
    getSeconds: 3,
    patchSeconds: 3,
    watchEvents: 100,
    keys: 20_000,
    activeKeys: 10_000,
  },
} as const

/** The figures of all subjects that were asked for. */
export interface GatewayResults {
  readonly figures: Readonly<Partial<Record<GatewaySubject, Measured>>>
  /** The reason for each way that could not be measured. */
  readonly missing: Readonly<Partial<Record<WayName, string>>>
}
