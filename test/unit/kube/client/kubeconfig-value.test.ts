import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { connect } from '../../../../src/kube/client/connection.ts'
import { systemClock } from '../../../../src/runtime/clock.ts'
import {
  createAuthority,
  issueClient,
  issueServing,
} from '../../../../tools/control-plane/certificates.ts'
import type { CertificatePair } from '../../../../src/serving/tls/key-pair.ts'
import { plantCanary, findCanaries } from '../../../support/canary.ts'
import { json, scratchFolder, startScriptedServer, thing } from '../informer/scripted-server.ts'

const base64 = (text: string): string => Buffer.from(text).toString('base64')
const PEM = base64('-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n')
const ofValue = (text: string) => connect({ kind: 'value', text }, systemClock())

interface Parts {
  readonly cluster?: object
  readonly user?: object
  readonly context?: object
  /** Further fields at the root, which may replace one of the three lists. */
  readonly root?: object
}

/** A valid kubeconfig, with changed parts. */
const kubeconfig = ({ cluster, user, context, root }: Parts = {}): string =>
  JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    preferences: {},
    'current-context': 'it',
    clusters: [{ name: 'it', cluster: { server: 'https://a:6443', ...cluster } }],
    contexts: [{ name: 'it', context: { cluster: 'it', user: 'it', ...context } }],
    users: [{ name: 'it', user: { token: 'abc', ...user } }],
    ...root,
  })

