// An issuer of tokens on a local HTTPS server, whose documents, clock and faults a test sets.
import { generateKeyPairSync, hash, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { AS_OF_HEADER } from '../../../../src/api/names.ts'
import { checkJwk } from '../../../../src/authn/jwks.ts'
import type { PublicJwk } from '../../../../src/domain/signingkey/signing-key.ts'
import { type TokenSubject, claimsOf } from '../../../../src/domain/token/token-claims.ts'
import { formatTimestamp } from '../../../../src/domain/time.ts'
import {
  type Members,
  type Signer,
  type SigningKey,
  es256,
  forge,
} from '../../../direct/forged-tokens.ts'
import { serverPair } from '../../../support/certificate-builder.ts'

/** Name of the cluster of the direct endpoint. */
export const CLUSTER = 'east'

/** A signing key with its public part. */
export interface TestKey extends SigningKey {
  readonly jwk: PublicJwk
}

/** A new key on P-256. */
export function newTestKey(): TestKey {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const checked = checkJwk(privateKey.export({ format: 'jwk' }))
  if (!checked.ok) throw new Error(checked.because)
  return { kid: checked.jwk.kid, jwk: checked.jwk, privateKey }
}

/** What the issuer serves at the moment; a test sets any of it. */
export interface Served {
  keys: readonly PublicJwk[]
  /** By jti: exp in epoch milliseconds. */
  revoked: Readonly<Record<string, number>>
  asOfMs: number
  /** null = the member is missing, as in an older gateway. */
  prefix: string | null
  /** Whether answers with the list say its asOf in a header too. */
  hasAsOfHeader: boolean
  /** The platform's clock, for the Date header; null = no header. */
  dateMs: () => number | null
  /** Answers some requests in another way; true = it has. */
  instead: (path: string, response: ServerResponse, request: IncomingMessage) => boolean
}

/** The local issuer. */
export interface TestIssuer {
  readonly issuer: string
  readonly caPem: string
  readonly served: Served
  /** Paths below the issuer of all requests, oldest first; a 304 counts too. */
  readonly requests: readonly string[]
  /** Statuses of answers to requests for the list. */
  readonly listStatuses: readonly number[]
  /** Ends all connections and refuses new ones. */
  stop(): Promise<void>
}

/** Calls back at the end of a test, or of a file: onTestFinished, or afterAll. */
export type AtEnd = (stop: () => Promise<void> | void) => void

const pair = serverPair('issuer')

/** Starts an issuer with one key and an empty list of `nowMs()`. @param atEnd gets what stops it */
export async function startTestIssuer(
  key: TestKey,
  nowMs: () => number,
  atEnd: AtEnd,
): Promise<TestIssuer> {
  const served: Served = {
    keys: [key.jwk],
    revoked: {},
    asOfMs: nowMs(),
    prefix: 'p-',
    hasAsOfHeader: true,
    dateMs: nowMs,
    instead: () => false,
  }
  const requests: string[] = []
  const listStatuses: number[] = []
  let issuer = ''
  const textOf = (path: string): string | null => {
    if (path === '/.well-known/openid-configuration')
      return JSON.stringify({
        issuer,
        ...(served.prefix === null ? {} : { project_namespace_prefix: served.prefix }),
      })
    if (path === '/keys') return JSON.stringify({ keys: served.keys })
    return path === '/revoked' ? listTextOf(served) : null
  }
  const server = createServer(
    { key: pair.keyPem, cert: pair.certificatePem },
    (request, response) => {
      const path = (request.url ?? '').replace(/^\/oidc/, '')
      requests.push(path)
      response.sendDate = false
      const dateMs = served.dateMs()
      if (dateMs !== null) response.setHeader('date', new Date(dateMs).toUTCString())
      if (served.instead(path, response, request)) return
      const text = textOf(path)
      const etag = `W/"${hash('sha256', JSON.stringify(served.revoked))}"`
      const isUnchanged = path === '/revoked' && request.headers['if-none-match'] === etag
      const status = text === null ? 404 : isUnchanged ? 304 : 200
      if (path === '/revoked') listStatuses.push(status)
      const asOf = served.hasAsOfHeader ? { [AS_OF_HEADER]: formatTimestamp(served.asOfMs) } : {}
      const headers = path === '/revoked' ? { etag, ...asOf } : {}
      response.writeHead(status, headers).end(isUnchanged ? undefined : text)
    },
  )
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  issuer = `https://127.0.0.1:${port}/oidc`
  const stop = async (): Promise<void> => {
    if (!server.listening) return
    server.closeAllConnections()
    await new Promise((resolve) => {
      server.close(resolve)
    })
  }
  atEnd(stop)
  return { issuer, caPem: pair.caPem, served, requests, listStatuses, stop }
}

/** The list as a gateway serves it. */
export const listTextOf = ({ asOfMs, revoked }: Pick<Served, 'asOfMs' | 'revoked'>): string =>
  JSON.stringify({
    asOf: formatTimestamp(asOfMs),
    tokens: Object.fromEntries(
      Object.entries(revoked).map(([jti, endMs]) => [jti, formatTimestamp(endMs)]),
    ),
  })

/** The claims of a sound token of key `ci` of user ada, for an hour from `nowMs`; a test changes some. */
export function soundClaims(
  issuer: string,
  nowMs: number,
  subject: Partial<TokenSubject> = {},
): Members {
  const whole = {
    identity: 'user:ada',
    groups: ['dev'],
    name: 'ci',
    uid: randomUUID(),
    scope: null,
    teams: [],
    isOwnerScoped: false,
    ...subject,
  }
  return {
    ...claimsOf(whole, {
      issuer,
      jti: randomUUID(),
      creationMs: nowMs,
      expiresMs: nowMs + 3_600_000,
    }),
  }
}

/** A sound token with its id. */
export function newToken(
  key: SigningKey,
  issuer: string,
  nowMs: number,
  claims: Members = {},
  signer: Signer = es256(key),
): { readonly token: string; readonly jti: string } {
  const all = { ...soundClaims(issuer, nowMs), ...claims }
  return { token: forge(key, all, { signer }), jti: String(all['jti']) }
}
