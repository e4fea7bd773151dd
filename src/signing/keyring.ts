// The loaded private keys, and the only code that signs with them (contract 7.3).
import type { KeyObject } from 'node:crypto'
import { CompactSign } from 'jose'
import { JWKS_CONFIG_MAP, ROTATE_ANNOTATION, WITHDRAW_ANNOTATION } from '../api/names.ts'
import type { ConfigMap, Secret } from '../api/objects.ts'
import { parseJwks } from '../authn/jwks.ts'
import {
  JWKS_DATA_KEY,
  KEY_RECORDS_DATA_KEY,
  type PublishedKeys,
  parseKeyRecords,
} from '../domain/signingkey/published-keys.ts'
import {
  type KeyLife,
  type PublishedKeyRecord,
  type SigningKeySecret,
  currentSigner,
  eligibleSigners,
  keyLifeOf,
} from '../domain/signingkey/signing-key.ts'
import type { SigningAlgorithm, TokenClaims } from '../domain/token/token-claims.ts'
import type { FullObject, Store, StoreChange } from '../kube/informer/store.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Log } from '../runtime/log.ts'
import { type ExaminedSigningKey, examineSigningKey } from './signing-key-secret.ts'

/** Signs tokens: the token controller's view of the signing keys. */
export interface TokenSigner {
  /** The key that would sign now; null = no key can sign. */
  current(): CurrentSigningKey | null
  /** Whether the key was withdrawn because it leaked: its tokens must be revoked. */
  isWithdrawn(kid: string): boolean
  /**
   * Signs the claims with the current key, as a compact JWS whose payload is the output of JSON.stringify.
   * null = no key can sign, or the key was withdrawn while it signed.
   */
  sign(claims: TokenClaims): Promise<SignedToken | null>
  /** Calls the listener whenever the current key changes or disappears, and when a key is withdrawn. */
  subscribe(listener: () => void): void
}

/** The key that signs now. */
interface CurrentSigningKey {
  readonly kid: string
  readonly algorithm: SigningAlgorithm
}

/** A signed token, and the `kid` in its header. */
interface SignedToken {
  readonly token: string
  readonly kid: string
}

/** The signing keys with their published state. It never gives out a private key. */
export interface Keyring extends TokenSigner {
  /** Whether both stores have synced. Before that a missing key may just not be listed yet. */
  isComplete(): boolean
  /** The Secrets of signing keys, each with the fault that examination found. */
  secrets(): readonly SigningKeySecret[]
  /** The published key set with its records; null = the ConfigMap does not exist. */
  published(): PublishedKeys | null
  /** A sentence for each Secret that can't be used for signing, for a condition; empty = none. */
  faults(): readonly string[]
  /** Begin and end of life of each published key that is not withdrawn, for metrics. */
  lives(): readonly KeyLife[]
  /** Calls the listeners if time alone has changed which key signs. */
  review(): void
}

/** The stores that the keyring is built from. */
interface KeyringSources {
  /** Holds Secrets of type `management.platform.sh/signing-key`, and no others. */
  readonly secrets: Store<FullObject<Secret>>
  /** Holds ConfigMap `platform-jwks`, if it exists. */
  readonly records: Store<FullObject<ConfigMap>>
  /** The platform namespace. */
  readonly namespace: string
  readonly clock: Clock
  readonly log: Log
}

/** Creates a keyring that updates itself with every change of these stores. */
export function createKeyring(sources: KeyringSources): Keyring {
  const { secrets, records, namespace, clock, log } = sources
  const listeners: (() => void)[] = []
  const examined = new Map<string, ExaminedSigningKey>()
  let view = viewOf(examined, null)
  let notifiedState = stateOf(null, view)

  const current = (): CurrentSigningKey | null => {
    const key = view.keys.get(currentSigner(view.signers, clock.nowMs())?.kid ?? '')
    return key ? { kid: key.kid, algorithm: key.algorithm } : null
  }
  const review = (): void => {
    const kid = current()?.kid ?? null
    const state = stateOf(kid, view)
    if (state === notifiedState) return
    notifiedState = state
    if (kid === null) log.warn({}, 'no signing key can be used')
    else log.info({ kid }, 'signing key in use')
    for (const listener of listeners) listener()
  }
  const read = (): void => {
    const record = records.get(JWKS_CONFIG_MAP, namespace)
    view = viewOf(examined, record ? publishedKeysOf(record.object) : null)
    review()
  }
  const examineChange = ({
    name,
    after,
  }: Pick<StoreChange<FullObject<Secret>>, 'name' | 'after'>): void => {
    if (!after) examined.delete(name)
    else examined.set(name, examineAndLog(after.object, log))
  }
  for (const secret of secrets.values()) examineChange({ name: secret.name, after: secret })
  secrets.subscribe((change) => {
    examineChange(change)
    read()
  })
  records.subscribe(({ name }) => {
    if (name === JWKS_CONFIG_MAP) read()
  })
  read()
  return {
    current,
    isWithdrawn: (kid) => view.withdrawn.has(kid),
    sign: async (claims) => {
      const key = view.keys.get(current()?.kid ?? '')
      return key ? signUnlessWithdrawn(claims, key, () => view.signers) : null
    },
    subscribe: (listener) => void listeners.push(listener),
    isComplete: () => secrets.synced && records.synced,
    secrets: () => view.secrets,
    published: () => view.published,
    faults: () => view.secrets.flatMap(faultOf),
    lives: () => view.lives,
    review,
  }
}

