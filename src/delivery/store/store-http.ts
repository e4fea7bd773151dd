// HTTP to the store of secrets: bounded in bytes, time and connections, to addresses that are allowed.
import { type AddressClass, reachFault } from '../../domain/address-class.ts'
import { isLoopbackHost } from '../../domain/settings/store-endpoint.ts'
import type { StoreBody } from '../../domain/store/store-answers.ts'
import { NotLeaderError } from '../../kube/client/api-error.ts'
import { createAddressGuard, type Resolve } from '../../runtime/address-guard.ts'
import { type Clock, withTimeout } from '../../runtime/clock.ts'
import { createSemaphore } from '../../runtime/concurrency/semaphore.ts'
import { createHttpClient, type HttpAnswer, type HttpClient } from '../../runtime/http-client.ts'
import { faultOfCall, faultOfStatus, SecretStoreError } from './store-error.ts'

/** An entry has 1 MiB at most; JSON around it takes as much again. */
const MAX_BYTES = 2 * 1024 * 1024
const WITHIN_MS = 10_000
/** Together the 8 connections that the store gets from us. */
const KEPT_SOCKETS = 6
const SINGLE_SOCKETS = 2

/** The settings that say where and how the store is asked. */
interface StoreHttpOptions {
  readonly address: string
  readonly namespace: string
  readonly token: string
  readonly skipTLSVerify: boolean
  readonly ca: string | null
  readonly resolve: Resolve
  readonly clock: Clock
  /** Called right before each POST. @throws NotLeaderError: nothing is sent */
  readonly mayWrite: () => void
  readonly signal: AbortSignal
}

/**
 * Asks below `/v1/`; `statuses` are those whose bodies mean something.
 *
 * @throws SecretStoreError for every other status, and without an answer; NotLeaderError as `mayWrite` does
 */
interface StoreHttp {
  readonly get: (path: string, statuses: readonly number[]) => Promise<StoreBody>
  /** The store may get it twice. */
  readonly post: (path: string, body: object, statuses: readonly number[]) => Promise<StoreBody>
  /** The store gets it once at most, on a connection of its own. */
  readonly postOnce: (path: string, body: object, statuses: readonly number[]) => Promise<StoreBody>
}

/** Sends a request by one of the clients. */
type SendParts = (clients: StoreClients, sent: StoreRequestParts) => Promise<HttpAnswer>

/** Creates the way to the store. Its connections end when the signal aborts. */
export function createStoreHttp(options: StoreHttpOptions): StoreHttp {
  const { mayWrite } = options
  const base = baseOf(options)
  const clients = 'fault' in base ? null : clientsTo(base.url, options)
  const headers = headersOf(options)
  const postHeaders = { ...headers, 'content-type': 'application/json' }
  const onceAtMost = singleWrites(options)

  const call = async (
    path: string,
    statuses: readonly number[],
    send: SendParts,
  ): Promise<StoreBody> => {
    if ('fault' in base || clients === null)
      throw new SecretStoreError('refused', faultIn(base), null)
    const url = `${base.url.origin}${base.url.pathname.replace(/\/$/, '')}/v1/${path}`
    const sent = { url, headers, statuses, maxBytes: MAX_BYTES, withinMs: WITHIN_MS }
    const { status, body } = await send(clients, sent).catch((error: unknown) => {
      throw error instanceof NotLeaderError ? error : faultOfCall(error)
    })
    if (body === null) throw faultOfStatus(status)
    return { status, body }
  }
  return {
    get: (path, statuses) => call(path, statuses, ({ kept }, sent) => kept.get(sent)),
    post: async (path, value, statuses) => {
      const body = bodyOf(value)
      return call(path, statuses, async ({ kept }, sent) => {
        mayWrite()
        return kept.post({ ...sent, headers: postHeaders, body })
      })
    },
    postOnce: async (path, value, statuses) => {
      const body = bodyOf(value)
      return call(path, statuses, ({ single }, sent) =>
        onceAtMost((withinMs) => single.post({ ...sent, headers: postHeaders, body, withinMs })),
      )
    },
  }
}

