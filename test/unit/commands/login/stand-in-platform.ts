// A platform in the place of gateway and sign-in process, written from contract 25.2 and 12.1, and a browser.
import { createHash, randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { type RequestOptions, request as sendRequest } from 'node:http'
import { request as sendSecure } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { recordAnswered } from '../../../support/recording-server.ts'

/** A running platform. */
export interface StandInPlatform {
  readonly url: string
  readonly caPem: string
  /** Path of a file with `caPem`. */
  readonly caFile: string
  /** Each request, as `POST /auth/cli/token`. */
  readonly asked: readonly string[]
  /** The codes, keys and verifiers so far. */
  readonly secrets: ReadonlySet<string>
  /** Whether a key with this secret works. */
  readonly isGood: (key: string) => boolean
  /** Ends all keys. */
  readonly endKeys: () => void
}

/** What the platform does differently. */
interface Behavior {
  /** How often a new key is answered 401. */
  readonly refusesNewKey?: number
  /** When keys end; null = never. */
  readonly expirationTimestamp?: string | null
  /** What redeeming answers instead. */
  readonly redeem?: (response: ServerResponse) => void
  /** What a deletion answers instead. */
  readonly remove?: (response: ServerResponse) => void
}

/** When keys end, unless a test says otherwise. */
export const END = '2099-01-01T00:00:00Z'

/** The path of a self review. */
export const REVIEW_PATH = '/kubernetes/management/apis/authentication.k8s.io/v1/selfsubjectreviews'
/** The path of the key. */
export const KEY_PATH =
  '/kubernetes/management/apis/management.platform.sh/v1/ownedaccesskeys/login-x'

/** Starts a platform for one test. Ada signs in there at every page. */
export async function startPlatform(behavior: Behavior = {}): Promise<StandInPlatform> {
  const { refusesNewKey = 0, expirationTimestamp = END } = behavior
  const asked: string[] = []
  const secrets = new Set<string>()
  const challenges = new Map<string, string>()
  const keys = new Set<string>()
  let refused = 0

  const page = ({ searchParams }: URL, response: ServerResponse): void => {
    const [port, state, challenge] = ['port', 'state', 'code_challenge'].map((name) =>
      searchParams.get(name),
    )
    const isRight =
      searchParams.get('cli') === 'true' &&
      (port === null || (Number(port) >= 1024 && Number(port) <= 65_535)) &&
      /^[A-Za-z0-9_-]{1,128}$/.test(state ?? '') &&
      /^[A-Za-z0-9_-]{43}$/.test(challenge ?? '')
    if (!isRight) return void response.writeHead(400).end()
    const code = `code.${randomBytes(60).toString('base64url')}`
    challenges.set(code, challenge ?? '')
    secrets.add(code)
    response.end(JSON.stringify({ code, state, port, checkCode: checkCodeOf(challenge ?? '') }))
  }
  const redeem = (request: IncomingMessage, text: string, response: ServerResponse): void => {
    const { code, code_verifier: verifier } = JSON.parse(text) as Record<string, string>
    const challenge = challenges.get(code ?? '')
    challenges.delete(code ?? '')
    secrets.add(verifier ?? '')
    if (behavior.redeem) return behavior.redeem(response)
    const isJson = request.headers['content-type'] === 'application/json'
    const isForeign = 'origin' in request.headers || 'cookie' in request.headers
    const given = createHash('sha256')
      .update(verifier ?? '')
      .digest('base64url')
    if (!isJson || isForeign || challenge !== given)
      return refuse(response, 400, 'This code has ended or was used already. Start again')
    const accessKey = `pak_${randomBytes(30).toString('base64url').replaceAll('-', 'x')}`
    keys.add(accessKey)
    secrets.add(accessKey)
    refused = 0
    response.end(JSON.stringify({ accessKey, expirationTimestamp }))
  }
  const review = (key: string, response: ServerResponse): void => {
    refused += 1
    if (!keys.has(key) || refused <= refusesNewKey) return refuse(response, 401, 'Unauthorized')
    const groups = ['platform:authenticated', 'platform:team:sre', 'platform:team:dev']
    const extra = { 'platform.sh/access-key': ['login-x'] }
    const userInfo = { username: 'ada', groups, extra }
    response.writeHead(201).end(JSON.stringify({ status: { userInfo } }))
  }
  const remove = (key: string, response: ServerResponse): void => {
    if (behavior.remove) return behavior.remove(response)
    keys.delete(key)
    response.end('{}')
  }
  const answer = (request: IncomingMessage, text: string, response: ServerResponse): void => {
    const url = new URL(request.url ?? '', 'https://platform')
    const what = `${request.method} ${url.pathname}`
    const key = /^Bearer (.*)$/.exec(request.headers.authorization ?? '')?.[1] ?? ''
    asked.push(what)
    if (what === 'GET /login') page(url, response)
    else if (what === 'POST /auth/cli/token') redeem(request, text, response)
    else if (what === `POST ${REVIEW_PATH}`) review(key, response)
    else if (what === `DELETE ${KEY_PATH}` && keys.has(key)) remove(key, response)
    else refuse(response, 404, 'not found')
  }
  const server = await recordAnswered((request, response) => {
    textOf(request).then(
      (text) => answer(request, text, response),
      () => response.destroy(),
    )
  })
  const folder = mkdtempSync(join(tmpdir(), 'sign-in-'))
  const caFile = join(folder, 'ca.crt')
  writeFileSync(caFile, server.caPem)
  onTestFinished(async () => {
    rmSync(folder, { recursive: true })
    await server[Symbol.asyncDispose]()
  })
  const isGood = (key: string): boolean => keys.has(key)
  const { url, caPem } = server
  return { url, caPem, caFile, asked, secrets, isGood, endKeys: () => keys.clear() }
}

/** A refusal, as a Status. */
export function refuse(response: ServerResponse, code: number, message: string): void {
  response.writeHead(code, { 'content-type': 'application/json' })
  response.end(JSON.stringify({ kind: 'Status', status: 'Failure', code, message }))
}

/** The first 8 hex digits of the SHA-256 of the challenge. */
const checkCodeOf = (challenge: string): string =>
  createHash('sha256').update(challenge).digest('hex').slice(0, 8)

/** What the page has: the code, and what the form sends. */
export interface HandOverPage {
  readonly code: string
  readonly state: string
  readonly port: string | null
  readonly checkCode: string
}

/** Signs Ada in at the address that the terminal opens. */
export async function openPage(
  platform: Pick<StandInPlatform, 'caPem'>,
  address: string,
): Promise<HandOverPage> {
  const { body } = await exchange(address, {}, '', platform.caPem)
  return JSON.parse(body) as HandOverPage
}

/** Sends the form of the page to the terminal, as a browser does; returns the answer. */
export const submit = (
  { port, code, state }: Pick<HandOverPage, 'port' | 'code' | 'state'>,
  options: RequestOptions = {},
) =>
  exchange(
    `http://127.0.0.1:${port}/callback`,
    {
      method: 'POST',
      ...options,
      headers: {
        'content-type': 'application/x-www-form-urlencoded',
        origin: 'null',
        ...(options.headers as Record<string, string> | undefined),
      },
    },
    String(new URLSearchParams({ code, state })),
  )

/** Sends a request; rejects where there is no answer. */
export function exchange(
  url: string,
  options: RequestOptions,
  body: string,
  ca?: string,
): Promise<{ readonly status: number; readonly body: string; readonly headers: object }> {
  return new Promise((resolve, reject) => {
    const send = url.startsWith('https:') ? sendSecure : sendRequest
    const sent = send(url, { agent: false, ...(ca === undefined ? {} : { ca }), ...options })
    sent.once('error', reject)
    sent.once('response', (response) => {
      textOf(response).then((text) => {
        const { statusCode: status = 0, headers } = response
        resolve({ status, headers, body: text })
      }, reject)
    })
    sent.end(body)
  })
}

async function textOf(message: IncomingMessage): Promise<string> {
  let text = ''
  for await (const chunk of message) text += String(chunk)
  return text
}
