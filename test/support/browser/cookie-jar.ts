// Cookies as browsers keep and send them (RFC 6265bis): Secure, HttpOnly, Path, Max-Age, SameSite and the prefixes of names.

/** A cookie that the jar keeps. */
interface KeptCookie {
  readonly name: string
  readonly value: string
  readonly host: string
  readonly path: string
  readonly isSecure: boolean
  readonly isHttpOnly: boolean
  /** absent = lax, but for a young cookie. */
  readonly sameSite: 'strict' | 'lax' | 'none' | 'absent'
  /** In epoch milliseconds; a new value does not change it. */
  readonly madeMs: number
  /** In epoch milliseconds; null = until the browser closes. */
  readonly endsMs: number | null
}

/** A request that cookies may go with. */
export interface CookieRequest {
  readonly url: URL
  readonly method: string
  /** Origin of the page that led to the request; null = the person typed the address. */
  readonly initiator: string | null
}

/** Bytes of name and value together; a longer cookie is refused. */
const LONGEST = 4096
/** A cookie without SameSite goes with each request of another site for so long ("Lax-allowing-unsafe"). */
const YOUNG_MS = 120_000

/** A jar, empty at first. All requests are navigations of a whole window. */
export class CookieJar {
  readonly #nowMs: () => number
  readonly #kept = new Map<string, KeptCookie>()

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs
  }

  /** Takes the values of `Set-Cookie` in an answer of this address. What a browser refuses is left out. */
  store(values: readonly string[], url: URL): void {
    for (const value of values) {
      const cookie = parsed(value, url, this.#nowMs())
      if (cookie === null) continue
      const key = JSON.stringify([cookie.host, cookie.path, cookie.name])
      if (cookie.endsMs !== null && cookie.endsMs <= this.#nowMs()) this.#kept.delete(key)
      else {
        const madeMs = this.#kept.get(key)?.madeMs ?? cookie.madeMs
        this.#kept.set(key, { ...cookie, madeMs })
      }
    }
  }

  /** The header `Cookie` of a request, the longest paths first; undefined = none goes. */
  header({ url, method, initiator }: CookieRequest): string | undefined {
    const isSameSite = initiator === null || siteOf(new URL(initiator)) === siteOf(url)
    const isSafe = method === 'GET' || method === 'HEAD'
    const goesAbroad = ({ sameSite, madeMs }: KeptCookie): boolean =>
      sameSite === 'none' ||
      (sameSite !== 'strict' && isSafe) ||
      (sameSite === 'absent' && this.#nowMs() - madeMs < YOUNG_MS)
    const going = this.#of(url)
      .filter((cookie) => isSameSite || goesAbroad(cookie))
      .toSorted((one, other) => other.path.length - one.path.length)
    return going.length === 0
      ? undefined
      : going.map(({ name, value }) => `${name}=${value}`).join('; ')
  }

  /** Names of the cookies of an address, of all or of those that a script of its pages reads. */
  names(url: URL, reader: 'browser' | 'script' = 'browser'): readonly string[] {
    return this.#of(url)
      .filter(({ isHttpOnly }) => reader === 'browser' || !isHttpOnly)
      .map(({ name }) => name)
  }

  /** The value of a cookie; undefined = the jar has none of this name. */
  value(url: URL, name: string): string | undefined {
    return this.#of(url).find((cookie) => cookie.name === name)?.value
  }

  #of(url: URL): readonly KeptCookie[] {
    const nowMs = this.#nowMs()
    return [...this.#kept.values()].filter(
      ({ host, path, isSecure, endsMs }) =>
        host === url.hostname &&
        isWithin(url.pathname, path) &&
        (!isSecure || url.protocol === 'https:') &&
        (endsMs === null || nowMs < endsMs),
    )
  }
}

/** The scheme and the part of the host that one owner has: here its last two labels. */
const siteOf = ({ protocol, hostname }: URL): string => {
  const isAddress = /^[\d.]+$|^\[/.test(hostname)
  return `${protocol}//${isAddress ? hostname : hostname.split('.').slice(-2).join('.')}`
}

const isWithin = (pathname: string, path: string): boolean =>
  pathname === path || pathname.startsWith(path.endsWith('/') ? path : `${path}/`)

const SAME_SITE = ['strict', 'lax', 'none'] as const

/** The path of a cookie that has none of its own. */
const folderOf = (pathname: string): string => pathname.slice(0, pathname.lastIndexOf('/')) || '/'

/** A cookie for the host of the address alone; null = a browser refuses it. */
function parsed(text: string, url: URL, nowMs: number): KeptCookie | null {
  const [pair = '', ...rest] = text.split(';').map((part) => part.trim())
  const at = pair.indexOf('=')
  const [name, value] = [pair.slice(0, at), pair.slice(at + 1)]
  const attributes = new Map(
    rest.map((part) => {
      const [key = '', given = ''] = part.split('=', 2)
      return [key.toLowerCase(), given] as const
    }),
  )
  const isSecure = attributes.has('secure')
  const path = attributes.get('path') ?? ''
  const isHost = name.toLowerCase().startsWith('__host-')
  const isOverTls = url.protocol === 'https:'
  const isRefused =
    at < 1 ||
    Buffer.byteLength(name + value) > LONGEST ||
    attributes.has('domain') ||
    (isSecure && !isOverTls) ||
    (isHost && (!isSecure || path !== '/')) ||
    (name.toLowerCase().startsWith('__secure-') && !isSecure)
  const sameSite = attributes.get('samesite')?.toLowerCase()
  const isOpen = sameSite === 'none'
  if (isRefused || (isOpen && !isSecure)) return null
  const maxAge = attributes.get('max-age')
  return {
    name,
    value,
    host: url.hostname,
    path: path.startsWith('/') ? path : folderOf(url.pathname),
    isSecure,
    isHttpOnly: attributes.has('httponly'),
    sameSite: SAME_SITE.find((one) => one === sameSite) ?? 'absent',
    madeMs: nowMs,
    endsMs: maxAge === undefined ? null : nowMs + Number(maxAge) * 1000,
  }
}
