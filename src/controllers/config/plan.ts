import type { Config, ConfigSettings } from '../../api/config.gen.ts'
import { FIELD_MANAGER } from '../../api/names.ts'
import type { EventReason } from '../../api/reasons.ts'
import type { Condition } from '../../api/objects.ts'
import { idleAuditSettings } from '../../domain/audit/idle-settings.ts'
import {
  type DesiredCondition,
  sameConditions,
  stalledCondition,
  withTransitionTimes,
} from '../../domain/conditions.ts'
import { type JsonMap, sameJson } from '../../domain/json/json.ts'
import { ownedFieldsOf, settingsByOwner } from '../../domain/managed-fields.ts'
import type { ConfigMapData } from '../../domain/settings/effective-settings.ts'
import type { UnknownField } from '../../domain/settings/read-source.ts'
import {
  type ConfigSources,
  resolveSettings,
  type SettingsResolution,
} from '../../domain/settings/resolve.ts'
import { NO_SECRET_SETTINGS } from '../../domain/settings/secret-settings.ts'
import { unimplementedConditions } from '../../domain/settings/unimplemented.ts'
import {
  CONDITION_MESSAGE_LIMIT,
  EVENT_NOTE_LIMIT,
  faultsMessage,
  joinWithin,
} from '../../domain/settings/validation/faults.ts'
import { type TokenRef, tokenDueMs, tokenRefOf } from '../../domain/store/store-token.ts'
import type { TransitionEvent } from '../../kube/event-recorder.ts'
import { type ReportedStates, reportedConditions } from './reported-conditions.ts'
import type { SettingsSecret, StoredSettingsSecret } from './settings-secrets.ts'

/** A change of the settings that an event reports. */
type ConfigTransition = TransitionEvent<
  Extract<
    EventReason,
    'ConfigApplied' | 'InvalidConfig' | 'UnknownField' | 'SettingsKept' | 'AuditRecordsNothing'
  >
>

/** The status of a Config: the settings in force and the conditions. */
type DesiredConfigStatus = JsonMap & { readonly conditions: readonly Condition[] }

/** The next step for a Config. */
export type ConfigStep =
  | { readonly kind: 'nothing' }
  | { readonly kind: 'record'; readonly data: ConfigMapData }
  /** Reads the token of the secret store in the Secret that has it (contract 36.1). */
  | { readonly kind: 'storeToken'; readonly ref: TokenRef }
  /** Writes the text into the Secret. */
  | { readonly kind: 'secretSettings'; readonly secret: SettingsSecret; readonly text: string }
  | {
      readonly kind: 'publish'
      readonly status: DesiredConfigStatus
      readonly announce: readonly ConfigTransition[]
    }

/** The input of the plan for the Config in force. */
interface ConfigPlanInput extends Omit<ConfigSources, 'manager' | 'config'>, ReportedStates {
  readonly config: Config
  /** The issuer of tokens now and after the next start of the processes; null = it does not change (contract 7.2). */
  readonly issuerToCome: { readonly now: string; readonly next: string } | null
  /** A sentence for each signing key that can't be used for signing (contract 7.3). */
  readonly signingKeyFaults: readonly string[]
  /** The Secrets of other processes that are known (contract 6.8). */
  readonly settingsSecrets: readonly StoredSettingsSecret[]
  readonly nowMs: number
}

/**
 * The next step for the Config in force: record the settings in a ConfigMap that outlives the Config, write those that
 * are secret into the Secrets of other processes, and publish its status (contract 6.2, 6.5, 6.8). While the Config is
 * invalid the settings do not change. `isValid` is for platform_config_valid.
 *
 * `againMs`: when the token of the secret store is to be read next, epoch milliseconds; null = it need not be.
 */
export function planInForce(input: ConfigPlanInput): {
  readonly step: ConfigStep
  readonly isValid: boolean
  readonly againMs: number | null
} {
  const outcome = resolveSettings({ ...input, manager: FIELD_MANAGER })
  const againMs = outcome.ok ? tokenDueMs(outcome.settings, input.storeToken) : null
  return { step: stepInForce(outcome, againMs, input), isValid: outcome.ok, againMs }
}

function stepInForce(
  outcome: SettingsResolution,
  tokenMs: number | null,
  input: ConfigPlanInput,
): ConfigStep {
  const { record } = outcome
  if (record && !isSameData(record, input.record)) return { kind: 'record', data: record }
  const ref = outcome.ok ? tokenRefOf(outcome.settings) : null
  if (ref && tokenMs !== null && tokenMs <= input.nowMs) return { kind: 'storeToken', ref }
  const writes = outcome.ok ? secretWrites(outcome.settings, input) : []
  const needed = writes.find(({ secret }) => !secret.isOptional)
  if (needed) return needed
  const status = statusOf(input.config, outcome.owned, conditionsOf(outcome, input), input.nowMs)
  const published = publish(input.config, status, transitionsOf(input, outcome))
  const [optional] = writes
  return published.kind === 'nothing' && optional ? optional : published
}

