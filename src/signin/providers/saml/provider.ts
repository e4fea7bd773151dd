// Sign-in through a SAML 2.0 provider (contract 25.6 "saml"): the browser posts a request there, and brings a signed Response
// back by a form. This process sends no request of its own.
import type { SamlProvider } from '../../../api/config.gen.ts'
import {
  type AttemptSecrets,
  type CallbackBinding,
  type ProviderCallback,
  type ProviderEntrance,
  type ProviderIdentity,
  type ProviderOptions,
  type SignInProvider,
  healthOf,
  usable,
} from '../provider.ts'
import { refuseUnlessExpected } from './assertion-rules.ts'
import { encodedRequest } from './authn-request.ts'
import { identityOf } from './claims.ts'
import { verifiedMessage } from './message.ts'
import { type SamlSetup, setupOf } from './setup.ts'

const POST_BINDING: CallbackBinding = { method: 'POST', stateParameter: 'RelayState' }

/** Creates a provider. Unusable settings are refused when it is used. */
export function createSamlProvider(options: ProviderOptions<SamlProvider>): SignInProvider {
  const { id, displayName, settings } = options
  const made = setupOf(options)
  const setup = (): SamlSetup => usable(made)
  const host = URL.parse(settings.ssoURL ?? '')?.host || id
  return {
    id,
    kind: 'saml',
    label: displayName || `SAML (${host})`,
    binding: POST_BINDING,
    begin: async (secrets) => entranceOf(setup(), secrets),
    finish: async (callback, secrets, signal) => personIn(setup(), callback, secrets, signal),
    refresh: null,
    endSession: () => Promise.resolve(null),
    check: () => healthOf([], async () => (await setup().certificates()).warnings),
  }
}

/** An xs:ID begins with a letter or `_`; the nonce has 256 bits. */
const requestIdOf = ({ nonce }: AttemptSecrets): string => `_${nonce}`

/** The certificates are read already here: whoever can't come back must not go. */
async function entranceOf(
  { ssoUrl, settings, redirectURI, audience, nameIdFormat, certificates, clock }: SamlSetup,
  secrets: AttemptSecrets,
): Promise<ProviderEntrance> {
  await certificates()
  const request = encodedRequest({
    id: requestIdOf(secrets),
    issuedMs: clock.nowMs(),
    ssoUrl: settings.ssoURL ?? '',
    redirectURI,
    issuer: audience,
    nameIdFormat,
  })
  return { url: ssoUrl, form: { SAMLRequest: request, RelayState: secrets.state } }
}

async function personIn(
  { settings, redirectURI, audience, certificates, verify, clock }: SamlSetup,
  { parameters }: ProviderCallback,
  secrets: AttemptSecrets,
  signal: AbortSignal,
): Promise<ProviderIdentity> {
  const { keys } = await certificates()
  const message = await verifiedMessage(parameters.get('SAMLResponse'), keys, verify, signal)
  refuseUnlessExpected(message, {
    requestId: requestIdOf(secrets),
    redirectURI,
    audience,
    ssoIssuer: settings.ssoIssuer || null,
    nowMs: clock.nowMs(),
  })
  return identityOf(message, settings)
}
