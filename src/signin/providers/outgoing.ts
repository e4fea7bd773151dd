// Calls to a provider (contract 25.6 "Outgoing calls"). Discovery names the addresses that are called, so each is checked: its
// scheme, its size, its time, and the addresses that the name has at the moment of the connection.
import { isIP } from 'node:net'
import { withoutBrackets } from '../../domain/ip-address.ts'
import { type AddressClass, addressClass, reachFault } from '../../domain/address-class.ts'
import { isLoopbackHost } from '../../domain/settings/store-endpoint.ts'
import { SignInRefused } from '../../domain/signin/refusals.ts'
import { AddressRefused, createAddressGuard, type Resolve } from '../../runtime/address-guard.ts'
import { type Clock, withTimeout } from '../../runtime/clock.ts'
import {
  AnswerTooLarge,
  createHttpClient,
  type HttpAnswer,
  type ServerTrust,
} from '../../runtime/http-client.ts'

const MAX_BYTES = 1024 * 1024
const WITHIN_MS = 10_000
/** GitHub refuses requests that name no program, and so do front ends of many providers. */
const USER_AGENT = 'management-operator'
/** The statuses whose bodies say more: an answer, or an error of OAuth. */
const READ_STATUSES = [200, 400, 401, 403, 404]

/** What calls to a provider need. */
interface OutgoingOptions {
  /** The URL in the settings. Its host decides whether http and which classes of addresses are allowed. */
  readonly configured: URL
  /**
   * How the provider proves who it is; asked before each call, so that a changed file takes effect. Absent = by the roots of the
   * system.
   */
  readonly trust?: () => Promise<Exclude<ServerTrust, 'plain'>>
  readonly resolve: Resolve
  readonly clock: Clock
}

/** A request; a POST where it has a body. */
interface OutgoingCall {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  /** null = a GET. */
  readonly body: Buffer | null
}

/** A form, posted for an answer in JSON. */
export const formCall = (url: string, fields: Readonly<Record<string, string>>): OutgoingCall => ({
  url,
  headers: {
    accept: 'application/json',
    'content-type': 'application/x-www-form-urlencoded',
  },
  body: Buffer.from(new URLSearchParams(fields).toString()),
})

/** An answer of 200 or an error that says more; its body is whole. */
export interface OutgoingAnswer {
  readonly status: number
  readonly body: Buffer
  /** Header `Link`: where the next page of a list is (RFC 8288); null = absent. */
  readonly link: string | null
}

/**
 * Sends a request once, and follows no redirect. Its connection ends with the answer, or when the signal aborts.
 *
 * @throws SignInRefused `provider_unreachable` without a connection or a whole answer in time and for 5xx,
 *   `provider_unusable` for an address that is not allowed, `provider_answer` for another status or a larger answer
 */
export type Outgoing = (call: OutgoingCall, signal: AbortSignal) => Promise<OutgoingAnswer>

const SYSTEM_ROOTS = { ca: null }

/** Creates the way out to one provider. */
export function createOutgoing({
  configured,
  trust = () => Promise.resolve(SYSTEM_ROOTS),
  resolve,
  clock,
}: OutgoingOptions): Outgoing {
  let known: Promise<ReadonlySet<AddressClass>> | null = null
  /** The first answer of the name servers stays: a later one must not open the network of this process. */
  const classes = (): Promise<ReadonlySet<AddressClass>> =>
    (known ??= classesOf(configured, resolve).catch((error) => {
      known = null
      throw error
    }))

  const send = async (call: OutgoingCall, signal: AbortSignal): Promise<OutgoingAnswer> => {
    const url = allowedUrl(call.url, configured)
    if (url === null) throw refusedUrl('has a URL that is not allowed')
    const isPlain = url.protocol === 'http:'
    const open = isPlain ? LOOPBACK_ONLY : new Set<AddressClass>(['public', ...(await classes())])
    const http = createHttpClient({
      trust: isPlain ? 'plain' : await trust(),
      guard: createAddressGuard((address) => reachFault(address, open), resolve),
      maxSockets: null,
      clock,
      signal,
    })
    const { body } = call
    const headers = { 'user-agent': USER_AGENT, ...call.headers }
    const bounds = { statuses: READ_STATUSES, maxBytes: MAX_BYTES, withinMs: WITHIN_MS }
    const sent = { url: url.href, headers, ...bounds }
    return answerIn(await (body === null ? http.get(sent) : http.post({ ...sent, body })))
  }
  return async (call, signal) => {
    const over = new AbortController()
    try {
      return await withTimeout(clock, WITHIN_MS, (late) =>
        send(call, AbortSignal.any([signal, late, over.signal])),
      )
    } catch (error) {
      throw refusalOf(error)
    } finally {
      // What listens to a signal that lives as long as this process would stay in memory with it.
      over.abort()
    }
  }
}

