// The apps that sign people in through the platform (contract 26.2): in `oidc.clients` of the settings, and in Secrets. Pure.
import { hash, timingSafeEqual } from 'node:crypto'
import type { OidcClient, OidcServer } from '../../api/config.gen.ts'
import { APP_CLIENT_LABEL } from '../../api/names.ts'
import { type Secret, secretText } from '../../api/objects.ts'
import { stringOf, stringsOf } from '../../domain/json/json.ts'
import { ANY_REDIRECT, redirectUriFault } from './redirect-uri.ts'

/** An app. */
export interface AppClient {
  readonly id: string
  /** SHA-256 of its secret; null = it has none: it is public, and PKCE is demanded. */
  readonly secretDigest: Buffer | null
  readonly isPublic: boolean
  readonly redirectUris: readonly string[]
}

/** The apps that work, and what is wrong with the others. */
export interface AppClients {
  /** By client id. */
  readonly working: ReadonlyMap<string, AppClient>
  /** A sentence for each fault, which names the place and quotes no value. */
  readonly faults: readonly string[]
}

/** Without the part that serves apps. */
export const NO_CLIENTS: AppClients = { working: new Map(), faults: [] }

/** A client as it is declared, not checked yet. */
interface DeclaredClient {
  /** For people, such as `Secret grafana`. */
  readonly place: string
  readonly id: string
  /** null = it is public. */
  readonly secret: string | null
  readonly redirectUris: readonly string[]
  /** The first data key that means nothing: clientSecret, written wrong, would make a public client. null = there is none. */
  readonly unknownKey: string | null
}

/** Whether a Secret declares an app. */
export const declaresClient = ({ metadata }: Pick<Secret, 'metadata'>): boolean =>
  metadata.labels?.[APP_CLIENT_LABEL] !== undefined

/**
 * The apps by the settings and these Secrets.
 *
 * @param secrets those that declare an app
 */
export function appClientsOf(oidc: OidcServer, secrets: readonly Secret[]): AppClients {
  const declared = [
    ...(oidc.clients ?? []).map(inSettings),
    ...secrets.map(inSecret).toSorted((a, b) => (a.place < b.place ? -1 : 1)),
  ]
  const byId = Map.groupBy(declared, ({ id }) => id)
  const faults = declared.flatMap((client) => {
    const twin = byId.get(client.id)?.find((other) => other !== client)
    const fault = faultOf(client, { twin, mayBeAny: oidc.wildcardRedirect === true })
    return fault === null ? [] : [{ client, text: `${client.place}: ${fault}.` }]
  })
  const wrong = new Set(faults.map(({ client }) => client))
  const working = declared.filter((client) => !wrong.has(client)).map(clientOf)
  return {
    working: new Map(working.map((client) => [client.id, client])),
    faults: faults.map(({ text }) => text),
  }
}

const inSettings = (
  { clientId, clientSecret, redirectURIs }: OidcClient,
  at: number,
): DeclaredClient => ({
  place: `oidc.clients[${at}]`,
  id: stringOf(clientId) ?? '',
  // Generated clients send an empty text for an absent one (contract 1.2).
  secret: stringOf(clientSecret) || null,
  redirectUris: stringsOf(redirectURIs) ?? [],
  // The schema of Config knows the fields.
  unknownKey: null,
})

const DATA_KEYS: readonly string[] = ['name', 'clientId', 'clientSecret', 'redirectURIs']

function inSecret(secret: Secret): DeclaredClient {
  const text = (key: string): string | null => secretText(secret, key)?.trim() ?? null
  return {
    place: `Secret ${secret.metadata.name}`,
    id: text('clientId') ?? '',
    secret: text('clientSecret'),
    redirectUris: (text('redirectURIs') ?? '')
      .split('\n')
      .map((line) => line.trim())
      .filter((line) => line !== ''),
    unknownKey: Object.keys(secret.data ?? {}).find((key) => !DATA_KEYS.includes(key)) ?? null,
  }
}

const ID = /^[!-~]{1,128}$/
const CLIENT_SECRET = /^[ -~]{1,512}$/
const MOST_REDIRECTS = 50

/** What keeps a client from working; null = nothing. */
function faultOf(
  { id, secret, redirectUris, unknownKey }: DeclaredClient,
  {
    twin,
    mayBeAny,
  }: {
    /** Another of the same id; undefined = there is none. */
    readonly twin: DeclaredClient | undefined
    readonly mayBeAny: boolean
  },
): string | null {
  if (unknownKey !== null)
    return `has data key ${unknownKey}, which is none of ${DATA_KEYS.join(', ')}`
  if (!ID.test(id)) return 'clientId must be 1 to 128 visible ASCII characters'
  if (twin !== undefined) return `has the clientId of ${twin.place}, so neither works`
  if (secret !== null && !CLIENT_SECRET.test(secret))
    return 'clientSecret must be 1 to 512 ASCII characters, or absent for a public client'
  if (redirectUris.length === 0 && secret !== null) return 'redirectURIs is empty'
  if (redirectUris.length > MOST_REDIRECTS) return `redirectURIs has more than ${MOST_REDIRECTS}`
  const faults = redirectUris.map((uri) => entryFault(uri, mayBeAny))
  const at = faults.findIndex((fault) => fault !== null)
  return at === -1 ? null : `redirectURIs[${at}] ${faults[at]}`
}

function entryFault(uri: string, mayBeAny: boolean): string | null {
  if (uri !== ANY_REDIRECT) return redirectUriFault(uri)
  return mayBeAny ? null : 'is *, which takes oidc.wildcardRedirect'
}

const clientOf = ({ id, secret, redirectUris }: DeclaredClient): AppClient => ({
  id,
  secretDigest: secret === null ? null : digestOf(secret),
  isPublic: secret === null,
  redirectUris,
})

const digestOf = (text: string): Buffer => hash('sha256', text, 'buffer')

/** Whether this is the secret of a client, in constant time; never for a public one. */
export const isSecretOf = ({ secretDigest }: AppClient, sent: string): boolean =>
  secretDigest !== null && timingSafeEqual(secretDigest, digestOf(sent))
