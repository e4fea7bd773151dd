import { afterAll, expect, test } from 'vitest'
import { GrantEnded } from '../../../../../src/domain/signin/refusals.ts'
import { ensureKeycloak } from '../../../../../tools/keycloak/program.ts'
import {
  KEYCLOAK_CALLBACK,
  KEYCLOAK_SECRET,
  revokeAtKeycloak,
  signInAtKeycloak,
  startKeycloak,
} from '../../../../support/oidc/keycloak.ts'
import { accountOf, askAgain } from '../../../../support/oidc/refresh.ts'
import { beginAt, NO_END, providerFor, SECRETS } from '../../../../support/oidc/sign-in.ts'
import { prepareWith, programOrSkip } from '../../../../support/program-or-skip.ts'

const program = await programOrSkip(ensureKeycloak)
let keycloak: Awaited<ReturnType<typeof startKeycloak>> | null = null
prepareWith([program], async () => (keycloak = await startKeycloak(program)), 700_000)
afterAll(() => keycloak?.stop())
const issuerOf = (): string => keycloak?.issuer ?? ''

test('a person of Keycloak signs in, by a code that is good once (25.6, SA)', async () => {
  const provider = providerFor(issuerOf(), { clientSecret: KEYCLOAK_SECRET, getUserInfo: true })
  const back = await signInAtKeycloak(await beginAt(provider))
  expect(back.href.startsWith(KEYCLOAK_CALLBACK)).toBe(true)
  expect(back.searchParams.get('iss')).toBe(issuerOf())
  const callback = { parameters: back.searchParams }
  const identity = await provider.finish(callback, SECRETS, NO_END)
  expect(identity).toMatchObject({
    subject: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/realms\/staff#[0-9a-f-]{36}$/),
    username: 'ada',
    displayName: 'Ada Lovelace',
    email: 'ada@example.com',
    emailVerified: true,
  })
  expect(identity.groups.map(({ name }) => name).toSorted()).toEqual(['developers', 'sre'])
  await expect(provider.finish(callback, SECRETS, NO_END)).rejects.toMatchObject({
    reason: 'provider_refused',
    detail: 'invalid_grant',
  })
})

test('a person of Keycloak is asked for again, until the token is revoked there (25.7)', async () => {
  const provider = providerFor(issuerOf(), { clientSecret: KEYCLOAK_SECRET, getUserInfo: true })
  const back = await signInAtKeycloak(await beginAt(provider))
  const identity = await provider.finish({ parameters: back.searchParams }, SECRETS, NO_END)
  const account = accountOf(identity)
  const { outcome, kept } = await askAgain(provider, account)
  const { tokens: _, ...person } = identity
  expect(outcome).toMatchObject(person)
  const [tokens = account.tokens] = kept
  expect(tokens.refreshToken).not.toBe(account.tokens.refreshToken)
  await revokeAtKeycloak(issuerOf(), tokens.refreshToken ?? '')
  const gone = await askAgain(provider, { ...account, tokens })
  expect(gone.outcome).toBeInstanceOf(GrantEnded)
  expect(gone.kept).toEqual([])
})

test('a client that Keycloak does not know cannot be used (25.5)', async () => {
  const provider = providerFor(issuerOf(), { clientSecret: 'another' })
  const back = await signInAtKeycloak(await beginAt(provider))
  await expect(
    provider.finish({ parameters: back.searchParams }, SECRETS, NO_END),
  ).rejects.toMatchObject({ reason: 'provider_unusable' })
  const other = providerFor(`${issuerOf()}/`)
  expect(await other.check(NO_END)).toMatchObject({
    fault: 'the discovery document names another issuer than issuerUrl',
  })
})
