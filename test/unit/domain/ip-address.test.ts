import { describe, expect, test } from 'vitest'
import { addressFault, parseCidr, parseIpAddress } from '../../../src/domain/ip-address.ts'

const cidrs = (texts: readonly string[]) => texts.map((text) => given(parseCidr(text)))

function given<Value>(value: Value | null): Value {
  if (value === null) throw new Error('a row has a text that is malformed')
  return value
}

/** The fault of an address by these ranges. */
function faultOf(text: string, allowed: readonly string[], denied: readonly string[] = []) {
  return addressFault(given(parseIpAddress(text)), {
    allowed: cidrs(allowed),
    denied: cidrs(denied),
  })
}

describe('allowed ranges', () => {
  test.each([
    { address: '127.0.0.1', allowed: '127.0.0.0/8' },
    { address: '127.0.0.1', allowed: '127.0.0.1/32' },
    { address: '::ffff:127.0.0.1', allowed: '127.0.0.0/8' },
    { address: '::ffff:127.0.0.1', allowed: '::ffff:127.0.0.0/104' },
    { address: '64:ff9b::7f00:1', allowed: '127.0.0.0/8' },
    { address: '64:ff9b::7f00:1', allowed: '64:ff9b::/96' },
    { address: '::1', allowed: '::1/128' },
    { address: 'fe80::1', allowed: 'fe80::/10' },
    { address: '169.254.169.254', allowed: '169.254.169.254/32' },
  ])('$allowed allows $address (9.5)', ({ address, allowed }) => {
    expect(faultOf(address, [])).not.toBeNull()
    expect(faultOf(address, [allowed])).toBeNull()
  })

  test.each([
    { address: '127.0.0.1', allowed: '127.0.0.2/32', fault: 'is a loopback address' },
    { address: '169.254.169.254', allowed: '127.0.0.0/8', fault: 'is a metadata address' },
    { address: '64:ff9b::a9fe:a9fe', allowed: '127.0.0.0/8', fault: 'is a metadata address' },
    // A connection to it goes to the IPv4 address, which nobody has allowed.
    { address: '::ffff:127.0.0.1', allowed: '::/0', fault: 'is a loopback address' },
    { address: '::1', allowed: '127.0.0.0/8', fault: 'is a loopback address' },
    { address: 'fd00:ec2::23', allowed: 'fe80::/10', fault: 'is a metadata address' },
    { address: '192.0.0.192', allowed: '10.0.0.0/8', fault: 'is a metadata address' },
    { address: '::ffff:192.0.0.192', allowed: '::/0', fault: 'is a metadata address' },
    { address: '255.255.255.255', allowed: '10.0.0.0/8', fault: 'is the broadcast address' },
  ])('$allowed does not allow $address (9.5)', ({ address, allowed, fault }) => {
    expect(faultOf(address, [allowed])).toBe(fault)
  })

  test.each([
    { address: '10.1.2.3', fault: 'is in the denied range 10.0.0.0/8' },
    { address: '127.0.0.9', fault: 'is in the denied range 127.0.0.9/32' },
    { address: '127.0.0.1', fault: null },
    { address: '192.0.2.1', fault: null },
  ])('allow no address that another flag denies: $address (9.5)', ({ address, fault }) => {
    const allowed = ['127.0.0.0/8', '10.0.0.0/8']
    expect(faultOf(address, allowed, ['10.0.0.0/8', '127.0.0.9/32'])).toBe(fault)
  })
})

test.each([
  '256.0.0.1',
  '1.2.3',
  '1.2.3.04',
  '+1.2.3.4',
  ':',
  '::1::',
  '1:2:3:4:5:6:7:8:9',
  '::1]',
  '::g',
  '::1.2.3.400',
  'a.b',
  `${'0'.repeat(50)}::1`,
])('%j is no address (9.5)', (text) => {
  expect(parseIpAddress(text)).toBeNull()
})
