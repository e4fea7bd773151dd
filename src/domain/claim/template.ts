// What the templates of a claim's Secret become (contract 28.4).
//
// A template is parsed into pieces: texts, and holes for what each credential has of its own. The pieces are what is
// rendered, and also what tells whether a Secret was rendered from the same.
import { canonicalJson } from '../json/json.ts'
import type { Claim, ClaimedSecret } from './claim.ts'

/** Where $(SERVER) and $(KUBECONFIG) lead to. */
export interface ServerAddress {
  /** As in `https://platform.example.com/kubernetes/management`. */
  readonly url: string
  /** The authority of the gateway's certificate, PEM; null = clients trust the certificate already. */
  readonly ca: string | null
}

/** What the holes of a template are filled with. */
interface TemplateValues {
  /** The access key or the token. It has only letters, digits, `_`, `-` and `.`. */
  readonly credential: string
  readonly keyID: string
  /** When the credential stops working, RFC 3339. */
  readonly expires: string
  /** null = it is unknown; $(CA_DATA) then is empty. */
  readonly server: ServerAddress | null
}

/** The URL of a target at the gateway. @param origin such as `https://platform.example.com` */
export const serverUrl = (origin: string, target: string): string =>
  `${origin}/kubernetes/${target}`

/** Whether the entries of the Secret have the gateway's address, so that nothing can be rendered without it. */
export const needsServer = ({ data }: Pick<ClaimedSecret, 'data'>): boolean =>
  Object.values(data).some((template) => piecesOf(template, null).includes(SERVER_HOLE))

/**
 * The entries of the Secret as texts.
 *
 * @throws Error when the address is unknown and an entry needs it
 */
export function renderData(
  secret: Pick<ClaimedSecret, 'data'>,
  { server, ...own }: TemplateValues,
): Readonly<Record<string, string>> {
  if (server === null && needsServer(secret))
    throw new Error("the gateway's address is unknown, and an entry of the Secret has it")
  const textOf = (piece: TemplatePiece): string =>
    typeof piece === 'string' ? piece : piece.hole === 'server' ? '' : own[piece.hole]
  return Object.fromEntries(
    Object.entries(secret.data).map(([name, template]) => [
      name,
      piecesOf(template, server).map(textOf).join(''),
    ]),
  )
}

/**
 * A text that differs exactly where two Secrets would differ in more than a credential, its id and its end, or where one
 * has a key and the other a token.
 */
export function templateText(
  { token, secret }: Pick<Claim, 'token' | 'secret'>,
  server: ServerAddress | null,
): string {
  const entries = Object.entries(secret.data).map(
    ([name, template]) => [name, joinedTexts(piecesOf(template, server))] as const,
  )
  return canonicalJson({
    delivers: token === null ? 'Key' : 'Token',
    data: Object.fromEntries(entries),
  })
}

type TemplatePiece = string | { readonly hole: keyof TemplateValues }

const SERVER_HOLE: TemplatePiece = { hole: 'server' }

/** `$$`, or a name in parentheses after a `$`. A name ends where the next `$` begins at the latest: linear. */
const PLACE = /\$(?:\$|\(([A-Z_]+)\))/g

/** A template as pieces. What begins with `$` and means nothing stays as it is; the schema refuses it. */
function piecesOf(template: string, server: ServerAddress | null): readonly TemplatePiece[] {
  const pieces: TemplatePiece[] = []
  let endOfLast = 0
  for (const { 0: place, 1: name, index } of template.matchAll(PLACE)) {
    pieces.push(template.slice(endOfLast, index), ...meaningOf(place, name, server))
    endOfLast = index + place.length
  }
  return [...pieces, template.slice(endOfLast)]
}

function meaningOf(
  place: string,
  name: string | undefined,
  server: ServerAddress | null,
): readonly TemplatePiece[] {
  switch (name) {
    case undefined:
      return ['$']
    case 'KEY':
    case 'TOKEN':
      return [{ hole: 'credential' }]
    case 'KEY_ID':
      return [{ hole: 'keyID' }]
    case 'EXPIRES':
      return [{ hole: 'expires' }]
    case 'SERVER':
      return [server === null ? SERVER_HOLE : server.url]
    case 'CA_DATA':
      return [authorityData(server)]
    case 'KUBECONFIG':
      return kubeconfig(server)
    default:
      return [place]
  }
}

/** Neighbouring texts as one, so that pieces are equal where what they become is. */
function joinedTexts(pieces: readonly TemplatePiece[]): readonly TemplatePiece[] {
  const joined: TemplatePiece[] = []
  for (const piece of pieces) {
    const last = joined.at(-1)
    if (typeof piece === 'string' && typeof last === 'string')
      joined[joined.length - 1] = last + piece
    else joined.push(piece)
  }
  return joined
}

/** The authority in base64, of the same PEM whatever ends its lines; empty = there is none. */
function authorityData(server: ServerAddress | null): string {
  const pem = (server?.ca ?? '').replaceAll('\r', '').trim()
  return pem === '' ? '' : Buffer.from(`${pem}\n`).toString('base64')
}

/** A kubeconfig as `management-operator kubeconfig` writes it. Texts that YAML might read as something else are quoted. */
function kubeconfig(server: ServerAddress | null): readonly TemplatePiece[] {
  const authority = authorityData(server)
  const lines = [
    'apiVersion: v1',
    'kind: Config',
    'clusters:',
    '  - name: platform',
    '    cluster:',
    `      server: ${JSON.stringify(server?.url ?? '')}`,
    ...(authority === '' ? [] : [`      certificate-authority-data: "${authority}"`]),
    'users:',
    '  - name: platform',
    '    user:',
    '      token: "',
  ]
  const rest = [
    '"',
    'contexts:',
    '  - name: platform',
    '    context:',
    '      cluster: platform',
    '      user: platform',
    'current-context: platform',
    '',
  ]
  const pieces = [lines.join('\n'), { hole: 'credential' } as const, rest.join('\n')]
  return server === null ? [SERVER_HOLE, ...pieces] : pieces
}
