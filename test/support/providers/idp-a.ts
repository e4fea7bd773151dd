// A stand-in of Google: of its OpenID Connect provider, of the token endpoint for service accounts (RFC 7523), and of the
// method groups.list of the Directory API, after developers.google.com. It checks what the real one checks.
import { createPublicKey, generateKeyPairSync } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { jwtVerify } from 'jose'
import { onTestFinished } from 'vitest'
import type { IdpAProvider } from '../../../src/api/config.gen.ts'
import { createIdpAProvider } from '../../../src/signin/providers/idp-a/provider.ts'
import type {
  ProviderIdentity,
  ProviderOptions,
  SignInProvider,
} from '../../../src/signin/providers/provider.ts'
import { CLIENT_ID, type ForgedProvider, startForgedProvider } from '../oidc/forged-provider.ts'
import { type ApiAnswer, type ApiRequest, type JsonApi, startJsonApi } from './json-api.ts'
import { optionsFor } from './options.ts'
import { finishAt } from './sign-in.ts'

const ADMIN = 'admin@example.com'
const ACCOUNT = 'reader@project.iam.gserviceaccount.com'
const SCOPE = 'https://www.googleapis.com/auth/admin.directory.group.readonly'

/** The key of the service account, in PEM. It is made once, as RSA keys take long. */
const { privateKey: KEY_PEM, publicKey: PUBLIC_PEM } = generateKeyPairSync('rsa', {
  modulusLength: 2048,
  privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  publicKeyEncoding: { type: 'spki', format: 'pem' },
})

/** A running stand-in; a test replaces what it wants. */
export interface IdpA {
  readonly forger: ForgedProvider
  readonly directory: JsonApi
  readonly filesDir: string
  /** The file of the service account, in filesDir. */
  readonly keyFile: string
  /** Writes it, with these fields besides the usual ones. */
  readonly writeKey: (changed?: Readonly<Record<string, unknown>>) => Promise<void>
  /** Addresses of the groups of each page. */
  pages: readonly (readonly string[])[]
  /** Replaces answers; undefined = the usual one. */
  answer: (request: ApiRequest) => ApiAnswer | null | undefined
}

/** Starts one, which stops when the test ends. */
export async function startIdpA(): Promise<IdpA> {
  const forger = await startForgedProvider()
  const directory = await startJsonApi((request) => {
    const replaced = google.answer(request)
    return replaced === undefined ? usualAnswer(google, request) : replaced
  })
  const filesDir = await mkdtemp(join(tmpdir(), 'idp-a-'))
  onTestFinished(() => rm(filesDir, { recursive: true }))
  const keyFile = join(filesDir, 'account.json')
  const writeKey = (changed: Readonly<Record<string, unknown>> = {}): Promise<void> =>
    writeFile(keyFile, JSON.stringify({ ...fileOf(directory.origin), ...changed }))
  const google: IdpA = {
    forger,
    directory,
    filesDir,
    keyFile,
    writeKey,
    pages: [['sre@example.com', 'staff@example.com']],
    answer: () => undefined,
  }
  await writeKey()
  return google
}

/** The file that Google's console downloads. */
const fileOf = (origin: string) => ({
  type: 'service_account',
  project_id: 'project',
  private_key_id: 'key-1',
  private_key: KEY_PEM,
  client_email: ACCOUNT,
  client_id: '1',
  auth_uri: 'https://accounts.google.com/o/oauth2/auth',
  token_uri: `${origin}/token`,
  universe_domain: 'googleapis.com',
})

const usualAnswer = (google: IdpA, request: ApiRequest): ApiAnswer | Promise<ApiAnswer> =>
  request.path === '/token' ? tokenAnswer(google, request) : groupsAnswer(google, request)

async function tokenAnswer({ directory }: IdpA, { body }: ApiRequest): Promise<ApiAnswer> {
  const form = new URLSearchParams(body)
  const audience = `${directory.origin}/token`
  const options = { issuer: ACCOUNT, subject: ADMIN, audience, algorithms: ['RS256'] }
  const key = createPublicKey(PUBLIC_PEM)
  try {
    const { payload, protectedHeader } = await jwtVerify(form.get('assertion') ?? '', key, options)
    const lifetime = (payload.exp ?? Infinity) - (payload.iat ?? 0)
    const isGood = payload['scope'] === SCOPE && protectedHeader.kid === 'key-1' && lifetime <= 3600
    const isGrant = form.get('grant_type') === 'urn:ietf:params:oauth:grant-type:jwt-bearer'
    if (!isGood || !isGrant) throw new Error('another scope, key, lifetime or grant')
  } catch {
    return { status: 400, body: { error: 'invalid_grant', error_description: 'a secret' } }
  }
  return {
    body: { access_token: 'a directory token', expires_in: 3599, token_type: 'Bearer' },
  }
}

function groupsAnswer({ pages }: IdpA, { path, query, headers, method }: ApiRequest): ApiAnswer {
  const isList = method === 'GET' && path === '/admin/directory/v1/groups'
  if (!isList || headers.authorization !== 'Bearer a directory token')
    return { status: 401, body: { error: { code: 401, status: 'UNAUTHENTICATED' } } }
  if (!query.has('userKey') || Number(query.get('maxResults')) > 200)
    return { status: 400, body: { error: { code: 400, message: 'Bad Request' } } }
  const at = Number(query.get('pageToken') ?? 0)
  const emails = pages[at] ?? []
  const groups = emails.map((email) => ({
    kind: 'admin#directory#group',
    email,
    name: `The ${email}`,
  }))
  return {
    body: {
      kind: 'admin#directory#groups',
      etag: '"x"',
      ...(groups.length === 0 ? {} : { groups }),
      ...(at + 1 < pages.length ? { nextPageToken: String(at + 1) } : {}),
    },
  }
}

/** A person of the company, as the ID token has it. */
export const OF_COMPANY = {
  sub: '110169484474386276334',
  hd: 'example.com',
  email: 'ada@example.com',
  email_verified: true,
  name: 'Ada Lovelace',
  preferred_username: undefined,
  groups: ['of-the-token'],
}

/** A provider of this product for the stand-in. */
export const idpA = (
  { forger, directory, filesDir }: IdpA,
  settings: IdpAProvider = {},
  more: Partial<ProviderOptions<never>> = {},
): SignInProvider =>
  createIdpAProvider({
    ...optionsFor('idpA', { idpA: forger.issuer, idpADirectory: directory.origin }, more),
    filesDir,
    settings: { clientId: CLIENT_ID, clientSecret: 'a secret', ...settings },
  })

/** The settings that look groups up. */
export const withDirectory = ({ keyFile }: IdpA): IdpAProvider => ({
  serviceAccountFilePath: keyFile,
  adminEmail: ADMIN,
})

/** Signs in at a stand-in. */
export const signInAtA = (
  google: IdpA,
  settings: IdpAProvider = {},
  claims: Readonly<Record<string, unknown>> = {},
): Promise<ProviderIdentity> =>
  finishAt(idpA(google, settings), google.forger, { ...OF_COMPANY, ...claims })
