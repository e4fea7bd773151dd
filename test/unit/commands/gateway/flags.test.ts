import { describe, expect, test } from 'vitest'
import {
  type GatewaySettings,
  gatewayFlagsTable,
  readGatewaySettings,
} from '../../../../src/commands/gateway/flags.ts'
import { parseCidr } from '../../../../src/domain/ip-address.ts'
import { type Invocation, PROGRAM_VERSION } from '../../../../src/runtime/flags.ts'

const cidrs = (...texts: readonly string[]) =>
  texts.map((text) => parseCidr(text) ?? expect.unreachable(text))

const nothing = { env: () => null, file: () => null }

const read = (line: string): Invocation<GatewaySettings> =>
  readGatewaySettings(line === '' ? [] : line.split(' '), nothing)

const settings = (line: string): GatewaySettings => {
  const invocation = read(line)
  if (invocation.kind !== 'run') throw new Error(invocation.text)
  return invocation.settings
}

const defaults: GatewaySettings = {
  kubeconfig: null,
  namespace: 'platform-system',
  configName: 'platform-manager-config',
  issuerUrl: null,
  bindAddress: { host: null, port: 8443 },
  certificateFiles: null,
  trustedProxies: [],
  forwardBufferBytes: 256 * 1024 ** 2,
  targetNamespace: 'platform-system-targets',
  targetAddresses: { allowed: [], denied: [] },
  activityWritesPerSecond: 10,
  maxKeysPerUser: 100,
  maxTokensPerUser: 1000,
  ownKindsBufferBytes: 64 * 1024 ** 2,
  audit: {
    subdirectory: null,
    sync: 'write',
    bodyLimitBytes: 512 * 1024,
    bufferBytes: 64 * 1024 ** 2,
    anonymousPerSecond: 50,
  },
  signIn: null,
  metricsAddress: { host: null, port: 8080 },
  healthAddress: { host: null, port: 8081 },
  logLevel: 'info',
}

