// The token of the secret store in a Secret of the platform namespace (contract 36.1). An editor of the Config names
// that Secret and also the address that gets its token, so the operator reads no Secret of the platform itself (threats K10).
import type { ConfigSettings } from '../../api/config.gen.ts'
import {
  APP_SIGNING_KEYS_SECRET,
  GATEWAY_CA_SECRET,
  GATEWAY_TLS_SECRET,
  GROUP,
  SIGN_IN_KEYS_SECRET,
  SIGNING_KEY_PREFIX,
} from '../../api/names.ts'
import type { Secret } from '../../api/objects.ts'
import { isDnsSubdomain } from '../dns-name.ts'
import { parseDuration } from '../time.ts'

/** Where the token is: a key of a Secret of the platform namespace. */
export interface TokenRef {
  readonly name: string
  readonly key: string
}

/** The content of that key. */
export interface TokenReading {
  /** null = none. */
  readonly token: string | null
  /** Why there is none, as a sentence without any part of it; null = there is one, or none is needed. */
  readonly fault: string | null
}

/** The last reading of a Secret. */
export interface KnownStoreToken {
  readonly ref: TokenRef
  /** null = the API server has not given it out since the settings name it. */
  readonly reading: TokenReading | null
  /** The time of the last try, epoch milliseconds. */
  readonly readMs: number
}

const DEFAULT_KEY = 'token'

/** Where these settings have the token; null = the store is off, or they need no Secret for it. */
export function tokenRefOf({ secretStore }: ConfigSettings): TokenRef | null {
  const { auth } = secretStore ?? {}
  if (secretStore?.enabled !== true || auth?.token) return null
  const { name, key = DEFAULT_KEY } = auth?.tokenSecretRef ?? {}
  return name === undefined ? null : { name, key }
}

/** A shorter syncInterval counts as this. */
export const SHORTEST_INTERVAL_MS = 10_000
const DEFAULT_INTERVAL_MS = 60_000

/** The time between two syncs that is kept to, in milliseconds: syncInterval, or 10 s if that is shorter. */
export const syncIntervalMs = ({ secretStore }: Pick<ConfigSettings, 'secretStore'>): number =>
  Math.max(
    parseDuration(secretStore?.syncInterval ?? '') ?? DEFAULT_INTERVAL_MS,
    SHORTEST_INTERVAL_MS,
  )

/**
 * When the Secret is to be read, epoch milliseconds; null = these settings need none. Twice in an interval, so that a new token is
 * in force within one.
 */
export function tokenDueMs(
  settings: ConfigSettings,
  followed: KnownStoreToken | null,
): number | null {
  const ref = tokenRefOf(settings)
  if (ref === null) return null
  return followed && isSameRef(ref, followed.ref)
    ? followed.readMs + syncIntervalMs(settings) / 2
    : 0
}

/** The last reading of the Secret that these settings name; null = there is none, so the token in force stays. */
export function tokenReadingFor(
  settings: ConfigSettings,
  followed: KnownStoreToken | null,
): TokenReading | null {
  const ref = tokenRefOf(settings)
  if (ref === null) return { token: null, fault: null }
  return followed && isSameRef(ref, followed.ref) ? followed.reading : null
}

/** Whether both name the same key of the same Secret. */
export const isSameRef = (a: TokenRef, b: TokenRef): boolean => a.name === b.name && a.key === b.key

const SECRET_KEY = /^[-._a-zA-Z0-9]{1,253}$/

/**
 * Why this Secret is not even read, as a sentence; null = it may be.
 *
 * @param configName of the Config in force, whose own Secret has all settings that are secret
 */
export function refusedRef({ name, key }: TokenRef, configName: string): string | null {
  if (!isDnsSubdomain(name)) return 'tokenSecretRef has a name that no Secret can have.'
  if (!SECRET_KEY.test(key)) return 'tokenSecretRef has a key that no Secret can have.'
  const isOurs =
    name === configName ||
    OUR_SECRETS.includes(name) ||
    OUR_PREFIXES.some((prefix) => name.startsWith(prefix))
  return isOurs
    ? `tokenSecretRef names Secret ${name}, which is the platform's own: put the token into a Secret of its own.`
    : null
}

const OUR_SECRETS: readonly string[] = [
  APP_SIGNING_KEYS_SECRET,
  GATEWAY_CA_SECRET,
  GATEWAY_TLS_SECRET,
  SIGN_IN_KEYS_SECRET,
]
const OUR_PREFIXES = [SIGNING_KEY_PREFIX, 'platform-settings-']

/** Reads the token in the Secret; null = the Secret does not exist. */
export function readToken(
  { name, key }: TokenRef,
  secret: Pick<Secret, 'metadata' | 'type' | 'data'> | null,
): TokenReading {
  const without = (what: string): TokenReading => ({
    token: null,
    fault: `Secret ${name} of tokenSecretRef ${what}.`,
  })
  if (secret === null) return without('does not exist in the platform namespace')
  const { type, data = {}, metadata } = secret
  // Every other type has another's credentials: of a ServiceAccount, a registry, a release, a session, a signing key.
  if (type !== 'Opaque') return without('has another type than Opaque')
  if (Object.keys(metadata.labels ?? {}).some((label) => label.startsWith(`${GROUP}/`)))
    return without(`has a label of ${GROUP}, so it is for something else`)
  if (!Object.hasOwn(data, key)) return without(`has no key ${key}`)
  const token = TOKEN.exec(Buffer.from(data[key] ?? '', 'base64').toString('latin1'))?.[1]
  return token === undefined
    ? without(
        `has no token at key ${key}: it is empty, too long, or has other than visible ASCII characters`,
      )
    : { token, fault: null }
}

/** Visible ASCII, as a header can have, and the line end that many editors add. */
const TOKEN = /^([\x21-\x7e]{1,8192})(?:\r?\n)?$/
