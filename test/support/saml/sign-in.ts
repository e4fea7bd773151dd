// A sign-in at a forged SAML provider, without a browser.
import type { SamlProvider } from '../../../src/api/config.gen.ts'
import type { ProviderIdentity, SignInProvider } from '../../../src/signin/providers/provider.ts'
import { createSamlProvider } from '../../../src/signin/providers/saml/provider.ts'
import { NO_END, SECRETS } from '../oidc/sign-in.ts'
import { optionsFor } from '../providers/options.ts'
import { type Change, changed, type Part, responseXml, type Signing, signedXml } from './forger.ts'
import { sharedSamlKey } from './keys.ts'

type ProviderOptions = Parameters<typeof createSamlProvider>[0]

/** PEM as caData has it. */
export const caDataOf = (...pems: readonly string[]): string =>
  Buffer.from(pems.join('')).toString('base64')

/** A provider of this product, which trusts the key of all tests. */
export const samlProvider = (
  settings: SamlProvider = {},
  options: Partial<ProviderOptions> = {},
): SignInProvider =>
  createSamlProvider({
    ...optionsFor('saml'),
    settings: {
      ssoURL: 'https://idp.example.com/sso',
      caData: caDataOf(
        sharedSamlKey('P-256').certificatePem,
        sharedSamlKey(2048).certificatePem,
        sharedSamlKey('P-384').certificatePem,
        sharedSamlKey('P-521').certificatePem,
      ),
      ...settings,
    },
    ...options,
  })

let shared: SignInProvider | null = null

/** One provider with usual settings for all tests of a process: its thread starts once. */
export const usualProvider = (): SignInProvider => (shared ??= samlProvider())

/** A message: what is changed before it is signed, what is signed and how, and what is changed then. */
export interface Forgery {
  readonly changes?: readonly Change[]
  readonly parts?: readonly Part[]
  readonly signing?: Signing
  readonly tampered?: (xml: string) => string
}

/** The XML of a message. An Assertion is signed before the Response around it. */
export function forged({
  changes = [],
  parts = ['Assertion'],
  signing = {},
  tampered = (xml) => xml,
}: Forgery = {}): string {
  const order = (['Assertion', 'Response'] as const).filter((part) => parts.includes(part))
  return tampered(
    order.reduce((xml, part) => signedXml(xml, part, signing), changed(responseXml(), changes)),
  )
}

/** Brings XML back as a browser does. */
export const bringBack = (
  xml: string | Buffer,
  provider = usualProvider(),
): Promise<ProviderIdentity> =>
  provider.finish(
    {
      parameters: new URLSearchParams({
        SAMLResponse: Buffer.from(xml).toString('base64'),
        RelayState: SECRETS.state,
      }),
    },
    SECRETS,
    NO_END,
  )

/** Signs in by a message. */
export const samlSignIn = (forgery: Forgery = {}, provider?: SignInProvider) =>
  bringBack(forged(forgery), provider)
