// One reconcile of a token on an API server and a signer of which only the answers are there.
import type { DirectClusterEndpointToken } from '../../../../src/api/directclusterendpointtoken.gen.ts'
import { IssuesInProgress } from '../../../../src/controllers/directclusterendpointtoken/indexes.ts'
import {
  type TokenDeps,
  reconcile,
} from '../../../../src/controllers/directclusterendpointtoken/reconcile.ts'
import { keysIn } from '../../../../src/controllers/ownedaccesskey/indexes.ts'
import type { OwnedAccessKeyObject } from '../../../../src/domain/accesskey/access-key.ts'
import type { TokenClaims } from '../../../../src/domain/token/token-claims.ts'
import type { ObjectEvent } from '../../../../src/kube/event-recorder.ts'
import { manualClock } from '../../../support/clock.ts'
import { DAY_MS, after } from '../../../support/key-builder.ts'
import { memoryLog } from '../../../support/memory-log.ts'
import { keyObject } from '../../../support/object-builder.ts'
import {
  type Answers,
  recordedRevocations,
  recordingClient,
} from '../../../support/recording-client.ts'
import { ISSUER, KID, keyStore, tokenStore, tokenText } from '../../../support/token-builder.ts'

/** What a row says; the owner is key `ci` of user ada. */
export interface Given {
  /** As the store has it; null = it has none. */
  readonly object: DirectClusterEndpointToken | null
  readonly key?: OwnedAccessKeyObject['spec']
  /** Seconds after t0. */
  readonly now?: number
  readonly answers?: Answers
  readonly deps?: Partial<TokenDeps>
  readonly withdrawn?: readonly string[]
  readonly isStored?: boolean
  readonly fault?: string
  /** null = no key may sign when it comes to it. */
  readonly signs?: ((claims: TokenClaims) => string) | null
}

/** Dependencies of the controller of tokens, with the writes and events that it asks for. */
export function tokenStage(given: Given) {
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
  const deps: TokenDeps = {
    client,
    tokens,
    keys,
    readKeys: () => Promise.resolve(keysIn(keys)),
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
    log,
    observer: {
      issued: () => void observed.push('issued'),
      signed: (seconds) => void observed.push(`signed in ${seconds} s`),
    },
    ...given.deps,
  }
  return { deps, asked, events, lines, observed, records, tokens }
}

/** One reconcile of token `deploy`, and all that came of it. */
export async function run(given: Given) {
  const { deps, ...stage } = tokenStage(given)
  const outcome = await reconcile('deploy', deps).catch((error: unknown) => error)
  return { outcome, ...stage }
}
