// An OpenID Connect provider that says whatever a test wants: each document and answer can be replaced, and any token signed.
import { type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http'
import {
  CompactSign,
  type CompactJWSHeaderParameters,
  type CryptoKey,
  exportJWK,
  generateKeyPair,
  importJWK,
  type JWK,
} from 'jose'
import { onTestFinished } from 'vitest'
import type { ServerPair } from '../certificate-builder.ts'
import { serveOnLoopback } from '../loopback-server.ts'

/** The client that the forger expects; it checks nothing. */
export const CLIENT_ID = 'platform'

/** What came to the token endpoint or another path. */
export interface ForgerRequest {
  readonly method: string
  readonly path: string
  readonly headers: IncomingMessage['headers']
  readonly form: URLSearchParams
}

/** An answer; a function writes it itself. */
export type ForgerAnswer =
  | { readonly status?: number; readonly type?: string; readonly body: string }
  | ((response: ServerResponse) => void)

/** A key that signs tokens. */
export interface ForgerKey {
  readonly privateKey: CryptoKey
  readonly jwk: JWK
}

/** A key, as its provider publishes it. */
export async function forgerKey(alg: string, kid?: string): Promise<ForgerKey> {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true })
  return {
    privateKey,
    jwk: { ...(await exportJWK(publicKey)), ...(kid === undefined ? {} : { kid }) },
  }
}

const made = new Map<string, Promise<ForgerKey>>()

/** One key for all tests of a process; its kid is the algorithm. All of RSA share their numbers, whose search takes long. */
export const sharedKey = (alg: string): Promise<ForgerKey> => {
  const known = made.get(alg) ?? (/^(?:RS|PS)/.test(alg) ? rsaKey(alg) : forgerKey(alg, alg))
  made.set(alg, known)
  return known
}

let rsaNumbers: Promise<JWK> | null = null

async function rsaKey(alg: string): Promise<ForgerKey> {
  rsaNumbers ??= generateKeyPair('RS256', { extractable: true }).then(({ privateKey }) =>
    exportJWK(privateKey),
  )
  const { n, e, kty, ...secret } = await rsaNumbers
  const jwk = { n, e, kty, kid: alg } as JWK
  const privateKey = (await importJWK({ ...jwk, ...secret }, alg)) as CryptoKey
  return { privateKey, jwk }
}

/** A token of these claims, a text as they are. */
export async function signed(
  claims: object | string,
  key: ForgerKey,
  header: CompactJWSHeaderParameters,
): Promise<string> {
  const text = typeof claims === 'string' ? claims : JSON.stringify(claims)
  return new CompactSign(Buffer.from(text)).setProtectedHeader(header).sign(key.privateKey)
}

/** A running forger; a test replaces what it wants. */
export interface ForgedProvider {
  readonly issuer: string
  readonly requests: ForgerRequest[]
  /** Claims of a person, as of now. */
  readonly claims: (nonce: string) => Record<string, unknown>
  /** Replaced fields of the discovery document; undefined takes one away. */
  discovery: Record<string, unknown>
  keys: JWK[]
  /** The fields of the answer of the token endpoint. */
  token: Record<string, unknown>
  userinfo: Record<string, unknown>
  /** Replaced answers, by path. */
  readonly answers: Map<string, ForgerAnswer>
}

const PATHS = {
  discovery: '/.well-known/openid-configuration',
  keys: '/keys',
  token: '/token',
  userinfo: '/userinfo',
}

/** Starts one on loopback, and stops it when the test ends. @param tls null = http */
export async function startForgedProvider(
  tls: ServerPair | null = null,
  path = '',
): Promise<ForgedProvider> {
  const requests: ForgerRequest[] = []
  const answering: RequestListener = (request, response) =>
    void answer(forger, path, request, response)
  const { origin } = await serveOnLoopback(answering, onTestFinished, tls)
  const issuer = origin + path
  const forger: ForgedProvider = {
    issuer,
    requests,
    claims: (nonce) => personOf(issuer, nonce),
    discovery: {},
    keys: [(await sharedKey('ES256')).jwk],
    token: {},
    userinfo: {},
    answers: new Map(),
  }
  return forger
}

function personOf(issuer: string, nonce: string): Record<string, unknown> {
  const nowSeconds = Math.floor(Date.now() / 1000)
  return {
    iss: issuer,
    sub: 'ada-1',
    aud: CLIENT_ID,
    nonce,
    iat: nowSeconds,
    exp: nowSeconds + 300,
    preferred_username: 'ada',
    name: 'Ada',
    email: 'ada@example.com',
    email_verified: true,
    groups: ['sre'],
  }
}

const documentOf = ({ issuer, discovery }: ForgedProvider): object => ({
  issuer,
  authorization_endpoint: `${issuer}/authorize`,
  token_endpoint: `${issuer}${PATHS.token}`,
  jwks_uri: `${issuer}${PATHS.keys}`,
  userinfo_endpoint: `${issuer}${PATHS.userinfo}`,
  end_session_endpoint: `${issuer}/end`,
  ...discovery,
})

async function answer(
  forger: ForgedProvider,
  base: string,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { url = '', method = '', headers } = request
  let body = ''
  for await (const chunk of request) body += String(chunk)
  const path = url.slice(base.length)
  forger.requests.push({ method, path, headers, form: new URLSearchParams(body) })
  const found = forger.answers.get(path) ?? usualAnswer(forger, path)
  if (typeof found === 'function') return found(response)
  response.writeHead(found.status ?? 200, { 'content-type': found.type ?? 'application/json' })
  response.end(found.body)
}

function usualAnswer(forger: ForgedProvider, path: string): ForgerAnswer {
  const documents: Readonly<Record<string, () => object>> = {
    [PATHS.discovery]: () => documentOf(forger),
    [PATHS.keys]: () => ({ keys: forger.keys }),
    [PATHS.token]: () => ({
      access_token: 'an access token',
      token_type: 'Bearer',
      ...forger.token,
    }),
    [PATHS.userinfo]: () => ({ sub: 'ada-1', ...forger.userinfo }),
  }
  const found = documents[path]
  return found ? { body: JSON.stringify(found()) } : { status: 404, body: '{}' }
}
