import { describe, expect, test } from 'vitest'
import { isIssuerUrl, issuerOfHost } from '../../../../src/domain/token/token-claims.ts'

describe('isIssuerUrl (contract 7.2)', () => {
  test.each([
    'https://platform.example.com/oidc',
    'https://platform.example.com',
    'https://platform.example.com:8443/a/b',
    'https://127.0.0.1:8443/oidc',
    'https://[::1]:8443/oidc',
    'https://xn--mnchen-3ya.example/oidc',
  ])('accepts %s', (text) => {
    expect(isIssuerUrl(text)).toBe(true)
  })

  test.each([
    { name: 'the empty text', text: '' },
    { name: 'plain HTTP', text: 'http://platform.example.com/oidc' },
    { name: 'an upper-case scheme', text: 'HTTPS://platform.example.com/oidc' },
    { name: 'no scheme', text: 'platform.example.com/oidc' },
    { name: 'no host', text: 'https://' },
    { name: 'a user', text: 'https://ada@platform.example.com/oidc' },
    { name: 'a user and a password', text: 'https://ada:x@platform.example.com/oidc' },
    { name: 'an empty user', text: 'https://@platform.example.com/oidc' },
    { name: 'a query', text: 'https://platform.example.com/oidc?a=b' },
    { name: 'an empty query', text: 'https://platform.example.com/oidc?' },
    { name: 'a fragment', text: 'https://platform.example.com/oidc#a' },
    { name: 'an empty fragment', text: 'https://platform.example.com/oidc#' },
    { name: 'a trailing slash', text: 'https://platform.example.com/oidc/' },
    { name: 'a trailing slash at the root', text: 'https://platform.example.com/' },
    { name: 'an upper-case host', text: 'https://Platform.example.com/oidc' },
    { name: 'the default port', text: 'https://platform.example.com:443/oidc' },
    { name: 'an invalid port', text: 'https://platform.example.com:99999/oidc' },
    { name: 'dot segments', text: 'https://platform.example.com/a/../oidc' },
    { name: 'a space', text: 'https://platform.example.com/o idc' },
    { name: 'a line break', text: 'https://platform.example.com/oidc\n' },
    { name: 'a backslash', text: 'https://platform.example.com\\oidc' },
    { name: 'non-ASCII letters', text: 'https://münchen.example/oidc' },
  ])('refuses $name: $text', ({ text }) => {
    expect(isIssuerUrl(text)).toBe(false)
  })
})

describe('issuerOfHost (contract 7.2)', () => {
  test.each([
    { host: 'platform.example.com', issuer: 'https://platform.example.com/oidc' },
    { host: 'platform.example.com:8443', issuer: 'https://platform.example.com:8443/oidc' },
    { host: 'Platform.Example.com', issuer: 'https://platform.example.com/oidc' },
    { host: 'platform.example.com:443', issuer: 'https://platform.example.com/oidc' },
    { host: 'münchen.example', issuer: 'https://xn--mnchen-3ya.example/oidc' },
    { host: '[::1]:8443', issuer: 'https://[::1]:8443/oidc' },
  ])('gives $issuer for $host', ({ host, issuer }) => {
    expect(issuerOfHost(host)).toBe(issuer)
  })

  test.each([
    '',
    ' ',
    'a b',
    'a\tb',
    'https://platform.example.com',
    'platform.example.com/path',
    'platform.example.com?a',
    'platform.example.com#a',
    'ada@platform.example.com',
    'a\\b',
    'platform.example.com:x',
  ])('gives null for %j', (host) => {
    expect(issuerOfHost(host)).toBeNull()
  })
})
