// One reconcile of a token, with a recording client and a signer that give fixed answers.
import type { DirectClusterEndpointToken } from '../../../../src/api/directclusterendpointtoken.gen.ts'
import { IssuesInProgress } from '../../../../src/controllers/indexes/tokens.ts'
import {
  type TokenDeps,
  reconcile,
} from '../../../../src/controllers/directclusterendpointtoken/reconcile.ts'
import { keysIn } from '../../../../src/controllers/indexes/access-keys.ts'
import type { OwnedAccessKeyObject } from '../../../../src/domain/accesskey/access-key.ts'
import type { TokenClaims } from '../../../../src/domain/token/token-claims.ts'
import type { ObjectEvent } from '../../../../src/kube/event-recorder.ts'
import {
  type Answers,
  recordedRevocations,
  recordingClient,
} from '../../../support/fake-kube-client.ts'
import { DAY_MS, after } from '../../../support/key-builder.ts'
import { manualClock } from '../../../support/manual-clock.ts'
import { memoryLog } from '../../../support/memory-log.ts'
import { keyObject } from '../../../support/object-builder.ts'
import { ISSUER, KID, keyStore, tokenStore, tokenText } from '../../../support/token-builder.ts'
import { reconcileContext } from '../../../support/reconcile-context.ts'
import { peopleOf } from '../../people/people-builder.ts'

/** Inputs of a reconcile; the owner is key `ci` of user ada. */
export interface Given {
  /** The token in the store; null = none. */
  readonly object: DirectClusterEndpointToken | null
  readonly key?: OwnedAccessKeyObject['spec']
  /** Seconds after t0. */
  readonly now?: number
  readonly answers?: Answers
  readonly deps?: Partial<TokenDeps>
  readonly withdrawn?: readonly string[]
  readonly isStored?: boolean
  readonly fault?: string
  /** Signs claims; null = no key may sign at that point. */
  readonly signs?: ((claims: TokenClaims) => string) | null
}

/** Dependencies of the token controller, and the requests, events and log lines that they record. */
export function tokenControllerDeps(given: Given) {
  const { object, key, now = 60, answers, withdrawn = [], isStored = false, fault, signs } = given
  const records = recordedRevocations()
  if (isStored) records.stored.add('uid-deploy')
  records.fault = fault ?? null
  const { client, asked } = recordingClient(answers)
  const { log, lines } = memoryLog()
  const events: ObjectEvent[] = []
  const observed: string[] = []
  const tokens = tokenStore(...(object ? [object] : []))
  const signed = signs === undefined ? (claims: TokenClaims) => tokenText(claims) : signs
  const keys = keyStore(
    ...(key ? [keyObject({ spec: { user: 'ada', key: 'k'.repeat(32), ...key } })] : []),
  )
  const people = peopleOf([], [])
  const deps: TokenDeps = {
    client,
    tokens,
    keys,
    people,
    readKeys: () => Promise.resolve(keysIn(keys, people)),
    signer: {
      current: () => ({ kid: KID, algorithm: 'ES256' }),
      isWithdrawn: (kid) => withdrawn.includes(kid),
      sign: (claims) => Promise.resolve(signed && { token: signed(claims), kid: KID }),
      subscribe: () => undefined,
    },
    revocations: records.revocations,
    issues: new IssuesInProgress(),
    caps: () => ({ maxTtlSeconds: null, loginTtlSeconds: null }),
    issuer: () => ISSUER,
    configName: 'platform-manager-config',
    maxTtlMs: DAY_MS,
    retentionMs: DAY_MS,
    events: {
      record: (event) => void events.push(event),
      flush: () => Promise.resolve(),
      stop: () => undefined,
    },
    clock: manualClock(after(now)),
    observer: {
      issued: () => void observed.push('issued'),
      signed: (seconds) => void observed.push(`signed in ${seconds} s`),
    },
    ...given.deps,
  }
  return { deps, context: reconcileContext(log), asked, events, lines, observed, records, tokens }
}

/** One reconcile of token `deploy`, with its outcome and what the dependencies recorded. */
export async function reconcileToken(given: Given) {
  const { deps, context, ...stage } = tokenControllerDeps(given)
  const outcome = await reconcile('deploy', deps, context).catch((error: unknown) => error)
  return { outcome, ...stage }
}
