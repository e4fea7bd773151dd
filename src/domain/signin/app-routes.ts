// What the gateway and the sign-in process both know of the routes of apps (contract 26.1, 26.3).
import type { OidcServer } from '../../api/config.gen.ts'

/** The path of the issuer of apps: all of its routes are below it. */
export const APPS_PATH = '/oidc/apps'

/**
 * The issuer of apps; null = apps are not served: `oidc.enabled` is off, or the platform has no address.
 *
 * @param publicUrl base URL of the platform for browsers, without a slash at its end; null = not known
 */
export const appIssuer = (
  oidc: Pick<OidcServer, 'enabled'> | undefined,
  publicUrl: string | null,
): string | null =>
  oidc?.enabled === true && publicUrl !== null ? `${publicUrl}${APPS_PATH}` : null

/** Where an app exchanges a code or a refresh token, with its id and secret. */
export const APP_TOKEN_PATH = `${APPS_PATH}/token`

/** Where an app asks about a person, with an access token. */
export const APP_USERINFO_PATH = `${APPS_PATH}/userinfo`

/** Header `typ` of access tokens. */
export const APP_ACCESS_TOKEN_TYPE = 'at+jwt'

/**
 * How every access token of an app begins: `{"alg":"ES256","typ":"at+jwt",` in base64url, 30 bytes that end with a digit. So
 * the gateway passes no other credential on to the sign-in process, neither an access key nor a token for a cluster.
 */
export const APP_ACCESS_TOKEN = /^eyJhbGciOiJFUzI1NiIsInR5cCI6ImF0K2p3dCIs[\w-]+\.[\w-]+\.[\w-]+$/
