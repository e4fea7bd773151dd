// The OpenID Connect provider of `make run` in a test, and a browser that signs in there.
import { once } from 'node:events'
import { type IncomingMessage, request as requestPlain, type RequestListener } from 'node:http'
import { request as requestTls } from 'node:https'
import type { ClientMetadata } from 'oidc-provider'
import { onTestFinished } from 'vitest'
import { identityProvider, type People } from '../../../tools/run/identity-provider.ts'
import type { ServerPair } from '../certificate-builder.ts'
import { type StopAfter, serveOnLoopback } from '../loopback-server.ts'

/** Where and for how long a provider runs. */
interface ProviderPlace {
  /** null or absent = http. */
  readonly tls?: ServerPair | null
  /** Absent = for the test. */
  readonly stopAfter?: StopAfter
  /** Name or address in the issuer; absent = 127.0.0.1. */
  readonly host?: string
  /** Who has an account, by user names; read at each use. Absent = the people of `make run`. */
  readonly people?: People
}

/** Starts the provider on loopback. @returns its issuer */
export async function startIdentityProvider(
  clients: readonly ClientMetadata[],
  { tls = null, stopAfter = onTestFinished, host = '127.0.0.1', people }: ProviderPlace = {},
): Promise<string> {
  let answer: RequestListener = () => undefined
  const { origin } = await serveOnLoopback((...call) => answer(...call), stopAfter, tls)
  const issuer = origin.replace('127.0.0.1', host)
  answer = identityProvider({ issuer, clients, ...(people && { people }) })
  return issuer
}

/** The most pages between the first address and the callback. */
const MOST_PAGES = 10

/**
 * Follows a sign-in as a browser does, and chooses a person where it is asked.
 *
 * @returns the address that leads back, which is not visited
 */
export async function chooseAt(start: URL, person: string, callback: string): Promise<URL> {
  const cookies = new Map<string, string>()
  let url = start
  for (let page = 0; page < MOST_PAGES; page += 1) {
    let answer = await visit(url, cookies, null)
    if (answer.statusCode === 200) answer = await visit(url, cookies, `person=${person}`)
    const { location } = answer.headers
    if (location === undefined) throw new Error(`the provider answered ${answer.statusCode}`)
    url = new URL(location, url)
    if (url.href.startsWith(callback)) return url
  }
  throw new Error('the sign-in has no end')
}

/** @param form null = a GET */
async function visit(
  url: URL,
  cookies: Map<string, string>,
  form: string | null,
): Promise<IncomingMessage> {
  const request = url.protocol === 'https:' ? requestTls : requestPlain
  const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')
  const type = form === null ? {} : { 'content-type': 'application/x-www-form-urlencoded' }
  const sent = request(url, {
    method: form === null ? 'GET' : 'POST',
    headers: { cookie, ...type },
    // This browser trusts any certificate, as no test is about it.
    rejectUnauthorized: false,
  })
  sent.end(form ?? '')
  const [answer] = (await once(sent, 'response')) as [IncomingMessage]
  answer.resume()
  for (const text of answer.headers['set-cookie'] ?? []) {
    const [pair = ''] = text.split(';')
    cookies.set(pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1))
  }
  return answer
}
