// Grants, written (contract 26.3). The Secret comes first: its name takes the code once, and it stays when the grant is ended, so
// that a code which comes a third time makes nothing either.
import { ACCESS_KEYS, API_VERSION, SECRETS } from '../../api/names.ts'
import type { KubeObject, Secret } from '../../api/objects.ts'
import { isConflict } from '../../kube/client/api-error.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { SignInUser } from '../people/sign-in-user.ts'
import { personKey } from '../sessions/person-key.ts'
import { type SessionDeps, endKey } from '../sessions/writes.ts'
import {
  type AppGrant,
  GRANTS_INDEX,
  type StoredGrant,
  grantData,
  grantIn,
  grantSecret,
  grantsOf,
} from './grants.ts'
import type { AppParts } from './parts.ts'
import type { RefreshChain } from './refresh-chain.ts'
import { TokenRefused } from './refusal.ts'

/** Why grants are written, for metrics. */
export const APP_GRANT_WRITE_REASONS = ['create', 'own', 'rotate', 'end'] as const

/** The writer's view of the cluster. */
type GrantDeps = Pick<SessionDeps, 'client' | 'namespace' | 'log'>

/** The same, with the parts that a new grant needs. */
interface NewGrantDeps {
  readonly sessions: GrantDeps
  readonly apps: Pick<AppParts, 'secrets'>
  readonly clock: Clock
}

/** Fields of the key that say what a refresh token is for. */
interface RefreshKeyFields {
  readonly nonce: string | null
  readonly redirectUri: string
  readonly user: Pick<SignInUser, 'name' | 'uid' | 'username'>
  /** The first refresh token. */
  readonly token: string
}

const CODE_USED = 'the code was used before, so what it made has ended too'

/**
 * Stores the grant of a code.
 *
 * @param refresh null = without offline_access there is no key
 * @throws TokenRefused when the code has made one already, which ends here
 */
export async function createGrant(
  grant: AppGrant,
  refresh: RefreshKeyFields | null,
  deps: NewGrantDeps,
): Promise<void> {
  const { client, namespace } = deps.sessions
  try {
    const secret = await client.create<Secret>(SECRETS, grantSecret(grant, namespace), 'create')
    if (refresh !== null) await createKey({ grant, secret }, refresh, deps)
  } catch (error) {
    if (!isConflict(error)) throw error
    await endGrant(grant.name, deps.sessions)
    throw new TokenRefused('invalid_grant', CODE_USED)
  }
}

/** Makes the key, and gives the Secret to it. @throws StatusError 409 when the grant was ended meanwhile */
async function createKey(
  { grant, secret }: StoredGrant,
  { nonce, redirectUri, user, token }: RefreshKeyFields,
  deps: NewGrantDeps,
): Promise<void> {
  const { client } = deps.sessions
  const oidcProvider = {
    clientId: grant.clientId,
    redirectUri,
    scopes: grant.scopes.join(' '),
    ...(nonce === null ? {} : { nonce }),
  }
  const spec = { type: 'OIDCRefreshToken', displayName: `App ${grant.clientId}`, oidcProvider }
  const made = { name: grant.name, user, spec, secret: token }
  const object = personKey(made, deps.clock.nowMs())
  const key = await client.create<KubeObject>(ACCESS_KEYS, object, 'create')
  const { name, uid } = key.metadata
  const owner = { apiVersion: API_VERSION, kind: ACCESS_KEYS.kind, name, uid }
  const metadata = { ...secret.metadata, ownerReferences: [owner] }
  await client.replace(SECRETS, { ...secret, metadata }, 'own')
}

/** Reads a grant; null = there is none, or it has ended. */
export async function readGrant(
  name: string,
  deps: Pick<GrantDeps, 'client' | 'namespace'>,
): Promise<StoredGrant | null> {
  const stored = await readStored(name, deps)
  return stored === null || stored.grant.isEnded ? null : stored
}

async function readStored(
  name: string,
  { client, namespace }: Pick<GrantDeps, 'client' | 'namespace'>,
): Promise<StoredGrant | null> {
  const secret = await client.get<Secret>(SECRETS, { namespace, name })
  const grant = secret && grantIn(secret)
  return secret && grant ? { grant, secret } : null
}

/** Stores another chain. @throws StatusError 409 when the grant has changed since it was read */
export async function replaceChain(
  { grant, secret }: StoredGrant,
  chain: RefreshChain,
  { client }: Pick<GrantDeps, 'client'>,
): Promise<void> {
  const data = grantData({ ...grant, chain })
  await client.replace(SECRETS, { ...secret, data } as Secret, 'rotate')
}

/** Another replica may write the same grant meanwhile. */
const MOST_TRIES = 4

/** Ends a grant, with all tokens that came from it; one that does not exist is ended. */
export async function endGrant(name: string, deps: GrantDeps): Promise<void> {
  const { client } = deps
  for (let tries = 1; ; tries += 1) {
    const stored = await readStored(name, deps)
    if (stored === null || stored.grant.isEnded) break
    const { grant, secret } = stored
    const { ownerReferences: _, ...metadata } = secret.metadata
    const data = grantData({ ...grant, chain: null, isEnded: true })
    try {
      await client.replace(SECRETS, { ...secret, metadata, data } as Secret, 'end')
      break
    } catch (error) {
      if (!isConflict(error) || tries === MOST_TRIES) throw error
    }
  }
  await endKey(name, deps)
}

/** Grants of one person for one app that are kept; of more the oldest end. */
const MOST_GRANTS = 20
/** Younger grants stay, because a code must find the grant that it has made. */
const YOUNG_MS = 60_000

/** Ends the oldest grants of the same person for the same app, so that no app fills the store. */
export async function endSurplus(grant: AppGrant, deps: NewGrantDeps): Promise<void> {
  const { apps, sessions, clock } = deps
  const others = apps.secrets
    .by(GRANTS_INDEX, grantsOf(grant))
    .flatMap(({ object }) => grantIn(object) ?? [])
    .filter(({ isEnded, name }) => !isEnded && name !== grant.name)
    .toSorted((a, b) => b.madeMs - a.madeMs)
  for (const { name, madeMs } of others.slice(MOST_GRANTS - 1))
    if (clock.nowMs() - madeMs > YOUNG_MS) await endGrant(name, sessions)
}