describe('flags of gateway (contract 9.7)', () => {
  test.each<{ name: string; line: string; differs: Partial<GatewaySettings> }>([
    { name: 'no flags', line: '', differs: {} },
    { name: 'a kubeconfig', line: '--kubeconfig /k', differs: { kubeconfig: '/k' } },
    {
      name: 'a buffer for tunnels',
      line: '--forward-buffer=1Gi',
      differs: { forwardBufferBytes: 1024 ** 3 },
    },
    {
      name: 'a namespace',
      line: '--namespace n',
      differs: { namespace: 'n', targetNamespace: 'n-targets' },
    },
    {
      name: 'a namespace of targets',
      line: '--target-namespace=t --namespace=n',
      differs: { namespace: 'n', targetNamespace: 't' },
    },
    {
      name: 'ranges of addresses, each flag several times',
      line: '--allow-target-cidr=127.0.0.0/8,::1/128 --allow-target-cidr 10.0.0.0/8 --deny-target-cidr=10.1.0.0/16',
      differs: {
        targetAddresses: {
          allowed: cidrs('127.0.0.0/8', '::1/128', '10.0.0.0/8'),
          denied: cidrs('10.1.0.0/16'),
        },
      },
    },
    { name: 'a config name', line: '--config-name c', differs: { configName: 'c' } },
    {
      name: 'an issuer',
      line: '--issuer-url=https://p.example.com/oidc',
      differs: { issuerUrl: 'https://p.example.com/oidc' },
    },
    { name: 'an empty issuer counts as absent', line: '--issuer-url=', differs: {} },
    {
      name: 'an address',
      line: '--bind-address=[::1]:0',
      differs: { bindAddress: { host: '::1', port: 0 } },
    },
    {
      name: 'certificate files',
      line: '--tls-cert-file=/c --tls-private-key-file=/k',
      differs: { certificateFiles: { certificateFile: '/c', keyFile: '/k' } },
    },
    {
      name: 'empty certificate files count as absent',
      line: '--tls-cert-file= --tls-private-key-file=',
      differs: {},
    },
    {
      name: 'a smaller budget of last uses',
      line: '--activity-writes-per-second=1',
      differs: { activityWritesPerSecond: 1 },
    },
    {
      name: 'the largest budget of last uses',
      line: '--activity-writes-per-second 100',
      differs: { activityWritesPerSecond: 100 },
    },
    {
      name: 'more keys and tokens (12.2)',
      line: '--max-keys-per-user=500 --max-tokens-per-user=1000000',
      differs: { maxKeysPerUser: 500, maxTokensPerUser: 1_000_000 },
    },
    {
      name: 'a larger buffer of own kinds (12.2)',
      line: '--own-kinds-buffer=1Gi',
      differs: { ownKindsBufferBytes: 1024 ** 3 },
    },
    {
      name: 'the smallest buffer of own kinds',
      line: '--own-kinds-buffer 33554432',
      differs: { ownKindsBufferBytes: 32 * 1024 ** 2 },
    },
    {
      name: 'a sign-in process (25.1)',
      line: '--sign-in-url=https://sign-in.s.svc --sign-in-token-file=/t --namespace=n',
      differs: {
        namespace: 'n',
        targetNamespace: 'n-targets',
        signIn: {
          origin: 'https://sign-in.s.svc',
          caFile: null,
          tokenFile: '/t',
          namespace: 'n-sign-in',
        },
      },
    },
    {
      name: 'a sign-in process with a port, an authority and a namespace (25.1)',
      line: '--sign-in-url=https://[::1]:8444 --sign-in-token-file=/t --sign-in-ca-file=/c --sign-in-namespace=s',
      differs: {
        signIn: { origin: 'https://[::1]:8444', caFile: '/c', tokenFile: '/t', namespace: 's' },
      },
    },
    {
      name: 'files of a sign-in process that is not named count as absent (25.1)',
      line: '--sign-in-token-file=/t --sign-in-ca-file=/c',
      differs: {},
    },
    {
      name: 'the audit log (22.6)',
      line: '--audit-subdirectory=gateway-0 --audit-sync=always --audit-body-limit=1Mi --audit-buffer=32Mi --audit-anonymous-per-second=1',
      differs: {
        audit: {
          subdirectory: 'gateway-0',
          sync: 'always',
          bodyLimitBytes: 1024 ** 2,
          bufferBytes: 32 * 1024 ** 2,
          anonymousPerSecond: 1,
        },
      },
    },
    {
      name: 'trusted proxies (22.6)',
      line: '--trusted-proxies=10.0.0.0/8 --trusted-proxies=fd00::/8',
      differs: { trustedProxies: cidrs('10.0.0.0/8', 'fd00::/8') },
    },
    { name: 'no metrics', line: '--metrics-bind-address=0', differs: { metricsAddress: null } },
    { name: 'no probes', line: '--health-probe-bind-address=0', differs: { healthAddress: null } },
    { name: 'a log level', line: '--log-level=debug', differs: { logLevel: 'debug' } },
  ])('$name', ({ line, differs }) => {
    expect(settings(line)).toEqual({ ...defaults, ...differs })
  })

  test.each([
    { line: '--leader-elect', says: ['"--leader-elect" is not a flag', '--bind-address'] },
    { line: '--own-kinds-buffer=1Mi', says: ['--own-kinds-buffer is "1Mi"', 'at least 32Mi'] },
    { line: '--forward-buffer=31Mi', says: ['--forward-buffer is "31Mi"', 'at least 32Mi'] },
    { line: '--audit-body-limit=1025Ki', says: ['--audit-body-limit is "1025Ki"', 'to 1Mi'] },
    { line: '--audit-body-limit=0', says: ['from 1 to 1Mi'] },
    { line: '--audit-buffer=1Mi', says: ['at least 32Mi'] },
    { line: '--audit-subdirectory=..', says: ['the name of one folder'] },
    { line: '--audit-subdirectory=a/b', says: ['the name of one folder'] },
    { line: '--audit-sync=never', says: ['write, always'] },
    { line: '--audit-anonymous-per-second=0', says: ['from 1 to 10000'] },
    { line: '--trusted-proxies=10.0.0.1/8', says: ['--trusted-proxies is "10.0.0.1/8"'] },
    { line: '--max-keys-per-user=0', says: ['from 1 to 1000000'] },
    { line: '--own-kinds-buffer=much', says: ['quantity'] },
    { line: '--bind-address=0', says: ['--bind-address is "0"', ':8443'] },
    { line: '--bind-address=8443', says: ['--bind-address is "8443"', ':8443'] },
    { line: '--issuer-url=http://p', says: ['--issuer-url is "http://p"', 'https'] },
    { line: '--issuer-url=https://p/', says: ['trailing slash'] },
    { line: '--activity-writes-per-second=0', says: ['per-second is "0"', 'from 1 to 100'] },
    { line: '--activity-writes-per-second=101', says: ['per-second is "101"', 'from 1 to 100'] },
    { line: '--activity-writes-per-second=1.5', says: ['per-second is "1.5"', 'from 1 to 100'] },
    { line: '--sign-in-url=https://s', says: ['--sign-in-url needs --sign-in-token-file'] },
    { line: '--sign-in-url=http://s', says: ['--sign-in-url is "http://s"', 'https'] },
    { line: '--sign-in-url=https://s/', says: ['no path'] },
    { line: '--sign-in-url=https://s/x', says: ['no path'] },
    { line: '--sign-in-url=https://s:443', says: ['no path'] },
    { line: '--sign-in-url=https://a@s', says: ['no path'] },
    { line: '--sign-in-url=https://s?x', says: ['no path'] },
    { line: '--sign-in-url=https://S', says: ['no path'] },
    { line: '--sign-in-url=s:8444', says: ['no path'] },
    { line: '--sign-in-namespace=A', says: ['a DNS label'] },
    { line: '--tls-cert-file=/c', says: ['go together: give both or neither'] },
    { line: '--tls-private-key-file=/k', says: ['go together: give both or neither'] },
  ])('$line is refused', ({ line, says }) => {
    const refusal = read(line)
    expect(refusal.kind).toBe('refuse')
    const text = refusal.kind === 'refuse' ? refusal.text : ''
    expect(text).toMatch(/^management-operator gateway: [^\n]+\n$/)
    for (const part of says) expect(text).toContain(part)
  })
})

