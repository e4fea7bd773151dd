import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { X509Certificate } from 'node:crypto'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { SamlProvider } from '../../../../../src/api/config.gen.ts'
import { isNamed, onlyChild, PROTOCOL } from '../../../../../src/signin/providers/saml/elements.ts'
import { readXml } from '../../../../../src/signin/providers/saml/xml.ts'
import { manualClock } from '../../../../support/manual-clock.ts'
import { NO_END, SECRETS } from '../../../../support/oidc/sign-in.ts'
import { CALLBACK, REQUEST_ID } from '../../../../support/saml/forger.ts'
import { samlKey, sharedSamlKey } from '../../../../support/saml/keys.ts'
import { caDataOf, samlProvider, samlSignIn } from '../../../../support/saml/sign-in.ts'

const ASSERTION = 'urn:oasis:names:tc:SAML:2.0:assertion'
const FORMAT = 'urn:oasis:names:tc:SAML:2.0:nameid-format:'
const OLDER_FORMAT = 'urn:oasis:names:tc:SAML:1.1:nameid-format:'

/** The request that a browser posts, read by our own reader. */
async function requestOf(settings: SamlProvider = {}) {
  const { url, form } = await samlProvider(settings).begin(SECRETS, NO_END)
  const request = readXml(Buffer.from(form?.['SAMLRequest'] ?? '', 'base64').toString())
  const policy = onlyChild(request, PROTOCOL, 'NameIDPolicy')
  const { IssueInstant, ...attributes } = Object.fromEntries(request.attributes)
  return {
    url: url.href,
    state: form?.['RelayState'],
    isRequest: isNamed(request, PROTOCOL, 'AuthnRequest'),
    issuedMs: Date.parse(IssueInstant ?? ''),
    attributes,
    issuer: onlyChild(request, ASSERTION, 'Issuer')?.text,
    policy: Object.fromEntries(policy?.attributes ?? []),
  }
}

describe('the request that a browser posts', () => {
  test('has ID, addresses and NameIDPolicy, and the state beside it (25.6)', async () => {
    const { issuedMs, ...request } = await requestOf()
    expect(Math.abs(issuedMs - Date.now())).toBeLessThan(60_000)
    expect(request).toEqual({
      url: 'https://idp.example.com/sso',
      state: SECRETS.state,
      isRequest: true,
      attributes: {
        ID: REQUEST_ID,
        Version: '2.0',
        Destination: 'https://idp.example.com/sso',
        AssertionConsumerServiceURL: CALLBACK,
        ProtocolBinding: 'urn:oasis:names:tc:SAML:2.0:bindings:HTTP-POST',
      },
      issuer: CALLBACK,
      policy: { Format: `${FORMAT}persistent`, AllowCreate: 'true' },
    })
  })

  test.each<{ name: string; settings: SamlProvider; request: object }>([
    {
      name: 'entityIssuer as the Issuer',
      settings: { entityIssuer: 'urn:platform' },
      request: { issuer: 'urn:platform' },
    },
    {
      name: 'redirectURI as it is',
      settings: { redirectURI: 'https://Platform.example.com:443/auth/saml/callback' },
      request: {
        attributes: {
          AssertionConsumerServiceURL: 'https://Platform.example.com:443/auth/saml/callback',
        },
        issuer: 'https://Platform.example.com:443/auth/saml/callback',
      },
    },
    {
      name: 'ssoURL with its query',
      settings: { ssoURL: 'https://idp.example.com/sso?a=1&b=2' },
      request: {
        url: 'https://idp.example.com/sso?a=1&b=2',
        attributes: { Destination: 'https://idp.example.com/sso?a=1&b=2' },
      },
    },
    {
      name: 'ssoURL on loopback without TLS',
      settings: { ssoURL: 'http://127.0.0.1:8080/sso' },
      request: { url: 'http://127.0.0.1:8080/sso' },
    },
    {
      name: 'a format by its last part',
      settings: { nameIDPolicyFormat: 'emailAddress' },
      request: { policy: { Format: `${OLDER_FORMAT}emailAddress` } },
    },
    {
      name: 'a format in full',
      settings: { nameIDPolicyFormat: `${OLDER_FORMAT}unspecified` },
      request: { policy: { Format: `${OLDER_FORMAT}unspecified` } },
    },
    {
      name: 'no markup of the settings',
      settings: { entityIssuer: `<a b="'&\n">]]>` },
      request: { issuer: `<a b="'&\n">]]>` },
    },
  ])('has $name (25.2, 25.6)', async ({ settings, request }) => {
    expect(await requestOf(settings)).toMatchObject(request)
  })
})

