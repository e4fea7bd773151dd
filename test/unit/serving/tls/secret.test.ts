import { X509Certificate } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import type { Secret } from '../../../../src/api/objects.ts'
import {
  isSignedBy,
  type ValidCertificatePair,
  validateCertificatePair,
} from '../../../../src/serving/tls/key-pair.ts'
import {
  authoritySecret,
  certificateStep,
  hostsOf,
  OUR_COMMON_NAME,
  parseAuthoritySecret,
  parseServingSecret,
  serverSecret,
} from '../../../../src/serving/tls/secret.ts'
import { oneKeySecret, serverPair } from '../../../support/certificate-builder.ts'

type CertificateSecrets = Parameters<typeof certificateStep>[0]

type ServingCertificateData = Exclude<ReturnType<typeof parseServingSecret>, string>

const DAY_MS = 86_400_000
const NOW_MS = Date.parse('2026-11-21T10:00:00Z')

const metadata = {
  namespace: 'n',
  uid: 'u',
  resourceVersion: '1',
  creationTimestamp: '2026-11-21T10:00:00Z',
}
const stored = (secret: Omit<Secret, 'metadata'> & { metadata: { name: string } }): Secret => ({
  ...secret,
  metadata: { ...metadata, ...secret.metadata },
})

function unlessFault<Found extends object>(found: Found | string): Found {
  if (typeof found === 'string') throw new Error(found)
  return found
}

const authorityOf = async (nowMs = NOW_MS): Promise<ValidCertificatePair> =>
  unlessFault(parseAuthoritySecret(stored(await authoritySecret('n', null, nowMs))))
const authority = await authorityOf()
const serverOf = async (
  hosts: readonly string[],
  under = authority,
  nowMs = NOW_MS,
): Promise<ServingCertificateData> =>
  unlessFault(
    parseServingSecret(stored(await serverSecret('n', { hosts, authority: under }, nowMs))),
  )

const server = await serverOf(['localhost', '::1'])
const { pair } = server
const generated = { authority, server }
const administratorPair = {
  pair: validateCertificatePair(serverPair('www')) as ValidCertificatePair,
  authorityPem: '',
}
const otherAuthority = await authorityOf()
const oneKey = oneKeySecret(['localhost'], NOW_MS)
const oneKeyServer: ServingCertificateData = {
  pair: unlessFault(
    validateCertificatePair({ certificatePem: oneKey['tls.crt'], keyPem: oneKey['tls.key'] }),
  ),
  authorityPem: oneKey['ca.crt'],
}
const oldAuthority = unlessFault(
  validateCertificatePair({
    certificatePem: oneKeyServer.authorityPem,
    keyPem: oneKeyServer.pair.keyPem,
  }),
)
const THIRD = (365 * 2) / 3

interface Row {
  readonly name: string
  readonly found: CertificateSecrets
  readonly wanted: readonly string[]
  readonly afterDays: number
  readonly step: object
}

