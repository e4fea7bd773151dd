import { describe, expect, test } from 'vitest'
import type { Secret } from '../../../../src/api/core.ts'
import { hostsOf } from '../../../../src/gateway/tls/hosts.ts'
import {
  certificateStep,
  dataIn,
  issuedSecret,
  OUR_COMMON_NAME,
  type TlsData,
} from '../../../../src/gateway/tls/secret.ts'
import { type CheckedPair, checkPair } from '../../../../src/runtime/certificate.ts'
import { serverPair } from '../../../support/server-pair.ts'

const DAY_MS = 86_400_000
const NOW_MS = Date.parse('2026-11-21T10:00:00Z')

const metadata = { uid: 'u', resourceVersion: '1', creationTimestamp: '2026-11-21T10:00:00Z' }
const stored = (hosts: readonly string[], authority: CheckedPair | null = null): Secret => {
  const secret = issuedSecret('n', { kind: 'issue', hosts, authority }, NOW_MS)
  return { ...secret, metadata: { ...metadata, ...secret.metadata } }
}
const read = (secret: Secret): TlsData => {
  const data = dataIn(secret)
  if (typeof data === 'string') throw new Error(data)
  return data
}

const ours = read(stored(['localhost', '::1']))
const { pair, authority } = ours
const withoutAuthority = { pair, authority: null }
const theirs = { pair: checkPair(serverPair('www')) as CheckedPair, authority: null }

// biome-ignore format: a table
test.each([
  { name: 'no Secret: a new authority', found: null, wanted: ['a'], afterDays: 0, step: { kind: 'issue', hosts: ['a'], authority: null } },
  { name: 'ours: served', found: ours, wanted: ['::1', 'localhost'], afterDays: 0, step: { kind: 'serve', pair } },
  { name: 'ours with more hosts: served', found: ours, wanted: ['::1'], afterDays: 0, step: { kind: 'serve', pair } },
  { name: 'ours that lacks a host: issued for both', found: ours, wanted: ['::1', 'a'], afterDays: 0, step: { kind: 'issue', hosts: ['localhost', '::1', 'a'], authority } },
  { name: 'ours on the last day before its renewal: served', found: ours, wanted: ['::1'], afterDays: 335, step: { kind: 'serve', pair } },
  { name: 'ours a month before its end: renewed, for the hosts of today', found: ours, wanted: ['::1'], afterDays: 335.1, step: { kind: 'issue', hosts: ['::1'], authority } },
  { name: 'ours after its end: renewed', found: ours, wanted: ['::1'], afterDays: 400, step: { kind: 'issue', hosts: ['::1'], authority } },
  { name: 'an authority that would end before the next certificate: a new one', found: ours, wanted: ['::1'], afterDays: 9.1 * 365, step: { kind: 'issue', hosts: ['::1'], authority: null } },
  { name: 'ours without its authority: served', found: withoutAuthority, wanted: ['::1'], afterDays: 0, step: { kind: 'serve', pair } },
  { name: 'ours without its authority, to be renewed: a new one', found: withoutAuthority, wanted: ['::1'], afterDays: 336, step: { kind: 'issue', hosts: ['::1'], authority: null } },
  { name: 'somebody’s own: served, whatever its hosts and its end', found: theirs, wanted: ['a'], afterDays: 400, step: { kind: 'serve', pair: theirs.pair } },
  { name: 'what can not be served: left alone', found: 'is garbled', wanted: ['a'], afterDays: 0, step: { kind: 'unusable', because: 'is garbled' } },
])('$name (9.7)', ({ found, wanted, afterDays, step }) => {
  expect(certificateStep(found, wanted, NOW_MS + afterDays * DAY_MS)).toEqual(step)
})

describe('the Secret', () => {
  test('holds a certificate for a year, and its authority for ten', () => {
    const secret = stored(['localhost'])
    expect(secret.type).toBe('kubernetes.io/tls')
    expect(Object.keys(secret.data ?? {}).sort()).toEqual(['ca.crt', 'tls.crt', 'tls.key'])
    expect(read(secret)).toMatchObject({
      pair: {
        commonName: OUR_COMMON_NAME,
        hosts: ['localhost'],
        notAfterMs: NOW_MS + 365 * DAY_MS,
      },
      authority: { notAfterMs: NOW_MS + 3650 * DAY_MS },
    })
  })

  test('keeps the authority and the key when it is issued again', () => {
    const before = stored(['localhost'])
    const after = stored(['localhost', 'a'], read(before).authority)
    expect(after.data?.['ca.crt']).toBe(before.data?.['ca.crt'])
    expect(after.data?.['tls.key']).toBe(before.data?.['tls.key'])
    expect(read(after).pair.hosts).toEqual(['localhost', 'a'])
  })

  test.each([
    { name: 'another one', ca: stored(['localhost']).data?.['ca.crt'] },
    { name: 'the certificate itself', ca: stored(['localhost']).data?.['tls.crt'] },
    { name: 'garbage', ca: 'AAAA' },
    { name: 'nothing', ca: '' },
  ])('with $name for its authority has none', ({ ca = '' }) => {
    const secret = stored(['localhost'])
    const data = { ...secret.data, 'ca.crt': ca }
    expect(read({ ...secret, data }).authority).toBeNull()
  })

  test.each<Readonly<Record<string, string>>>([
    {},
    { 'tls.crt': '', 'tls.key': '' },
    { 'tls.crt': 'AAAA' },
  ])('with %j is no pair', (data) => {
    expect(dataIn({ ...stored(['a']), data })).toBe('the certificate is no PEM certificate')
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

  test('are read back as they were written, so that nothing is issued twice', () => {
    const hosts = hostsOf(['https://[2001:db8::1]/oidc', 'https://xn--mnchen-3ya.example'], 'n')
    expect(read(stored(hosts)).pair.hosts).toEqual(hosts)
  })
})
