// How the commands reach the API server, and how they read their environment.
import { readFileSync } from 'node:fs'
import { CONTROLLER_NAME, FIELD_MANAGER } from '../api/names.ts'
import { type Connection, connect } from '../kube/client/connection.ts'
import { findKubeconfig } from '../kube/client/kubeconfig.ts'
import type { ClientDeps, ClientObserver } from '../kube/client/request.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Invocation } from '../runtime/flags.ts'
import type { Log } from '../runtime/log.ts'
import { PROGRAM_VERSION } from '../runtime/version.ts'
import type { ClientMetrics } from './client-metrics.ts'
import type { ProcessInputs } from './cluster-flags.ts'

/** Parts that a client of this process needs. */
export interface ClientParts {
  readonly clock: Clock
  readonly log: Log
  readonly metrics: ClientMetrics
}

/** The client's dependencies; `mayWrite` throws when this process may not write. */
export function clientDeps(
  { clock, log, metrics }: ClientParts,
  connection: Connection,
  mayWrite: () => void,
): ClientDeps {
  const userAgent = `${CONTROLLER_NAME}/${PROGRAM_VERSION}`
  const observer = observeClient(metrics, clock, log)
  return { connection, clock, observer, userAgent, fieldManager: FIELD_MANAGER, mayWrite }
}

/** The Date header is in whole seconds: half a second is its mean error. */
const DATE_ERROR_MS = 500
const TOLERATED_SKEW_MS = 2000

/** Counts calls and writes, and warns when our clock and the API server's differ (2.9). */
function observeClient(metrics: ClientMetrics, clock: Clock, log: Log): ClientObserver {
  let isSkewed = false
  const compare = (dateMs: number): void => {
    const skewMs = clock.nowMs() - (dateMs + DATE_ERROR_MS)
    metrics.clockSkewed(skewMs / 1000)
    const wasSkewed = isSkewed
    isSkewed = Math.abs(skewMs) > TOLERATED_SKEW_MS
    if (isSkewed && !wasSkewed)
      log.warn({ skewMs }, "local clock and the API server's differ, keys may end early or late")
  }
  return {
    responded: (method, code, dateMs) => {
      metrics.responded(method, code)
      if (dateMs !== null) compare(dateMs)
    },
    wrote: (kind, reason) => metrics.wrote(kind, reason),
  }
}

/** The environment and files of this process. */
export const processInputs: ProcessInputs = {
  env: (name) => process.env[name] ?? null,
  file: (path) => {
    try {
      return readFileSync(path, 'utf8')
    } catch {
      return null
    }
  },
}

/**
 * Connects to the cluster that the flag or the environment names (contract 8.1).
 *
 * @param kubeconfig the flag; null = it is not set
 * @throws Error when there is none, or its kubeconfig is unreadable
 */
export const connectCluster = async (
  kubeconfig: string | null,
  clock: Clock,
): Promise<Connection> => connect(findKubeconfig(kubeconfig, processInputs.env), clock)

/**
 * Ends a command that has nothing to run: prints help or version to standard output (exit 0), or the
 * refusal to standard error (exit 2; contract 8.1).
 *
 * @returns the exit code
 */
export function printText({ kind, text }: Exclude<Invocation<unknown>, { kind: 'run' }>): number {
  const stream = kind === 'print' ? process.stdout : process.stderr
  stream.write(text)
  return kind === 'print' ? 0 : 2
}