const LOOPBACK_ONLY: ReadonlySet<AddressClass> = new Set(['loopback'])

/**
 * The URL, where calls to it are allowed at all: https, or http from loopback to loopback, without a password; null = they
 * are not.
 */
export function allowedUrl(text: string, configured: URL): URL | null {
  const url = URL.parse(text)
  if (url === null || url.username !== '' || url.password !== '') return null
  if (url.protocol === 'https:') return url
  return url.protocol === 'http:' && isLocal(url) && isLocal(configured) ? url : null
}

const isLocal = ({ hostname }: URL): boolean => isLoopbackHost(withoutBrackets(hostname))

async function classesOf(url: URL, resolve: Resolve): Promise<ReadonlySet<AddressClass>> {
  const host = withoutBrackets(url.hostname)
  const { promise, resolve: settle, reject } = Promise.withResolvers<readonly string[]>()
  if (isIP(host) !== 0) settle([host])
  else {
    resolve(host, { all: true }, (error, found) =>
      error === null ? settle(found.map(({ address }) => address)) : reject(error),
    )
  }
  const found = (await promise).map(addressClass)
  if (found.length === 0) throw new Error('the name has no address')
  return new Set(found.filter((one) => one !== null))
}

function answerIn({ status, headers: { link }, body }: HttpAnswer): OutgoingAnswer {
  if (body !== null) return { status, body, link: typeof link === 'string' ? link : null }
  const reason = status >= 500 ? 'provider_unreachable' : 'provider_answer'
  throw new SignInRefused(reason, `the provider answered ${status}`)
}

const refusedUrl = (fault: string): SignInRefused =>
  new SignInRefused('provider_unusable', `a server of the provider ${fault}`)

/** Codes of Node, such as ECONNREFUSED; other texts may quote the provider. */
const CODE = /^[A-Z][A-Z0-9_]{1,63}$/

/** Codes of errors before a byte of the request has left. */
const UNSENT: readonly unknown[] = [
  'EAI_AGAIN',
  'ECONNREFUSED',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
]

/** No connection: the provider has seen nothing of the request. */
class ProviderNotConnected extends SignInRefused {
  constructor(code: string) {
    super('provider_unreachable', `no answer of the provider: ${code}`)
  }
}

/** Whether the provider has seen nothing of the request that was refused. */
export const isUnsent = (refused: SignInRefused): boolean => refused instanceof ProviderNotConnected

function refusalOf(error: unknown): SignInRefused {
  if (error instanceof SignInRefused) return error
  if (error instanceof AddressRefused) return refusedUrl(`has an address that ${error.fault}`)
  if (error instanceof AnswerTooLarge) return new SignInRefused('provider_answer', error.message)
  const { code } = error as NodeJS.ErrnoException
  if (code !== undefined && UNSENT.includes(code)) return new ProviderNotConnected(code)
  const known = CODE.test(code ?? '') ? `: ${code}` : ''
  return new SignInRefused('provider_unreachable', `no answer of the provider${known}`)
}
