// A stand-in of GitHub for tests, written from its public documentation ("Authorizing OAuth apps", "Troubleshooting OAuth app
// access token request errors", "Using pagination in the REST API", "Rate limits for the REST API"): a site and its API below
// /api/v3, as an Enterprise Server has them. Any answer can be replaced.
import { createHash, randomBytes } from 'node:crypto'
import { type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http'
import type { ServerPair } from '../certificate-builder.ts'
import type { ForgerAnswer } from '../oidc/forged-provider.ts'
import { type StopAfter, serveOnLoopback } from '../loopback-server.ts'

/** The application that is registered there. */
export const HOST_CLIENT = { clientId: 'Iv1.platform', clientSecret: 'a client secret' }

/** An account. */
export interface HostAccount {
  readonly id: number
  readonly login: string
  readonly name: string | null
  readonly emails: readonly object[]
  readonly orgs: readonly string[]
  /** `[organization, slug, name]`. */
  readonly teams: readonly (readonly [string, string, string])[]
}

/** An account of no organization, whose e-mail address is verified. */
export const hostAccount = (differs: Partial<HostAccount> = {}): HostAccount => ({
  id: 583_231,
  login: 'ada',
  name: 'Ada Lovelace',
  emails: [{ email: 'ada@example.com', primary: true, verified: true, visibility: 'private' }],
  orgs: [],
  teams: [],
  ...differs,
})

/** A request that came. */
interface HostRequest {
  readonly path: string
  readonly headers: IncomingMessage['headers']
  readonly query: URLSearchParams
  readonly form: URLSearchParams
}

/** What a code stands for, until it is taken. */
interface Grant {
  readonly challenge: string
  readonly redirectURI: string
  readonly scopes: readonly string[]
}

/** A running stand-in; a test replaces what it wants. */
export class SourceHost {
  /** Of the site; its API is below `/api/v3`. */
  url = ''
  readonly requests: HostRequest[] = []
  /** Who is signed in in every browser, and consents. */
  account = hostAccount()
  /** Scopes that the person takes away on the page of consent. */
  withheld: readonly string[] = []
  /** Replaced answers, by path without its query. */
  readonly answers = new Map<string, ForgerAnswer>()
  /** Largest page of a list. */
  largestPage = 100
  /** The callbacks that are registered. */
  callbacks: readonly string[] = ['https://platform.example.com/auth/sourceHostA/callback']
  readonly #grants = new Map<string, Grant>()
  readonly #tokens = new Map<string, readonly string[]>()

  /** Answers a request as GitHub documents it. */
  async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { headers } = request
    const { pathname: path, searchParams: query } = new URL(request.url ?? '', this.url)
    let body = ''
    for await (const chunk of request) body += String(chunk)
    const asked = { path, headers, query, form: new URLSearchParams(body) }
    this.requests.push(asked)
    const found = this.answers.get(path) ?? this.#usual(asked)
    if (typeof found === 'function') return found(response)
    response.writeHead(found.status ?? 200, { 'content-type': found.type ?? 'application/json' })
    response.end(found.body)
  }

  /** A code as after the page of consent, for the browser that these parameters came from. */
  consent(parameters: URLSearchParams): string {
    const code = randomBytes(10).toString('hex')
    const asked = (parameters.get('scope') ?? '').split(' ')
    this.#grants.set(code, {
      challenge: parameters.get('code_challenge') ?? '',
      redirectURI: parameters.get('redirect_uri') ?? '',
      scopes: asked.filter((scope) => !this.withheld.includes(scope)),
    })
    return code
  }

  #usual(asked: HostRequest): ForgerAnswer {
    if (asked.path === '/login/oauth/authorize') return this.#authorize(asked.query)
    if (asked.path === '/login/oauth/access_token') return this.#token(asked)
    if (asked.headers['user-agent'] === undefined)
      return { status: 403, type: 'text/html', body: 'Request forbidden by administrative rules.' }
    if (asked.path === '/api/v3/rate_limit') return json({ resources: {}, rate: { limit: 60 } })
    return this.#asPerson(asked)
  }

  #authorize(query: URLSearchParams): ForgerAnswer {
    const callback = query.get('redirect_uri') ?? ''
    if (query.get('client_id') !== HOST_CLIENT.clientId) return json({ error: 'Not Found' }, 404)
    const url = new URL(this.callbacks.includes(callback) ? callback : (this.callbacks[0] ?? ''))
    if (url.href === callback) url.searchParams.set('code', this.consent(query))
    else url.searchParams.set('error', 'redirect_uri_mismatch')
    url.searchParams.set('state', query.get('state') ?? '')
    return (response) => void response.writeHead(302, { location: url.href }).end()
  }

  #token({ form, headers }: HostRequest): ForgerAnswer {
    if (form.get('client_id') !== HOST_CLIENT.clientId) return json({ error: 'Not Found' }, 404)
    const code = form.get('code') ?? ''
    const grant = this.#grants.get(code)
    const error = (text: string): ForgerAnswer =>
      json({ error: text, error_description: 'a secret', error_uri: 'https://docs.example' })
    if (form.get('client_secret') !== HOST_CLIENT.clientSecret)
      return error('incorrect_client_credentials')
    const challenge = createHash('sha256').update(form.get('code_verifier') ?? '')
    if (grant === undefined || grant.challenge !== challenge.digest('base64url'))
      return error('bad_verification_code')
    if (form.get('redirect_uri') !== grant.redirectURI) return error('redirect_uri_mismatch')
    this.#grants.delete(code)
    const token = `gho_${randomBytes(18).toString('hex')}`
    this.#tokens.set(token, grant.scopes)
    const fields = { access_token: token, scope: grant.scopes.join(','), token_type: 'bearer' }
    return headers.accept === 'application/json'
      ? json(fields)
      : { type: 'application/x-www-form-urlencoded', body: new URLSearchParams(fields).toString() }
  }

  #asPerson(asked: HostRequest): ForgerAnswer {
    const [, token = ''] = /^Bearer (\S+)$/.exec(asked.headers.authorization ?? '') ?? []
    const scopes = this.#tokens.get(token)
    if (scopes === undefined) return json({ message: 'Bad credentials' }, 401)
    const { id, login, name, emails, orgs, teams } = this.account
    const lists: Readonly<Record<string, readonly [string, readonly object[]]>> = {
      '/api/v3/user/emails': ['user:email', emails],
      '/api/v3/user/orgs': ['read:org', orgs.map((org) => ({ login: org, id: 1 }))],
      '/api/v3/user/teams': [
        'read:org',
        teams.map(([org, slug, title]) => ({ slug, name: title, organization: { login: org } })),
      ],
    }
    if (asked.path === '/api/v3/user')
      return json({ login, id, name, email: 'anybody@example.com', type: 'User' })
    const [scope = '', entries] = lists[asked.path] ?? []
    if (entries === undefined) return json({ message: 'Not Found' }, 404)
    if (!scopes.includes(scope)) return json({ message: `You need the ${scope} scope` }, 403)
    return this.#page(asked, entries)
  }

  /** A page of a list, with `Link` where there are others. */
  #page({ path, query }: HostRequest, entries: readonly object[]): ForgerAnswer {
    const size = Math.min(Number(query.get('per_page') ?? 30), this.largestPage)
    const page = Number(query.get('page') ?? 1)
    const last = Math.max(1, Math.ceil(entries.length / size))
    const at = (number: number, rel: string): string =>
      `<${this.url}${path}?per_page=${size}&page=${number}>; rel="${rel}"`
    const links = [
      ...(page > 1 ? [at(page - 1, 'prev'), at(1, 'first')] : []),
      ...(page < last ? [at(page + 1, 'next'), at(last, 'last')] : []),
    ]
    const body = JSON.stringify(entries.slice((page - 1) * size, page * size))
    return (response) => {
      if (links.length > 0) response.setHeader('link', links.join(', '))
      response.setHeader('content-type', 'application/json; charset=utf-8')
      response.end(body)
    }
  }
}

const json = (value: object, status = 200): ForgerAnswer => ({
  status,
  body: JSON.stringify(value),
})

/** Starts one on loopback. @param tls null = http */
export async function startSourceHost(
  tls: ServerPair | null,
  stopAfter: StopAfter,
): Promise<SourceHost> {
  const host = new SourceHost()
  const answering: RequestListener = (request, response) => void host.answer(request, response)
  host.url = (await serveOnLoopback(answering, stopAfter, tls)).origin
  return host
}
