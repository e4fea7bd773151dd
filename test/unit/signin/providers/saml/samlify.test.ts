// A sign-in at samlify, an identity provider of other authors: what a forger in this suite would not notice.
import { createRequire } from 'node:module'
import { describe, expect, test } from 'vitest'
import { NO_END, SECRETS } from '../../../../support/oidc/sign-in.ts'
import {
  CALLBACK,
  IDP,
  inSeconds,
  REQUEST_ID,
  RSA_SHA256,
} from '../../../../support/saml/forger.ts'
import { sharedSamlKey } from '../../../../support/saml/keys.ts'
import { bringBack, caDataOf, samlProvider } from '../../../../support/saml/sign-in.ts'

/** What is used of samlify; its own types bring those of browsers into every file. */
interface Samlify {
  readonly setSchemaValidator: (validator: object) => void
  readonly IdentityProvider: (settings: object) => SamlifyProvider
  readonly ServiceProvider: (settings: object) => object
  readonly SamlLib: { readonly replaceTagsByValue: (xml: string, tags: object) => string }
}
interface SamlifyProvider {
  readonly parseLoginRequest: (
    sp: object,
    binding: string,
    request: object,
  ) => Promise<{
    readonly extract: {
      readonly request: object
      readonly issuer: string
      readonly nameIDPolicy: object
    }
  }>
  readonly createLoginResponse: (
    sp: object,
    request: object,
    binding: string,
    user: object,
    template: (xml: string) => { readonly id: string; readonly context: string },
  ) => Promise<{ readonly context: string }>
}

const samlify = createRequire(import.meta.url)('samlify') as Samlify
samlify.setSchemaValidator({ validate: () => Promise.resolve('not checked') })

const { privateKey, certificatePem } = sharedSamlKey(2048)
const POST = 'urn:oasis:names:tc:SAML:2.0:bindings:HTTP-POST'
const PERSISTENT = 'urn:oasis:names:tc:SAML:2.0:nameid-format:persistent'

/** An identity provider, and what it knows of this product. */
function identityProvider(options: { readonly message: boolean; readonly assertion: boolean }) {
  const idp = samlify.IdentityProvider({
    entityID: IDP,
    privateKey: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    signingCert: certificatePem,
    isAssertionEncrypted: false,
    requestSignatureAlgorithm: RSA_SHA256,
    nameIDFormat: [PERSISTENT],
    singleSignOnService: [{ Binding: POST, Location: 'https://idp.example.com/sso' }],
    singleLogoutService: [{ Binding: POST, Location: 'https://idp.example.com/out' }],
    loginResponseTemplate: {
      context:
        '<samlp:Response xmlns:samlp="urn:oasis:names:tc:SAML:2.0:protocol" ID="{ID}" Version="2.0" IssueInstant="{IssueInstant}" Destination="{Destination}" InResponseTo="{InResponseTo}"><saml:Issuer xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion">{Issuer}</saml:Issuer><samlp:Status><samlp:StatusCode Value="{StatusCode}"/></samlp:Status><saml:Assertion xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion" ID="{AssertionID}" Version="2.0" IssueInstant="{IssueInstant}"><saml:Issuer>{Issuer}</saml:Issuer><saml:Subject><saml:NameID Format="{NameIDFormat}">{NameID}</saml:NameID><saml:SubjectConfirmation Method="urn:oasis:names:tc:SAML:2.0:cm:bearer"><saml:SubjectConfirmationData NotOnOrAfter="{NotOnOrAfter}" Recipient="{Destination}" InResponseTo="{InResponseTo}"/></saml:SubjectConfirmation></saml:Subject><saml:Conditions NotBefore="{NotBefore}" NotOnOrAfter="{NotOnOrAfter}"><saml:AudienceRestriction><saml:Audience>{Audience}</saml:Audience></saml:AudienceRestriction></saml:Conditions>{AttributeStatement}</saml:Assertion></samlp:Response>',
      attributes: [
        {
          name: 'uid',
          valueTag: 'uid',
          nameFormat: 'urn:oasis:names:tc:SAML:2.0:attrname-format:basic',
          valueXsiType: 'xs:string',
        },
      ],
    },
  })
  const sp = samlify.ServiceProvider({
    entityID: CALLBACK,
    wantMessageSigned: options.message,
    messageSigningOrder: 'sign-then-encrypt',
    nameIDFormat: [PERSISTENT],
    assertionConsumerService: [{ Binding: POST, Location: CALLBACK }],
    wantAssertionsSigned: options.assertion,
  })
  return { idp, sp }
}

/** Asks there with our request, and has its answer. */
async function answerOf(options: { readonly message: boolean; readonly assertion: boolean }) {
  const { form } = await samlProvider().begin(SECRETS, NO_END)
  const { idp, sp } = identityProvider(options)
  const { extract } = await idp.parseLoginRequest(sp, 'post', { body: form ?? {} })
  const times = {
    IssueInstant: inSeconds(0),
    NotBefore: inSeconds(-5),
    NotOnOrAfter: inSeconds(300),
  }
  const { context } = await idp.createLoginResponse(sp, { extract }, 'post', {}, (template) => ({
    id: '_samlify',
    context: samlify.SamlLib.replaceTagsByValue(template, {
      ...times,
      ID: '_samlify',
      AssertionID: '_assertion',
      Destination: CALLBACK,
      Audience: CALLBACK,
      Issuer: IDP,
      InResponseTo: REQUEST_ID,
      StatusCode: 'urn:oasis:names:tc:SAML:2.0:status:Success',
      NameIDFormat: PERSISTENT,
      NameID: 'ada-1',
      attrUid: 'ada',
    }),
  }))
  return { extract, response: Buffer.from(context, 'base64').toString() }
}

describe('samlify', () => {
  test('understands the request (25.6)', async () => {
    const { extract } = await answerOf({ message: false, assertion: true })
    expect(extract).toMatchObject({
      request: {
        id: REQUEST_ID,
        destination: 'https://idp.example.com/sso',
        assertionConsumerServiceUrl: CALLBACK,
      },
      issuer: CALLBACK,
      nameIDPolicy: { format: PERSISTENT, allowCreate: 'true' },
    })
  })

  test.each([
    { name: 'the Assertion', options: { message: false, assertion: true }, signatures: 1 },
    { name: 'the Response', options: { message: true, assertion: false }, signatures: 1 },
    { name: 'both', options: { message: true, assertion: true }, signatures: 2 },
  ])('signs a person in who has signed $name (25.6)', async ({ options, signatures }) => {
    const provider = samlProvider({
      usernameAttr: 'uid',
      ssoIssuer: IDP,
      caData: caDataOf(certificatePem),
    })
    const { response } = await answerOf(options)
    expect(response.match(/<\w+:SignatureValue>/g)).toHaveLength(signatures)
    expect(await bringBack(response, provider)).toMatchObject({
      subject: `${IDP}#ada-1`,
      username: 'ada',
    })
    await expect(bringBack(response.replace('>ada<', '>root<'), provider)).rejects.toMatchObject({
      reason: 'provider_answer',
    })
  })
})
