// Which settings are in force. Everything is computed from what the API server holds: the Config,
// its Secret, and the ConfigMap that keeps the settings in force; so a restart changes nothing.

import type { ConfigSettings } from '../../api/config.gen.ts'
import type { ManagedFieldsEntry } from '../../api/objects.ts'
import { type JsonMap, asJson, asSettings, isEmpty } from '../json/json.ts'
import { type SettingsByOwner, settingsByOwner } from '../managed-fields.ts'
import { withDefaults } from './defaults.ts'
import {
  type LastSettings,
  carriedFrom,
  isSecretMissed,
  lastRecord,
  lastSettings,
  notedSecret,
  usable,
} from './last-known-good.ts'
import { merge, without, withoutEqual } from './merge.ts'
import {
  type Reading,
  type ShapeCheck,
  type UnknownField,
  checked,
  readSource,
  unreadable,
} from './read-source.ts'
import { type ConfigMapData, recordData } from './record.ts'
import type { Environment } from './references.ts'
import type { Fault } from './validation/faults.ts'
import { hide } from './walk.ts'

export type { ShapeCheck, UnknownField } from './read-source.ts'

/**
 * The Secret of the Config's name. `absent`: the API server says that there is none. `parsed`: the
 * value of its YAML. `unreadable`: anything else, such as no data key `config` or no valid YAML;
 * `because` is a clause without any of its text ("has no key config").
 */
export type SecretSource =
  | { readonly kind: 'absent' }
  | { readonly kind: 'parsed'; readonly value: unknown }
  | { readonly kind: 'unreadable'; readonly because: string }

/** Everything that decides which settings are in force. */
export interface SettingsSources {
  /** The Config with its managedFields, which tell whose the fields of status are. */
  readonly config: {
    readonly metadata: {
      readonly uid: string
      readonly managedFields?: readonly ManagedFieldsEntry[]
    }
    readonly spec?: unknown
    readonly status?: unknown
  }
  /** Our field manager. */
  readonly manager: string
  readonly secret: SecretSource
  /** Data of ConfigMap `platform-config-in-force`; null when there is none. */
  readonly record: ConfigMapData | null
  readonly environment: Environment
  readonly shapeCheck: ShapeCheck
}

/** What to do about the settings. `owned` is what our manager applies to status, secrets hidden. */
export type Resolution = ResolvedSettings | Kept

/** The sources are sound: these settings are in force. */
export interface ResolvedSettings {
  readonly ok: true
  /** With defaults and secrets, for use in memory only. */
  readonly settings: ConfigSettings
  readonly owned: JsonMap
  /**
   * Data of the ConfigMap. Write it before status: the record is then never behind what was
   * published, whatever is deleted next.
   */
  readonly record: ConfigMapData
  readonly unknown: readonly UnknownField[]
}

/** Something is at fault: the last good settings stay. */
export interface Kept {
  readonly ok: false
  readonly faults: readonly Fault[]
  /**
   * The last good settings without their secrets, for a process that has none in memory; null when
   * nobody can tell what was in force: it keeps what it has and stays unready until it has some.
   */
  readonly lastGood: ConfigSettings | null
  readonly owned: JsonMap
  /** Data of the ConfigMap; null: it is left as it is. */
  readonly record: ConfigMapData | null
  readonly unknown: readonly UnknownField[]
}

/**
 * Decides which settings are in force (contract 6.2 to 6.5): spec over the Secret over fields of
 * status that another manager owns over defaults.
 *
 * - With any fault, nothing changes: the last good settings are those of the ConfigMap, else those
 *   that this Config's status shows, else defaults. Values of status that another manager changed
 *   against them are taken back; sound values it added are in force, as status shows them.
 * - A Config that is created anew with an empty spec starts from the ConfigMap, below its Secret if
 *   there is one, and stays so over restarts, until spec is set or the Secret changes; then only the
 *   sources count. So deleting a Config lifts no cap, be it that its Secret remains.
 * - A setting that leaves spec, or the Secret's text, leaves status. A Secret that held settings of
 *   this Config and is gone is a fault, not a change: an unreadable source never lifts a cap. To drop
 *   its settings, empty its text first; then it may go.
 * - REDACTED, null, empty texts and false say nothing, in whatever source.
 */
export function resolveSettings(sources: SettingsSources): Resolution {
  const { config, record, shapeCheck } = sources
  const { uid, managedFields } = config.metadata
  const shares = settingsByOwner(config.status, managedFields, sources.manager)
  const last = lastSettings({ uid, status: config.status, shares, record, shapeCheck })
  const knowledge = { uid, last, shapeCheck }
  const spec = readSource('spec', config.spec ?? null, shapeCheck)
  const secret = readSecret(sources.secret, spec, knowledge)
  const foreign = readSource('status', shares.foreign, shapeCheck)
  const secretShown = hide(secret.settings)
  const carried = carriedOver(spec, secretShown, knowledge)
  const readings = [spec, secret, foreign, carried]
  const unknown = readings.flatMap((reading) => reading.unknown)
  const { settings, faults } = checked(readings, sources.environment)
  if (faults.length > 0)
    return { ok: false, faults, unknown, ...keeping(knowledge, faults, shares) }
  const inForce = withDefaults(asSettings(settings))
  const shown = hide(asJson(inForce))
  return {
    ok: true,
    settings: inForce,
    owned: without(shown, without(foreign.settings, merge(spec.settings, secret.settings))),
    record: recordData(shown, {
      uid,
      secret: notedSecret(last, secretShown, carried.settings),
      carried: carried.settings,
    }),
    unknown,
  }
}

interface Knowledge {
  readonly uid: string
  readonly last: LastSettings
  readonly shapeCheck: ShapeCheck
}

const YAML_ADVICE = 'write YAML in the shape of spec under the key config'

const GONE =
  'is gone, and settings in force came from it: create it again, or with an empty config to drop them'

function readSecret(secret: SecretSource, spec: Reading, { last, shapeCheck }: Knowledge): Reading {
  if (secret.kind === 'parsed') return readSource('Secret', secret.value, shapeCheck)
  if (secret.kind === 'unreadable') return unreadable('Secret', `${secret.because}: ${YAML_ADVICE}`)
  return isSecretMissed(last, spec)
    ? unreadable('Secret', GONE)
    : readSource('Secret', null, shapeCheck)
}

const LOST =
  'holds no settings that can be read, and nothing else tells what was in force: ' +
  'mend it, set spec, or delete it to start from defaults'

function carriedOver(spec: Reading, secretShown: JsonMap, { last }: Knowledge): Reading {
  const carried = isEmpty(spec.settings) ? carriedFrom(last, secretShown) : {}
  return carried === null
    ? unreadable('ConfigMap', LOST)
    : readSource('ConfigMap', carried, () => [])
}

function keeping(
  { uid, last, shapeCheck }: Knowledge,
  faults: readonly Fault[],
  shares: SettingsByOwner,
) {
  if (last.from === 'lost') return { lastGood: null, owned: shares.ours, record: null }
  const isSound = faults.every(({ source }) => source !== 'status')
  const shown = isSound ? merge(last.shown, hide(shares.foreign)) : last.shown
  const leave = last.from === 'never' ? without : withoutEqual
  return {
    lastGood: usable(shown, shapeCheck),
    owned: leave(last.shown, shares.foreign),
    record: lastRecord(last, uid, shown),
  }
}
