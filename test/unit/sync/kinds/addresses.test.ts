import { BlockList } from 'node:net'
import { describe, expect, test } from 'vitest'
import { type Cidr, parseCidr } from '../../../../src/domain/ip-address.ts'
import { addressRefusal, externalIpRefusal } from '../../../../src/sync/kinds/addresses.ts'
import { cidrs, settings } from '../translation.ts'

describe('CIDRs of flags (18.2)', () => {
  test.each([
    { text: '10.0.0.0/8', bits: 32, prefix: 8 },
    { text: '0.0.0.0/0', bits: 32, prefix: 0 },
    { text: '10.1.2.3/32', bits: 32, prefix: 32 },
    { text: 'fd00::/8', bits: 128, prefix: 8 },
    { text: '::/0', bits: 128, prefix: 0 },
    { text: 'fd00::1/128', bits: 128, prefix: 128 },
    { text: '::ffff:10.0.0.0/104', bits: 32, prefix: 8 },
    { text: '::ffff:0:0/96', bits: 32, prefix: 0 },
    { text: '::fffe:0:0/95', bits: 128, prefix: 95 },
    { text: '::fffe:0:0/96', bits: 128, prefix: 96 },
  ])('$text', ({ text, bits, prefix }) => {
    expect(parseCidr(text)).toMatchObject({ text, bits, prefix })
  })

  test.each([
    '',
    '10.0.0.0',
    '10.0.0.0/',
    '/8',
    '10.0.0.0/33',
    '10.0.0.0/08',
    '10.0.0.0/-1',
    '10.0.0.0/8 ',
    '10.0.0.0/8/8',
    '10.0.0.0/255.0.0.0',
    '10.0.0/8',
    '010.0.0.0/8',
    '10.0.0.1/8',
    'fd00::/129',
    'fd00::1/64',
    'fe80::%eth0/10',
    'example.com/8',
  ])('%j is none', (text) => {
    expect(parseCidr(text)).toBeNull()
  })
})

describe('addresses that are always refused (18.2, E12)', () => {
  test.each([
    { what: 'a metadata address', address: '169.254.169.254' },
    { what: 'a metadata address', address: '100.100.100.200' },
    { what: 'a metadata address', address: '168.63.129.16' },
    { what: 'a metadata address', address: 'fd00:ec2::254' },
    { what: 'a metadata address', address: 'FD00:0EC2:0:0:0:0:0:254' },
    { what: 'a metadata address', address: 'fd00:ec2::23' },
    { what: 'a metadata address', address: 'fd00:ec2:ffff::1' },
    { what: 'a metadata address', address: 'fd20:ce::254' },
    { what: 'a metadata address', address: '192.0.0.192' },
    { what: 'a metadata address', address: '192.0.0.0' },
    { what: 'a metadata address', address: '::ffff:192.0.0.192' },
    { what: 'the broadcast address', address: '255.255.255.255' },
    { what: 'the broadcast address', address: '::ffff:255.255.255.255' },
    { what: 'the broadcast address', address: '64:ff9b::ffff:ffff' },
    { what: 'a loopback address', address: '127.0.0.1' },
    { what: 'a loopback address', address: '127.255.255.255' },
    { what: 'a loopback address', address: '::1' },
    { what: 'a loopback address', address: '0:0:0:0:0:0:0:1' },
    { what: 'an unspecified address', address: '0.0.0.0' },
    { what: 'an unspecified address', address: '0.1.2.3' },
    { what: 'an unspecified address', address: '::' },
    { what: 'a link-local address', address: '169.254.0.1' },
    { what: 'a link-local address', address: '169.254.169.253' },
    { what: 'a link-local address', address: 'fe80::1' },
    { what: 'a link-local address', address: 'febf:ffff::1' },
    { what: 'a multicast address', address: '224.0.0.1' },
    { what: 'a multicast address', address: '239.255.255.255' },
    { what: 'a multicast address', address: 'ff02::1' },
    { what: 'the broadcast address', address: '255.255.255.255' },
    { what: 'the broadcast address', address: '::ffff:255.255.255.255' },
    // IPv4 in IPv6: mapped, compatible, translated, NAT64, 6to4.
    { what: 'a loopback address', address: '::ffff:127.0.0.1' },
    { what: 'a loopback address', address: '::ffff:7f00:1' },
    { what: 'a loopback address', address: '0:0:0:0:0:FFFF:127.0.0.1' },
    { what: 'a metadata address', address: '::ffff:a9fe:a9fe' },
    { what: 'an unspecified address', address: '::ffff:0.0.0.0' },
    { what: 'a multicast address', address: '::ffff:224.0.0.1' },
    { what: 'a metadata address', address: '::169.254.169.254' },
    { what: 'a metadata address', address: '::ffff:0:169.254.169.254' },
    { what: 'a metadata address', address: '64:ff9b::169.254.169.254' },
    { what: 'a metadata address', address: '64:ff9b:1::169.254.169.254' },
    { what: 'a metadata address', address: '64:ff9b:1:fffe::a9fe:a9fe' },
    { what: 'a loopback address', address: '2002:7f00:1::5' },
  ])('$address is $what', ({ what, address }) => {
    expect(addressRefusal('ip', address, [])).toBe(`ip ${address} is ${what}`)
  })

  test.each([
    '10.0.0.1',
    '126.255.255.255',
    '128.0.0.1',
    '169.253.255.255',
    '169.255.0.0',
    '223.255.255.255',
    '240.0.0.1',
    '1.0.0.0',
    '168.63.129.17',
    '100.100.100.201',
    'fd00:ec3::254',
    '192.0.1.0',
    '191.255.255.255',
    '255.255.255.254',
    'fd20:ce::253',
    '2001:db8::1',
    'fec0::1',
    '::ffff:10.0.0.1',
    '64:ff9b::10.0.0.1',
    '64:ff9b:2::a9fe:a9fe',
    '2002:a00:1::7f00:1',
    '2003:7f00:1::',
    '1:2:3:4:5:6:7:8',
    '1:2:3:4:5:6:7::',
  ])('%s passes', (address) => {
    expect(addressRefusal('ip', address, [])).toBeNull()
  })

  const NO_ADDRESSES = [
    ['', 'localhost', '010.0.0.1', '10.0.0', '10.0.0.1 ', '10.0.0.1/32', '2130706433', '0x7f.1'],
    ['fe80::1%eth0', '2001:db8::1%eth0', '[::1]', ':::', '1:2', '::ffff:999.0.0.1'],
    [null, undefined, 5, true, ['10.0.0.1'], { ip: '10.0.0.1' }],
  ].flatMap((some) => some.map((value) => ({ value })))

  test.each(NO_ADDRESSES)('$value is not an address, and is not quoted', ({ value }) => {
    expect(addressRefusal('ip', value as never, [])).toBe('ip must be an IP address')
  })
})

