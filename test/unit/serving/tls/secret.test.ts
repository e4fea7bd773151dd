import { X509Certificate } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import type { Secret } from '../../../../src/api/objects.ts'
import { type CheckedPair, checkPair, isSignedBy } from '../../../../src/serving/tls/key-pair.ts'
import {
  type FoundSecrets,
  OUR_COMMON_NAME,
  type ServerData,
  authorityIn,
  authoritySecret,
  certificateStep,
  hostsOf,
  serverIn,
  serverSecret,
} from '../../../../src/serving/tls/secret.ts'
import { serverPair } from '../../../support/certificate-builder.ts'
import { oneKeySecret } from '../../../support/former-gateway-secret.ts'

const DAY_MS = 86_400_000
const NOW_MS = Date.parse('2026-11-21T10:00:00Z')

const metadata = { uid: 'u', resourceVersion: '1', creationTimestamp: '2026-11-21T10:00:00Z' }
const stored = (secret: Omit<Secret, 'metadata'> & { metadata: { name: string } }): Secret => ({
  ...secret,
  metadata: { ...metadata, ...secret.metadata },
})

function sound<Found extends object>(found: Found | string): Found {
  if (typeof found === 'string') throw new Error(found)
  return found
}

const authorityOf = async (nowMs = NOW_MS): Promise<CheckedPair> =>
  sound(authorityIn(stored(await authoritySecret('n', null, nowMs))))
const authority = await authorityOf()
const serverOf = async (
  hosts: readonly string[],
  under = authority,
  nowMs = NOW_MS,
): Promise<ServerData> =>
  sound(serverIn(stored(await serverSecret('n', { hosts, authority: under }, nowMs))))

const server = await serverOf(['localhost', '::1'])
const { pair } = server
const ours = { authority, server }
const theirs = { pair: checkPair(serverPair('www')) as CheckedPair, authorityPem: '' }
const otherAuthority = await authorityOf()
const oneKey = oneKeySecret(['localhost'], NOW_MS)
const old: ServerData = {
  pair: sound(checkPair({ certificatePem: oneKey['tls.crt'], keyPem: oneKey['tls.key'] })),
  authorityPem: oneKey['ca.crt'],
}
const oldAuthority = sound(checkPair({ certificatePem: old.authorityPem, keyPem: old.pair.keyPem }))
const THIRD = (365 * 2) / 3

interface Row {
  readonly name: string
  readonly found: FoundSecrets
  readonly wanted: readonly string[]
  readonly afterDays: number
  readonly step: object
}

// biome-ignore format: a table
test.each<Row>([
  { name: 'no Secret: an authority first', found: { authority: null, server: null }, wanted: ['a'], afterDays: 0, step: { kind: 'establish', authority: null } },
  { name: 'an authority alone: it stays, and signs', found: { authority, server: null }, wanted: ['a'], afterDays: 0, step: { kind: 'issue', hosts: ['a'], authority } },
  { name: 'ours: served', found: ours, wanted: ['::1', 'localhost'], afterDays: 0, step: { kind: 'serve', pair } },
  { name: 'ours with more hosts: served', found: ours, wanted: ['::1'], afterDays: 0, step: { kind: 'serve', pair } },
  { name: 'ours that lacks a host: issued for both', found: ours, wanted: ['::1', 'a'], afterDays: 0, step: { kind: 'issue', hosts: ['localhost', '::1', 'a'], authority } },
  { name: 'ours with more than a third of its life left: served', found: ours, wanted: ['::1'], afterDays: THIRD - 0.1, step: { kind: 'serve', pair } },
  { name: 'ours with a third of its life left: replaced, for the hosts of today', found: ours, wanted: ['::1'], afterDays: THIRD + 0.1, step: { kind: 'issue', hosts: ['::1'], authority } },
  { name: 'ours after its end: replaced', found: ours, wanted: ['::1'], afterDays: 400, step: { kind: 'issue', hosts: ['::1'], authority } },
  { name: 'an authority with more than a third of its life left: it stays', found: ours, wanted: ['::1'], afterDays: THIRD * 10 - 1, step: { kind: 'issue', hosts: ['::1'], authority } },
  { name: 'an authority with a third of its life left: a new one', found: ours, wanted: ['::1'], afterDays: THIRD * 10 + 1, step: { kind: 'establish', authority: null } },
  { name: 'an authority that has been replaced: it signs a new certificate', found: { authority: otherAuthority, server }, wanted: ['::1'], afterDays: 0, step: { kind: 'issue', hosts: ['::1'], authority: otherAuthority } },
  { name: 'a certificate that says so, but is of another authority: it signs a new certificate', found: { authority: otherAuthority, server: { pair, authorityPem: otherAuthority.certificatePem } }, wanted: ['::1'], afterDays: 0, step: { kind: 'issue', hosts: ['::1'], authority: otherAuthority } },
  { name: 'a certificate without its authority: replaced, for clients need that', found: { authority, server: { pair, authorityPem: '' } }, wanted: ['::1'], afterDays: 0, step: { kind: 'issue', hosts: ['::1'], authority } },
  { name: 'an authority that is gone: a new one', found: { authority: null, server }, wanted: ['::1'], afterDays: 0, step: { kind: 'establish', authority: null } },
  { name: 'one key for both: its authority moves', found: { authority: null, server: old }, wanted: ['localhost'], afterDays: 0, step: { kind: 'establish', authority: oldAuthority } },
  { name: 'one key for both, the authority moved: a certificate with a key of its own', found: { authority: oldAuthority, server: old }, wanted: ['localhost'], afterDays: 0, step: { kind: 'issue', hosts: ['localhost'], authority: oldAuthority } },
  { name: 'one key for both, with another authority: a new one', found: { authority: null, server: { ...old, authorityPem: authority.certificatePem } }, wanted: ['localhost'], afterDays: 0, step: { kind: 'establish', authority: null } },
  { name: 'one of an administrator: served, whatever its hosts, its end and the authority', found: { authority: 'is garbled', server: theirs }, wanted: ['a'], afterDays: 400, step: { kind: 'serve', pair: theirs.pair } },
  { name: 'a certificate that can not be served: left alone', found: { authority, server: 'is garbled' }, wanted: ['a'], afterDays: 0, step: { kind: 'unusable', secret: 'platform-gateway-tls', because: 'is garbled' } },
  { name: 'an authority that can not sign: left alone', found: { authority: 'is garbled', server }, wanted: ['a'], afterDays: 0, step: { kind: 'unusable', secret: 'platform-gateway-ca', because: 'is garbled' } },
])('$name (9.7)', ({ found, wanted, afterDays, step }) => {
  expect(certificateStep(found, wanted, NOW_MS + afterDays * DAY_MS)).toEqual(step)
})

