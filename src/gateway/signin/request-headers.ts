// The headers of a request that is passed on to the sign-in process (contract 25.1). Unlike those to an API server, all pass
// but the ones named here: the process speaks to browsers.
import { APP_AUTHORIZATION_HEADER } from '../../api/names.ts'
import {
  APP_ACCESS_TOKEN,
  APP_TOKEN_PATH,
  APP_USERINFO_PATH,
} from '../../domain/signin/app-routes.ts'
import { HOP_BY_HOP } from '../../kube/proxy/sent-headers.ts'
import { type UpstreamHeaders, headersFromRaw } from '../../kube/proxy/types.ts'
import type { HttpRequest } from '../../serving/http/request.ts'

/** Headers that the client may not set: the gateway says these things itself, or says nothing of the kind. */
const OF_THE_GATEWAY: ReadonlySet<string> = new Set([
  'audit-id',
  'authorization',
  'cookie',
  'forwarded',
  'x-request-id',
])

/** The same, by how their names begin. */
const BEGINNINGS = ['impersonate-', 'proxy-', 'x-forwarded-', 'x-platform-'] as const

/** The headers to pass on; one that came several times is a list. */
export function signInRequestHeaders(
  http: Pick<HttpRequest, 'id' | 'method' | 'target' | 'rawHeaders' | 'remoteAddress'>,
): UpstreamHeaders {
  const { id, rawHeaders, remoteAddress } = http
  const sent = pairsOf(rawHeaders)
  const ofApp = appAuthorization(http, valuesOf(sent, 'authorization'))
  const ofConnection = namesIn(valuesOf(sent, 'connection'))
  const cookie = ownCookies(valuesOf(sent, 'cookie'))
  const passed = sent.filter(([name]) => isPassed(name) && !ofConnection.has(name))
  return {
    ...headersFromRaw(passed.flat()),
    ...(cookie === '' || ofConnection.has('cookie') ? {} : { cookie }),
    ...(remoteAddress === '' ? {} : { 'x-forwarded-for': remoteAddress }),
    ...(ofApp === null ? {} : { [APP_AUTHORIZATION_HEADER]: ofApp }),
    'x-request-id': id,
  }
}

const BASIC = /^basic [A-Za-z0-9+/]+={0,2}$/i
const BEARER = /^bearer /i
const LONGEST_AUTHORIZATION = 8192

/**
 * What an app authenticates with, where it asks for tokens or about a person (contract 26.3); null = nothing to pass on. An
 * access key never passes, nor a token for a cluster: the process that speaks to the Internet gets nobody's.
 */
function appAuthorization(
  { method, target }: Pick<HttpRequest, 'method' | 'target'>,
  [value, ...others]: readonly string[],
): string | null {
  if (value === undefined || others.length > 0 || value.length > LONGEST_AUTHORIZATION) return null
  const path = target.split('?', 1)[0]
  if (path === APP_TOKEN_PATH) return method === 'POST' && BASIC.test(value) ? value : null
  const isUserinfo = path === APP_USERINFO_PATH && ['GET', 'POST'].includes(method)
  const isToken = BEARER.test(value) && APP_ACCESS_TOKEN.test(value.replace(BEARER, ''))
  return isUserinfo && isToken ? value : null
}

type Pairs = readonly (readonly [name: string, value: string])[]

/** Names in lower case. */
function pairsOf(rawHeaders: readonly string[]): Pairs {
  const pairs: (readonly [string, string])[] = []
  for (let at = 0; at + 1 < rawHeaders.length; at += 2)
    pairs.push([(rawHeaders[at] ?? '').toLowerCase(), rawHeaders[at + 1] ?? ''])
  return pairs
}

const valuesOf = (sent: Pairs, wanted: string): readonly string[] =>
  sent.filter(([name]) => name === wanted).map(([, value]) => value)

/** The names of headers in `Connection`. */
export const namesIn = (connection: readonly string[]): ReadonlySet<string> =>
  new Set(connection.flatMap((value) => value.toLowerCase().split(',')).map((name) => name.trim()))

function isPassed(name: string): boolean {
  // A server or proxy behind the gateway may read `_` as `-`.
  const plain = name.replaceAll('_', '-')
  return (
    !HOP_BY_HOP.has(plain) &&
    !OF_THE_GATEWAY.has(plain) &&
    !BEGINNINGS.some((beginning) => plain.startsWith(beginning))
  )
}

/** A cookie of the sign-in process: browsers accept the prefix from this host alone, over TLS, for all paths. */
const OWN_COOKIE = /^[ \t]*((__Host-platform_[\w.-]+)=[!#-+\--:<-[\]-~]*)[ \t]*$/

/**
 * The cookies of the sign-in process, as one header; empty = none. A name that comes twice counts for nothing: one of the
 * two is not the cookie that the process has set, and it cannot tell which.
 */
function ownCookies(values: readonly string[]): string {
  const cookies = values
    .flatMap((value) => value.split(';'))
    .flatMap((sent) => {
      const [, pair, name] = OWN_COOKIE.exec(sent) ?? []
      return pair === undefined || name === undefined ? [] : [{ name, pair }]
    })
  const isOnly = (name: string): boolean =>
    cookies.filter((other) => other.name === name).length === 1
  return cookies
    .filter(({ name }) => isOnly(name))
    .map(({ pair }) => pair)
    .join('; ')
}
