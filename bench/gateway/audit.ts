// What the audit log costs: the same GETs by one gateway without it, at level 2 and at level 4.
import { join } from 'node:path'
import type { Raw } from '../../test/support/raw-client.ts'
import { eventually } from '../../test/support/eventually.ts'
import { valueOf } from '../../test/support/metrics-page.ts'
import type { OwnGateway } from '../../test/support/gateway-process.ts'
import { type Figures, type Measured, interleaved } from '../measure/rounds.ts'
import { KINDS } from './kinds.ts'
import { answersWith, measureRequests, sendRequests } from './request.ts'
import type { Way } from './way.ts'

/** Options of measureAudit. */
interface AuditOptions {
  /** The Go program. */
  readonly load: string
  /** The way through the gateway. */
  readonly way: Way
  readonly gateway: Pick<OwnGateway, 'metrics'>
  readonly raw: Raw
  /** A folder for the files of the log. */
  readonly folder: string
  readonly rounds: number
  /** Window of each load, in seconds. */
  readonly seconds: number
  readonly log: (line: string) => void
}

const CONFIG = '/apis/management.platform.sh/v1/configs/platform-manager-config'

const MODES = ['none', 'level 2', 'level 4'] as const

type Mode = (typeof MODES)[number]

/** The level of the events that a mode writes; null = it writes none. */
const EVENT_LEVELS: Readonly<Record<Mode, string | null>> = {
  none: null,
  'level 2': 'Metadata',
  'level 4': 'RequestResponse',
}

const LEVELS = ['Metadata', 'RequestResponse']

const SOON = { withinMs: 20_000 }
/** Each change opens a file and compiles another path through the program. */
const WARM_UP_SECONDS = 1

/** Sends the requests of `get` as fast as they go, 16 at a time, by turns without and with a log. */
export async function measureAudit(options: AuditOptions): Promise<Measured> {
  const { load, way, rounds, seconds, log } = options
  const asked = KINDS.get.asked()
  const measure = async (mode: Mode): Promise<Figures> => {
    await switchTo(mode, options)
    await sendRequests(load, way, asked, [`--seconds=${WARM_UP_SECONDS}`])
    return measureRequests(load, way, asked, { seconds })
  }
  try {
    return await interleaved(MODES, rounds, measure, (line) => log(`audit, ${line}`))
  } finally {
    await declare(options, 'none')
  }
}

async function declare({ raw, folder }: AuditOptions, mode: Mode): Promise<void> {
  const level = Number(mode.at(-1))
  const audit =
    mode === 'none' ? { enabled: false } : { enabled: true, level, path: join(folder, 'audit') }
  const contentType = 'application/json-patch+json'
  const patch = [{ op: 'add', path: '/spec', value: { audit } }]
  const { code } = await raw('PATCH', CONFIG, patch, { contentType })
  if (code !== 200) throw new Error(`a change of the Config is answered ${code}`)
}

/** Changes the Config, and waits until the gateway records a request by it, or does not. */
async function switchTo(mode: Mode, options: AuditOptions): Promise<void> {
  const { load, way, gateway } = options
  await declare(options, mode)
  const isInForce = async (): Promise<true | undefined> => {
    const before = await gateway.metrics()
    await answersWith(load, way, KINDS.get.asked())
    const after = await gateway.metrics()
    const written = LEVELS.filter((level) => eventsOf(after, level) > eventsOf(before, level))
    return written.join() === (EVENT_LEVELS[mode] ?? '') || undefined
  }
  await eventually(`the gateway audits by ${mode}`, isInForce, SOON)
}

const eventsOf = (page: string, level: string): number =>
  valueOf(page, `platform_audit_events_total{level="${level}",stage="ResponseComplete"}`)
