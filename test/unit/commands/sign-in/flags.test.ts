import { describe, expect, test } from 'vitest'
import {
  type SignInProcessSettings,
  readSignInSettings,
  signInFlagsTable,
} from '../../../../src/commands/sign-in/flags.ts'
import { type Invocation, PROGRAM_VERSION } from '../../../../src/runtime/flags.ts'
import { PUBLIC_ADDRESSES } from '../../../../src/signin/providers/addresses.ts'

const nothing = { env: () => null, file: () => null }

const read = (line: string): Invocation<SignInProcessSettings> =>
  readSignInSettings(line === '' ? [] : line.split(' '), nothing)

const settings = (line: string): SignInProcessSettings => {
  const invocation = read(line)
  if (invocation.kind !== 'run') throw new Error(invocation.text)
  return invocation.settings
}

const defaults: SignInProcessSettings = {
  kubeconfig: null,
  namespace: 'platform-system-sign-in',
  platformNamespace: 'platform-system',
  publicUrl: null,
  gatewayUrl: 'https://gateway.platform-system.svc',
  gatewayCaFile: null,
  gatewayAccount: 'system:serviceaccount:platform-system:gateway',
  filesDir: null,
  addresses: PUBLIC_ADDRESSES,
  maxTeams: 2000,
  refreshIntervalMs: 3_600_000,
  removedProviderGraceMs: 900_000,
  bindAddress: { host: null, port: 8444 },
  certificateFiles: null,
  metricsAddress: { host: null, port: 8080 },
  healthAddress: { host: null, port: 8081 },
  leaderElection: null,
  logLevel: 'info',
}

const addresses = (differs: Partial<typeof PUBLIC_ADDRESSES>) => ({
  addresses: { ...PUBLIC_ADDRESSES, ...differs },
})

describe('flags of sign-in (25.1, 25.6)', () => {
  test.each<{ line: string; differs: Partial<SignInProcessSettings> }>([
    { line: '', differs: {} },
    { line: '--kubeconfig /k', differs: { kubeconfig: '/k' } },
    {
      line: '--namespace n',
      differs: {
        namespace: 'n-sign-in',
        platformNamespace: 'n',
        gatewayUrl: 'https://gateway.n.svc',
        gatewayAccount: 'system:serviceaccount:n:gateway',
      },
    },
    { line: '--sign-in-namespace=s', differs: { namespace: 's' } },
    { line: '--public-url=https://p.example', differs: { publicUrl: 'https://p.example' } },
    { line: '--gateway-url=https://g.example', differs: { gatewayUrl: 'https://g.example' } },
    { line: '--gateway-ca-file=/ca', differs: { gatewayCaFile: '/ca' } },
    { line: '--gateway-account=someone', differs: { gatewayAccount: 'someone' } },
    { line: '--files-dir=/etc/sign-in', differs: { filesDir: '/etc/sign-in' } },
    { line: '--max-teams=7', differs: { maxTeams: 7 } },
    { line: '--identity-refresh-interval=30m', differs: { refreshIntervalMs: 1_800_000 } },
    { line: '--identity-refresh-interval=12h', differs: { refreshIntervalMs: 43_200_000 } },
    { line: '--removed-provider-grace=0s', differs: { removedProviderGraceMs: 0 } },
    { line: '--removed-provider-grace=never', differs: { removedProviderGraceMs: null } },
    {
      line: '--bind-address=127.0.0.1:1',
      differs: { bindAddress: { host: '127.0.0.1', port: 1 } },
    },
    {
      line: '--tls-cert-file=/c --tls-private-key-file=/k',
      differs: { certificateFiles: { certificateFile: '/c', keyFile: '/k' } },
    },
    { line: '--log-level=debug', differs: { logLevel: 'debug' } },
    {
      line: '--source-host-a-url=https://a.example',
      differs: addresses({
        sourceHostA: { site: 'https://a.example', api: 'https://a.example/api/v3' },
      }),
    },
    {
      line: '--source-host-b-url=https://a.example/b',
      differs: addresses({ sourceHostB: 'https://a.example/b' }),
    },
    { line: '--idp-a-url=http://127.0.0.1:1', differs: addresses({ idpA: 'http://127.0.0.1:1' }) },
    {
      line: '--idp-a-directory-url=https://a.example',
      differs: addresses({ idpADirectory: 'https://a.example' }),
    },
    { line: '--idp-b-url=https://a.example', differs: addresses({ idpB: 'https://a.example' }) },
    {
      line: '--idp-b-graph-url=https://a.example',
      differs: addresses({ idpBGraph: 'https://a.example' }),
    },
  ])('are read from "$line"', ({ line, differs }) => {
    expect(settings(line)).toEqual({ ...defaults, ...differs })
  })

  test.each([
    '--idp-a-url=',
    '--idp-a-url=a.example',
    '--idp-a-url=http://a.example',
    '--idp-a-url=ftp://127.0.0.1',
    '--idp-a-url=https://a:b@a.example',
    '--idp-a-url=https://a.example/',
    '--idp-a-url=https://a.example?q',
    '--idp-a-url=https://a.example#f',
    '--public-url=http://p.example',
    '--gateway-account=a\tb',
    '--max-teams=0',
    '--identity-refresh-interval=999ms',
    '--identity-refresh-interval=12h1s',
    '--identity-refresh-interval=never',
    '--removed-provider-grace=15',
    '--tls-cert-file=/c',
  ])('are refused: %s', (line) => {
    const invocation = read(line)
    expect(invocation).toMatchObject({ kind: 'refuse' })
    const [flag = ''] = line.split('=')
    expect(invocation).toHaveProperty('text', expect.stringContaining(flag))
  })

  test('for tests and sovereign clouds stand in no help and in no table', () => {
    const help = read('--help')
    expect(help).toMatchObject({ kind: 'print' })
    for (const text of [JSON.stringify(help), signInFlagsTable()]) {
      expect(text).toContain('--files-dir')
      expect(text).not.toMatch(/--(?:idp|source-host)-/)
    }
    expect(read('--version')).toMatchObject({ text: expect.stringContaining(PROGRAM_VERSION) })
  })
})