describe('a kubeconfig from a value (9.5)', () => {
  let authority: CertificatePair
  let serving: CertificatePair
  let ann: CertificatePair
  beforeAll(() => {
    authority = createAuthority('test')
    serving = issueServing(authority, ['127.0.0.1'])
    ann = issueClient(authority, { user: 'ann', groups: [] })
  })

  test.each<{ name: string; user: () => object; header: string | undefined; as: string | null }>([
    { name: 'a token', user: () => ({}), header: 'Bearer abc', as: null },
    {
      name: 'a client certificate',
      user: () => ({
        token: null,
        'client-certificate-data': base64(ann.certificatePem),
        'client-key-data': base64(ann.keyPem),
      }),
      header: undefined,
      as: 'ann',
    },
  ])('opens a connection with its credential: $name', async ({ user, header, as }) => {
    const server = await startScriptedServer(json(200, thing('a', 5)), {
      cert: serving.certificatePem,
      key: serving.keyPem,
      ca: authority.certificatePem,
      requestCert: true,
      rejectUnauthorized: false,
    })
    const authorityData = base64(authority.certificatePem)
    const cluster = { server: `${server.url}/c`, 'certificate-authority-data': authorityData }
    const connection = await ofValue(kubeconfig({ cluster, user: user() }))
    onTestFinished(() => connection.close())
    const { calls, headers } = await connection.open()
    const path = `${connection.prefix}/api`
    const answer = await calls.request({ method: 'GET', path, headers: { ...headers } })
    await answer.body.dump()
    expect(server.received).toMatchObject([{ path: '/c/api', certifiedUser: as }])
    expect(server.received[0]?.headers.authorization).toBe(header)
    // A refusal reads the same value again.
    expect((await connection.open(true)).headers).toEqual(headers)
  })

  test.each([
    { name: 'YAML', text: kubeconfig().replaceAll('"', "'") },
    { name: 'a context with a namespace', text: kubeconfig({ context: { namespace: 'n' } }) },
    { name: 'null for fields without a value', text: kubeconfig({ user: { exec: null } }) },
    {
      name: 'extensions and other settings of the cluster',
      text: kubeconfig({
        cluster: {
          'insecure-skip-tls-verify': false,
          'tls-server-name': 'api.test',
          'disable-compression': true,
          extensions: [{ name: 'x', extension: {} }],
        },
      }),
    },
  ])('is accepted: $name', async ({ text }) => {
    expect((await ofValue(text)).server).toBe('a:6443')
  })

  const FILE = 'names a file: a kubeconfig from a value holds its data inline'
  const IDENTITY =
    'names an identity besides the credential: a kubeconfig from a value has a token or a client certificate'
  const UNVERIFIED = "is not supported: the server's certificate is always verified"
  const PROGRAM = 'names a program to run: a kubeconfig from a value holds its credential inline'
  test.each<{ name: string; parts: Parts; fault: string }>([
    {
      name: 'a certificate authority in a file',
      parts: { cluster: { 'certificate-authority': '/etc/passwd' } },
      fault: `clusters[0].cluster.certificate-authority ${FILE}`,
    },
    {
      name: 'a client certificate in a file',
      parts: { user: { 'client-certificate': 'a' } },
      fault: `users[0].user.client-certificate ${FILE}`,
    },
    {
      name: 'a private key in a file',
      parts: { user: { 'client-key': 'a' } },
      fault: `users[0].user.client-key ${FILE}`,
    },
    {
      name: 'a token in a file',
      parts: { user: { tokenFile: '/var/run/secrets/kubernetes.io/serviceaccount/token' } },
      fault: `users[0].user.tokenFile ${FILE}`,
    },
    {
      name: 'an exec plugin',
      parts: { user: { exec: { command: 'sh' } } },
      fault: `users[0].user.exec ${PROGRAM}`,
    },
    {
      name: 'an auth provider',
      parts: { user: { 'auth-provider': { name: 'tokenFile', config: { tokenFile: 'a' } } } },
      fault: `users[0].user.auth-provider ${PROGRAM}`,
    },
    {
      name: 'an exec plugin of another user than the current one',
      parts: {
        root: {
          users: [
            { name: 'it', user: { token: 'abc' } },
            { name: 'b', user: { exec: {} } },
          ],
        },
      },
      fault: `users[1].user.exec ${PROGRAM}`,
    },
    {
      name: 'a proxy',
      parts: { cluster: { 'proxy-url': 'http://p' } },
      fault: 'clusters[0].cluster.proxy-url is not supported',
    },
    {
      name: 'impersonation',
      parts: { user: { as: 'admin', 'as-groups': ['system:masters'] } },
      fault: `users[0].user.as ${IDENTITY}; users[0].user.as-groups ${IDENTITY}`,
    },
    {
      name: 'impersonation by uid and extra',
      parts: { user: { 'as-uid': '1', 'as-user-extra': { a: ['b'] } } },
      fault: `users[0].user.as-uid ${IDENTITY}; users[0].user.as-user-extra ${IDENTITY}`,
    },
    {
      name: 'a name and a password',
      parts: { user: { username: 'ann', password: 'p:w' } },
      fault: `users[0].user.username ${IDENTITY}; users[0].user.password ${IDENTITY}`,
    },
    {
      name: 'a server that is not verified',
      parts: { cluster: { 'insecure-skip-tls-verify': true } },
      fault: `clusters[0].cluster.insecure-skip-tls-verify ${UNVERIFIED}`,
    },
    {
      name: 'a certificate authority that no parser reads',
      parts: { cluster: { 'certificate-authority-data': PEM } },
      fault: 'certificate-authority-data of the current cluster does not work',
    },
    {
      name: 'a client certificate without its key',
      parts: { user: { 'client-certificate-data': PEM, 'client-key-data': PEM } },
      fault: 'client-certificate-data and client-key-data of the current user do not work',
    },
    {
      name: 'an unknown field',
      parts: { cluster: { 'certificate-authority-dta': PEM } },
      fault: 'clusters[0].cluster has a field that is unknown',
    },
    {
      name: 'plain HTTP',
      parts: { cluster: { server: 'http://a' } },
      fault: 'clusters[0].cluster.server must be an https URL of host, port and path',
    },
    {
      name: 'a server with a password',
      parts: { cluster: { server: 'https://u:p@a' } },
      fault: 'clusters[0].cluster.server must be an https URL of host, port and path',
    },
    {
      name: 'no server',
      parts: { cluster: { server: null } },
      fault: 'clusters[0].cluster.server is missing',
    },
    {
      name: 'a certificate authority that is not PEM',
      parts: { cluster: { 'certificate-authority-data': base64('DER') } },
      fault: 'clusters[0].cluster.certificate-authority-data must be PEM in base64',
    },
    {
      name: 'a certificate authority that is not base64',
      parts: { cluster: { 'certificate-authority-data': '-----BEGIN CERTIFICATE-----' } },
      fault: 'clusters[0].cluster.certificate-authority-data must be PEM in base64',
    },
    {
      name: 'text for a boolean',
      parts: { cluster: { 'insecure-skip-tls-verify': 'false' } },
      fault: `clusters[0].cluster.insecure-skip-tls-verify ${UNVERIFIED}`,
    },
    {
      name: 'a token with a line break',
      parts: { user: { token: 'abc\nx: y' } },
      fault: 'users[0].user.token must be a text of printable ASCII without spaces',
    },
    {
      name: 'half a client certificate',
      parts: { user: { 'client-key-data': PEM } },
      fault: 'the current user has only one of client-certificate-data and client-key-data',
    },
    {
      name: 'no credential',
      parts: { user: { token: null } },
      fault: 'the current user has no credential',
    },
    {
      name: 'no current context',
      parts: { root: { 'current-context': null } },
      fault: 'current-context names no context',
    },
    {
      name: 'a context of an unknown cluster and user',
      parts: { context: { cluster: 'x', user: 'y' } },
      fault: 'the current context names no cluster; the current context names no user',
    },
    {
      name: 'two clusters of one name',
      parts: {
        root: {
          clusters: [
            { name: 'it', cluster: { server: 'https://a' } },
            { name: 'it', cluster: { server: 'https://b' } },
          ],
        },
      },
      fault: 'clusters has two entries of one name',
    },
    {
      name: 'lists of wrong types',
      parts: { root: { clusters: {}, contexts: ['x'], users: [{ name: 'it', user: 'x' }] } },
      fault:
        'clusters must be a list; contexts[0].name is missing; contexts[0].context must be a map; users[0].user must be a map',
    },
    {
      name: 'several faults at once',
      parts: { cluster: { server: 'a' }, user: { exec: {}, tokenFile: 'a' } },
      fault: `clusters[0].cluster.server must be an https URL of host, port and path; users[0].user.exec ${PROGRAM}; users[0].user.tokenFile ${FILE}`,
    },
  ])('is refused with every fault: $name', async ({ parts, fault }) => {
    await expect(ofValue(kubeconfig(parts))).rejects.toThrow(
      new Error(`the kubeconfig is refused: ${fault}`),
    )
  })

  test.each([
    { name: 'not a map', text: '[]', error: 'the kubeconfig is refused: it is not a map' },
    { name: 'empty text', text: '', error: 'the kubeconfig is refused: it is not a map' },
    { name: 'invalid YAML', text: 'a: [', error: 'the kubeconfig is unreadable' },
    { name: 'an alias', text: 'a: &b [1]\nc: *b', error: 'the kubeconfig is unreadable' },
    {
      name: 'a long text',
      text: 'x'.repeat(64 * 1024 + 1),
      error: 'the kubeconfig is refused: it is longer than 64 KiB',
    },
  ])('is refused as a whole: $name', async ({ text, error }) => {
    await expect(ofValue(text)).rejects.toThrow(new Error(error))
  })

  test('is refused with at most 50 faults in the message', async () => {
    const users = Array.from({ length: 60 }, (_, n) => ({ name: `u${n}`, user: { exec: {} } }))
    const error = await ofValue(kubeconfig({ root: { users } })).catch((thrown: unknown) => thrown)
    expect((error as Error).message).toMatch(/users\[49\]\.user\.exec [^;]*; and 10 more$/)
  })

  test('reads no file that it names', async () => {
    const path = join(await scratchFolder(), 'token')
    await writeFile(path, 'abc')
    await expect(ofValue(kubeconfig({ user: { tokenFile: path } }))).rejects.toThrow(FILE)
  })

  test('is refused with an error that quotes none of its values', async () => {
    const planted = plantCanary('value')
    const { secret } = planted
    const texts = [
      kubeconfig({ user: { token: `${secret} x`, [secret]: 1, exec: { command: secret } } }),
      kubeconfig({ cluster: { server: `http://u:${secret}@a`, [secret]: secret } }),
      kubeconfig({ root: { users: [{ name: secret, user: secret }] } }),
      kubeconfig({ user: { 'client-key-data': secret } }),
      `users:\n- name: a\n  user:\n    token: ${secret}\n   bad: x\n`,
      `token: "${secret}`,
    ]
    for (const text of texts) {
      const error = (await ofValue(text).catch((thrown: unknown) => thrown)) as Error
      expect(error).toBeInstanceOf(Error)
      const chain = [error, error.cause].map((one) => String((one as Error | undefined)?.stack))
      expect(findCanaries({ chain: chain.join('\n') }, [planted])).toEqual([])
    }
  })
})
