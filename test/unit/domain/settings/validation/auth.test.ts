import { describe } from 'vitest'
import { type FaultRow, type SoundRow, testFaultsInEverySource } from '../settings-sources.ts'

/** The one provider that a connector needs. */
const idpB = { clientId: 'c' }

const RESERVED = [
  'oidc',
  'sourceHostA',
  'sourceHostB',
  'idpA',
  'idpB',
  'saml',
  'password',
  'login',
  'logout',
]

const header = (name: string) => ({ auth: { customHttpHeaders: { [name]: 'a' } } })

// biome-ignore format: a table
const FAULTS: readonly FaultRow[] = [
  { name: 'negative cap', spec: { auth: { accessKeyMaxTTLSeconds: -1 } },
    path: 'auth.accessKeyMaxTTLSeconds', says: 'negative (-1): write 0 or more' },
  { name: 'negative login lifetime', spec: { auth: { loginAccessKeyTTLSeconds: -5 } },
    path: 'auth.loginAccessKeyTTLSeconds', says: 'negative' },
  { name: 'SAML without a trust setting', spec: { auth: { saml: { ssoURL: 'https://sso' } } },
    path: 'auth.saml', says: 'sets none of them: set exactly one of caData, ca, insecureSkipSignatureValidation' },
  { name: 'SAML with two trust settings', spec: { auth: { saml: { ssoURL: 'https://sso', ca: 'a', caData: 'YQ==' } } }, path: 'auth.saml', says: 'sets caData and ca' },
  { name: 'SAML with certificate and skip', spec: { auth: { saml: { ssoURL: 'https://sso', ca: 'a', insecureSkipSignatureValidation: true } } },
    path: 'auth.saml', says: 'exactly one' },
  { name: 'SAML with skip false only', spec: { auth: { saml: { ssoURL: 'https://sso', insecureSkipSignatureValidation: false } } },
    path: 'auth.saml', says: 'sets none' },
  { name: 'SAML in a connector', spec: { auth: { connectors: [{ id: 'a', saml: { ssoURL: 'https://sso' } }] } },
    path: 'auth.connectors[0].saml', says: 'exactly one' },
  { name: 'SAML certificate that is no base64', spec: { auth: { saml: { ssoURL: 'https://sso', caData: 'not base64' } } },
    path: 'auth.saml.caData', says: 'is not base64' },
  { name: 'idpA without administrator', spec: { auth: { idpA: { clientId: 'c', serviceAccountFilePath: '/f' } } },
    path: 'auth.idpA.adminEmail', says: 'is missing' },
  { name: 'idpA of a connector', spec: { auth: { connectors: [{ id: 'a', idpA: { clientId: 'c', serviceAccountFilePath: '/f' } }] } },
    path: 'auth.connectors[0].idpA.adminEmail', says: 'is missing' },
  { name: 'connector without id', spec: { auth: { connectors: [{ displayName: 'a', idpB }] } },
    path: 'auth.connectors[0].id', says: 'is missing' },
  { name: 'connector with an empty id', spec: { auth: { connectors: [{ id: '', idpB }] } }, path: 'auth.connectors[0].id', says: 'is missing' },
  { name: 'repeated connector id', spec: { auth: { connectors: [{ id: 'a', idpB }, { id: 'b', idpB }, { id: 'a', idpB }] } },
    path: 'auth.connectors[2].id', says: 'the id of connectors[0] too' },
  { name: 'connector id that is no URL segment', spec: { auth: { connectors: [{ id: 'a/b', idpB }] } },
    path: 'auth.connectors[0].id', says: 'is not an id' },
  { name: 'unclosed group in a filter', spec: { auth: { groupsFilters: ['^dev-', '('] } },
    path: 'auth.groupsFilters[1]', says: 'is not a regular expression' },
  { name: 'look-ahead in a filter', spec: { auth: { groupsFilters: ['(?=a)b'] } }, path: 'auth.groupsFilters[0]', says: 'RE2' },
  { name: 'back reference in a filter', spec: { auth: { groupsFilters: ['(a)\\1'] } }, path: 'auth.groupsFilters[0]', says: 'RE2' },
  { name: 'nested repetition in a filter', spec: { auth: { groupsFilters: ['((a{100}){100}){100}'] } },
    path: 'auth.groupsFilters[0]', says: 'RE2' },
  { name: 'a filter that is too long', spec: { auth: { groupsFilters: ['a'.repeat(5000)] } },
    path: 'auth.groupsFilters[0]', says: 'longer than 4096' },
  { name: 'header name with a space', spec: header('X A'), path: 'auth.customHttpHeaders["X A"]', says: 'is not a header name' },
  { name: 'header name with a line break', spec: header('X-A\r\nX-B'),
    path: 'auth.customHttpHeaders["X-A\\r\\nX-B"]', says: 'is not a header name' },
  { name: 'header in two cases', spec: { auth: { customHttpHeaders: { 'X-A': 'a', 'x-a': 'a' } } },
    path: 'auth.customHttpHeaders.x-a', says: 'another spelling' },
  { name: 'name that is not a NameID format', spec: { auth: { saml: { ssoURL: 'https://sso', ca: 'a', nameIDPolicyFormat: 'email' } } },
    path: 'auth.saml.nameIDPolicyFormat', says: 'is not a NameID format: write one of unspecified, emailAddress' },
  { name: 'NameID format of another version',
    spec: { auth: { saml: { ssoURL: 'https://sso', ca: 'a', nameIDPolicyFormat: 'urn:oasis:names:tc:SAML:2.0:nameid-format:emailAddress' } } },
    path: 'auth.saml.nameIDPolicyFormat', says: 'whole URN' },
  { name: 'NameID format of a connector',
    spec: { auth: { connectors: [{ id: 'a', saml: { ssoURL: 'https://sso', ca: 'a', nameIDPolicyFormat: 'Persistent' } }] } },
    path: 'auth.connectors[0].saml.nameIDPolicyFormat', says: 'persistent, transient' },
  { name: 'issuer', spec: { auth: { oidc: { clientId: 'c', issuerUrl: 'issuer.example.com' } } }, path: 'auth.oidc.issuerUrl', says: 'is not a URL' },
  { name: 'issuer without slashes', spec: { auth: { oidc: { clientId: 'c', issuerUrl: 'https:issuer.example.com' } } },
    path: 'auth.oidc.issuerUrl', says: 'is not a URL' },
  { name: 'callback with a space', spec: { auth: { sourceHostA: { clientId: 'c', redirectURI: 'https://a/b c' } } },
    path: 'auth.sourceHostA.redirectURI', says: 'is not a URL' },
  { name: 'address of a connector', spec: { auth: { connectors: [{ id: 'a', sourceHostB: { clientId: 'c', baseURL: 'ftp://a' } }] } },
    path: 'auth.connectors[0].sourceHostB.baseURL', says: 'is not a URL' },
  { name: 'host name with a scheme', spec: { auth: { sourceHostA: { clientId: 'c', hostName: 'https://git' } } },
    path: 'auth.sourceHostA.hostName', says: 'is not a host' },
  { name: 'connector without a provider', spec: { auth: { connectors: [{ id: 'a', displayName: 'A' }] } },
    path: 'auth.connectors[0]', says: 'sets none of them: set exactly one of oidc, sourceHostA, sourceHostB, idpA, idpB, saml' },
  { name: 'connector with an empty provider', spec: { auth: { connectors: [{ id: 'a', oidc: { clientId: '' } }] } },
    path: 'auth.connectors[0]', says: 'sets none of them' },
  { name: 'connector with several providers', spec: { auth: { connectors: [{ id: 'a', idpB }, { id: 'b', idpB, sourceHostA: { clientId: 'c' } }] } },
    path: 'auth.connectors[1]', says: 'sets sourceHostA and idpB: set exactly one of' },
  ...RESERVED.map((id) => ({ name: `connector id ${id}`, spec: { auth: { connectors: [{ id, idpB }] } },
    path: 'auth.connectors[0].id', says: 'is a route of the product itself: choose another than oidc, sourceHostA' })),
  { name: 'callback of another route', spec: { auth: { oidc: { clientId: 'c', issuerUrl: 'https://i', redirectURI: 'https://p/auth/other/callback' } } },
    path: 'auth.oidc.redirectURI', says: 'has another path: write https://<platformHost>/auth/oidc/callback, or leave it out' },
  { name: 'callback below a path', spec: { auth: { sourceHostA: { clientId: 'c', redirectURI: 'https://p/base/auth/sourceHostA/callback' } } },
    path: 'auth.sourceHostA.redirectURI', says: 'has another path' },
  { name: 'callback without a path', spec: { auth: { sourceHostB: { clientId: 'c', redirectURI: 'https://p' } } },
    path: 'auth.sourceHostB.redirectURI', says: 'has another path' },
  { name: 'callback with a slash at the end', spec: { auth: { idpA: { clientId: 'c', redirectURI: 'https://p/auth/idpA/callback/' } } },
    path: 'auth.idpA.redirectURI', says: 'has another path' },
  { name: 'callback with dot segments', spec: { auth: { idpB: { clientId: 'c', redirectURI: 'https://p/x/../auth/idpB/callback' } } },
    path: 'auth.idpB.redirectURI', says: 'has another path' },
  { name: 'callback of a connector that belongs to its provider', spec: { auth: { connectors: [{ id: 'a', saml: { ssoURL: 'https://sso', ca: 'x', redirectURI: 'https://p/auth/saml/callback' } }] } },
    path: 'auth.connectors[0].saml.redirectURI', says: 'has another path: write https://<platformHost>/auth/<id of the connector>/callback' },
]

