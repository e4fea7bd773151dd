import { describe, expect, test } from 'vitest'
import {
  type DeliverySettings,
  deliveryFlagsTable,
  readDeliverySettings,
} from '../../../../src/commands/delivery/flags.ts'
import type { Invocation } from '../../../../src/runtime/flags.ts'

const nothing = { env: () => null, file: () => null }
const read = (line: string): Invocation<DeliverySettings> =>
  readDeliverySettings(line === '' ? [] : line.split(' '), nothing)

function settings(line: string): DeliverySettings {
  const invocation = read(line)
  if (invocation.kind !== 'run') throw new Error(invocation.text)
  return invocation.settings
}

const defaults: DeliverySettings = {
  kubeconfig: null,
  namespace: 'platform-system',
  signInNamespace: 'platform-system-sign-in',
  configName: 'platform-manager-config',
  gatewayUrl: null,
  gatewayCaFile: null,
  maxClaimsPerNamespace: 100,
  claimKeysPerSecond: 10,
  secretStoreMount: 'secret',
  secretStoreCaFile: null,
  metricsAddress: { host: null, port: 8080 },
  healthAddress: { host: null, port: 8081 },
  leaderElection: null,
  workers: 16,
  logLevel: 'info',
}

describe('flags of delivery (28.3)', () => {
  // biome-ignore format: a table
  test.each<{ readonly line: string; readonly differs: Partial<DeliverySettings> }>([
    { line: '', differs: {} },
    { line: '--kubeconfig /k', differs: { kubeconfig: '/k' } },
    { line: '--namespace n', differs: { namespace: 'n', signInNamespace: 'n-sign-in' } },
    { line: '--sign-in-namespace s', differs: { signInNamespace: 's' } },
    { line: '--config-name c', differs: { configName: 'c' } },
    { line: '--gateway-url https://gw.example.com:8443', differs: { gatewayUrl: 'https://gw.example.com:8443' } },
    { line: '--gateway-ca-file=/ca', differs: { gatewayCaFile: '/ca' } },
    { line: '--max-claims-per-namespace=1', differs: { maxClaimsPerNamespace: 1 } },
    { line: '--claim-keys-per-second=1000', differs: { claimKeysPerSecond: 1000 } },
    { line: '--secret-store-mount=teams/kv', differs: { secretStoreMount: 'teams/kv' } },
    { line: '--secret-store-ca-file=/ca', differs: { secretStoreCaFile: '/ca' } },
    { line: '--metrics-bind-address=0', differs: { metricsAddress: null } },
    { line: '--health-probe-bind-address=127.0.0.1:1', differs: { healthAddress: { host: '127.0.0.1', port: 1 } } },
    { line: '--workers=3', differs: { workers: 3 } },
    { line: '--log-level=debug', differs: { logLevel: 'debug' } },
  ])('"$line"', ({ line, differs }) => {
    expect(settings(line)).toEqual({ ...defaults, ...differs })
  })

  test('--leader-elect with its times', () => {
    expect(settings('--leader-elect').leaderElection).toMatchObject({ leaseDurationMs: 15_000 })
    expect(
      settings('--leader-elect --leader-elect-lease-duration=20s').leaderElection,
    ).toMatchObject({ leaseDurationMs: 20_000 })
  })

  // biome-ignore format: a table
  test.each([
    { line: '--max-claims-per-namespace=0', fault: '--max-claims-per-namespace' },
    { line: '--max-claims-per-namespace=10001', fault: '--max-claims-per-namespace' },
    { line: '--claim-keys-per-second=0', fault: '--claim-keys-per-second' },
    { line: '--claim-keys-per-second=1001', fault: '--claim-keys-per-second' },
    { line: '--claim-keys-per-second=x', fault: '--claim-keys-per-second' },
    { line: '--gateway-url=http://gw.example.com', fault: '--gateway-url' },
    { line: '--gateway-url=https://gw.example.com/path', fault: '--gateway-url' },
    { line: '--gateway-url=gw', fault: '--gateway-url' },
    { line: '--secret-store-mount=a/../b', fault: '--secret-store-mount' },
    { line: '--secret-store-mount=', fault: '--secret-store-mount' },
    { line: '--workers=0', fault: '--workers' },
    { line: '--metrics-bind-address=x', fault: '--metrics-bind-address' },
    { line: '--leader-elect --leader-elect-lease-duration=1s', fault: '--leader-elect' },
    { line: '--log-level=loud', fault: '--log-level' },
    { line: '--exchange', fault: '--exchange' },
    { line: 'deploy', fault: 'deploy' },
  ])('$line is a fault', ({ line, fault }) => {
    const invocation = read(line)
    expect(invocation.kind === 'run' ? '' : invocation.text).toContain(fault)
  })

  test('every fault is named, not only the first', () => {
    const invocation = read('--workers=0 --log-level=loud --gateway-url=gw')
    if (invocation.kind === 'run') throw new Error('it runs')
    for (const name of ['--workers', '--log-level', '--gateway-url'])
      expect(invocation.text).toContain(name)
  })

  test('the table of the docs has every flag', () => {
    const names = [...deliveryFlagsTable().matchAll(/`--([a-z-]+)/g)].map(([, name]) => name)
    for (const name of [
      'max-claims-per-namespace',
      'claim-keys-per-second',
      'gateway-url',
      'gateway-ca-file',
      'leader-elect',
    ])
      expect(names).toContain(name)
  })
})