// biome-ignore format: a table
test.each<Row>([
  { name: 'no Secret: an authority is created first', found: { authority: null, server: null }, wanted: ['a'], afterDays: 0, step: { kind: 'establish', authority: null } },
  { name: 'only an authority: it signs a certificate', found: { authority, server: null }, wanted: ['a'], afterDays: 0, step: { kind: 'issue', hosts: ['a'], authority } },
  { name: 'a generated certificate: served', found: generated, wanted: ['::1', 'localhost'], afterDays: 0, step: { kind: 'serve', pair } },
  { name: 'a generated certificate with more hosts: served', found: generated, wanted: ['::1'], afterDays: 0, step: { kind: 'serve', pair } },
  { name: 'a generated certificate without a wanted host: issued for the old and the new hosts', found: generated, wanted: ['::1', 'a'], afterDays: 0, step: { kind: 'issue', hosts: ['localhost', '::1', 'a'], authority } },
  { name: 'a generated certificate with more than a third of its life left: served', found: generated, wanted: ['::1'], afterDays: THIRD - 0.1, step: { kind: 'serve', pair } },
  { name: 'a generated certificate with less than a third of its life left: replaced, for the wanted hosts only', found: generated, wanted: ['::1'], afterDays: THIRD + 0.1, step: { kind: 'issue', hosts: ['::1'], authority } },
  { name: 'an expired generated certificate: replaced', found: generated, wanted: ['::1'], afterDays: 400, step: { kind: 'issue', hosts: ['::1'], authority } },
  { name: 'an authority with more than a third of its life left: kept', found: generated, wanted: ['::1'], afterDays: THIRD * 10 - 1, step: { kind: 'issue', hosts: ['::1'], authority } },
  { name: 'an authority with less than a third of its life left: replaced', found: generated, wanted: ['::1'], afterDays: THIRD * 10 + 1, step: { kind: 'establish', authority: null } },
  { name: 'a certificate of another authority: replaced', found: { authority: otherAuthority, server }, wanted: ['::1'], afterDays: 0, step: { kind: 'issue', hosts: ['::1'], authority: otherAuthority } },
  { name: 'a certificate of another authority, stored with the right ca.crt: replaced', found: { authority: otherAuthority, server: { pair, authorityPem: otherAuthority.certificatePem } }, wanted: ['::1'], afterDays: 0, step: { kind: 'issue', hosts: ['::1'], authority: otherAuthority } },
  { name: 'a certificate without ca.crt, which clients need: replaced', found: { authority, server: { pair, authorityPem: '' } }, wanted: ['::1'], afterDays: 0, step: { kind: 'issue', hosts: ['::1'], authority } },
  { name: 'a missing authority: a new one', found: { authority: null, server }, wanted: ['::1'], afterDays: 0, step: { kind: 'establish', authority: null } },
  { name: 'one key for authority and certificate: the authority moves to its own Secret', found: { authority: null, server: oneKeyServer }, wanted: ['localhost'], afterDays: 0, step: { kind: 'establish', authority: oldAuthority } },
  { name: 'one key for both, after the authority moved: a certificate with its own key is issued', found: { authority: oldAuthority, server: oneKeyServer }, wanted: ['localhost'], afterDays: 0, step: { kind: 'issue', hosts: ['localhost'], authority: oldAuthority } },
  { name: 'one key for both, with another authority: a new authority', found: { authority: null, server: { ...oneKeyServer, authorityPem: authority.certificatePem } }, wanted: ['localhost'], afterDays: 0, step: { kind: 'establish', authority: null } },
  { name: 'a certificate of an administrator: served, whatever its hosts, end and authority', found: { authority: 'is garbled', server: administratorPair }, wanted: ['a'], afterDays: 400, step: { kind: 'serve', pair: administratorPair.pair } },
  { name: 'a certificate that can’t be served: left alone', found: { authority, server: 'is garbled' }, wanted: ['a'], afterDays: 0, step: { kind: 'unusable', secret: 'platform-gateway-tls', because: 'is garbled' } },
  { name: 'an authority that can’t sign: left alone', found: { authority: 'is garbled', server }, wanted: ['a'], afterDays: 0, step: { kind: 'unusable', secret: 'platform-gateway-ca', because: 'is garbled' } },
])('$name (9.7)', ({ found, wanted, afterDays, step }) => {
  expect(certificateStep(found, wanted, NOW_MS + afterDays * DAY_MS)).toEqual(step)
})

