// What the plan of a claim knows, for tables: a claim at rest, and what a row changes of it.
import { hash } from 'node:crypto'
import type { AccessKeyClaim, AccessKeyClaimStatus } from '../../../src/api/accesskeyclaim.gen.ts'
import {
  CLAIM_LABEL,
  CREATED_ANNOTATION,
  DELIVERS_ANNOTATION,
  REVOKE_FINALIZER,
} from '../../../src/api/names.ts'
import type { Condition } from '../../../src/api/objects.ts'
import type { ClaimFacts } from '../../../src/delivery/claims/facts.ts'
import { statusOf } from '../../../src/delivery/claims/status.ts'
import { keyIdOf } from '../../../src/domain/accesskey/access-key.ts'
import { claimOf } from '../../../src/domain/claim/claim.ts'
import {
  type KeyOfClaim,
  type TokenOfClaim,
  keyOfClaim,
  tokenOfClaim,
} from '../../../src/domain/claim/claimed-key.ts'
import { holdingsOf } from '../../../src/domain/claim/holdings.ts'
import type { SecretState, SecretView } from '../../../src/domain/claim/secret-view.ts'
import { formatSecond } from '../../../src/domain/time.ts'
import { DAY_MS, after, statusEntry, t0, textAfter } from '../key-builder.ts'
import { type Parts, claimObject, keyObject } from '../object-builder.ts'
import { referenceTo, tokenObject } from '../token-builder.ts'

/** The claim that all keys and tokens here are made for. */
export const CLAIM_UID = 'uid-deploy'

const madeForClaim = {
  labels: { [CLAIM_LABEL]: CLAIM_UID },
  finalizers: [REVOKE_FINALIZER],
}

/** A status with condition Ready, all of it the manager's. */
const readyStatus = (
  reason: string,
  message: string,
): { readonly conditions: readonly Condition[] } => ({
  conditions: [
    {
      type: 'Ready',
      status: ['Active', 'Issued'].includes(reason) ? 'True' : 'False',
      reason,
      message,
      lastTransitionTime: textAfter(0),
    },
  ],
})

/** What differs of a key of the claim. */
interface ClaimKeyParts {
  /** Seconds from t0 until it was created; absent = 0. */
  readonly createdAt?: number
  /** Reason of Ready; absent = Active, empty = none is published. */
  readonly reason?: string
  readonly spec?: object
  readonly delivers?: 'Key' | 'Token'
  readonly annotations?: Readonly<Record<string, string>>
  readonly deletedAt?: number
}

/** A key of the claim, as it was made for an empty spec. */
export function claimKey(name: string, parts: ClaimKeyParts = {}): KeyOfClaim {
  const { createdAt = 0, reason = 'Active', spec = {}, delivers = 'Key', annotations = {} } = parts
  const status = reason === '' ? {} : readyStatus(reason, `It is ${reason}.`)
  const created = textAfter(createdAt)
  const object = keyObject({
    metadata: {
      ...madeForClaim,
      name,
      uid: `uid-${name}`,
      creationTimestamp: created,
      annotations: {
        [CLAIM_LABEL]: 'shop/deploy',
        [CREATED_ANNOTATION]: created,
        [DELIVERS_ANNOTATION]: delivers,
        ...annotations,
      },
      managedFields: [statusEntry(status)],
      ...(parts.deletedAt === undefined ? {} : { deletionTimestamp: textAfter(parts.deletedAt) }),
    },
    spec: {
      subject: 'claim:shop:deploy',
      ttl: 2_592_000,
      type: 'Other',
      key: `sha256:${hash('sha256', name)}`,
      ...spec,
    },
    status,
  })
  return keyOfClaim(object, (text) => text.slice('sha256:'.length))
}

/** What differs of a token of the claim. */
interface ClaimTokenParts extends Pick<ClaimKeyParts, 'createdAt' | 'reason' | 'deletedAt'> {
  readonly owner?: string
  /** Seconds from its creation; absent = a day. */
  readonly ttl?: number
  readonly scope?: object
}

