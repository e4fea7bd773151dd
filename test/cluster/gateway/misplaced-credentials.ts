// Requests, as bytes, with a key anywhere but in the Authorization header as a bearer token.
import { once } from 'node:events'
import { connect } from 'node:tls'
import { MANAGEMENT } from './test-gateway.ts'

/** A request with a misplaced key. */
export interface MisplacedCredential {
  readonly name: string
  /** The request line and headers. @param good a valid key, for the Authorization header of some rows */
  readonly lines: (secret: string, good: string) => readonly string[]
  readonly body?: (secret: string) => string
  /** The code of the answer. */
  readonly code: number
}

const PATH = `${MANAGEMENT}/api/v1/namespaces`
const subprotocol = (secret: string): string =>
  `Sec-WebSocket-Protocol: base64url.bearer.authorization.k8s.io.${Buffer.from(secret).toString('base64url')}`
const UPGRADE = ['Connection: Upgrade', 'Upgrade: websocket', 'Sec-WebSocket-Version: 13']

/** A key in this header only. */
const inHeader = (name: string, header: (secret: string) => string): MisplacedCredential => ({
  name,
  lines: (secret) => [`GET ${PATH} HTTP/1.1`, header(secret)],
  code: 401,
})

/** A key in the request line only. */
const inLine = (
  name: string,
  line: (secret: string) => string,
  code = 401,
): MisplacedCredential => ({
  name,
  lines: (secret) => [line(secret)],
  code,
})

/** A second key beside a valid one in the Authorization header. */
const beside = (
  name: string,
  header: (secret: string) => string,
  code = 200,
): MisplacedCredential => ({
  name: `${name}, beside a valid key`,
  lines: (secret, good) => [
    `GET ${MANAGEMENT}/version HTTP/1.1`,
    `Authorization: Bearer ${good}`,
    header(secret),
  ],
  code,
})

/** All misplaced keys. */
export const MISPLACED_CREDENTIALS: readonly MisplacedCredential[] = [
  inLine('the query', (secret) => `GET ${PATH}?access_token=${secret} HTTP/1.1`),
  inLine('the path', (secret) => `GET ${PATH}/${secret} HTTP/1.1`),
  inLine('a path without a route', (secret) => `GET /${secret} HTTP/1.1`),
  inLine('the userinfo of a URL', (secret) => `GET https://ada:${secret}@host${PATH} HTTP/1.1`),
  inLine('the host of a CONNECT', (secret) => `CONNECT ${secret}:443 HTTP/1.1`),
  inLine('the method', (secret) => `${secret} ${PATH} HTTP/1.1`, 400),
  inLine('after the HTTP version', (secret) => `GET ${PATH} HTTP/1.1 ${secret}`, 400),
  inHeader('scheme Basic', (secret) => `Authorization: Basic ${basic(secret)}`),
  inHeader('no scheme', (secret) => `Authorization: ${secret}`),
  inHeader('another scheme', (secret) => `Authorization: Token ${secret}`),
  inHeader('two spaces', (secret) => `Authorization: Bearer  ${secret}`),
  inHeader('quotes', (secret) => `Authorization: Bearer "${secret}"`),
  inHeader('a key that is too long', (secret) => `Authorization: Bearer ${secret.repeat(100)}`),
  inHeader('percent-encoding', (secret) => `Authorization: Bearer ${percent(secret)}`),
  inHeader('base64', (secret) => `Authorization: Bearer ${Buffer.from(secret).toString('base64')}`),
  inHeader('a cookie', (secret) => `Cookie: token=${secret}`),
  inHeader('a custom header', (secret) => `X-Api-Key: ${secret}`),
  inHeader('the Proxy-Authorization header', (secret) => `Proxy-Authorization: Bearer ${secret}`),
  inHeader('the User-Agent header', (secret) => `User-Agent: ${secret}`),
  inHeader('a header name', (secret) => `${secret}: x`),
  inHeader('a malformed WebSocket subprotocol', (secret) => `${subprotocol(secret)}!`),
  { ...inHeader('headers above the size limit', (s) => `X-Key: ${s.repeat(500)}`), code: 431 },
  {
    name: 'the body',
    lines: () => [`POST ${PATH} HTTP/1.1`],
    body: (secret) => JSON.stringify({ metadata: { name: secret } }),
    code: 401,
  },
  {
    name: 'a WebSocket upgrade',
    lines: (secret) => [`GET ${PATH}?watch=true HTTP/1.1`, subprotocol(secret), ...UPGRADE],
    code: 403,
  },
  beside('a cookie', (secret) => `Cookie: token=${secret}`),
  beside('a custom header', (secret) => `X-Api-Key: ${secret}`),
  beside('the Proxy-Authorization header', (secret) => `Proxy-Authorization: Bearer ${secret}`),
  beside('the X-Remote-User header', (secret) => `X-Remote-User: ${secret}`),
  beside('the Forwarded header', (secret) => `Forwarded: for=${secret}`),
  beside('the Impersonate-User header', (secret) => `Impersonate-User: ${secret}`, 400),
  beside('a WebSocket subprotocol', subprotocol, 400),
  beside('a second Authorization header', (secret) => `Authorization: Bearer ${secret}`, 400),
]

const basic = (secret: string): string => Buffer.from(`ada:${secret}`).toString('base64')
const percent = (secret: string): string =>
  Buffer.from(secret).toString('hex').replaceAll(/../g, '%$&')

/** Sends the request, and resolves with the whole answer including its head. */
export async function sendMisplaced(
  { url, ca }: { readonly url: string; readonly ca: string },
  { lines, body }: MisplacedCredential,
  secret: string,
  good: string,
): Promise<string> {
  const { hostname: host, port } = new URL(url)
  const socket = connect({ host, port: Number(port), ca })
  await once(socket, 'secureConnect')
  const sent = body?.(secret) ?? ''
  const own = lines(secret, good)
  const framing = [
    ...(own[0]?.startsWith('POST') ? ['Content-Type: application/json'] : []),
    `Content-Length: ${Buffer.byteLength(sent)}`,
    ...(own.some((line) => line.startsWith('Connection:')) ? [] : ['Connection: close']),
  ]
  socket.write(
    `${[own[0], 'Host: gateway', ...own.slice(1), ...framing].join('\r\n')}\r\n\r\n${sent}`,
  )
  let text = ''
  socket.setEncoding('utf8').on('data', (part: string) => (text += part))
  socket.on('error', () => undefined)
  // Not by `once`, which fails when the gateway resets the connection after its answer.
  await new Promise((resolve) => socket.once('close', resolve))
  return text
}
