/** @module-tag no-retry */
// Settings of GitHub, an enterprise server with a root of its own, and what SignInReady says (contract 25.6, 27.1).
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { SourceHostAProvider } from '../../../../../src/api/config.gen.ts'
import { PUBLIC_ADDRESSES } from '../../../../../src/signin/providers/addresses.ts'
import { serverPair } from '../../../../support/certificate-builder.ts'
import { beginAt, NO_END } from '../../../../support/oidc/sign-in.ts'
import {
  finishAt,
  hostOfTest,
  providerAt,
} from '../../../../support/providers/source-host-a-sign-in.ts'

const GITHUB = { url: 'https://github.example' }
const ACME = { orgs: [{ name: 'acme' }] }

describe('settings that cannot be used', () => {
  test.each<{ name: string; settings: SourceHostAProvider; fault: string }>([
    { name: 'no clientId', settings: { clientId: '' }, fault: 'clientId is absent' },
    { name: 'no clientSecret', settings: { clientSecret: '' }, fault: 'clientSecret is absent' },
    { name: 'rootCA alone', settings: { rootCA: '/ca.crt' }, fault: 'rootCA needs hostName' },
    {
      name: 'a redirectURI without a host',
      settings: { redirectURI: '/auth/a/callback' },
      fault: 'redirectURI must be a URL',
    },
    ...['a b', 'a/b', 'a?b', 'a#b', 'u@a', 'a\\b', ':443', 'https://a'].map((hostName) => ({
      name: `hostName ${hostName}`,
      settings: { hostName },
      fault: 'hostName must be a host',
    })),
  ])('are $name, and SignInReady says so (25.5, 27.1)', async ({ settings, fault }) => {
    const provider = providerAt(GITHUB, settings)
    await expect(beginAt(provider)).rejects.toMatchObject({ reason: 'provider_unusable' })
    expect(await provider.check(NO_END)).toMatchObject({ fault })
  })
})

describe('the text on the button', () => {
  test.each([
    { name: 'the public host', settings: {}, options: {}, label: 'GitHub (github.example)' },
    {
      name: 'the host of hostName',
      settings: { hostName: 'ghe.example.com' },
      options: {},
      label: 'GitHub (ghe.example.com)',
    },
    {
      name: 'the displayName of the connector',
      settings: {},
      options: { id: 'guests', displayName: 'Guests' },
      label: 'Guests',
    },
    { name: 'the id', settings: { clientId: '' }, options: {}, label: 'GitHub (sourceHostA)' },
  ])('has $name; the kind is sourceHostA (25.2, 27.1)', ({ settings, options, label }) => {
    const provider = providerAt(GITHUB, settings, options)
    expect([provider.label, provider.kind]).toEqual([label, 'sourceHostA'])
  })
})

