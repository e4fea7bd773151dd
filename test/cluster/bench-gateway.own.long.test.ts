// The gateway's part of the benchmark measures what it says: small sizes, all subjects, every answer checked by itself.
import { expect, test } from 'vitest'
import { measureGateway } from '../../bench/gateway/measure.ts'
import { GATEWAY_SUBJECTS } from '../../bench/gateway/options.ts'
import { startControlPlane } from '../../tools/control-plane/control-plane.ts'

const REQUESTS = ['perSecond', 'p50Ms', 'p99Ms']
const OF_A_PROCESS = [...REQUESTS, 'cpuUsPerRequest']
const MEMORY = ['idleMb', 'afterMb', 'peakMb']

const OF_HALF_LOAD = [...OF_A_PROCESS, 'addedP50Ms']
const OF_AN_EVENT = ['perSecond', 'cpuUsPerRequest']
const OF_A_WATCH = [...OF_AN_EVENT, 'kbPerWatch']

/** The ways that can always be had, the settings of the audit log, and what a start is compared with. */
const ALWAYS = 'direct, gateway, delegate, none, level 2, level 4, unbundled, empty Node'.split(
  ', ',
)

/** What these ways show of each subject. */
const FIGURES = {
  get: { direct: REQUESTS, gateway: OF_A_PROCESS, delegate: OF_A_PROCESS },
  'half-load': { direct: REQUESTS, gateway: OF_HALF_LOAD, delegate: OF_HALF_LOAD },
  list: { direct: REQUESTS, gateway: OF_A_PROCESS, delegate: OF_A_PROCESS },
  patch: { direct: REQUESTS, gateway: OF_A_PROCESS, delegate: OF_A_PROCESS },
  audit: { none: OF_A_PROCESS, 'level 2': OF_A_PROCESS, 'level 4': OF_A_PROCESS },
  'audit-list': { none: OF_A_PROCESS, 'level 2': OF_A_PROCESS },
  'audit-patch': { none: OF_A_PROCESS, 'level 2': OF_A_PROCESS },
  'audit-watch': { none: OF_AN_EVENT, 'level 2': OF_AN_EVENT },
  'own-key': { direct: REQUESTS, gateway: OF_A_PROCESS },
  'refused-rbac': { direct: REQUESTS, gateway: OF_A_PROCESS, delegate: OF_A_PROCESS },
  'refused-scope': { direct: REQUESTS, gateway: OF_A_PROCESS },
  'unknown-key': { direct: REQUESTS, gateway: OF_A_PROCESS, delegate: OF_A_PROCESS },
  watch: { direct: ['perSecond'], gateway: OF_A_WATCH, delegate: OF_A_WATCH },
  memory: { gateway: MEMORY, delegate: MEMORY },
  'last-uses': { gateway: ['writesPerKeyAndMinute'] },
  'gateway-start': {
    gateway: ['startCpuMs', 'besideEmptyNode'],
    unbundled: ['startCpuMs'],
    'empty Node': ['startCpuMs'],
  },
  'active-keys': { gateway: ['writesPerSecond', 'percentOfWrites'] },
  revoked: { gateway: ['revokedP50Ms', 'revokedP99Ms', 'perSecond'] },
  authentication: { gateway: ['authenticationUs', 'twoSha256Us', 'besideTwoSha256'] },
} as const

test('every subject has its figures, and every answer is the one expected', async () => {
  const plane = await startControlPlane({ log: console.log })
  try {
    const { figures, missing } = await measureGateway(plane, {
      rounds: 1,
      warmUp: { get: 160, patch: 32 },
      seconds: 0.1,
      getSeconds: 0.1,
      patchSeconds: 0.1,
      watchEvents: 2,
      keys: 20,
      activeKeys: 20,
      subjects: GATEWAY_SUBJECTS,
      log: console.log,
    })
    // They are fetched, and not from everywhere.
    for (const way of Object.keys(missing)) expect(['nginx', 'haproxy']).toContain(way)
    const shown = Object.entries(figures).map(([subject, measured]) => [
      subject,
      Object.fromEntries(
        Object.entries(measured)
          .filter(([way]) => ALWAYS.includes(way))
          .map(([way, [first = {}]]) => [way, Object.keys(first)]),
      ),
    ])
    expect(Object.fromEntries(shown)).toEqual(FIGURES)
    const values = Object.values(figures).flatMap((measured) =>
      Object.values(measured).flatMap((rounds) => rounds.flatMap(Object.values)),
    )
    expect(values.filter((value) => !Number.isFinite(value))).toEqual([])
  } finally {
    await plane.stop()
  }
}, 600_000)