/** The Secrets that differ from the settings, each with its text. */
const secretWrites = (
  settings: ConfigSettings,
  { settingsSecrets, storeToken }: ConfigPlanInput,
): readonly Extract<ConfigStep, { kind: 'secretSettings' }>[] =>
  settingsSecrets.flatMap((secret) => {
    const text = secret.textOf(settings, storeToken)
    const isStored = text === (secret.stored ?? NO_SECRET_SETTINGS)
    return text === null || isStored ? [] : [{ kind: 'secretSettings', secret, text }]
  })

/** A write that the API server refused. */
interface RefusedWrite {
  /** The refused object, such as `status of this Config`. */
  readonly objectName: string
  /** The server's message; empty = it gave none. */
  readonly words: string
}

const REPORT_INTERVAL_MS = 60_000

/** Whether status already says so about the present generation. */
function saysNotWritten({ metadata, status }: Config): boolean {
  const ready = status?.conditions?.find(({ type }) => type === 'Ready')
  return ready?.reason === 'NotWritten' && ready.observedGeneration === metadata.generation
}

/**
 * The status after the API server refused a write of the settings (contract 6.5): what status shows stays, and Ready
 * says `NotWritten` with the server's words. They can quote no secret, because the written settings have none.
 *
 * Words that change at each retry are published at most once a minute for one generation of the Config.
 *
 * @param lastReportMs when a refusal was published last; null = never by this process
 */
export function planNotWritten(
  config: Config,
  { objectName, words }: RefusedWrite,
  lastReportMs: number | null,
  nowMs: number,
): ConfigStep {
  const isReported = lastReportMs !== null && nowMs - lastReportMs < REPORT_INTERVAL_MS
  if (isReported && saysNotWritten(config)) return { kind: 'nothing' }
  const said = words === '' ? 'without a message' : `: ${words}`
  const message = `The API server refused the ${objectName}, so the settings before stay in force${said}`
  const ready: DesiredCondition = { type: 'Ready', status: 'False', reason: 'NotWritten', message }
  const { ours } = settingsByOwner(config.status, config.metadata.managedFields, FIELD_MANAGER)
  const others = (config.status?.conditions ?? []).filter(({ type }) =>
    KEPT_CONDITIONS.includes(type),
  ) as readonly DesiredCondition[]
  const desired = [ready, stalledCondition(ready), ...others.map(withoutTimes)]
  return publish(config, statusOf(config, ours, desired, nowMs), [])
}

/** Conditions that do not depend on whether settings could be written. */
const KEPT_CONDITIONS: readonly string[] = [
  'PartsNotServed',
  'SigningKeyCorrupt',
  'SignInReady',
  'SecretStoreReady',
]

const withoutTimes = ({ type, status, reason, message }: DesiredCondition): DesiredCondition => ({
  type,
  status,
  reason,
  message,
})

/** The next step for any other Config: its status reports that it is not in force (contract 6.1). */
export function planNotInForce(config: Config, configName: string, nowMs: number): ConfigStep {
  const message = `Config ${configName} is in force, this one is not read.`
  const ready: DesiredCondition = { type: 'Ready', status: 'False', reason: 'NotInForce', message }
  return publish(config, statusOf(config, {}, [ready, stalledCondition(ready)], nowMs), [])
}

function statusOf(
  config: Config,
  owned: JsonMap,
  desired: readonly DesiredCondition[],
  nowMs: number,
): DesiredConfigStatus {
  const { generation = 0 } = config.metadata
  const conditions = withTransitionTimes(
    desired,
    config.status?.conditions ?? [],
    generation,
    nowMs,
  )
  return { ...owned, observedGeneration: generation, conditions } as unknown as DesiredConfigStatus
}

/** Publishes the status, unless the fields that we own are published already. Other managers may add theirs. */
function publish(
  config: Config,
  status: DesiredConfigStatus,
  announce: readonly ConfigTransition[],
): ConfigStep {
  const { conditions, ...wanted } = status
  const { managedFields = [] } = config.metadata
  const { ours } = settingsByOwner(config.status, managedFields, FIELD_MANAGER)
  const published = { ...ours, observedGeneration: config.status?.observedGeneration ?? null }
  const publishedConditions = ownedFieldsOf(managedFields, 'status').conditions(
    config.status?.conditions ?? [],
  )
  const isPublished = sameJson(wanted, published) && sameConditions(conditions, publishedConditions)
  return isPublished ? { kind: 'nothing' } : { kind: 'publish', status, announce }
}

