// Sign-in through GitHub (contract 25.6 "sourceHostA"): OAuth 2 without OpenID Connect. The API says who has signed in.
import { createHash } from 'node:crypto'
import type { SourceHostAProvider } from '../../../api/config.gen.ts'
import { SignInRefused } from '../../../domain/signin/refusals.ts'
import {
  type AttemptSecrets,
  authorityIn,
  type KnownAccount,
  OAUTH_BINDING,
  type ProviderHealth,
  type ProviderIdentity,
  type ProviderOptions,
  type ProviderRefresh,
  type SignInProvider,
  healthOf,
  usable,
} from '../provider.ts'
import { readPerson } from './account.ts'
import { tryApi } from './api.ts'
import { exchangeCode } from './code-exchange.ts'
import { setupOf, type SourceHostASetup } from './setup.ts'

/** Creates a provider. It calls none until it is used; unusable settings are refused then. */
export function createSourceHostAProvider(
  options: ProviderOptions<SourceHostAProvider>,
): SignInProvider {
  const { id, displayName, settings } = options
  const made = setupOf(options)
  const setup = (): SourceHostASetup => usable(made)
  const host = typeof made === 'string' ? id : new URL(made.addresses.site).host
  const warnings = settings.orgs?.length ? [] : [ADMITS_EVERYBODY]
  return {
    id,
    kind: 'sourceHostA',
    label: displayName || `GitHub (${host})`,
    binding: OAUTH_BINDING,
    begin: async (secrets) => ({ url: authorizationUrl(setup(), secrets), form: null }),
    finish: async (callback, secrets, signal) => {
      const accessToken = await exchangeCode(setup(), callback, secrets, signal)
      const person = await readPerson({ setup: setup(), accessToken, signal })
      return { ...person, tokens: { accessToken, refreshToken: null, idToken: null } }
    },
    refresh: refreshOf(made),
    endSession: () => Promise.resolve(null),
    check: (signal) =>
      healthOf(warnings, async () => {
        await tryApi(setup(), signal)
        return []
      }),
  }
}

/** @param made a text = why the settings are unusable */
const refreshOf = (made: SourceHostASetup | string): ProviderRefresh => ({
  knows: (subject) => typeof made === 'string' || isAccountOf(made, subject),
  isPossible: ({ accessToken }) => accessToken !== null,
  ask: async (account, _keep, signal) => askAgain(usable(made), account, signal),
})

const isAccountOf = ({ addresses }: SourceHostASetup, subject: string): boolean =>
  authorityIn(subject) === addresses.api

/** Who the account is now. Its token stays the same: GitHub gives no others. */
async function askAgain(
  setup: SourceHostASetup,
  { subject, tokens }: KnownAccount,
  signal: AbortSignal,
): Promise<ProviderIdentity> {
  const { accessToken } = tokens
  if (!isAccountOf(setup, subject))
    throw new SignInRefused('provider_unusable', 'the account is of another provider')
  if (accessToken === null)
    throw new SignInRefused('provider_answer', 'the session has no access token')
  return { ...(await readPerson({ setup, accessToken, signal })), tokens }
}

const ADMITS_EVERYBODY: ProviderHealth['warnings'][number] =
  'it admits everybody who has an account there (orgs is empty)'

/** E-mail addresses that are not public, and organizations with their teams. */
const SCOPES = 'user:email read:org'

function authorizationUrl(
  { addresses, clientId, redirectURI }: SourceHostASetup,
  { state, verifier }: AttemptSecrets,
): URL {
  const url = new URL(`${addresses.site}/login/oauth/authorize`)
  url.search = new URLSearchParams({
    client_id: clientId,
    response_type: 'code',
    redirect_uri: redirectURI,
    scope: SCOPES,
    state,
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
  }).toString()
  return url
}
