import { describe, expect, test } from 'vitest'
import type { ProcessInputs } from '../../../../src/commands/shared/flags.ts'
import {
  type ManagerSettings,
  managerFlagsTable,
  readManagerSettings,
} from '../../../../src/commands/manager/flags.ts'
import { type Invocation, PROGRAM_VERSION } from '../../../../src/runtime/flags.ts'

const NAMESPACE_FILE = '/var/run/secrets/kubernetes.io/serviceaccount/namespace'

const around = (
  env: Readonly<Record<string, string>> = {},
  files: Readonly<Record<string, string>> = {},
): ProcessInputs => ({ env: (name) => env[name] ?? null, file: (path) => files[path] ?? null })

const read = (line: string, surroundings = around()): Invocation<ManagerSettings> =>
  readManagerSettings(line === '' ? [] : line.split(' '), surroundings)

const settings = (line: string, surroundings?: ProcessInputs): ManagerSettings => {
  const invocation = read(line, surroundings)
  if (invocation.kind !== 'run') throw new Error(invocation.text)
  return invocation.settings
}

const defaults: ManagerSettings = {
  kubeconfig: null,
  namespace: 'platform-system',
  signInNamespace: 'platform-system-sign-in',
  configName: 'platform-manager-config',
  expiredRetentionMs: 86_400_000,
  issuerUrl: null,
  signingAlgorithm: 'ES256',
  tokenMaxTtlMs: 86_400_000,
  metricsAddress: { host: null, port: 8080 },
  healthAddress: { host: null, port: 8081 },
  leaderElection: null,
  workers: 16,
  perObjectMetrics: false,
  logLevel: 'info',
}
const clientGo = { leaseDurationMs: 15_000, renewDeadlineMs: 10_000, retryPeriodMs: 2000 }

describe('flags of manager (contract 8.1)', () => {
  test.each<{ name: string; line: string; differs: Partial<ManagerSettings> }>([
    { name: 'no flags', line: '', differs: {} },
    { name: 'a switch', line: '--per-object-metrics', differs: { perObjectMetrics: true } },
    { name: 'a value as the next argument', line: '--workers 3', differs: { workers: 3 } },
    { name: 'a value with =', line: '--workers=3', differs: { workers: 3 } },
    {
      name: 'a repeated flag: the last counts',
      line: '--workers=3 --workers=4',
      differs: { workers: 4 },
    },
    { name: 'a value with = in it', line: '--kubeconfig=/a=b', differs: { kubeconfig: '/a=b' } },
    { name: 'an empty kubeconfig counts as absent', line: '--kubeconfig=', differs: {} },
    { name: 'a config name', line: '--config-name a.b-c', differs: { configName: 'a.b-c' } },
    {
      name: 'a sign-in namespace beside that of the platform',
      line: '--sign-in-namespace=s --namespace=n',
      differs: { namespace: 'n', signInNamespace: 's' },
    },
    {
      name: 'an issuer',
      line: '--issuer-url=https://a.example/oidc',
      differs: { issuerUrl: 'https://a.example/oidc' },
    },
    {
      name: 'an algorithm',
      line: '--token-signing-algorithm RS256',
      differs: { signingAlgorithm: 'RS256' },
    },
    {
      name: 'the longest life of a token',
      line: '--token-max-ttl=120h',
      differs: { tokenMaxTtlMs: 432_000_000 },
    },
    { name: 'no retention', line: '--expired-retention=0', differs: { expiredRetentionMs: 0 } },
    {
      name: 'a retention',
      line: '--expired-retention=1h30m',
      differs: { expiredRetentionMs: 5_400_000 },
    },
    { name: 'no metrics', line: '--metrics-bind-address=0', differs: { metricsAddress: null } },
    {
      name: 'any free port for health',
      line: '--health-probe-bind-address 127.0.0.1:0',
      differs: { healthAddress: { host: '127.0.0.1', port: 0 } },
    },
    {
      name: 'leader election as client-go does',
      line: '--leader-elect',
      differs: { leaderElection: clientGo },
    },
    {
      name: '--leader-elect=true',
      line: '--leader-elect=true',
      differs: { leaderElection: clientGo },
    },
    { name: '--leader-elect=false', line: '--leader-elect --leader-elect=false', differs: {} },
    {
      name: 'a short lease',
      line: '--leader-elect --leader-elect-lease-duration=3s --leader-elect-renew-deadline=2s --leader-elect-retry-period=500ms',
      differs: {
        leaderElection: { leaseDurationMs: 3000, renewDeadlineMs: 2000, retryPeriodMs: 500 },
      },
    },
    { name: 'a log level', line: '--log-level=debug', differs: { logLevel: 'debug' } },
  ])('$name', ({ line, differs }) => {
    expect(settings(line)).toEqual({ ...defaults, ...differs })
  })

  test.each([
    { name: 'the flag', line: '--namespace a', env: { POD_NAMESPACE: 'b' }, file: 'c', is: 'a' },
    { name: 'POD_NAMESPACE', line: '', env: { POD_NAMESPACE: 'b' }, file: 'c', is: 'b' },
    { name: "the service account's", line: '', env: {}, file: 'c\n', is: 'c' },
    {
      name: 'an empty variable counts as absent',
      line: '',
      env: { POD_NAMESPACE: '' },
      file: 'c',
      is: 'c',
    },
    { name: 'the default', line: '', env: {}, file: '', is: 'platform-system' },
  ])('namespace: $name', ({ line, env, file, is }) => {
    expect(settings(line, around(env, { [NAMESPACE_FILE]: file })).namespace).toBe(is)
  })
})