const unusable = async (
  settings: SamlProvider,
  options: Parameters<typeof samlProvider>[1] = {},
) => {
  const provider = samlProvider(settings, options)
  const refused = provider.begin(SECRETS, NO_END)
  await expect(refused).rejects.toMatchObject({ reason: 'provider_unusable' })
  await expect(samlSignIn({}, provider)).rejects.toMatchObject({ reason: 'provider_unusable' })
  return (await provider.check(NO_END)).fault
}

describe('settings that cannot be used', () => {
  const weak = caDataOf(samlKey(1024).certificatePem)
  const other = caDataOf(samlKey('secp256k1').certificatePem)
  const certificates = 'caData must have 1 to 20 certificates in PEM, or one in DER'
  const keys =
    'caData has a key that is neither RSA of 2048 bits or more nor on P-256, P-384 or P-521'
  const sso = 'ssoURL must be an https URL without password'
  const pem = sharedSamlKey('P-256').certificatePem
  const der = new X509Certificate(pem).raw
  test.each<{ name: string; settings: SamlProvider; fault: string }>([
    {
      name: 'no check of signatures',
      settings: { insecureSkipSignatureValidation: true },
      fault:
        'unsigned assertions are not accepted: take insecureSkipSignatureValidation away, and set caData or ca',
    },
    {
      name: 'no certificate',
      settings: { caData: '' },
      fault: 'caData and ca are absent: one of them must have a certificate',
    },
    { name: 'a certificate that is none', settings: { caData: 'AAAA' }, fault: certificates },
    {
      name: 'a key in place of a certificate',
      settings: {
        caData: caDataOf(
          sharedSamlKey('P-256').privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
        ),
      },
      fault: certificates,
    },
    {
      name: 'a certificate that is malformed beside a good one',
      settings: {
        caData: caDataOf(pem, '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n'),
      },
      fault: certificates,
    },
    {
      name: 'a certificate that is not base64 beside a good one',
      settings: {
        caData: caDataOf(pem, '-----BEGIN CERTIFICATE-----\nA-A\n-----END CERTIFICATE-----\n'),
      },
      fault: certificates,
    },
    {
      name: 'a certificate of another label beside a good one',
      settings: { caData: caDataOf(pem, pem.replaceAll(' CERT', ' TRUSTED CERT')) },
      fault: certificates,
    },
    {
      name: 'a certificate without its end beside a good one',
      settings: { caData: caDataOf('-----BEGIN CERTIFICATE-----\nAAAA\n', pem) },
      fault: certificates,
    },
    {
      name: 'two certificates in DER',
      settings: { caData: Buffer.concat([der, der]).toString('base64') },
      fault: certificates,
    },
    {
      name: '21 certificates',
      settings: { caData: caDataOf(...Array.from({ length: 21 }, () => pem)) },
      fault: certificates,
    },
    { name: 'a weak key', settings: { caData: weak }, fault: keys },
    { name: 'a key on another curve', settings: { caData: other }, fault: keys },
    { name: 'no ssoURL', settings: { ssoURL: '' }, fault: sso },
    {
      name: 'an ssoURL without TLS',
      settings: { ssoURL: 'http://idp.example.com/sso' },
      fault: sso,
    },
    { name: 'an ssoURL of a script', settings: { ssoURL: 'javascript:alert(1)' }, fault: sso },
    {
      name: 'an ssoURL with a password',
      settings: { ssoURL: 'https://a:b@idp.example.com/sso' },
      fault: sso,
    },
    {
      name: 'a redirect URI without a host',
      settings: { redirectURI: '/auth' },
      fault: 'redirectURI must be a URL',
    },
    {
      name: 'a format that does not exist',
      settings: { nameIDPolicyFormat: 'toString' },
      fault: 'nameIDPolicyFormat must be a format of SAML',
    },
  ])('$name is refused at each use (25.5, 25.6)', async ({ settings, fault }) => {
    expect(await unusable(settings)).toBe(fault)
  })

  test('a certificate outside of its time is refused, and another beside it works (25.6)', async () => {
    const nowMs = Date.now()
    const ended = samlKey('P-256', { nowMs: nowMs - 86_400_000, untilMs: nowMs - 1000 })
    const later = samlKey('P-256', { nowMs: nowMs + 86_400_000 })
    for (const { certificatePem } of [ended, later])
      expect(await unusable({ caData: caDataOf(certificatePem) })).toBe(
        'caData has no certificate that is valid now',
      )
    const caData = caDataOf(ended.certificatePem, sharedSamlKey('P-256').certificatePem)
    const provider = samlProvider({ caData })
    expect(await samlSignIn({}, provider)).toMatchObject({ userId: 'ada-1' })
    await expect(samlSignIn({ signing: { key: ended } }, provider)).rejects.toMatchObject({
      reason: 'provider_answer',
    })
  })
})