// biome-ignore format: a table
const SOUND: readonly SoundRow[] = [
  ...['persistent', 'emailAddress', 'urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress',
    'urn:oasis:names:tc:SAML:2.0:nameid-format:transient'].map((nameIDPolicyFormat) => ({
    name: `NameID format ${nameIDPolicyFormat}`, spec: { auth: { saml: { ssoURL: 'https://sso', ca: 'a', nameIDPolicyFormat } } } })),
  { name: 'SAML, each trust setting',
    spec: { auth: { saml: { ssoURL: 'https://sso', ca: 'x' }, connectors: [
      { id: 'a', saml: { ssoURL: 'https://sso', caData: 'YQ==' } },
      { id: 'b', saml: { ssoURL: 'https://sso', insecureSkipSignatureValidation: true, ca: '' } },
    ] } } },
  { name: 'callbacks', spec: { auth: {
    oidc: { clientId: 'c', issuerUrl: 'https://i', redirectURI: 'https://p.example.com:8443/auth/oidc/callback' },
    connectors: [{ id: 'corp.SSO', idpB: { clientId: 'c', redirectURI: 'https://p/auth/corp.SSO/callback?tenant=a' } }] } } },
  { name: 'connector ids like route names', spec: { auth: { connectors: [{ id: 'OIDC', idpB }, { id: 'login2', idpB }] } } },
  { name: 'idpA with administrator', spec: { auth: { idpA: { clientId: 'c', serviceAccountFilePath: '/f', adminEmail: 'a@b' } } } },
  { name: 'filters in Go syntax', spec: { auth: { groupsFilters: ['^(?:dev|ops)-', '(?i)admin', '\\pL+', '(?P<n>a)'] } } },
]

describe('settings of auth (6.5, E9)', () => {
  testFaultsInEverySource(FAULTS, SOUND)
})