describe('the Secrets (9.7)', () => {
  test('of the authority: its certificate for ten years, and its key', async () => {
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

  test('an authority that moves is stored as it is', async () => {
    expect(authorityIn(stored(await authoritySecret('n', oldAuthority, NOW_MS)))).toEqual(
      oldAuthority,
    )
  })

  test.each<{ readonly data: Readonly<Record<string, string>>; readonly because: string }>([
    { data: {}, because: 'the certificate is no PEM certificate' },
    { data: { 'tls.crt': '', 'tls.key': '' }, because: 'the certificate is no PEM certificate' },
    { data: { 'tls.crt': 'AAAA' }, because: 'the certificate is no PEM certificate' },
  ])('with $data hold nothing to use', async ({ data, because }) => {
    expect(
      serverIn(stored({ ...(await serverSecret('n', { hosts: ['a'], authority }, NOW_MS)), data })),
    ).toBe(because)
    expect(authorityIn(stored({ ...(await authoritySecret('n', null, NOW_MS)), data }))).toBe(
      because,
    )
  })

  test('a certificate of another program is no authority of ours', async () => {
    const { certificatePem, keyPem } = serverPair('www')
    const data = { 'tls.crt': btoa(certificatePem), 'tls.key': btoa(keyPem) }
    expect(authorityIn(stored({ ...(await authoritySecret('n', null, NOW_MS)), data }))).toBe(
      'the certificate is not one of our authorities',
    )
  })
})

describe('the hosts of a certificate of our own (contract 9.7)', () => {
  const always = ['localhost', '127.0.0.1', '::1', 'gateway', 'gateway.n.svc']

  // biome-ignore format: a table
  test.each([
    { name: 'nothing is known', urls: [null, null], hosts: always },
    { name: 'issuer and platform', urls: ['https://i.example.com/oidc', 'https://p.example.com:8443'], hosts: ['i.example.com', 'p.example.com', ...always] },
    { name: 'both the same', urls: ['https://p.example.com/oidc', 'https://p.example.com'], hosts: ['p.example.com', ...always] },
    { name: 'an address', urls: ['https://10.0.0.1/oidc'], hosts: ['10.0.0.1', ...always] },
    { name: 'an IPv6 address', urls: ['https://[2001:db8::1]/oidc'], hosts: ['2001:db8::1', ...always] },
    { name: 'this machine', urls: ['https://127.0.0.1:8443/oidc'], hosts: ['127.0.0.1', 'localhost', '::1', 'gateway', 'gateway.n.svc'] },
    { name: 'no wildcard', urls: ['https://*.example.com/oidc'], hosts: always },
    { name: 'nothing with a comma', urls: ['https://a,b/oidc'], hosts: always },
  ])('$name', ({ urls, hosts }) => {
    expect(hostsOf(urls, 'n')).toEqual(hosts)
  })

  test('are read back as they were written, so that nothing is issued twice', async () => {
    const hosts = hostsOf(['https://[2001:db8::1]/oidc', 'https://xn--mnchen-3ya.example'], 'n')
    expect((await serverOf(hosts)).pair.hosts).toEqual(hosts)
  })
})
