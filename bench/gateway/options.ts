// What can be measured of the gateway, how much of it, and what comes out.
import type { Measured } from '../measure/rounds.ts'
import type { WayName } from './ways.ts'

/** What is measured, in this order; `half-load` needs `get`. */
export const GATEWAY_SUBJECTS = [
  'get',
  'half-load',
  'list',
  'patch',
  'own-key',
  'refused-rbac',
  'refused-scope',
  'unknown-key',
  'watch',
  'memory',
  'start',
  'revoked',
  'authentication',
] as const

/** One of GATEWAY_SUBJECTS. */
export type GatewaySubject = (typeof GATEWAY_SUBJECTS)[number]

/** How much is measured. */
export interface GatewayOptions {
  readonly rounds: number
  /** Of each load of requests. */
  readonly seconds: number
  /** Patches of the object that 500 watches follow, in each round. */
  readonly watchEvents: number
  /** Access keys that the gateway knows, but for some hundred more, when keys are revoked. */
  readonly keys: number
  readonly subjects: readonly GatewaySubject[]
  /** Gets a line about each measurement. */
  readonly log: (line: string) => void
}

/** The usual sizes: for `make bench` within three minutes, and for figures to publish within fifteen. */
export const GATEWAY_SIZES = {
  quick: { rounds: 5, seconds: 0.4, watchEvents: 20, keys: 1000 },
  full: { rounds: 5, seconds: 3, watchEvents: 100, keys: 20_000 },
} as const

/** The figures of all subjects that were asked for. */
export interface GatewayMeasured {
  readonly figures: Readonly<Partial<Record<GatewaySubject, Measured>>>
  /** By way that could not be had, the reason. */
  readonly missing: Readonly<Partial<Record<WayName, string>>>
}
