// What the templates of a claim's Secret become (contract 28.4).
//
// A template is parsed into pieces: texts, and places that are filled. The pieces also tell whether a Secret was rendered from
// the same, so that it need not be rendered for that: a short template can become megabytes.
import { canonicalJson, mapFromEntries } from '../json/json.ts'
import type { Claim, ClaimedSecret } from './claim.ts'

/** Where $(SERVER) and $(KUBECONFIG) lead to. */
export interface ServerAddress {
  /** As in `https://platform.example.com/kubernetes/management`. */
  readonly url: string
  /** The authority of the gateway's certificate, PEM; null = clients trust the certificate already. */
  readonly ca: string | null
}

/** What the places of a template are filled with. */
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
export const needsServer = (secret: Pick<ClaimedSecret, 'data'>): boolean =>
  hasPlace(secret, ['server', 'kubeconfig'])

/**
 * The entries of the Secret as texts. dataBytes says how large they get.
 *
 * @throws Error when the address is unknown and an entry needs it
 */
export function renderData(
  secret: Pick<ClaimedSecret, 'data'>,
  values: TemplateValues,
): Readonly<Record<string, string>> {
  if (values.server === null && needsServer(secret))
    throw new Error("the gateway's address is unknown, and an entry of the Secret has it")
  const fillings = fillingsOf(values)
  const textOf = (piece: TemplatePiece): string =>
    typeof piece === 'string' ? piece : fillings[piece.place]
  return Object.fromEntries(
    Object.entries(secret.data).map(([name, template]) => [
      name,
      piecesOf(template).map(textOf).join(''),
    ]),
  )
}

/** The most bytes that the API server accepts in the entries of a Secret. */
export const MOST_DATA_BYTES = 1_048_576

/** How many bytes renderData gives, without rendering. */
export function dataBytes(secret: Pick<ClaimedSecret, 'data'>, values: TemplateValues): number {
  const fillings = fillingsOf(values)
  const bytesOf = (piece: TemplatePiece): number =>
    typeof piece === 'string' ? Buffer.byteLength(piece) : fillings[piece.place].length
  return Object.values(secret.data)
    .flatMap(piecesOf)
    .reduce((sum, piece) => sum + bytesOf(piece), 0)
}

/**
 * A text that differs where two Secrets would differ in more than a credential, its id and its end, or where one has a key and
 * the other a token; not where something differs that no entry has.
 */
export function templateText(
  { token, secret }: Pick<Claim, 'token' | 'secret'>,
  server: ServerAddress | null,
): string {
  const pieces = Object.entries(secret.data).map(
    ([name, template]) => [name, piecesOf(template)] as const,
  )
  return canonicalJson({
    delivers: token === null ? 'Key' : 'Token',
    data: mapFromEntries(pieces),
    server: needsServer(secret) ? (server?.url ?? null) : null,
    ca: hasPlace(secret, ['caData', 'kubeconfig']) ? authorityData(server) : '',
  })
}

/** What each name in a template stands for. */
const PLACES = {
  KEY: 'credential',
  TOKEN: 'credential',
  KEY_ID: 'keyID',
  EXPIRES: 'expires',
  SERVER: 'server',
  CA_DATA: 'caData',
  KUBECONFIG: 'kubeconfig',
} as const

type TemplatePlace = (typeof PLACES)[keyof typeof PLACES]

/** A text that is part of the entry, or a place that is filled. */
type TemplatePiece = string | { readonly place: TemplatePlace }

/** `$$`, or a name in parentheses after a `$`. A name ends where the next `$` begins at the latest: linear. */
const MARK = /\$(?:\$|\(([A-Z_]+)\))/g

/** A template as pieces. What begins with `$` and means nothing stays as it is; the schema refuses it. */
function piecesOf(template: string): readonly TemplatePiece[] {
  const pieces: TemplatePiece[] = []
  let text = ''
  let endOfLast = 0
  for (const { 0: mark, 1: name, index } of template.matchAll(MARK)) {
    text += template.slice(endOfLast, index)
    endOfLast = index + mark.length
    if (name === undefined || !isPlace(name)) text += name === undefined ? '$' : mark
    else {
      pieces.push(text, { place: PLACES[name] })
      text = ''
    }
  }
  return [...pieces, text + template.slice(endOfLast)]
}

const isPlace = (name: string): name is keyof typeof PLACES => Object.hasOwn(PLACES, name)

const hasPlace = (
  { data }: Pick<ClaimedSecret, 'data'>,
  places: readonly TemplatePlace[],
): boolean =>
  Object.values(data).some((template) =>
    piecesOf(template).some((piece) => typeof piece !== 'string' && places.includes(piece.place)),
  )

const fillingsOf = ({
  credential,
  keyID,
  expires,
  server,
}: TemplateValues): Readonly<Record<TemplatePlace, string>> => ({
  credential,
  keyID,
  expires,
  server: server?.url ?? '',
  caData: authorityData(server),
  kubeconfig: kubeconfig(credential, server),
})

/** The authority in base64, of the same PEM whatever ends its lines; empty = there is none. */
function authorityData(server: ServerAddress | null): string {
  const pem = (server?.ca ?? '').replaceAll('\r', '').trim()
  return pem === '' ? '' : Buffer.from(`${pem}\n`).toString('base64')
}

/** A kubeconfig as `management-operator kubeconfig` writes it. Texts that YAML might read as something else are quoted. */
function kubeconfig(credential: string, server: ServerAddress | null): string {
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
    `      token: "${credential}"`,
    'contexts:',
    '  - name: platform',
    '    context:',
    '      cluster: platform',
    '      user: platform',
    'current-context: platform',
  ]
  return `${lines.join('\n')}\n`
}
