// The clients of Keycloak that speak SAML: one for each part that may be signed.
import { CALLBACK } from './forger.ts'

/** What each client has signed; the name of the client is `urn:platform:` and this. */
export const SIGNED_BY_KEYCLOAK = ['assertion', 'response', 'both', 'nothing'] as const

const mapper = (
  name: string,
  protocolMapper: string,
  config: Readonly<Record<string, string>>,
): object => ({
  name,
  protocol: 'saml',
  protocolMapper,
  config: { 'attribute.name': name, 'attribute.nameformat': 'Basic', ...config },
})

/** The clients, as the file of a realm has them. */
export const SAML_CLIENTS = SIGNED_BY_KEYCLOAK.map((signed) => ({
  clientId: `urn:platform:${signed}`,
  protocol: 'saml',
  redirectUris: [CALLBACK],
  attributes: {
    'saml.assertion.signature': String(['assertion', 'both'].includes(signed)),
    'saml.server.signature': String(['response', 'both'].includes(signed)),
    'saml.client.signature': 'false',
    'saml.signature.algorithm': 'RSA_SHA256',
    saml_signature_canonicalization_method: 'http://www.w3.org/2001/10/xml-exc-c14n#',
    'saml.force.post.binding': 'true',
    'saml.authnstatement': 'true',
    'saml.encrypt': 'false',
    saml_name_id_format: 'persistent',
    saml_force_name_id_format: 'true',
  },
  protocolMappers: [
    mapper('uid', 'saml-user-property-mapper', { 'user.attribute': 'username' }),
    mapper('mail', 'saml-user-property-mapper', { 'user.attribute': 'email' }),
    mapper('groups', 'saml-group-membership-mapper', { 'full.path': 'false', single: 'true' }),
  ],
}))