describe('certificates', () => {
  const { certificatePem } = sharedSamlKey('P-256')
  const der = new X509Certificate(certificatePem).raw

  test.each<{ name: string; caData: string }>([
    { name: 'one in PEM', caData: caDataOf(certificatePem) },
    { name: 'one in DER', caData: der.toString('base64') },
    { name: 'one in DER, in lines', caData: der.toString('base64').replaceAll(/.{64}/g, '$&\n') },
    {
      name: 'the second of two in PEM',
      caData: caDataOf(samlKey('P-256').certificatePem, certificatePem),
    },
    {
      name: 'one with text around it',
      caData: caDataOf('of the provider\n', certificatePem, 'the end\n'),
    },
    { name: '20 in PEM', caData: caDataOf(...Array.from({ length: 20 }, () => certificatePem)) },
  ])('of caData sign: $name (25.6)', async ({ caData }) => {
    expect(await samlSignIn({}, samlProvider({ caData }))).toMatchObject({ userId: 'ada-1' })
  })

  test('of a file sign, and the file is read again after it has changed (25.6, SJ)', async () => {
    const filesDir = await mkdtemp(join(tmpdir(), 'saml-'))
    onTestFinished(() => rm(filesDir, { recursive: true }))
    const ca = join(filesDir, 'idp.crt')
    const settings = { ca, caData: '' }
    expect(await unusable(settings, { filesDir })).toBe(`ca ${ca} cannot be read`)
    await writeFile(ca, der)
    const provider = samlProvider(settings, { filesDir })
    expect(await samlSignIn({}, provider)).toMatchObject({ userId: 'ada-1' })
    await writeFile(ca, samlKey('P-256').certificatePem)
    await expect(samlSignIn({}, provider)).rejects.toMatchObject({ reason: 'provider_answer' })
    await writeFile(ca, certificatePem)
    expect(await samlSignIn({}, provider)).toMatchObject({ userId: 'ada-1' })
    await writeFile(ca, 'a secret')
    expect(await unusable(settings, { filesDir })).toBe(
      'ca must have 1 to 20 certificates in PEM, or one in DER',
    )
    expect(await unusable({ ca: '/etc/passwd', caData: '' }, { filesDir })).toBe(
      'ca /etc/passwd is not in the directory of --files-dir',
    )
  })

  test('are reported when they end within 30 days (27.1)', async () => {
    const nowMs = Date.parse('2026-03-01T00:00:00Z')
    const clock = manualClock(nowMs)
    const { certificatePem: ending } = samlKey('P-256', {
      nowMs,
      untilMs: Date.parse('2026-04-01T00:00:00Z'),
    })
    const { certificatePem: later } = samlKey('P-256', {
      nowMs,
      untilMs: Date.parse('2027-04-01T00:00:00Z'),
    })
    const provider = samlProvider({ caData: caDataOf(ending, later) }, { clock })
    expect(await provider.check(NO_END)).toEqual({ fault: null, warnings: [] })
    await clock.advance(2 * 86_400_000)
    expect(await provider.check(NO_END)).toEqual({
      fault: null,
      warnings: ['a certificate of caData ends on 2026-04-01'],
    })
  })
})

test('the button has displayName, else the host of the provider (25.2)', () => {
  expect(samlProvider({}, { displayName: 'Staff' }).label).toBe('Staff')
  expect(samlProvider().label).toBe('SAML (idp.example.com)')
  expect(samlProvider({ ssoURL: 'idp' }).label).toBe('SAML (saml)')
})

test('a session cannot be ended at the provider, and the answer comes by a form (25.2, 25.3)', async () => {
  const provider = samlProvider()
  expect(await provider.endSession(null, NO_END)).toBeNull()
  expect(provider).toMatchObject({
    id: 'saml',
    kind: 'saml',
    binding: { method: 'POST', stateParameter: 'RelayState' },
  })
})