describe('denied ranges (18.2)', () => {
  test.each([
    { denied: '10.0.0.0/8', address: '10.255.0.1' },
    { denied: '10.0.0.0/8', address: '::ffff:10.0.0.1' },
    { denied: '10.0.0.0/8', address: '64:ff9b::a00:1' },
    { denied: '::ffff:10.0.0.0/104', address: '10.0.0.1' },
    { denied: 'fd00::/8', address: 'fd12::1' },
    { denied: '0.0.0.0/0', address: '8.8.8.8' },
    { denied: '::/0', address: '2001:db8::1' },
    { denied: '8.8.8.8/32', address: '8.8.8.8' },
  ])('$address in $denied', ({ denied, address }) => {
    const ranges = cidrs('192.0.2.0/24', denied)
    expect(addressRefusal('ip', address, ranges)).toBe(
      `ip ${address} is in the denied range ${denied}`,
    )
  })

  test.each([
    { denied: '10.0.0.0/8', address: '11.0.0.1' },
    { denied: 'fd00::/8', address: 'fc00::1' },
    { denied: '0.0.0.0/0', address: '2001:db8::1' },
    { denied: '::/0', address: '8.8.8.8' },
    { denied: '8.8.8.8/32', address: '8.8.8.9' },
  ])('$address is not in $denied', ({ denied, address }) => {
    expect(addressRefusal('ip', address, cidrs(denied))).toBeNull()
  })

  test("ranges agree with Node's", () => {
    let seed = 7
    const random = (below: number): number => {
      seed = (seed * 1103515245 + 12345) % 2147483648
      return Math.floor((seed / 2147483648) * below)
    }
    const ipv4 = (): string => `10.${random(4)}.${random(256)}.${random(256)}`
    const ipv6 = (): string => {
      const groups = Array.from({ length: 6 }, () => (random(2) === 0 ? 0 : random(65536)))
      const full = `2001:db8:${groups.map((group) => group.toString(16)).join(':')}`
      return full
        .replace(/(?::0){2,4}(?=:|$)/, ':')
        .replace(/:$/, '::')
        .replace(':::', '::')
    }
    const rounds = Array.from({ length: 500 }, (_, round) =>
      round % 2 === 0
        ? ({ family: 'ipv4', base: ipv4(), other: ipv4(), prefix: 8 + random(25) } as const)
        : ({ family: 'ipv6', base: ipv6(), other: ipv6(), prefix: 32 + random(97) } as const),
    )
    const ours = rounds.map(({ family, base, other, prefix }) => {
      const [whole] = cidrs(`${base}/${family === 'ipv4' ? 32 : 128}`)
      const free = BigInt((whole?.bits ?? 0) - prefix)
      const range = { ...whole, prefix, value: ((whole?.value ?? 0n) >> free) << free } as Cidr
      return [base, other].map((one) => addressRefusal('ip', one, [range]) !== null)
    })
    const nodes = rounds.map(({ family, base, other, prefix }) => {
      const list = new BlockList()
      list.addSubnet(base, prefix, family)
      return [base, other].map((one) => list.check(one, family))
    })
    expect(ours).toEqual(nodes)
    // Some of the others are within, some are not.
    expect(new Set(nodes.map(([, other]) => other)).size).toBe(2)
  })
})

describe('external IPs (18.6)', () => {
  const given = settings({
    allowedExternal: cidrs('192.0.2.0/24', '127.0.0.0/8', '198.51.100.0/24', '2001:db8::/32'),
    denied: cidrs('198.51.100.7/32'),
  })
  test.each<{ address: unknown; refusal: string | null }>([
    { address: '192.0.2.5', refusal: null },
    { address: '2001:db8::5', refusal: null },
    {
      address: '192.0.3.5',
      refusal: 'at 192.0.3.5 is in no range that external IPs are allowed from',
    },
    {
      address: '::ffff:192.0.2.5',
      refusal: 'at ::ffff:192.0.2.5 is in no range that external IPs are allowed from',
    },
    // What is refused or denied is so in an allowed range, too.
    { address: '127.0.0.1', refusal: 'at 127.0.0.1 is a loopback address' },
    {
      address: '198.51.100.7',
      refusal: 'at 198.51.100.7 is in the denied range 198.51.100.7/32',
    },
    { address: 'example.com', refusal: 'at must be an IP address' },
    { address: 5, refusal: 'at must be an IP address' },
  ])('$address', ({ address, refusal }) => {
    expect(externalIpRefusal('at', address as never, given)).toBe(refusal)
  })

  test('without allowed ranges none passes', () => {
    expect(externalIpRefusal('at', '192.0.2.5', settings())).not.toBeNull()
  })
})
