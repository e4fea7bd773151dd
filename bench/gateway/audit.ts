// What the audit log costs: the same requests by one gateway without it and with it.
import { join } from 'node:path'
import { eventually } from '../../test/support/eventually.ts'
import { valueOf } from '../../test/support/metrics-page.ts'
import type { OwnGateway } from '../../test/support/gateway-process.ts'
import { type Figures, type Measured, interleaved } from '../measure/rounds.ts'
import { KINDS } from './kinds.ts'
import { type LoadOptions, inFewRounds, secondsOf, watchOnce } from './loads.ts'
import { answersWith, measureRequests, sendRequests } from './request.ts'
import type { Way } from './way.ts'

/** Options of measureAudit. */
interface AuditOptions extends LoadOptions {
  /** The way through the gateway. */
  readonly way: Way
  readonly gateway: Pick<OwnGateway, 'metrics'>
  /** A folder for the files of the log. */
  readonly folder: string
}

/** The sections about the audit log, and what each asks for. */
const AUDITED = {
  audit: 'get',
  'audit-list': 'list',
  'audit-patch': 'patch',
  'audit-watch': 'watch',
} as const

/** The name of a section about the audit log. */
export type AuditSection = keyof typeof AUDITED

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

/**
 * Sends the requests of a section by turns without and with a log. GETs have all rounds and a log of level 4, too; the others
 * three rounds at most.
 */
export async function measureAudit(
  section: AuditSection,
  options: AuditOptions,
): Promise<Measured> {
  const isGet = section === 'audit'
  const { rounds, log } = isGet ? options : inFewRounds(options)
  const measure = async (mode: Mode): Promise<Figures> => {
    await switchTo(mode, options)
    return measureOnce(AUDITED[section], options)
  }
  try {
    return await interleaved(isGet ? MODES : ['none', 'level 2'], rounds, measure, (line) =>
      log(`${section}, ${line}`),
    )
  } finally {
    await declare(options, 'none')
  }
}

async function measureOnce(
  kind: (typeof AUDITED)[AuditSection],
  options: AuditOptions,
): Promise<Figures> {
  const { load, way, files } = options
  if (kind === 'watch') return watchOnce(way, options, options.watchEvents, null)
  const asked = KINDS[kind].asked(way.name, files)
  await sendRequests(load, way, asked, [`--seconds=${WARM_UP_SECONDS}`])
  return measureRequests(load, way, asked, { seconds: secondsOf(kind, options) })
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
