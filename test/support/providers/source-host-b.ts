// A stand-in of GitLab, after docs.gitlab.com/integration/openid_connect_provider: the ID token has `sub`, e-mail and
// `groups_direct`; names and `groups` are in userinfo alone.
import type { SourceHostBProvider } from '../../../src/api/config.gen.ts'
import type { ProviderAddresses } from '../../../src/signin/providers/addresses.ts'
import type { ProviderIdentity, SignInProvider } from '../../../src/signin/providers/provider.ts'
import { createSourceHostBProvider } from '../../../src/signin/providers/source-host-b/provider.ts'
import { CLIENT_ID, type ForgedProvider, startForgedProvider } from '../oidc/forged-provider.ts'
import { optionsFor } from './options.ts'
import { finishAt } from './sign-in.ts'

const ID_TOKEN = {
  sub: '4711',
  name: 'Ada Lovelace',
  preferred_username: undefined,
  groups: undefined,
  groups_direct: ['staff'],
}

/** A person in userinfo, as GitLab has it. */
export const USERINFO = {
  sub: '4711',
  name: 'Ada Lovelace',
  nickname: 'ada',
  preferred_username: 'ada',
  email: 'ada@example.com',
  email_verified: true,
  profile: 'https://gitlab.com/ada',
  picture: 'https://gitlab.com/uploads/-/system/user/avatar/4711/a.png',
  groups: ['staff', 'staff/sre', 'guests'],
  'https://gitlab.org/claims/groups/owner': ['guests'],
}

/** Starts one, which stops when the test ends. */
export async function startSourceHostB(path = ''): Promise<ForgedProvider> {
  const forger = await startForgedProvider(null, path)
  forger.userinfo = USERINFO
  return forger
}

/** A provider of this product. */
export const sourceHostB = (
  settings: SourceHostBProvider,
  addresses: Partial<ProviderAddresses> = {},
): SignInProvider =>
  createSourceHostBProvider({
    ...optionsFor('sourceHostB', addresses),
    settings: { clientId: CLIENT_ID, clientSecret: 'a secret', ...settings },
  })

/** Signs in at a stand-in. */
export const signInAtB = (
  forger: ForgedProvider,
  settings: SourceHostBProvider = {},
  claims: Readonly<Record<string, unknown>> = {},
): Promise<ProviderIdentity> =>
  finishAt(sourceHostB({ baseURL: forger.issuer, ...settings }), forger, { ...ID_TOKEN, ...claims })