describe('a server of a company', () => {
  /** A stand-in over TLS, and the provider for it by hostName. @param files what is in `ca.crt` */
  async function ownServer(rootCA: string | undefined, files: (own: string) => string) {
    const pair = serverPair('ghe')
    const filesDir = await mkdtemp(join(tmpdir(), 'ghe-'))
    onTestFinished(() => rm(filesDir, { recursive: true }))
    await writeFile(join(filesDir, 'ca.crt'), files(pair.caPem))
    const host = await hostOfTest(pair)
    const settings = {
      hostName: new URL(host.url).host,
      ...(rootCA === undefined ? {} : { rootCA: rootCA.replace('$', filesDir) }),
    }
    const options = { filesDir, addresses: PUBLIC_ADDRESSES }
    return { host, options, provider: providerAt(host, settings, options) }
  }
  const own = (pem: string): string => pem
  const other = (): string => serverPair('other').caPem

  test('is trusted by rootCA, and its API is below /api/v3 (25.6)', async () => {
    const { host, provider } = await ownServer('$/ca.crt', own)
    const { subject } = await finishAt(host, provider)
    expect(subject).toBe(`https://${new URL(host.url).host}/api/v3#583231`)
    expect((await provider.check(NO_END)).fault).toBeNull()
  })

  test('is the same one however hostName spells it (24.3)', async () => {
    const { host, options } = await ownServer('$/ca.crt', own)
    const { port } = new URL(host.url)
    const settings = { hostName: `LocalHost:${port}`, rootCA: join(options.filesDir, 'ca.crt') }
    const { subject } = await finishAt(host, providerAt(host, settings, options))
    expect(subject).toBe(`https://localhost:${port}/api/v3#583231`)
  })

  test.each([
    { name: 'without rootCA', rootCA: undefined, file: own, reason: 'provider_unreachable' },
    { name: 'of another root', rootCA: '$/ca.crt', file: other, reason: 'provider_unreachable' },
    {
      name: 'whose file is text',
      rootCA: '$/ca.crt',
      file: () => 'text',
      reason: 'provider_unusable',
    },
    { name: 'whose file is absent', rootCA: '$/b.crt', file: own, reason: 'provider_unusable' },
    {
      name: 'with a file elsewhere',
      rootCA: '/etc/hosts',
      file: own,
      reason: 'provider_unusable',
    },
    { name: 'with PEM in rootCA', rootCA: '-----BEGIN', file: own, reason: 'provider_unusable' },
  ])('$name is not trusted (25.6, SJ)', async ({ rootCA, file, reason }) => {
    const { host, provider } = await ownServer(rootCA, file)
    await expect(finishAt(host, provider)).rejects.toMatchObject({ reason })
    expect((await provider.check(NO_END)).fault).not.toBeNull()
    expect(host.requests).toEqual([])
  })
})

describe('SignInReady (27.1)', () => {
  test.each([
    { name: 'admits everybody, without orgs', settings: {}, says: [/admits everybody/] },
    {
      name: 'admits everybody, with empty orgs',
      settings: { orgs: [] },
      says: [/admits everybody/],
    },
    { name: 'has nothing to say, with orgs', settings: ACME, says: [] },
  ])('$name', async ({ settings, says }) => {
    const { fault, warnings } = await providerAt(await hostOfTest(), settings).check(NO_END)
    expect(fault).toBeNull()
    expect(warnings).toHaveLength(says.length)
    for (const [at, text] of says.entries()) expect(warnings[at]).toMatch(text)
  })

  test('asks what counts against no limit of GitHub, without a credential', async () => {
    const host = await hostOfTest()
    await providerAt(host, ACME).check(NO_END)
    expect(host.requests.map(({ path }) => path)).toEqual(['/api/v3/rate_limit'])
    expect(host.requests[0]?.headers).not.toHaveProperty('authorization')
  })

  test.each<{ name: string; status: number; body: string; works: boolean }>([
    { name: 'is closed to strangers', status: 401, body: '{"message":"a"}', works: true },
    { name: 'has no limits', status: 404, body: '{"message":"a"}', works: true },
    { name: 'is another program', status: 404, body: '<html>a secret', works: false },
    { name: 'is a site', status: 200, body: '<html>a secret', works: false },
    { name: 'is down', status: 503, body: '{"message":"a secret"}', works: false },
    { name: 'has moved', status: 302, body: '{}', works: false },
  ])('takes a server that $name as working: $works', async ({ status, body, works }) => {
    const host = await hostOfTest()
    host.answers.set('/api/v3/rate_limit', { status, body })
    const { fault } = await providerAt(host, ACME).check(NO_END)
    expect(fault === null).toBe(works)
    expect(fault ?? '').not.toMatch(/secret/)
  })

  test('says that nothing answers', async () => {
    const { fault } = await providerAt({ url: 'http://127.0.0.1:9' }, ACME).check(NO_END)
    expect(fault).toMatch(/ECONNREFUSED/)
  })
})

test('GitHub has no page that ends its session (25.2)', async () => {
  expect(await providerAt(GITHUB).endSession(null, NO_END)).toBeNull()
})
