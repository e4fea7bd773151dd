// A way to the API server, and the names of all.

/** The names of the ways, in the order of tables. */
export const WAYS = ['direct', 'gateway', 'delegate', 'nginx', 'haproxy'] as const

/** One of WAYS. */
export type WayName = (typeof WAYS)[number]

/** A way to the API server. */
export interface Way {
  readonly name: WayName
  /** The URL before the path of an API. */
  readonly url: string
  /** The CA of its certificate. */
  readonly caFile: string
  /** The caller's credential, as flags of `load http`. */
  readonly credential: readonly string[]
  /** The process whose CPU time and memory count; null = there is none but the API server. */
  readonly pid: number | null
}
