// A manager's revocation list, on a fake server and a manual clock.
import {
  type RevocationList,
  createRevocationList,
} from '../../../../src/authn/revocation/revocation-list.ts'
import { type ManualClock, manualClock } from '../../../support/manual-clock.ts'
import { type LoggedLine, memoryLog } from '../../../support/memory-log.ts'
import {
  type Connection,
  type FakeConfigMapServer,
  type Request,
  type RequestFailure,
  connect,
  fakeConfigMapServer,
} from './fake-config-map-server.ts'

/** 2026-11-21T10:00:00Z, when every test begins. */
export const T0 = Date.parse('2026-11-21T10:00:00Z')
/** One hour, in milliseconds. */
export const HOUR_MS = 3_600_000
/** Name of the ConfigMap of the hour that begins at T0, and of the one after. */
export const HOUR = 'platform-revoked-tokens-2026112110'
export const NEXT_HOUR = 'platform-revoked-tokens-2026112111'
/** Half an hour after T0, and as it is stored. */
export const EXPIRES_MS = T0 + HOUR_MS / 2
export const EXP = '2026-11-21T10:30:00Z'

/** A signal that never aborts. */
export const never = new AbortController().signal

/** A manager that leads. */
export interface Manager extends Connection {
  readonly records: RevocationList
  /** The tokens that its listeners were called with. */
  readonly notified: readonly string[]
  readonly lines: readonly LoggedLine[]
  /** How many revocations were counted. */
  revoked: number
}

/** Starts a manager that leads. */
export function startManager(server: FakeConfigMapServer, clock: ManualClock): Manager {
  const connection = connect(server, clock)
  const { log, lines } = memoryLog()
  const notified: string[] = []
  const self = Object.assign(connection, { notified, lines, revoked: 0 })
  const records = createRevocationList({
    client: connection.client,
    configMaps: connection.configMaps,
    namespace: 'platform-system',
    clock,
    log,
    observer: {
      revoked: (count) => {
        self.revoked += count
      },
    },
  })
  records.subscribe((jtis) => notified.push(...jtis))
  return Object.assign(self, { records })
}

/** An empty server and one manager. */
export function serverAndManager() {
  const clock = manualClock(T0)
  const server = fakeConfigMapServer()
  return { clock, server, one: startManager(server, clock) }
}

/** So many different jtis. */
export const jtis = (count: number): readonly string[] =>
  Array.from({ length: count }, (_, index) => `jti-${index}`)

/** Whether the request is a write. */
export const isWrite = ({ method }: Request): boolean => method !== 'get'

/** The most writes within any one second. */
export function mostWritesInASecond(requests: readonly Request[]): number {
  const times = requests.filter(isWrite).map(({ atMs }) => atMs)
  const from = (startMs: number) => times.filter((at) => at >= startMs && at < startMs + 1000)
  return Math.max(0, ...times.map((startMs) => from(startMs).length))
}

/** How many entries each ConfigMap has. */
export const entriesByName = (server: FakeConfigMapServer): Readonly<Record<string, number>> =>
  Object.fromEntries(
    Object.entries(server.data()).map(([name, data]) => [name, Object.keys(data).length]),
  )

/** Failures of the next writes, one after the other; reads succeed. */
export function failNextWrites(...list: readonly RequestFailure[]): Connection['mishap'] {
  const left = [...list]
  return (method) => (method === 'get' ? null : (left.shift() ?? null))
}

/** The methods of all requests, in order. */
export const requestMethods = ({ requests }: Connection): readonly string[] =>
  requests.map(({ method }) => method)

/** Reports whether the promise has resolved by now. */
export function trackSettled(promise: Promise<void>): () => boolean {
  let isSettled = false
  void promise.then(() => {
    isSettled = true
  })
  return () => isSettled
}
