import { describe, expect, test } from 'vitest'
import { credentialOf, isCredential } from '../../../../src/gateway/request/credential.ts'

type Credential = ReturnType<typeof credentialOf>

const PROTOCOL = 'Sec-WebSocket-Protocol'
const inProtocol = (token: string): string =>
  `base64url.bearer.authorization.k8s.io.${Buffer.from(token).toString('base64url')}`
const bearer = (token: string): Credential => ({ kind: 'bearer', token })
/** A key that does not exist: refused like every unknown key. */
const NOBODYS = bearer('')

describe('the credential of a request (10.1)', () => {
  test.each<{
    readonly name: string
    readonly headers: readonly string[]
    readonly is: Credential
  }>([
    { name: 'no header', headers: ['Host', 'gateway', 'Cookie', 'a=b'], is: { kind: 'none' } },
    { name: 'a bearer token', headers: ['Authorization', 'Bearer pak_a'], is: bearer('pak_a') },
    {
      name: 'the scheme in any case',
      headers: ['aUTHORIZATION', 'bEARER pak_a'],
      is: bearer('pak_a'),
    },
    {
      name: 'text after the token is ignored',
      headers: ['Authorization', 'Bearer pak_a pak_b, Basic x'],
      is: bearer('pak_a'),
    },
    {
      name: 'surrounding spaces',
      headers: ['Authorization', '  Bearer pak_a '],
      is: bearer('pak_a'),
    },
    { name: 'another scheme', headers: ['Authorization', 'Basic YTpi'], is: NOBODYS },
    { name: 'no scheme', headers: ['Authorization', 'pak_a'], is: NOBODYS },
    { name: 'only a scheme', headers: ['Authorization', 'Bearer'], is: NOBODYS },
    { name: 'an empty header', headers: ['Authorization', ''], is: NOBODYS },
    { name: 'two spaces', headers: ['Authorization', 'Bearer  pak_a'], is: NOBODYS },
    { name: 'a tab', headers: ['Authorization', 'Bearer\tpak_a'], is: NOBODYS },
    {
      name: 'only a Proxy-Authorization header',
      headers: ['Proxy-Authorization', 'Bearer a'],
      is: { kind: 'none' },
    },
    {
      name: 'the header twice, also with the same token',
      headers: ['Authorization', 'Bearer pak_a', 'authorization', 'Bearer pak_a'],
      is: { kind: 'twice' },
    },
    {
      name: 'a token and another scheme',
      headers: ['Authorization', 'Bearer pak_a', 'Authorization', 'Basic YTpi'],
      is: { kind: 'twice' },
    },
    {
      name: 'a WebSocket subprotocol',
      headers: [PROTOCOL, `v4.channel.k8s.io, ${inProtocol('pak_a')}`],
      is: bearer('pak_a'),
    },
    { name: 'another subprotocol', headers: [PROTOCOL, 'v4.channel.k8s.io'], is: { kind: 'none' } },
    {
      name: 'a subprotocol that is no base64url',
      headers: [PROTOCOL, 'base64url.bearer.authorization.k8s.io.pak+a'],
      is: NOBODYS,
    },
    {
      name: 'an empty subprotocol',
      headers: [PROTOCOL, 'base64url.bearer.authorization.k8s.io.'],
      is: NOBODYS,
    },
    {
      name: 'two subprotocols',
      headers: [PROTOCOL, `${inProtocol('pak_a')},${inProtocol('pak_b')}`],
      is: { kind: 'twice' },
    },
    {
      name: 'the header of subprotocols twice',
      headers: [PROTOCOL, inProtocol('pak_a'), PROTOCOL, inProtocol('pak_a')],
      is: { kind: 'twice' },
    },
    {
      name: 'header and subprotocol (A7)',
      headers: ['Authorization', 'Bearer pak_a', PROTOCOL, inProtocol('pak_b')],
      is: { kind: 'twice' },
    },
  ])('$name', ({ headers, is }) => {
    expect(credentialOf(headers)).toEqual(is)
  })
})

test('the gateway recognizes a credential among subprotocols, to drop it (10.1)', () => {
  expect(isCredential(inProtocol('pak_a'))).toBe(true)
  expect(isCredential('v4.channel.k8s.io')).toBe(false)
})