describe('the texts of the command', () => {
  const flags = Array.from(gatewayFlagsTable().matchAll(/^\| `--([a-z-]+)/gm), ([, name]) => name)

  test('--version', () => {
    expect(read('--version')).toEqual({ kind: 'print', text: `${PROGRAM_VERSION}\n` })
  })

  test('the table has the flags of this part of the contract, and --help names them', () => {
    expect(flags).toEqual([
      'kubeconfig',
      'namespace',
      'config-name',
      'issuer-url',
      'bind-address',
      'tls-cert-file',
      'tls-private-key-file',
      'trusted-proxies',
      'forward-buffer',
      'target-namespace',
      'allow-target-cidr',
      'deny-target-cidr',
      'activity-writes-per-second',
      'max-keys-per-user',
      'max-tokens-per-user',
      'own-kinds-buffer',
      'sign-in-url',
      'sign-in-ca-file',
      'sign-in-token-file',
      'sign-in-namespace',
      'audit-subdirectory',
      'audit-sync',
      'audit-body-limit',
      'audit-buffer',
      'audit-anonymous-per-second',
      'metrics-bind-address',
      'health-probe-bind-address',
      'log-level',
      'version',
      'help',
    ])
    const help = read('--bogus --help')
    expect(help.kind).toBe('print')
    for (const flag of flags) expect(help.kind === 'print' && help.text).toContain(` --${flag}`)
  })

  test('the table has the defaults of the program', () => {
    const rows = gatewayFlagsTable().matchAll(/^\| `--([a-z-]+) <[a-z]+>` \| `([^`]+)` \|/gm)
    const line = Array.from(rows, ([, name, value]) => `--${name}=${value}`).join(' ')
    expect(line).toContain('--bind-address=:8443')
    expect(settings(line)).toEqual(defaults)
  })
})
