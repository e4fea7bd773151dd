import { describe, expect, test } from 'vitest'
import { type AddressClass, addressClass, reachFault } from '../../../src/domain/address-class.ts'

describe('an address', () => {
  test.each<{ address: string; found: AddressClass | null }>([
    { address: '127.0.0.1', found: 'loopback' },
    { address: '127.255.0.9', found: 'loopback' },
    { address: '::1', found: 'loopback' },
    { address: '::ffff:127.0.0.1', found: 'loopback' },
    { address: '::ffff:7f00:1', found: 'loopback' },
    { address: '64:ff9b::127.0.0.1', found: 'loopback' },
    { address: '10.1.2.3', found: 'private' },
    { address: '172.16.0.1', found: 'private' },
    { address: '172.31.255.255', found: 'private' },
    { address: '192.168.7.7', found: 'private' },
    { address: '100.64.0.1', found: 'private' },
    { address: '198.19.255.255', found: 'private' },
    { address: 'fd12::1', found: 'private' },
    { address: 'fec0::1', found: 'private' },
    { address: '::ffff:10.0.0.1', found: 'private' },
    { address: '2002:a00:1::', found: 'private' },
    { address: '172.32.0.1', found: 'public' },
    { address: '100.128.0.1', found: 'public' },
    { address: '198.20.0.1', found: 'public' },
    { address: '93.184.216.34', found: 'public' },
    { address: '2606:4700::1', found: 'public' },
    { address: 'fe80::1%eth0', found: null },
    { address: '010.0.0.1', found: null },
    { address: 'example.com', found: null },
  ])('$address is of class $found (25.6)', ({ address, found }) => {
    expect(addressClass(address)).toBe(found)
  })

  const ALL: ReadonlySet<AddressClass> = new Set(['loopback', 'private', 'public'])
  test.each([
    '169.254.169.254',
    '::ffff:169.254.169.254',
    '64:ff9b::a9fe:a9fe',
    '100.100.100.200',
    'fd00:ec2::254',
    '169.254.1.1',
    'fe80::1',
    '0.0.0.0',
    '::',
    '::ffff:0.0.0.0',
    '224.0.0.1',
    'ff02::1',
    '255.255.255.255',
    'fe80::1%eth0',
    '',
  ])('%j is never reached, whatever is open (25.6, SJ)', (address) => {
    expect(reachFault(address, ALL)).toMatch(/^is /)
  })

  const CLASSES = { '127.0.0.1': 'loopback', '10.0.0.1': 'private', '8.8.8.8': 'public' } as const
  test.each(Object.entries(CLASSES))(
    '%s is reached where its class is open (25.6)',
    (address, own) => {
      expect(reachFault(address, new Set([own]))).toBeNull()
      const others = [...ALL].filter((one) => one !== own)
      expect(reachFault(address, new Set(others))).toBe(`is a ${own} address`)
    },
  )
})