function conditionsOf(
  outcome: SettingsResolution,
  input: ConfigPlanInput,
): readonly DesiredCondition[] {
  const settings = (outcome.ok ? outcome.settings : outcome.lastGood) ?? {}
  const ready = readyOf(outcome, input)
  return [
    ready,
    ...(ready.status === 'False' ? [stalledCondition(ready)] : []),
    ...unimplementedConditions(settings),
    ...signingKeyConditions(input),
    ...reportedConditions(settings, input),
  ]
}

function readyOf(outcome: SettingsResolution, { issuerToCome }: ConfigPlanInput): DesiredCondition {
  if (!outcome.ok) {
    const message = faultsMessage(outcome.faults, CONDITION_MESSAGE_LIMIT)
    return { type: 'Ready', status: 'False', reason: 'Invalid', message }
  }
  const later = issuerToCome
    ? `; platformHost has changed, but tokens are issued by ${issuerToCome.now} until operator and gateways are restarted, then by ${issuerToCome.next}, and API servers that verify tokens need it in their file`
    : ''
  const message = `The settings are in force${keptOf(outcome.kept)}${ignoredOf(outcome.unknown)}${later}.`
  return { type: 'Ready', status: 'True', reason: 'Applied', message }
}

function signingKeyConditions({ signingKeyFaults }: ConfigPlanInput): readonly DesiredCondition[] {
  if (signingKeyFaults.length === 0) return []
  const message = signingKeyFaults.join(' ').slice(0, CONDITION_MESSAGE_LIMIT)
  return [{ type: 'SigningKeyCorrupt', status: 'True', reason: 'SelfTestFailed', message }]
}

function transitionsOf(
  { config, record }: ConfigPlanInput,
  outcome: SettingsResolution,
): readonly ConfigTransition[] {
  const unknown = outcome.unknown.map(unknownFieldTransition)
  if (!outcome.ok) {
    const note = faultsMessage(outcome.faults, EVENT_NOTE_LIMIT)
    return [{ reason: 'InvalidConfig', note, discriminator: note }, ...unknown]
  }
  const discriminator = `${config.metadata.generation} ${record?.['config']}`
  const applied = {
    reason: 'ConfigApplied',
    note: 'The settings are in force.',
    discriminator,
  } as const
  const idle = idleTransitions(outcome.settings)
  return [applied, ...unknown, ...keptTransitions(outcome.kept), ...idle]
}

/** Reports settings of audit that are valid and record nothing (contract 21.1). */
function idleTransitions({ audit }: ConfigSettings): readonly ConfigTransition[] {
  const idle = idleAuditSettings(audit)
  if (idle.length === 0) return []
  const note = `${joinWithin(idle, EVENT_NOTE_LIMIT - 32)}.`
  return [{ reason: 'AuditRecordsNothing', note, discriminator: note }]
}

const KEPT_ADVICE = 'set each in spec or in the Secret; 0 lifts a cap'

function keptTransitions(kept: readonly string[]): readonly ConfigTransition[] {
  if (kept.length === 0) return []
  const named = joinWithin(kept, EVENT_NOTE_LIMIT - 256)
  const note = `These settings stay from before the Config was created anew, and neither spec nor the Secret has them: ${named}. ${KEPT_ADVICE}.`
  return [{ reason: 'SettingsKept', note, discriminator: kept.join(' ') }]
}

const keptOf = (kept: readonly string[]): string =>
  kept.length === 0
    ? ''
    : `; these stay from before the Config was created anew, ${KEPT_ADVICE}: ${joinWithin(kept, MAX_KEPT_LENGTH)}`

/** Characters of the kept settings in the message of Ready; the longest part of that message. */
const MAX_KEPT_LENGTH = 4096

const MAX_IGNORED_SHOWN = 10

/**
 * Lists unknown fields for the message of Ready: a changed message publishes the status, and so records the event.
 */
function ignoredOf(unknown: readonly UnknownField[]): string {
  if (unknown.length === 0) return ''
  const shown = unknown.slice(0, MAX_IGNORED_SHOWN).map(({ path, source }) => `${path} (${source})`)
  const more = unknown.length - shown.length
  return `; ignored, because this version does not know them: ${shown.join(', ')}${more > 0 ? ` and ${more} more` : ''}`
}

const unknownFieldTransition = ({ path, source }: UnknownField): ConfigTransition => ({
  reason: 'UnknownField',
  note: `${path} (${source}) is not a setting of this version and is ignored.`,
  discriminator: `${source}:${path}`,
})

function isSameData(a: ConfigMapData, b: ConfigMapData | null): boolean {
  if (b === null) return false
  const names = new Set([...Object.keys(a), ...Object.keys(b)])
  return [...names].every((name) => a[name] === b[name])
}
