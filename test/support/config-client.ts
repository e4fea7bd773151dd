// Reads and writes Config and its Secret on a real control plane.
import type { Condition } from '../../src/api/objects.ts'
import type { TestControlPlane } from './control-plane.ts'
import { eventually } from './eventually.ts'

/** Where Configs are. */
export const CONFIGS_PATH = '/apis/management.platform.sh/v1/configs'
/** The Config that is in force. */
export const IN_FORCE_PATH = `${CONFIGS_PATH}/platform-manager-config`
const SECRETS_PATH = '/api/v1/namespaces/platform-system/secrets'
const SECRET_PATH = `${SECRETS_PATH}/platform-manager-config`
/** ConfigMap that keeps the settings in force. */
export const RECORD_PATH = '/api/v1/namespaces/platform-system/configmaps/platform-config-in-force'

/** Config.status as the API server sends it. */
export interface SeenStatus {
  readonly auth?: { readonly accessKeyMaxTTLSeconds?: number; readonly [name: string]: unknown }
  readonly observedGeneration?: number
  readonly conditions?: readonly Condition[]
  readonly [group: string]: unknown
}

/** A Config as the API server sends it. */
export interface SeenConfig {
  readonly metadata: {
    readonly uid: string
    readonly generation: number
    readonly resourceVersion: string
  }
  readonly spec: Readonly<Record<string, unknown>>
  readonly status?: SeenStatus
}

/** A client of the settings of one control plane. Every call throws when it is refused. */
export interface Settings {
  /** Replaces spec of the Config in force, and creates it where it is missing. */
  declare(spec: unknown): Promise<void>
  /** Writes the Secret's text; null deletes it. */
  secret(text: string | null): Promise<void>
  read(): Promise<SeenConfig>
  /** Waits until status speaks of the latest generation and `holds`; returns it. */
  settled(
    what: string,
    holds: (status: SeenStatus) => boolean,
    withinMs?: number,
  ): Promise<SeenStatus>
}

/** For a busy machine; tests of the contract's two seconds (6.6) pass their own limit. */
const EFFECT_WITHIN_MS = 20_000

/** The settings of this control plane, by admin. */
export function settingsOf({ raw }: Pick<TestControlPlane, 'raw'>): Settings {
  const must = async (
    answer: Promise<{ readonly code: number; readonly body: unknown }>,
    ...codes: readonly number[]
  ): Promise<void> => {
    const { code, body } = await answer
    if (!codes.includes(code)) throw new Error(`answered ${code}: ${JSON.stringify(body)}`)
  }
  const read = async (): Promise<SeenConfig> => {
    const { code, body } = await raw<SeenConfig>('GET', IN_FORCE_PATH)
    if (code !== 200) throw new Error(`Config answered ${code}`)
    return body
  }
  return {
    read,
    declare: async (spec) => {
      const patch = [{ op: 'replace', path: '/spec', value: spec }]
      const contentType = 'application/json-patch+json'
      await must(raw('PATCH', IN_FORCE_PATH, patch, { contentType }), 200)
    },
    secret: async (text) => {
      await must(raw('DELETE', SECRET_PATH), 200, 404)
      if (text === null) return
      const metadata = { name: 'platform-manager-config' }
      await must(
        raw('POST', SECRETS_PATH, {
          apiVersion: 'v1',
          kind: 'Secret',
          metadata,
          stringData: { config: text },
        }),
        201,
      )
    },
    settled: (what, holds, withinMs = EFFECT_WITHIN_MS) =>
      eventually(
        what,
        async () => {
          const { metadata, status } = await read()
          if (status === undefined || status.observedGeneration !== metadata.generation)
            return undefined
          if (!holds(status)) throw new Error(JSON.stringify(status))
          return status
        },
        { withinMs },
      ),
  }
}

/** The Ready condition. @throws Error when there is none */
export function readyOf({ conditions = [] }: SeenStatus): Condition {
  const ready = conditions.find(({ type }) => type === 'Ready')
  if (!ready) throw new Error('there is no Ready condition')
  return ready
}

/** Whether the status is Ready with this reason. */
export const isReadyBy =
  (reason: string) =>
  (status: SeenStatus): boolean =>
    readyOf(status).reason === reason