const headersOf = ({
  token,
  namespace,
}: Pick<StoreHttpOptions, 'token' | 'namespace'>): Readonly<Record<string, string>> => ({
  'user-agent': 'management-operator',
  accept: 'application/json',
  'x-vault-request': 'true',
  'x-vault-token': token,
  ...(namespace === '' ? {} : { 'x-vault-namespace': namespace }),
})

/** Writes that wait for one of the few connections of their own, and are not sent when their time is over. */
function singleWrites({ clock, mayWrite }: Pick<StoreHttpOptions, 'clock' | 'mayWrite'>) {
  const queue = createSemaphore(SINGLE_SOCKETS, SINGLE_SOCKETS)
  return (send: (withinMs: number) => Promise<HttpAnswer>): Promise<HttpAnswer> => {
    const untilMs = clock.monotonicMs() + WITHIN_MS
    return withTimeout(clock, WITHIN_MS, (late) =>
      queue('', () => {
        const withinMs = untilMs - clock.monotonicMs()
        // The caller has its error already: a write now would come as a surprise.
        if (late.aborted || withinMs <= 0)
          throw new SecretStoreError(
            'unreachable',
            'no connection to the store was free in time',
            null,
          )
        mayWrite()
        return send(withinMs)
      }),
    )
  }
}

/** Clients with connections that are kept, and with one for each request. */
interface StoreClients {
  readonly kept: HttpClient
  readonly single: HttpClient
}

type StoreRequestParts = Parameters<HttpClient['get']>[0]

function clientsTo(
  { protocol }: URL,
  { skipTLSVerify, ca, resolve, clock, signal }: StoreHttpOptions,
): StoreClients {
  const isPlain = protocol === 'http:'
  const secured = skipTLSVerify ? ('unverified' as const) : { ca }
  const open = isPlain ? LOOPBACK_ONLY : ALL_CLASSES
  const shared = {
    trust: isPlain ? ('plain' as const) : secured,
    guard: createAddressGuard((address) => reachFault(address, open), resolve),
    clock,
    signal,
  }
  return {
    kept: createHttpClient({ ...shared, maxSockets: KEPT_SOCKETS }),
    single: createHttpClient({ ...shared, maxSockets: null }),
  }
}

/** An administrator names the store, so it may be anywhere; what is never a server stays closed (contract 25.6). */
const ALL_CLASSES: ReadonlySet<AddressClass> = new Set(['loopback', 'private', 'public'])
const LOOPBACK_ONLY: ReadonlySet<AddressClass> = new Set(['loopback'])

/** Where the store is, or why it is not asked, as a sentence without any part of the settings. */
type StoreBase = { readonly url: URL } | { readonly fault: string }

const faultIn = (base: StoreBase): string => ('fault' in base ? base.fault : '')

/** The characters of a header. */
const HEADER_TEXT = /^[\x21-\x7e]*$/

function baseOf({ address, token, namespace }: StoreHttpOptions): StoreBase {
  const url = URL.parse(address)
  if (url === null || !['http:', 'https:'].includes(url.protocol))
    return { fault: 'secretStore.address does not name a server: write https://host:port' }
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '')
    return {
      fault: 'secretStore.address has a user, a query or a fragment: write https://host:port',
    }
  if (url.protocol === 'http:' && !isLoopbackHost(url.hostname.replace(/^\[|\]$/g, '')))
    return {
      fault: 'secretStore.address begins with http, which only a loopback host may: write https',
    }
  if (token === '') return { fault: 'the token of the store is empty' }
  if (!HEADER_TEXT.test(token) || !HEADER_TEXT.test(namespace))
    return {
      fault: 'the token or namespace of the store has white space or another character than ASCII',
    }
  return { url }
}

function bodyOf(value: object): Buffer {
  const body = Buffer.from(JSON.stringify(value))
  if (body.length <= MAX_BYTES) return body
  throw new SecretStoreError('refused', `the data take more than ${MAX_BYTES} bytes as JSON`, null)
}
