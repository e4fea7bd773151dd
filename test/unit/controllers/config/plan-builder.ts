// The plan of the Config in force, step by step.
import type { Config } from '../../../../src/api/config.gen.ts'
import { type ConfigStep, planInForce } from '../../../../src/controllers/config/plan.ts'
import {
  settingsSecrets,
  type StoredSettingsSecret,
} from '../../../../src/controllers/config/settings-secrets.ts'
import { statusEntry } from '../../../support/key-builder.ts'
import { configObject } from '../../../support/object-builder.ts'

/** What the plan reads. */
export type ConfigPlanInput = Parameters<typeof planInForce>[0]

/** The time of a plan. */
export const NOW_MS = Date.UTC(2026, 10, 21, 10)

/** The Secrets of other processes. */
export const [GATEWAY, DELIVERY, SIGN_IN] = settingsSecrets(
  { namespace: 'platform-system', signInNamespace: 'platform-system-sign-in' },
  {} as never,
) as unknown as readonly [StoredSettingsSecret, StoredSettingsSecret, StoredSettingsSecret]

const at = (secret: StoredSettingsSecret, text: string | null): StoredSettingsSecret => ({
  ...secret,
  stored: text,
  storedVersion: text === null ? '' : `version of ${text}`,
})

/** The Secrets of other processes, with their texts; that of sign-in is unknown unless it is given. */
export const stored = (
  gateway: string | null,
  signIn?: string | null,
  delivery: string | null = null,
): readonly StoredSettingsSecret[] => [
  at(GATEWAY, gateway),
  at(DELIVERY, delivery),
  ...(signIn === undefined ? [] : [at(SIGN_IN, signIn)]),
]

/** The text of a Secret of that name; null = it does not exist. */
export const textIn = (
  { settingsSecrets: secrets }: ConfigPlanInput,
  name: string,
): string | null => secrets.find((secret) => secret.name === name)?.stored ?? null

/** The state before anything is written. */
export const initialState = (differing: Partial<ConfigPlanInput> = {}): ConfigPlanInput => ({
  config: configObject(),
  secret: { kind: 'absent' },
  record: null,
  environment: () => undefined,
  platformVersion: '1.2.3',
  shapeCheck: () => [],
  issuerToCome: null,
  signingKeyFaults: [],
  settingsSecrets: stored(null),
  providers: null,
  secretStore: null,
  storeToken: null,
  nowMs: NOW_MS,
  ...differing,
})

/** The state after a step: our apply owns all of status. */
export function after(
  state: ConfigPlanInput,
  { step }: { readonly step: ConfigStep },
): ConfigPlanInput {
  if (step.kind === 'record') return { ...state, record: step.data }
  // The test that reads it says what is there.
  if (step.kind === 'storeToken') throw new Error('the token of the secret store has not been read')
  if (step.kind === 'secretSettings') {
    const { secret, text } = step
    const written = (one: StoredSettingsSecret) => (one.name === secret.name ? at(one, text) : one)
    return { ...state, settingsSecrets: state.settingsSecrets.map(written) }
  }
  if (step.kind !== 'publish') return state
  const metadata = { ...state.config.metadata, managedFields: [statusEntry(step.status)] }
  return {
    ...state,
    config: { ...state.config, metadata, status: step.status },
  }
}

/** All steps until nothing is left to do. */
export function stepsOf(start: ConfigPlanInput): {
  readonly kinds: readonly string[]
  readonly end: ConfigPlanInput
} {
  const kinds: string[] = []
  let state = start
  for (
    let planned = planInForce(state);
    planned.step.kind !== 'nothing';
    planned = planInForce(state)
  ) {
    kinds.push(planned.step.kind)
    if (kinds.length > 5) throw new Error(`not settled: ${kinds.join(', ')}`)
    state = after(state, planned)
  }
  return { kinds, end: state }
}

/** A Config with that spec. */
export const withSpec = (spec: Config['spec'], generation = 2): Config =>
  configObject({ metadata: { generation }, spec: spec ?? {} })