describe('an invalid flag or value', () => {
  test.each([
    { line: '--worker=3', says: ['"--worker=3" is not a flag', 'accepted are --kubeconfig, '] },
    { line: 'start', says: ['"start" is not a flag'] },
    { line: '-workers=3', says: ['"-workers=3" is not a flag'] },
    { line: '--constructor=3', says: ['"--constructor=3" is not a flag'] },
    { line: '--leader-elect false', says: ['"false" is not a flag'] },
    { line: '--leader-elect=maybe', says: ['--leader-elect is "maybe"', 'true or false'] },
    { line: '--leader-elect=toString', says: ['true or false'] },
    { line: '--workers', says: ['--workers lacks its value', '1 to 256'] },
    { line: '--workers=0', says: ['--workers is "0"', '1 to 256'] },
    { line: '--workers=257', says: ['1 to 256'] },
    { line: '--workers=1e1', says: ['1 to 256'] },
    { line: '--namespace=Upper', says: ['--namespace is "Upper"', 'DNS label'] },
    { line: '--config-name=a..b', says: ['--config-name is "a..b"', 'object name'] },
    { line: '--config-name=', says: ['--config-name is ""'] },
    { line: '--expired-retention=7d', says: ['--expired-retention is "7d"', '24h'] },
    { line: '--expired-retention=-1h', says: ['at least 0'] },
    { line: '--metrics-bind-address=8080', says: ['--metrics-bind-address is "8080"', ':8080'] },
    { line: '--health-probe-bind-address=:65536', says: [':8080 or 127.0.0.1:8080, or 0'] },
    { line: '--log-level=trace', says: ['one of debug, info, warn, error'] },
    { line: '--leader-elect-lease-duration=999ms', says: ['at least 1s'] },
    { line: '--leader-elect-retry-period=0', says: ['at least 1ms'] },
    {
      line: '--leader-elect-renew-deadline=15s',
      says: ['must be below --leader-elect-lease-duration'],
    },
    {
      line: '--leader-elect-retry-period=9s',
      says: ['must exceed 1.2 times --leader-elect-retry-period'],
    },
    {
      line: '--workers=x --leader-elect-renew-deadline=20s --bogus',
      says: ['"--bogus" is not a flag', '--workers is "x"', 'must be below'],
    },
  ])('$line', ({ line, says }) => {
    const refused = read(line)
    expect(refused.kind).toBe('refuse')
    const text = refused.kind === 'refuse' ? refused.text : ''
    for (const part of says) expect(text).toContain(part)
    expect(text).toMatch(/^management-operator manager: [^\n]+\n$/)
  })

  test('a line break in a value is escaped in the message', () => {
    const refused = readManagerSettings(['--workers=a\nb', 'x\ny'], around())
    expect(refused).toMatchObject({ kind: 'refuse', text: expect.stringMatching(/^[^\n]+\n$/) })
  })

  test('a malformed duration gives no second fault about the order of durations', () => {
    const refused = read('--leader-elect-renew-deadline=soon')
    expect(refused.kind === 'refuse' && refused.text.match(/leader-elect/g)).toHaveLength(1)
  })

  test('a namespace from the environment is validated, too', () => {
    expect(read('', around({ POD_NAMESPACE: '../x' }))).toMatchObject({
      kind: 'refuse',
      text: expect.stringContaining('POD_NAMESPACE'),
    })
  })
})

describe('the printed texts', () => {
  const flags = [...managerFlagsTable().matchAll(/^\| `--([a-z-]+)/gm)].map(([, name]) => name)

  test('--version', () => {
    expect(read('--version')).toEqual({ kind: 'print', text: `${PROGRAM_VERSION}\n` })
  })

  test('--help ignores faults and names every flag of the table', () => {
    const help = read('--bogus --help')
    expect(help.kind).toBe('print')
    for (const flag of flags) expect(help.kind === 'print' && help.text).toContain(` --${flag}`)
  })

  test('the table has the flags of this part of the contract', () => {
    expect(flags).toEqual([
      'kubeconfig',
      'namespace',
      'config-name',
      'expired-retention',
      'issuer-url',
      'sign-in-namespace',
      'token-signing-algorithm',
      'token-max-ttl',
      'metrics-bind-address',
      'health-probe-bind-address',
      'leader-elect',
      'leader-elect-lease-duration',
      'leader-elect-renew-deadline',
      'leader-elect-retry-period',
      'workers',
      'per-object-metrics',
      'log-level',
      'version',
      'help',
    ])
  })

  test('the table has the defaults of the program', () => {
    const rows = managerFlagsTable().matchAll(/^\| `--([a-z-]+) <[a-z]+>` \| `([^`]+)` \|/gm)
    const line = Array.from(rows, ([, name, value]) => `--${name}=${value}`).join(' ')
    expect(line).toContain('--workers=16')
    expect(settings(line)).toEqual(defaults)
  })
})
