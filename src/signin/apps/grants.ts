// What an app was granted for a person (contract 26.3), each in a Secret of the sign-in namespace. A grant is made from one code,
// and its name lets it be made once. With offline_access it has a key of type OIDCRefreshToken, which owns the Secret: so who
// deletes the key ends the grant.
import { createHash } from 'node:crypto'
import { APP_GRANT_OF_LABEL, APP_GRANT_TYPE, SECRETS, apiVersionOf } from '../../api/names.ts'
import { type Secret, secretData, secretText } from '../../api/objects.ts'
import { parseJsonMap, stringOf } from '../../domain/json/json.ts'
import type { NamedObject } from '../../kube/client/client.ts'
import { type FullObject, Store, fullObject } from '../../kube/informer/store.ts'
import { type RefreshChain, refreshChainIn } from './refresh-chain.ts'
import { scopesIn } from './scopes.ts'

/** A grant. */
export interface AppGrant {
  /** Name of the Secret, and of the key. */
  readonly name: string
  readonly clientId: string
  /** Name of the user. */
  readonly user: string
  /** uid of the User: another one of that name may be another person. */
  readonly userUid: string
  readonly scopes: readonly string[]
  /** When the person signed in, in epoch milliseconds. */
  readonly authMs: number
  /** Name of the session in which the person was. */
  readonly session: string
  /** When the grant was made, in epoch milliseconds. */
  readonly madeMs: number
  /** The refresh tokens; null = there are none: the grant ends with the session. */
  readonly chain: RefreshChain | null
  /** It was ended, and is kept so that its code makes no other. */
  readonly isEnded: boolean
}

/** A grant that is stored. */
export interface StoredGrant {
  readonly grant: AppGrant
  readonly secret: Secret
}

const DATA_KEY = 'grant'
const NAME = /^oidc-[a-z2-7]{26}$/

/** The data of the Secret. */
export const grantData = (grant: AppGrant): Readonly<Record<string, string>> =>
  secretData({
    [DATA_KEY]: JSON.stringify({ ...grant, name: undefined, scopes: grant.scopes.join(' ') }),
  })

/** The Secret to create. */
export const grantSecret = (grant: AppGrant, namespace: string): NamedObject => ({
  apiVersion: apiVersionOf(SECRETS),
  kind: SECRETS.kind,
  metadata: { name: grant.name, namespace, labels: { [APP_GRANT_OF_LABEL]: grantsOf(grant) } },
  type: APP_GRANT_TYPE,
  data: grantData(grant),
})

/** The grant in a Secret; null = it is none, or malformed. */
export function grantIn(secret: Secret): AppGrant | null {
  const { name } = secret.metadata
  if (secret.type !== APP_GRANT_TYPE || !NAME.test(name)) return null
  const fields = parseJsonMap(secretText(secret, DATA_KEY) ?? '') ?? {}
  const texts = ['clientId', 'user', 'userUid', 'scopes', 'session'].map((field) =>
    stringOf(fields[field]),
  )
  const [clientId, user, userUid, scopes, session] = texts
  const { authMs, madeMs, chain, isEnded } = fields
  if (!clientId || !user || !userUid || !scopes || !session) return null
  if (typeof authMs !== 'number' || typeof madeMs !== 'number') return null
  return {
    name,
    clientId,
    user,
    userUid,
    scopes: scopesIn(scopes),
    authMs,
    session,
    madeMs,
    chain: refreshChainIn(chain),
    // Of a malformed field too.
    isEnded: isEnded !== false,
  }
}

/** Name of an index of the grants of one person for one app. */
export const GRANTS_INDEX = 'grants'

/** A store of the Secrets of the sign-in namespace, with that index. */
export const createSecretStore = (): Store<FullObject<Secret>> =>
  new Store(fullObject<Secret>, {
    [GRANTS_INDEX]: ({ object: { metadata, type } }) =>
      type === APP_GRANT_TYPE ? (metadata.labels?.[APP_GRANT_OF_LABEL] ?? null) : null,
  })

/** The value of the label, and in the index, of every grant of a person for an app. */
export const grantsOf = ({ userUid, clientId }: Pick<AppGrant, 'userUid' | 'clientId'>): string =>
  createHash('sha256')
    .update(JSON.stringify([userUid, clientId]))
    .digest('hex')
    .slice(0, 32)
