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

/** Options of a manager. */
export interface Start {
  /** How far its clock is ahead, in milliseconds; absent = 0. */
  readonly aheadMs?: number
  readonly flags?: readonly string[]
}

/** The managers of a test file, which are stopped at its end. */
export interface Managers {
  start(how?: Start): Promise<OwnOperator>
  /** Stops all and starts another. */
  restart(how?: Start): Promise<OwnOperator>
  stopAll(): Promise<void>
  /** Waits until the first of them signs with a key. */
  untilSigningWith(kid: string | undefined): Promise<void>
}

/** Managers with a kubeconfig and an issuer; call it at the top level of a test file. */
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
    untilSigningWith: async (kid) => {
      const isInUse = () => (running[0] && kidInUse(running[0]) === kid) || undefined
      await eventually(`${kid} is in use`, isInUse, SOON)
    },
  }
}

/** The kid with which a manager signs, by its log. */
export const kidInUse = (operator: OwnOperator): unknown =>
  operator.logs().findLast(({ msg }) => msg === 'signing key in use')?.['kid']

/** An issued token and its signing key. */
export interface SignedToken {
  readonly token: StoredToken
  readonly kid: string
  readonly alg: string | undefined
}

/** Reads and changes signing keys; all methods throw when the API server refuses. */
export interface SigningKeyClient {
  /** Waits until `count` keys are published. */
  published(count: number): Promise<ConfigMap>
  /** Waits until the operator has acted on an annotation and removed it; returns the ConfigMap. */
  annotationHandled(annotation: string): Promise<ConfigMap>
  /** Issues a token under a new access key; the published keys verify it. */
  issueToken(): Promise<SignedToken>
  /** The kid of the published key that verifies a token. @throws Error when none does */
  verifiedBy(token: StoredToken): Promise<string | undefined>
  /** Waits for an event about the ConfigMap whose message begins with `message`. */
  event(reason: string, message: string): Promise<StoredEvent>
  removeSecret(generation: number): Promise<void>
  /** Creates the Secret of a generation from a backup, with some data replaced. */
  restoreSecret(
    generation: number,
    backup: Secret | undefined,
    differing?: Secret['data'],
  ): Promise<void>
  /** Changes data of the ConfigMap; null removes a key. */
  damage(data: Readonly<Record<string, string | null>>): Promise<void>
  removeRecord(): Promise<void>
  /** Deletes all Secrets and the ConfigMap; no operator may run. */
  empty(): Promise<void>
}

/** The client for the signing keys of a control plane. */
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
    annotationHandled: (annotation) =>
      platform.recordUntil(
        'the annotation is handled',
        ({ metadata: { annotations = {} } }) => !(annotation in annotations),
      ),
    issueToken: async () => {
      const owner = await keys.shown(await keys.create(), 'Active')
      const token = await tokens.issue({}, under(owner))
      const { kid = '', alg } = await verifiedBy(token)
      return { token, kid, alg }
    },
    verifiedBy: async (token) => (await verifiedBy(token)).kid,
    event: (reason, message) =>
      eventually(
        `event ${reason} is sent`,
        async () => {
          const record = await platform.record()
          const events = record ? await tokens.events(record) : []
          const isExpected = (event: StoredEvent) =>
            event.reason === reason && event.message.startsWith(message)
          return events.find(isExpected)
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

/** The name of the Secret of a signing key. */
export const secretName = (generation: number): string => `${SIGNING_KEY_PREFIX}${generation}`

/** The kids of the published keys, oldest key first. */
export const kidsIn = (record: ConfigMap | null): readonly string[] =>
  jwksIn(record).map(({ kid = '' }) => kid)
