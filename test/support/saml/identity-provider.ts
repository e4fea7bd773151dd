// A SAML provider that browsers visit: its page posts a signed Response back for the request that it was posted.
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import type { SamlProvider } from '../../../src/api/config.gen.ts'
import type { ServerPair } from '../certificate-builder.ts'
import { CALLBACK, REQUEST_ID, changed, responseXml, signedXml } from './forger.ts'
import { sharedSamlKey } from './keys.ts'
import { caDataOf } from './sign-in.ts'
import { type StopAfter, serveOnLoopback } from '../loopback-server.ts'

/** A running provider. */
export interface SamlIdentityProvider {
  /** What the platform has to know of it. */
  readonly settings: SamlProvider
  /** Whether the single sign-on address leads the browser to another origin first, as a provider does that asks another one. */
  asksElsewhere: boolean
  /** Who signs in. */
  person: string
}

/**
 * Starts one on loopback, where ada signs in with one button.
 *
 * @param tls null = http
 */
export async function startSamlProvider(
  stopAfter: StopAfter,
  tls: ServerPair | null = null,
): Promise<SamlIdentityProvider> {
  const answering: RequestListener = (request, response) => void answer(provider, request, response)
  const { port } = await serveOnLoopback(answering, stopAfter, tls)
  // Another site than the platform's 127.0.0.1, so that cookies come from abroad.
  const origin = `${tls === null ? 'http' : 'https'}://localhost:${port}`
  const provider: SamlIdentityProvider = {
    settings: {
      ssoURL: `${origin}/sso`,
      caData: caDataOf(sharedSamlKey('P-256').certificatePem),
      usernameAttr: 'uid',
      emailAttr: 'mail',
      groupsAttr: 'groups',
    },
    asksElsewhere: false,
    person: 'ada',
  }
  return provider
}

async function answer(
  { settings: { ssoURL = '' }, asksElsewhere, person }: SamlIdentityProvider,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  let form = ''
  for await (const piece of request) form += String(piece)
  const fields = new URLSearchParams(form)
  const [encoded, state] = [fields.get('SAMLRequest') ?? '', fields.get('RelayState') ?? '']
  if (asksElsewhere && request.headers.host === new URL(ssoURL).host) {
    response.writeHead(307, { location: ssoURL.replace('localhost', '127.0.0.1') }).end()
    return
  }
  response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' })
  response.end(pageFor(Buffer.from(encoded, 'base64').toString(), state, person))
}

/** The page with the Response to a request. */
function pageFor(request: string, state: string, person: string): string {
  const valueOf = (name: string): string =>
    new RegExp(` ${name}="([^"]+)"`).exec(request)?.[1] ?? ''
  const callback = valueOf('AssertionConsumerServiceURL')
  const xml = changed(responseXml(), [
    [new RegExp(CALLBACK, 'g'), callback],
    [new RegExp(REQUEST_ID, 'g'), valueOf('ID')],
    ...(person === 'ada'
      ? []
      : ([
          ['ada-1<', `${person}-1<`],
          ['>ada<', `>${person}<`],
        ] as const)),
  ])
  const signed = Buffer.from(signedXml(xml, 'Assertion')).toString('base64')
  return `<!doctype html><title>Sign in at the company</title><form method="post" action="${callback}">
<input type="hidden" name="SAMLResponse" value="${signed}"><input type="hidden" name="RelayState" value="${state}">
<button>Go on as ${person}</button></form>`
}
