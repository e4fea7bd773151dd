// A request as the routes of the sign-in process see it: strictly read, so that no two readings of it exist (contract 25.2).
import { APP_AUTHORIZATION_HEADER } from '../../api/names.ts'
import { parseJsonMap } from '../../domain/json/json.ts'
import { strictJsonError } from '../../domain/json/strict-json.ts'
import type { HttpRequest } from '../../serving/http/request.ts'
import { cookiesIn } from './cookies.ts'

/** A request that is wrong whoever sends it. Its message says what would be right, and quotes nothing of the request. */
export class HttpFault extends Error {
  override readonly name = 'HttpFault'

  /** HTTP status code. */
  readonly code: 400 | 404 | 405 | 413 | 415
  /** Methods that the path has, of a 405; empty for other codes. */
  readonly allow: readonly string[]

  constructor(code: HttpFault['code'], message: string, allow: readonly string[] = []) {
    super(message)
    this.code = code
    this.allow = allow
  }
}

/** A request. */
export interface SignInRequest {
  /** The gateway's ID of the request: the reference that refusals show. */
  readonly id: string
  readonly method: string
  /** Path without the query. */
  readonly path: string
  /** Parameters of the query; one may come twice until `checkedOnce` has seen them. */
  readonly query: URLSearchParams
  /** The platform's cookies, by name. */
  readonly cookies: ReadonlyMap<string, string>
  /** Address of the client, as the gateway knows it. */
  readonly remoteAddress: string
  /** Header `Origin`; null = absent. */
  readonly origin: string | null
  /** What an app authenticates with, as the gateway passes it on; null = absent. Secret. */
  readonly appAuthorization: string | null
  /** Header `Content-Type` without parameters, in lower case; empty = absent. */
  readonly contentType: string
  /** Whether the client prefers JSON to HTML. */
  readonly prefersJson: boolean
  /** Its body, and when its client leaves. */
  readonly http: Pick<HttpRequest, 'body' | 'gone'>
}

const REQUEST_ID = /^[A-Za-z0-9-]{1,64}$/

/** Reads the head of a request. */
export function signInRequest(http: HttpRequest): SignInRequest {
  const { target } = http
  const path = /^[^?]*/.exec(target)?.[0] ?? ''
  const { headers } = http
  const given = textOf(headers['x-request-id'])
  const contentType = (headers['content-type'] ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? ''
  return {
    id: REQUEST_ID.test(given) ? given : http.id,
    method: http.method,
    path,
    query: new URLSearchParams(target.slice(path.length)),
    cookies: cookiesIn(headers.cookie),
    remoteAddress: textOf(headers['x-forwarded-for']) || http.remoteAddress,
    origin: headers.origin ?? null,
    appAuthorization: textOf(headers[APP_AUTHORIZATION_HEADER]) || null,
    contentType,
    prefersJson: prefersJson(headers.accept ?? '', contentType),
    http,
  }
}

const textOf = (value: string | readonly string[] | undefined): string =>
  typeof value === 'string' ? value : ''

/** The parameters of a query or a form. @throws HttpFault 400 for one that comes twice */
export function checkedOnce(parameters: URLSearchParams): URLSearchParams {
  if (new Set(parameters.keys()).size < parameters.size)
    throw new HttpFault(400, 'a parameter comes twice')
  return parameters
}

/** Parameters that have a value: one without counts as left out (RFC 6749, 3.1 and 3.2). */
export const withValues = <Entry extends readonly [name: string, value: string]>(
  entries: Iterable<Entry>,
): readonly Entry[] => [...entries].filter(([, value]) => value !== '')

/** Whether JSON stands before HTML: by its quality, and without a preference by the type of the body. */
function prefersJson(accept: string, contentType: string): boolean {
  const [json, html] = ['application/json', 'text/html'].map((type) => qualityOf(accept, type))
  const [jsonQuality = 0, htmlQuality = 0] = [json, html]
  return jsonQuality === htmlQuality ? contentType === JSON_TYPE : jsonQuality > htmlQuality
}

/** The quality of a media type by the entry that fits it best; 0 = not accepted. */
function qualityOf(accept: string, type: string): number {
  const ranges = accept.split(',').slice(0, 32).map(rangeOf)
  const patterns = [type, `${type.split('/', 1)[0]}/*`, '*/*']
  for (const pattern of patterns) {
    const found = ranges.find(({ range }) => range === pattern)
    if (found) return found.quality
  }
  return 0
}

function rangeOf(entry: string): { readonly range: string; readonly quality: number } {
  const [range = '', ...parameters] = entry.split(';').map((part) => part.trim().toLowerCase())
  const given = parameters.find((parameter) => parameter.startsWith('q='))
  const quality = given === undefined ? 1 : Number(given.slice(2))
  return { range, quality: Number.isFinite(quality) ? quality : 0 }
}

export const JSON_TYPE = 'application/json'
export const FORM_TYPE = 'application/x-www-form-urlencoded'

/** Fields of a form: no form has ten. */
const MOST_FIELDS = 32

/** The fields of a form. @throws HttpFault 400 for too many, and for one that comes twice */
function formFields(text: string): BodyFields {
  // Counted before they are read: a body has place for 100,000.
  if (text.split('&', MOST_FIELDS + 1).length > MOST_FIELDS)
    throw new HttpFault(400, `the body has more than ${MOST_FIELDS} fields`)
  return new Map(checkedOnce(new URLSearchParams(text)))
}

/** Fields of a body, each a text. */
type BodyFields = ReadonlyMap<string, string>

/**
 * The fields of a form or of a JSON object.
 *
 * @param types the media types that the route takes
 * @param maxBytes the largest body
 * @throws HttpFault 400, 413, 415
 */
export async function bodyFields(
  { http, contentType }: SignInRequest,
  types: readonly string[],
  maxBytes: number,
): Promise<BodyFields> {
  if (!types.includes(contentType))
    throw new HttpFault(415, `the body must be ${types.join(' or ')}`)
  const text = await bodyText(http, maxBytes)
  if (contentType === FORM_TYPE) return formFields(text)
  const fields = strictJsonError(text) === null ? parseJsonMap(text) : null
  if (fields === null)
    throw new HttpFault(400, 'the body is not a JSON object, or has a name twice')
  return new Map(
    Object.entries(fields).map(([name, value]) => {
      if (typeof value !== 'string') throw new HttpFault(400, 'every field must be a text')
      return [name, value]
    }),
  )
}

async function bodyText({ body }: Pick<HttpRequest, 'body'>, maxBytes: number): Promise<string> {
  const pieces: Buffer[] = []
  let bytes = 0
  for await (const piece of body as AsyncIterable<Buffer>) {
    bytes += piece.length
    if (bytes > maxBytes) throw new HttpFault(413, `the body has more than ${maxBytes} bytes`)
    pieces.push(piece)
  }
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(pieces))
  } catch {
    throw new HttpFault(400, 'the body is not UTF-8')
  }
}
