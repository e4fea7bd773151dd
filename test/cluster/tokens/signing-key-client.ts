// Signing keys on a control plane, as a test makes, damages and watches them.
import { afterAll } from 'vitest'
import { SIGNING_KEY_PREFIX } from '../../../src/api/names.ts'
import type { ConfigMap, Secret } from '../../../src/api/objects.ts'
import { ISSUER, type OwnOperator, startOperator } from '../../support/command-process.ts'
import type { TestControlPlane } from '../../support/control-plane.ts'
import { eventually } from '../../support/eventually.ts'
import type { StoredEvent } from '../../support/object-client.ts'
import { clockAheadEnv } from '../../support/stepped-clock.ts'
import { EVENT_WITHIN, SOON, keyClientOf } from '../keys/key-client.ts'
import {
  JWKS_PATH,
  SECRETS_PATH,
  generationOf,
  jwksIn,
  platformStateOf,
  verified,
} from './platform-state.ts'
import { type StoredToken, tokenClientOf, under } from './token-client.ts'

/** How a manager is started. */
export interface Start {
  /** How far its clock is ahead, in milliseconds; absent, not at all. */
  readonly aheadMs?: number
  readonly flags?: readonly string[]
}

/** The managers of a test file; they end with it. */
export interface Managers {
  start(how?: Start): Promise<OwnOperator>
  /** Starts the next one when those before have ended. */
  restart(how?: Start): Promise<OwnOperator>
  stopAll(): Promise<void>
  /** Waits until the first of them signs with that key. */
  uses(kid: string | undefined): Promise<void>
}

/** Managers by that kubeconfig, with an issuer. To be called while the test file loads. */
export function managersOf(kubeconfig: string): Managers {
  const running: OwnOperator[] = []
  const stopAll = async (): Promise<void> => {
    await Promise.all(running.splice(0).map((operator) => operator.stop()))
  }
  const start: Managers['start'] = async ({ aheadMs = 0, flags = [] } = {}) => {
    const env = aheadMs === 0 ? {} : clockAheadEnv(aheadMs)
    const own = [`--issuer-url=${ISSUER}`, ...flags]
    const operator = await startOperator({ kubeconfig, flags: own, env })
    running.push(operator)
    return operator
  }
  afterAll(stopAll)
  return {
    start,
    restart: async (how) => {
      await stopAll()
      return start(how)
    },
    stopAll,
    uses: async (kid) => {
      const isSo = () => (running[0] && kidInUse(running[0]) === kid) || undefined
      await eventually(`${kid} is in use`, isSo, SOON)
    },
  }
}

/** The kid by which a manager signs now, as it says in its log. */
export const kidInUse = (operator: OwnOperator): unknown =>
  operator.logs().findLast(({ msg }) => msg === 'signing key in use')?.['kid']

/** A token that was issued, and who signed it. */
export interface Signed {
  readonly token: StoredToken
  readonly kid: string
  readonly alg: string | undefined
}

/** What a test does to signing keys. Every deed must succeed. */
export interface SigningKeyClient {
  /** Waits until so many are published. */
  published(count: number): Promise<ConfigMap>
  /** The record once the operator has done what the annotation asks for. */
  met(annotation: string): Promise<ConfigMap>
  /** A token that is issued now, under a key of its own; the published keys verify it. */
  signed(): Promise<Signed>
  /** By which kid the published keys verify a token. @throws Error when none does */
  verifiedBy(token: StoredToken): Promise<string | undefined>
  /** What is told about the record, once it begins so. */
  told(reason: string, message: string): Promise<StoredEvent>
  removeSecret(generation: number): Promise<void>
  /** Makes the Secret of that generation as the given one was, but for some data. */
  restoreSecret(
    generation: number,
    backup: Secret | undefined,
    differing?: Secret['data'],
  ): Promise<void>
  /** Changes data of the record; null takes a key out. */
  damage(data: Readonly<Record<string, string | null>>): Promise<void>
  removeRecord(): Promise<void>
  /** As on the first day: no key, nothing published. No operator may run. */
  empty(): Promise<void>
}

/** The signing keys of a control plane. */
export function signingKeyClientOf(plane: TestControlPlane): SigningKeyClient {
  const keys = keyClientOf(plane)
  const tokens = tokenClientOf(plane)
  const platform = platformStateOf(plane)
  const must = async (...args: Parameters<typeof plane.raw>): Promise<void> => {
    const { code, body } = await plane.raw(...args)
    if (code >= 300) throw new Error(`${args[0]} ${args[1]}: ${code} ${JSON.stringify(body)}`)
  }
  const removeSecret = (generation: number) =>
    must('DELETE', `${SECRETS_PATH}/${secretName(generation)}`)
  const verifiedBy = async (token: StoredToken) =>
    (await verified(token, await platform.jwks())).header
  return {
    published: (count) =>
      platform.recordUntil(
        `${count} keys are published`,
        (record) => kidsIn(record).length === count,
      ),
    met: (annotation) =>
      platform.recordUntil(
        'the wish is met',
        ({ metadata: { annotations = {} } }) => !(annotation in annotations),
      ),
    signed: async () => {
      const owner = await keys.shown(await keys.create(), 'Active')
      const token = await tokens.issue({}, under(owner))
      const { kid = '', alg } = await verifiedBy(token)
      return { token, kid, alg }
    },
    verifiedBy: async (token) => (await verifiedBy(token)).kid,
    told: (reason, message) =>
      eventually(
        `${reason} is told`,
        async () => {
          const record = await platform.record()
          const events = record ? await tokens.events(record) : []
          const isIt = (event: StoredEvent) =>
            event.reason === reason && event.message.startsWith(message)
          return events.find(isIt)
        },
        EVENT_WITHIN,
      ),
    removeSecret,
    restoreSecret: async (generation, backup, differing) => {
      const { type, immutable, data } = (backup ?? {}) as Secret & { readonly immutable?: boolean }
      const metadata = { name: secretName(generation) }
      await must('POST', SECRETS_PATH, {
        metadata,
        type,
        immutable,
        data: { ...data, ...differing },
      })
    },
    damage: (data) => must('PATCH', JWKS_PATH, { data }),
    removeRecord: () => must('DELETE', JWKS_PATH),
    empty: async () => {
      for (const secret of await platform.secrets()) await removeSecret(generationOf(secret))
      if (await platform.record()) await must('DELETE', JWKS_PATH)
    },
  }
}

/** Name of a signing key's Secret. */
export const secretName = (generation: number): string => `${SIGNING_KEY_PREFIX}${generation}`

/** The kids of the published keys, oldest key first. */
export const kidsIn = (record: ConfigMap | null): readonly string[] =>
  jwksIn(record).map(({ kid = '' }) => kid)