describe('the Secrets (9.7)', () => {
  test('include the authority: its certificate for ten years, and its key', async () => {
    const secret = await authoritySecret('n', null, NOW_MS)
    expect(secret).toMatchObject({
      metadata: { name: 'platform-gateway-ca', namespace: 'n' },
      type: 'kubernetes.io/tls',
    })
    expect(Object.keys(secret.data).toSorted()).toEqual(['tls.crt', 'tls.key'])
    expect(authority.notAfterMs).toBe(NOW_MS + 3650 * DAY_MS)
    expect(new X509Certificate(authority.certificatePem).ca).toBe(true)
  })

  test('of the certificate: for a year, with its own key and the authority’s certificate', async () => {
    const secret = await serverSecret('n', { hosts: ['localhost'], authority }, NOW_MS)
    expect(secret).toMatchObject({
      metadata: { name: 'platform-gateway-tls', namespace: 'n' },
      type: 'kubernetes.io/tls',
    })
    expect(Object.keys(secret.data).toSorted()).toEqual(['ca.crt', 'tls.crt', 'tls.key'])
    expect(server).toMatchObject({
      pair: {
        commonName: OUR_COMMON_NAME,
        hosts: ['localhost', '::1'],
        notAfterMs: NOW_MS + 365 * DAY_MS,
      },
      authorityPem: authority.certificatePem,
    })
    expect(isSignedBy(pair.certificatePem, authority.certificatePem)).toBe(true)
    expect(pair.keyPem).not.toBe(authority.keyPem)
  })

  test('a certificate ends with its authority at the latest', async () => {
    const late = await serverOf(['a'], authority, authority.notAfterMs - DAY_MS)
    expect(late.pair.notAfterMs).toBe(authority.notAfterMs)
  })

  test('each certificate has a new key', async () => {
    expect((await serverOf(['localhost'])).pair.keyPem).not.toBe(pair.keyPem)
  })

  test('an authority that moves is stored unchanged', async () => {
    expect(parseAuthoritySecret(stored(await authoritySecret('n', oldAuthority, NOW_MS)))).toEqual(
      oldAuthority,
    )
  })

  test.each<{ readonly data: Readonly<Record<string, string>>; readonly because: string }>([
    { data: {}, because: 'the certificate is not a PEM certificate' },
    { data: { 'tls.crt': '', 'tls.key': '' }, because: 'the certificate is not a PEM certificate' },
    { data: { 'tls.crt': 'AAAA' }, because: 'the certificate is not a PEM certificate' },
  ])('with $data are unusable', async ({ data, because }) => {
    expect(
      parseServingSecret(
        stored({ ...(await serverSecret('n', { hosts: ['a'], authority }, NOW_MS)), data }),
      ),
    ).toBe(because)
    expect(
      parseAuthoritySecret(stored({ ...(await authoritySecret('n', null, NOW_MS)), data })),
    ).toBe(because)
  })

  test('a certificate of another program is not an authority', async () => {
    const { certificatePem, keyPem } = serverPair('www')
    const data = { 'tls.crt': btoa(certificatePem), 'tls.key': btoa(keyPem) }
    expect(
      parseAuthoritySecret(stored({ ...(await authoritySecret('n', null, NOW_MS)), data })),
    ).toBe('the certificate is not one of our authorities')
  })
})

describe('the hosts of a generated certificate (contract 9.7)', () => {
  const always = ['localhost', '127.0.0.1', '::1', 'gateway', 'gateway.n.svc']

  // biome-ignore format: a table
  test.each([
    { name: 'no URLs', urls: [null, null], hosts: always },
    { name: 'issuer and platform', urls: ['https://i.example.com/oidc', 'https://p.example.com:8443'], hosts: ['i.example.com', 'p.example.com', ...always] },
    { name: 'issuer and platform with the same host', urls: ['https://p.example.com/oidc', 'https://p.example.com'], hosts: ['p.example.com', ...always] },
    { name: 'an address', urls: ['https://10.0.0.1/oidc'], hosts: ['10.0.0.1', ...always] },
    { name: 'an IPv6 address', urls: ['https://[2001:db8::1]/oidc'], hosts: ['2001:db8::1', ...always] },
    { name: 'this machine', urls: ['https://127.0.0.1:8443/oidc'], hosts: ['127.0.0.1', 'localhost', '::1', 'gateway', 'gateway.n.svc'] },
    { name: 'a wildcard is ignored', urls: ['https://*.example.com/oidc'], hosts: always },
    { name: 'a host with a comma is ignored', urls: ['https://a,b/oidc'], hosts: always },
  ])('$name', ({ urls, hosts }) => {
    expect(hostsOf(urls, 'gateway', 'n')).toEqual(hosts)
  })

  test('are read back unchanged, so that no certificate is issued again', async () => {
    const hosts = hostsOf(
      ['https://[2001:db8::1]/oidc', 'https://xn--mnchen-3ya.example'],
      'gateway',
      'n',
    )
    expect((await serverOf(hosts)).pair.hosts).toEqual(hosts)
  })
})
