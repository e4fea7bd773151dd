// Where people put a key that is to be sent in the header Authorization, as the bytes of a request.
import { once } from 'node:events'
import { connect } from 'node:tls'
import { MANAGEMENT } from './test-gateway.ts'

/** A request with a key where it should not be. */
export interface MisplacedCredential {
  readonly name: string
  /** Its first line and headers. @param good another key, in its place where there is one */
  readonly lines: (secret: string, good: string) => readonly string[]
  readonly body?: (secret: string) => string
  /** The code of the answer. */
  readonly code: number
}

const PATH = `${MANAGEMENT}/api/v1/namespaces`
const subprotocol = (secret: string): string =>
  `Sec-WebSocket-Protocol: base64url.bearer.authorization.k8s.io.${Buffer.from(secret).toString('base64url')}`
const UPGRADE = ['Connection: Upgrade', 'Upgrade: websocket', 'Sec-WebSocket-Version: 13']

/** In one header, and nothing else. */
const inHeader = (name: string, header: (secret: string) => string): MisplacedCredential => ({
  name,
  lines: (secret) => [`GET ${PATH} HTTP/1.1`, header(secret)],
  code: 401,
})

/** In the first line, and nowhere else. */
const inLine = (
  name: string,
  line: (secret: string) => string,
  code = 401,
): MisplacedCredential => ({
  name,
  lines: (secret) => [line(secret)],
  code,
})

/** Beside a key that is where it should be. */
const beside = (
  name: string,
  header: (secret: string) => string,
  code = 200,
): MisplacedCredential => ({
  name: `${name}, beside a good key`,
  lines: (secret, good) => [
    `GET ${MANAGEMENT}/version HTTP/1.1`,
    `Authorization: Bearer ${good}`,
    header(secret),
  ],
  code,
})

/** All of them. */
export const MISPLACED_CREDENTIALS: readonly MisplacedCredential[] = [
  inLine('the query', (secret) => `GET ${PATH}?access_token=${secret} HTTP/1.1`),
  inLine('the path', (secret) => `GET ${PATH}/${secret} HTTP/1.1`),
  inLine('a path that leads nowhere', (secret) => `GET /${secret} HTTP/1.1`),
  inLine('the user of a URL', (secret) => `GET https://ada:${secret}@host${PATH} HTTP/1.1`),
  inLine('a host to connect to', (secret) => `CONNECT ${secret}:443 HTTP/1.1`),
  inLine('the method', (secret) => `${secret} ${PATH} HTTP/1.1`, 400),
  inLine('no HTTP', (secret) => `GET ${PATH} HTTP/1.1 ${secret}`, 400),
  inHeader('scheme Basic', (secret) => `Authorization: Basic ${basic(secret)}`),
  inHeader('no scheme', (secret) => `Authorization: ${secret}`),
  inHeader('another scheme', (secret) => `Authorization: Token ${secret}`),
  inHeader('two spaces', (secret) => `Authorization: Bearer  ${secret}`),
  inHeader('quotes', (secret) => `Authorization: Bearer "${secret}"`),
  inHeader('a key that is too long', (secret) => `Authorization: Bearer ${secret.repeat(100)}`),
  inHeader('percent-encoding', (secret) => `Authorization: Bearer ${percent(secret)}`),
  inHeader('base64', (secret) => `Authorization: Bearer ${Buffer.from(secret).toString('base64')}`),
  inHeader('a cookie', (secret) => `Cookie: token=${secret}`),
  inHeader('a header of its own', (secret) => `X-Api-Key: ${secret}`),
  inHeader('the header for proxies', (secret) => `Proxy-Authorization: Bearer ${secret}`),
  inHeader('the name of the client', (secret) => `User-Agent: ${secret}`),
  inHeader('the name of a header', (secret) => `${secret}: x`),
  inHeader('a subprotocol that is spelled wrong', (secret) => `${subprotocol(secret)}!`),
  { ...inHeader('more header than is read', (s) => `X-Key: ${s.repeat(500)}`), code: 431 },
  {
    name: 'the body',
    lines: () => [`POST ${PATH} HTTP/1.1`],
    body: (secret) => JSON.stringify({ metadata: { name: secret } }),
    code: 401,
  },
  {
    name: 'a WebSocket that is opened',
    lines: (secret) => [`GET ${PATH}?watch=true HTTP/1.1`, subprotocol(secret), ...UPGRADE],
    code: 501,
  },
  beside('a cookie', (secret) => `Cookie: token=${secret}`),
  beside('a header of its own', (secret) => `X-Api-Key: ${secret}`),
  beside('the header for proxies', (secret) => `Proxy-Authorization: Bearer ${secret}`),
  beside('a user to be', (secret) => `X-Remote-User: ${secret}`),
  beside('an address it came by', (secret) => `Forwarded: for=${secret}`),
  beside('a user to impersonate', (secret) => `Impersonate-User: ${secret}`, 400),
  beside('a subprotocol', subprotocol, 400),
  beside('a second header', (secret) => `Authorization: Bearer ${secret}`, 400),
]

const basic = (secret: string): string => Buffer.from(`ada:${secret}`).toString('base64')
const percent = (secret: string): string =>
  Buffer.from(secret).toString('hex').replaceAll(/../g, '%$&')

/** What a gateway answers there, head and all. */
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
  // Not by `once`, which fails where the other end resets what it has answered.
  await new Promise((resolve) => socket.once('close', resolve))
  return text
}