/** Signs with the key; null = the key was withdrawn while it signed, and the token must not be published. */
async function signUnlessWithdrawn(
  claims: TokenClaims,
  key: PrivateKey,
  signers: () => readonly PublishedKeyRecord[],
): Promise<SignedToken | null> {
  const token = await compactJws(claims, key)
  return signers().some(({ kid }) => kid === key.kid) ? { token, kid: key.kid } : null
}

/** A text for the state that listeners depend on: they are called when it changes. */
const stateOf = (kid: string | null, { withdrawn }: KeyringView): string =>
  [kid, ...[...withdrawn].sort()].join(' ')

interface PrivateKey extends CurrentSigningKey {
  readonly privateKey: KeyObject
}

/** The keys as the stores have them; which of them signs depends on the time as well. */
interface KeyringView {
  readonly secrets: readonly SigningKeySecret[]
  readonly published: PublishedKeys | null
  readonly keys: ReadonlyMap<string, PrivateKey>
  readonly signers: readonly PublishedKeyRecord[]
  readonly withdrawn: ReadonlySet<string>
  readonly lives: readonly KeyLife[]
}

function viewOf(
  examined: ReadonlyMap<string, ExaminedSigningKey>,
  published: PublishedKeys | null,
): KeyringView {
  const secrets: SigningKeySecret[] = []
  const keys = new Map<string, PrivateKey>()
  for (const { secret, privateKey } of oldestFirst(examined)) {
    const { jwk, isDeleting } = secret
    if (!jwk || !privateKey || isDeleting) {
      secrets.push(secret)
    } else if (keys.has(jwk.kid)) {
      secrets.push({ ...secret, fault: 'holds the same key as an older Secret' })
    } else {
      secrets.push(secret)
      keys.set(jwk.kid, { kid: jwk.kid, algorithm: jwk.alg, privateKey })
    }
  }
  const { jwks = [], notes = [] } = published ?? {}
  const publishedKids = new Set(jwks.map(({ kid }) => kid))
  const notWithdrawn = notes.filter(
    ({ kid, withdrawnMs }) => withdrawnMs === null && publishedKids.has(kid),
  )
  return {
    secrets,
    published,
    keys,
    signers: eligibleSigners(notes, publishedKids, new Set(keys.keys())),
    withdrawn: new Set(notes.filter((note) => note.withdrawnMs !== null).map(({ kid }) => kid)),
    lives: notWithdrawn.map(keyLifeOf),
  }
}

const oldestFirst = (
  examined: ReadonlyMap<string, ExaminedSigningKey>,
): readonly ExaminedSigningKey[] =>
  [...examined.values()].toSorted((a, b) => (a.secret.generation ?? 0) - (b.secret.generation ?? 0))

/** Examines a Secret. A fault is logged as well, because the condition may go unread. */
function examineAndLog(object: Secret, log: Log): ExaminedSigningKey {
  const examination = examineSigningKey(object)
  const { name, uid, resourceVersion, fault } = examination.secret
  if (fault !== null)
    log.error({ object: { name, uid, resourceVersion }, because: fault }, 'signing key is corrupt')
  return examination
}

/** A sentence about a Secret that can't be used for signing; empty for a sound one. */
const faultOf = ({ name, fault }: SigningKeySecret): readonly string[] =>
  fault === null ? [] : [`Secret ${name} ${fault}; nothing is signed with it.`]

function compactJws(claims: TokenClaims, { kid, algorithm, privateKey }: PrivateKey) {
  return new CompactSign(new TextEncoder().encode(JSON.stringify(claims)))
    .setProtectedHeader({ alg: algorithm, kid, typ: 'JWT' })
    .sign(privateKey)
}

/** Reads ConfigMap `platform-jwks`. Never throws: unreadable parts are left out, and `isSound` is false. */
function publishedKeysOf({ data = {}, metadata }: ConfigMap): PublishedKeys {
  const set = parseJwks(data[JWKS_DATA_KEY])
  const { notes, isSound } = parseKeyRecords(data[KEY_RECORDS_DATA_KEY])
  const { annotations = {} } = metadata
  return {
    data,
    jwks: set.ok ? set.jwks : [],
    notes,
    isSound: isSound && set.ok && set.faults.length === 0,
    isToRotate: annotations[ROTATE_ANNOTATION] !== undefined,
    toWithdraw: annotations[WITHDRAW_ANNOTATION]?.trim() ?? null,
  }
}
