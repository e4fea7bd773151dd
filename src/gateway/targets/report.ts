// Reports targets by Events on their Secrets, and in the log: only when something changes (contract 9.5).
import { SECRETS } from '../../api/names.ts'
import { type EventRecorder, recordTransitions } from '../../kube/event-recorder.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Log } from '../../runtime/log.ts'
import type { TargetCondition } from './probe-result.ts'
import { type TargetSecret, type TargetWords, wordsOf } from './definition.ts'
import type { TargetStatus } from './connections.ts'

/** Dependencies of a reporter. */
interface TargetReporterOptions {
  /** The namespace of the Secrets. */
  readonly namespace: string
  readonly events: EventRecorder
  readonly clock: Clock
  readonly log: Log
}

/** Reasons of the Events. */
type TargetReason = 'TargetReady' | 'TargetUnusable' | 'TargetConflict'

/** The report about one Secret. */
interface TargetReport {
  readonly secret: TargetSecret
  readonly reason: TargetReason
  /** A sentence. */
  readonly note: string
}

/** In this time the same Event is recorded once, by all replicas together; after it, it is news again. */
const SAME_EVENT_MS = 10 * 60_000

/** Creates a reporter, which gets all Secrets and all targets each time. */
export function createTargetReporter({ namespace, events, clock, log }: TargetReporterOptions) {
  let told = new Map<string, string>()
  const tell = ({ secret: { name, uid }, reason, note }: TargetReport): void => {
    const regarding = { apiVersion: 'v1', kind: SECRETS.kind, name, namespace, uid }
    const discriminator = `${note} ${Math.floor(clock.nowMs() / SAME_EVENT_MS)}`
    recordTransitions(
      [{ reason, note, discriminator }],
      { regarding, normalReasons: ['TargetReady'] },
      events,
    )
    const fields = { secret: name, reason, note }
    if (reason === 'TargetReady') log.info(fields, 'a target is ready')
    else log.warn(fields, 'a target does not work, trying again')
  }
  return (secrets: Iterable<TargetSecret>, statuses: readonly TargetStatus[]): void => {
    const before = told
    told = new Map()
    const reports = new Map(statuses.flatMap(reportsOf).map((one) => [one.secret.uid, one]))
    for (const secret of secrets) {
      const { uid } = secret
      const report = reports.get(uid) ?? reportOfNameless(secret)
      const note = report?.note ?? before.get(uid)
      if (note !== undefined) told.set(uid, note)
      if (report && report.note !== before.get(uid)) tell(report)
    }
  }
}

/** The report about a Secret that names no target; null = it names one, whose report is by `reportsOf`. */
function reportOfNameless(secret: TargetSecret): TargetReport | null {
  const { definition } = secret
  if (definition.kind === 'valid' || definition.target !== null) return null
  const note = `This Secret defines no target: ${definition.because}.`
  return { secret, reason: 'TargetUnusable', note }
}

function reportsOf({ named, condition }: TargetStatus): readonly TargetReport[] {
  const text = textOf(wordsOf(named.target))
  if (named.kind === 'conflict') {
    const names = named.secrets.map(({ name }) => name).join(', ')
    const note = `The ${text} is defined by several Secrets, so none of them is used: ${names}.`
    return named.secrets.map((secret) => ({ secret, reason: 'TargetConflict', note }))
  }
  const told = noteOf(text, condition)
  return told === null ? [] : named.secrets.map((secret) => ({ secret, ...told }))
}

function noteOf(text: string, condition: TargetCondition): Omit<TargetReport, 'secret'> | null {
  if (condition.kind === 'failing')
    return { reason: 'TargetUnusable', note: `The ${text} does not work: ${condition.because}.` }
  return condition.kind === 'ready'
    ? { reason: 'TargetReady', note: `The ${text} is ready.` }
    : null
}

const KIND_TEXT = { cluster: 'cluster', virtualcluster: 'virtual cluster', space: 'space' } as const

const textOf = ({ kind, project, name }: TargetWords): string =>
  `${KIND_TEXT[kind]} ${name}${kind === 'cluster' ? '' : ` of project ${project}`}`
