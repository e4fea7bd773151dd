// A sign-in at Keycloak, whose signatures are made by Apache Santuario: another implementation of canonical forms.
import { afterAll, expect, test } from 'vitest'
import type { SamlProvider } from '../../../../../src/api/config.gen.ts'
import { ensureKeycloak } from '../../../../../tools/keycloak/program.ts'
import { postToKeycloak, startKeycloak } from '../../../../support/oidc/keycloak.ts'
import { NO_END, SECRETS } from '../../../../support/oidc/sign-in.ts'
import { prepareWith, programOrSkip } from '../../../../support/program-or-skip.ts'
import { samlProvider } from '../../../../support/saml/sign-in.ts'

const program = await programOrSkip(ensureKeycloak)
let keycloak: Awaited<ReturnType<typeof startKeycloak>> | null = null
prepareWith([program], async () => (keycloak = await startKeycloak(program)), 700_000)
afterAll(() => keycloak?.stop())
const issuerOf = (): string => keycloak?.issuer ?? ''

/** A provider of this product for a client of Keycloak, by the certificate that Keycloak publishes. */
async function providerOf(client: string, settings: SamlProvider = {}) {
  const descriptor = await fetch(`${issuerOf()}/protocol/saml/descriptor`)
  const [, caData = ''] = /X509Certificate>([^<]+)</.exec(await descriptor.text()) ?? []
  return samlProvider({
    ssoURL: `${issuerOf()}/protocol/saml`,
    ssoIssuer: issuerOf(),
    caData,
    entityIssuer: `urn:platform:${client}`,
    usernameAttr: 'uid',
    emailAttr: 'mail',
    groupsAttr: 'groups',
    ...settings,
  })
}

/** Signs in as ada. */
async function finished(provider: Awaited<ReturnType<typeof providerOf>>) {
  const { url, form } = await provider.begin(SECRETS, NO_END)
  const parameters = await postToKeycloak(url, form ?? {})
  expect(parameters.get('RelayState')).toBe(SECRETS.state)
  return provider.finish({ parameters }, SECRETS, NO_END)
}

test.each(['assertion', 'response', 'both'])(
  'a person of Keycloak signs in with the signature of: %s (25.6)',
  async (client) => {
    const identity = await finished(await providerOf(client))
    expect(identity).toMatchObject({
      subject: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/realms\/staff#G-[0-9a-f-]{36}$/),
      username: 'ada',
      email: 'ada@example.com',
      emailVerified: false,
    })
    expect(identity.groups.map(({ name }) => name).toSorted()).toEqual(['developers', 'sre'])
  },
)

test('a person of Keycloak has one subject at each sign-in (24.3, 25.6)', async () => {
  const provider = await providerOf('both')
  expect((await finished(provider)).subject).toBe((await finished(provider)).subject)
})

test('a message of Keycloak without a signature is refused (25.6, SI)', async () => {
  await expect(finished(await providerOf('nothing'))).rejects.toMatchObject({
    reason: 'provider_answer',
    because: 'the Response or its Assertion must be signed',
  })
})

test('a person of Keycloak in none of the groups is refused (25.6, SD)', async () => {
  const provider = await providerOf('assertion', { allowedGroups: ['staff'] })
  await expect(finished(provider)).rejects.toMatchObject({ reason: 'groups_required' })
})
