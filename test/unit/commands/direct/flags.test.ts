import { describe, expect, test } from 'vitest'
import {
  type DirectSettings,
  directFlagsTable,
  readDirectSettings,
} from '../../../../src/commands/direct/flags.ts'
import { parseCidr } from '../../../../src/domain/ip-address.ts'
import { type Invocation, PROGRAM_VERSION } from '../../../../src/runtime/flags.ts'

const REQUIRED = '--cluster=c1 --issuer-url=https://p.example.com/oidc'
const LOOPBACK = parseCidr('127.0.0.0/8') ?? expect.unreachable()

const nothing = { env: () => null, file: () => null }

const read = (line: string): Invocation<DirectSettings> =>
  readDirectSettings(line === '' ? [] : line.split(' '), nothing)

const settings = (line: string): DirectSettings => {
  const invocation = read(line)
  if (invocation.kind !== 'run') throw new Error(invocation.text)
  return invocation.settings
}

const defaults: DirectSettings = {
  kubeconfig: null,
  namespace: 'platform-system',
  cluster: 'c1',
  issuerUrl: 'https://p.example.com/oidc',
  issuerCaFile: null,
  stateDir: null,
  maxStalenessMs: 3_600_000,
  revocationPollIntervalMs: 5000,
  webhookTokenFile: null,
  webhookClientCaFile: null,
  bindAddress: { host: null, port: 8443 },
  certificateFiles: null,
  trustedProxies: [],
  forwardBufferBytes: 256 * 1024 ** 2,
  targetNamespace: 'platform-system-targets',
  targetAddresses: { allowed: [], denied: [] },
  audit: {
    subdirectory: null,
    sync: 'write',
    bodyLimitBytes: 512 * 1024,
    bufferBytes: 64 * 1024 ** 2,
    anonymousPerSecond: 50,
    path: null,
    central: null,
    spoolBytes: 256 * 1024 ** 2,
    spoolFull: 'refuse',
  },
  metricsAddress: { host: null, port: 8080 },
  healthAddress: { host: null, port: 8081 },
  logLevel: 'info',
}

const CENTRAL =
  '--central-url=https://p.example.com:8443 --central-ca-file=/ca --access-key-file=/key'

