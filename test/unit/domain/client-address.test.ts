import { expect, test } from 'vitest'
import { clientAddress } from '../../../src/domain/client-address.ts'
import { parseCidr } from '../../../src/domain/ip-address.ts'

const trusted = ['10.0.0.0/8', 'fd00::/8'].flatMap((text) => parseCidr(text) ?? [])

test.each<{
  readonly name: string
  readonly peer: string
  readonly sent?: readonly string[]
  readonly client: string
}>([
  { name: 'the peer without a header', peer: '10.0.0.1', client: '10.0.0.1' },
  {
    name: 'an untrusted peer, whatever it sends',
    peer: '192.0.2.1',
    sent: ['203.0.113.9'],
    client: '192.0.2.1',
  },
  {
    name: 'the address that a proxy names',
    peer: '10.0.0.1',
    sent: ['203.0.113.9'],
    client: '203.0.113.9',
  },
  {
    name: 'the same on an IPv6 socket for IPv4',
    peer: '::ffff:10.0.0.1',
    sent: ['203.0.113.9'],
    client: '203.0.113.9',
  },
  { name: 'an untrusted peer on such a socket', peer: '::ffff:192.0.2.1', client: '192.0.2.1' },
  {
    name: 'an entry of such a proxy',
    peer: '10.0.0.1',
    sent: ['::FFFF:203.0.113.9, ::ffff:10.0.0.2'],
    client: '203.0.113.9',
  },
  {
    name: 'the same where proxies write IPv4 addresses as IPv6 ones, in whatever form',
    peer: '::ffff:a00:1',
    sent: ['203.0.113.9, ::FFFF:a00:2, 0:0:0:0:0:ffff:10.0.0.3'],
    client: '203.0.113.9',
  },
  {
    name: 'an IPv6 address that only ends as a trusted IPv4 one',
    peer: '10.0.0.1',
    sent: ['203.0.113.9, 64:ff9b::a00:2'],
    client: '64:ff9b::a00:2',
  },
  {
    name: 'the rightmost untrusted one: others at its left may be invented',
    peer: '10.0.0.1',
    sent: ['198.51.100.7, 203.0.113.9 , 10.0.0.2'],
    client: '203.0.113.9',
  },
  {
    name: 'the rightmost one over several headers',
    peer: 'fd00::1',
    sent: ['198.51.100.7', '2001:db8::9,10.0.0.2', 'fd00::2'],
    client: '2001:db8::9',
  },
  {
    name: 'the leftmost one where all are proxies',
    peer: '10.0.0.1',
    sent: ['10.0.0.3,10.0.0.2'],
    client: '10.0.0.3',
  },
  {
    name: 'the entry at the right of a malformed one',
    peer: '10.0.0.1',
    sent: ['203.0.113.9, unknown, 10.0.0.2'],
    client: '10.0.0.2',
  },
  {
    name: 'the peer where the only entry has a port',
    peer: '10.0.0.1',
    sent: ['203.0.113.9:443'],
    client: '10.0.0.1',
  },
  { name: 'the peer where the header is empty', peer: '10.0.0.1', sent: [''], client: '10.0.0.1' },
  {
    name: 'unknown, once the client has disconnected',
    peer: '',
    sent: ['203.0.113.9'],
    client: '',
  },
])('the client is $name (21.3)', ({ peer, sent = [], client }) => {
  expect(clientAddress(peer, sent, trusted)).toBe(client)
})