/** A token of the claim, under key `key`, as it was made for `token: {}`. */
export function claimToken(name: string, parts: ClaimTokenParts = {}): TokenOfClaim {
  const { createdAt = 0, reason = 'Issued', owner = 'key', ttl = 86_400, scope } = parts
  const isIssued = reason !== '' && reason !== 'Pending'
  const status = {
    ...(reason === '' ? {} : readyStatus(reason, `It is ${reason}.`)),
    ...(isIssued ? { expirationTimestamp: textAfter(createdAt + ttl) } : {}),
  }
  const object = tokenObject({
    metadata: {
      ...madeForClaim,
      name,
      uid: `uid-${name}`,
      creationTimestamp: textAfter(createdAt),
      annotations: { [CLAIM_LABEL]: 'shop/deploy' },
      ownerReferences: [referenceTo({ name: owner, uid: `uid-${owner}` })],
      managedFields: [statusEntry(status)],
      ...(parts.deletedAt === undefined ? {} : { deletionTimestamp: textAfter(parts.deletedAt) }),
    },
    spec: { ttl, ...(scope ? { scope } : {}) },
    status,
  })
  return tokenOfClaim(object)
}

/** The key that a claim at rest has in its Secret. */
export const KEY = claimKey('key')

/** A claim, and everything around it. */
export interface FactsParts
  extends Partial<
    Omit<ClaimFacts, 'claim' | 'secret' | 'holdings' | 'attemptKey' | 'attemptToken'>
  > {
  readonly claim?: Parts<AccessKeyClaim>
  /** Absent = KEY alone. */
  readonly keys?: readonly KeyOfClaim[]
  readonly tokens?: readonly TokenOfClaim[]
  /** What differs of the Secret with KEY, or that there is no such Secret. */
  readonly secret?: Partial<SecretView> | 'missing' | 'unknown'
  readonly published?: AccessKeyClaimStatus
}

/** The Secret with KEY, as it was delivered; else as given. */
export const secretWith = (parts: Partial<SecretView> = {}): SecretView => ({
  uid: 'uid-secret',
  resourceVersion: '1',
  keyID: keyIdOf(KEY),
  token: null,
  expires: formatSecond(t0 + 30 * DAY_MS),
  template: 'template',
  dataDigest: 'digest',
  labels: {},
  annotations: {},
  isOwned: true,
  isCreatedOnly: false,
  ...parts,
})

const secretState = (secret: FactsParts['secret'] = {}): SecretState =>
  typeof secret === 'string' ? { kind: secret } : { kind: 'held', view: secretWith(secret) }

/** The facts of these parts, ten seconds after t0, with an empty status unless there is another. */
export function claimFacts(parts: FactsParts = {}): ClaimFacts {
  const { claim = {}, keys = [KEY], tokens = [], secret, published, attempt = null } = parts
  const state = secretState(secret)
  const parsed = claimOf(
    claimObject({
      ...claim,
      metadata: { finalizers: [REVOKE_FINALIZER], ...claim.metadata },
      status: published ?? {},
    }),
  )
  const uids = [attempt?.isTokenOnly ? undefined : attempt?.key.uid, attempt?.token?.uid]
  return {
    abandoned: new Set(),
    template: 'template',
    dataBytes: 0,
    caps: { maxTtlSeconds: null, loginTtlSeconds: null },
    placeFault: null,
    fault: null,
    labelled: null,
    server: { url: 'https://gateway.example.com/kubernetes/management', ca: null },
    nowMs: after(10),
    ...parts,
    claim: parsed,
    secret: state,
    holdings: holdingsOf({
      secret: state.kind === 'held' ? state.view : null,
      keys,
      tokens,
      published: parsed.published,
      underway: new Set(uids.filter((uid) => uid !== undefined)),
    }),
    attempt,
    attemptKey: keys.find(({ uid }) => uid === attempt?.key.uid) ?? null,
    attemptToken: tokens.find(({ uid }) => uid === attempt?.token?.uid) ?? null,
  }
}

/** The status that was published two seconds after t0, when KEY was delivered. */
export const REST = publishedOf({})

/** The status that is published of these facts, two seconds after t0 unless they have another time. */
export function publishedOf(parts: FactsParts): AccessKeyClaimStatus {
  return statusOf(claimFacts({ nowMs: after(2), ...parts }))
}

/** Facts that differ as given from a claim that is delivered, and says so in its status. */
export const atRest = (parts: FactsParts = {}): ClaimFacts =>
  claimFacts({ published: REST, ...parts })
