// A caller that presents a token, as a direct endpoint has it.
import type { TokenCaller } from '../../../src/authn/caller.ts'
import { parseScope } from '../../../src/domain/scope/authorize.ts'
import type { VerifiedToken } from '../../../src/domain/token/verified-token.ts'
import { after, t0 } from '../../support/key-builder.ts'

/** The token of user ada by key `ci`, valid for 100 seconds from t0; parts may differ. */
export const verifiedToken = (parts: Partial<VerifiedToken> = {}): VerifiedToken => ({
  jti: '5f0e7a52-9d0c-4c63-8a55-0d4f5f3a1b22',
  subject: 'user:ada',
  groups: ['authenticated'],
  name: 'ci',
  scope: '*',
  issuedMs: t0,
  expiresMs: after(100),
  ...parts,
})

/** Its caller, without a scope. */
export const TOKEN_CALLER: TokenCaller = {
  token: verifiedToken(),
  identity: { user: 'platform:user:ada', groups: ['platform:authenticated'] },
  scope: parseScope(null),
  expiresMs: after(100),
}