describe('flags of direct (9.7)', () => {
  test.each<{ name: string; line: string; differs: Partial<DirectSettings> }>([
    { name: 'the required ones alone', line: '', differs: {} },
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
      name: 'a range of addresses',
      line: '--allow-target-cidr=127.0.0.0/8 --deny-target-cidr 127.0.0.0/8',
      differs: { targetAddresses: { allowed: [LOOPBACK], denied: [LOOPBACK] } },
    },
    { name: 'an authority', line: '--issuer-ca-file=/ca', differs: { issuerCaFile: '/ca' } },
    { name: 'a state directory', line: '--state-dir=/s', differs: { stateDir: '/s' } },
    {
      name: 'the shortest durations',
      line: '--max-staleness=1s --revocation-poll-interval=1s',
      differs: { maxStalenessMs: 1000, revocationPollIntervalMs: 1000 },
    },
    {
      name: 'both files of callers of the webhook',
      line: '--webhook-token-file=/t --webhook-client-ca=/c',
      differs: { webhookTokenFile: '/t', webhookClientCaFile: '/c' },
    },
    {
      name: 'empty files count as absent',
      line: '--issuer-ca-file= --state-dir= --webhook-token-file= --webhook-client-ca= --tls-cert-file= --tls-private-key-file=',
      differs: {},
    },
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
      name: 'an audit log that stays here (23.1)',
      line: '--audit-path=/a --audit-subdirectory=direct-0',
      differs: { audit: { ...defaults.audit, path: '/a', subdirectory: 'direct-0' } },
    },
    {
      name: 'an audit log that goes to the platform (23.1)',
      line: `--audit-path=/a ${CENTRAL} --audit-spool-size=16Mi --audit-spool-full=drop`,
      differs: {
        audit: {
          ...defaults.audit,
          path: '/a',
          central: { url: 'https://p.example.com:8443', caFile: '/ca', accessKeyFile: '/key' },
          spoolBytes: 16 * 1024 ** 2,
          spoolFull: 'drop',
        },
      },
    },
    { name: 'no metrics', line: '--metrics-bind-address=0', differs: { metricsAddress: null } },
    { name: 'no probes', line: '--health-probe-bind-address=0', differs: { healthAddress: null } },
    { name: 'a log level', line: '--log-level=debug', differs: { logLevel: 'debug' } },
  ])('$name', ({ line, differs }) => {
    expect(settings(`${REQUIRED} ${line}`.trim())).toEqual({ ...defaults, ...differs })
  })

  const NO_CLUSTER = '--cluster is missing, the name of this cluster'
  const NO_ISSUER = '--issuer-url is missing, the issuer of tokens'

  test.each([
    { line: '', says: [NO_CLUSTER, NO_ISSUER] },
    { line: '--cluster=c1', says: [NO_ISSUER] },
    { line: '--issuer-url=https://p.example.com/oidc', says: [NO_CLUSTER] },
    { line: '--cluster= --issuer-url=', says: [NO_CLUSTER, NO_ISSUER] },
    { line: '--cluster=C1', says: ['--cluster is "C1"', 'at most 253 of a-z', NO_ISSUER] },
    { line: '--cluster=a/b --issuer-url=http://p', says: ['"a/b"', '"http://p"', 'https'] },
    { line: `${REQUIRED}/`, says: ['trailing slash'] },
    { line: `${REQUIRED} --max-staleness=999ms`, says: ['--max-staleness is "999ms"', '1s'] },
    { line: `${REQUIRED} --max-staleness=soon`, says: ['--max-staleness is "soon"'] },
    { line: `${REQUIRED} --revocation-poll-interval=0`, says: ['poll-interval is "0"', '1s'] },
    { line: `${REQUIRED} --tls-cert-file=/c`, says: ['go together: give both or neither'] },
    { line: `${REQUIRED} --tls-private-key-file=/k`, says: ['go together: give both or neither'] },
    { line: `${REQUIRED} ${CENTRAL}`, says: ['--central-url has no effect without --audit-path'] },
    {
      line: `${REQUIRED} --audit-path=/a --central-url=https://p`,
      says: ['go together: give all or none'],
    },
    {
      line: `${REQUIRED} --access-key-file=/key`,
      says: ['give all or none', 'without --audit-path'],
    },
    {
      line: `${REQUIRED} --audit-path=- ${CENTRAL}`,
      says: ['--audit-path=- leaves no files to send'],
    },
    { line: `${REQUIRED} --audit-path=a`, says: ['--audit-path is "a"', 'absolute'] },
    {
      line: `${REQUIRED} --audit-path=/a --central-url=http://p`,
      says: ['"http://p"', 'without a path'],
    },
    {
      line: `${REQUIRED} --audit-path=/a --central-url=https://p/kubernetes`,
      says: ['without a path'],
    },
    { line: `${REQUIRED} --audit-path=/a --central-url=https://u:p@p`, says: ['without a path'] },
    { line: `${REQUIRED} --audit-path=/a --audit-spool-size=15Mi`, says: ['at least 16Mi'] },
    { line: `${REQUIRED} --audit-path=/a --audit-spool-full=wait`, says: ['refuse', 'drop'] },
    { line: `${REQUIRED} --bind-address=0`, says: ['--bind-address is "0"', ':8443'] },
    { line: `${REQUIRED} --config-name=c`, says: ['"--config-name=c" is not a flag'] },
    {
      line: '--max-staleness=x --tls-cert-file=/c',
      says: [NO_CLUSTER, NO_ISSUER, '"x"', 'neither'],
    },
  ])('$line is refused, with each fault', ({ line, says }) => {
    const refusal = read(line)
    const text = refusal.kind === 'refuse' ? refusal.text : ''
    expect(text).toMatch(/^(?:management-operator direct: [^\n]+\n)+$/)
    for (const part of says) expect(text).toContain(part)
  })
})

describe('the texts of the command', () => {
  const flags = Array.from(directFlagsTable().matchAll(/^\| `--([a-z-]+)/gm), ([, name]) => name)

  test('--version', () => {
    expect(read('--version')).toEqual({ kind: 'print', text: `${PROGRAM_VERSION}\n` })
  })

  test('the table has the flags of this part of the contract, and --help names them', () => {
    expect(flags).toEqual([
      'kubeconfig',
      'namespace',
      'cluster',
      'issuer-url',
      'issuer-ca-file',
      'state-dir',
      'max-staleness',
      'revocation-poll-interval',
      'webhook-token-file',
      'webhook-client-ca',
      'bind-address',
      'tls-cert-file',
      'tls-private-key-file',
      'trusted-proxies',
      'forward-buffer',
      'target-namespace',
      'allow-target-cidr',
      'deny-target-cidr',
      'audit-path',
      'central-url',
      'central-ca-file',
      'access-key-file',
      'audit-spool-size',
      'audit-spool-full',
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
    const rows = directFlagsTable().matchAll(/^\| `--([a-z-]+) <[a-z]+>` \| `([^`]+)` \|/gm)
    const line = Array.from(rows, ([, name, value]) => `--${name}=${value}`).join(' ')
    expect(line).toContain('--max-staleness=1h')
    expect(settings(`${REQUIRED} ${line}`)).toEqual(defaults)
  })
})
