import { writeFile } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { type Connection, connect } from '../../../../src/kube/client/connection.ts'
import { findKubeconfig } from '../../../../src/kube/client/kubeconfig.ts'
import { systemClock } from '../../../../src/runtime/clock.ts'
import { plantCanary, findCanaries } from '../../../support/canary.ts'
import {
  type Connected,
  THINGS,
  connectTo,
  json,
  scratchFolder,
  startScriptedServer,
  thing,
  writeKubeconfig,
} from '../informer/scripted-server.ts'

const good = json(200, thing('a', 5))
const read = ({ client }: Connected): Promise<unknown> => client.get(THINGS, { name: 'a' })

/** Connects like a command with these environment variables. */
const find = async (
  path: string | null,
  env: Readonly<Record<string, string>> = {},
): Promise<Connection> =>
  connect(
    findKubeconfig(path, (name) => env[name] ?? null),
    systemClock(),
  )

describe('the address of the API server', () => {
  test('may have a path', async () => {
    const server = await startScriptedServer(good)
    const it = await connectTo(await writeKubeconfig({ server: `${server.url}/k8s/clusters/c/` }))
    await read(it)
    expect(server.received[0]?.path).toBe('/k8s/clusters/c/apis/g.io/v1/things/a')
  })

  test('comes from KUBECONFIG without a file; of several files the first context decides', async () => {
    const folder = await scratchFolder()
    const write = async (name: string, context: string | null): Promise<string> => {
      const path = join(folder, name)
      const config = {
        ...(context === null ? {} : { 'current-context': context }),
        clusters: [{ name, cluster: { server: `https://${name}:6443` } }],
        contexts: [{ name, context: { cluster: name, user: name } }],
        users: [{ name, user: {} }],
      }
      await writeFile(path, JSON.stringify(config))
      return path
    }
    const paths = [await write('none', null), await write('one', 'one'), await write('two', 'two')]
    const env = { KUBECONFIG: paths.join(delimiter) }
    expect((await find(null, env)).server).toBe('one:6443')
    const given = await find(await write('given', 'given'), env)
    expect(given.server).toBe('given:6443')
  })

  test.each([
    { name: 'an IPv4 address', host: '10.96.0.1', server: '10.96.0.1' },
    { name: 'an IPv6 address', host: 'fd00::1', server: '[fd00::1]' },
  ])('comes from the service account of the pod without KUBECONFIG: $name', async (row) => {
    const env = { KUBECONFIG: '', KUBERNETES_SERVICE_HOST: row.host }
    const connection = await find(null, { ...env, KUBERNETES_SERVICE_PORT: '443' })
    expect(connection.server).toBe(row.server)
    expect(connection.prefix).toBe('')
    const other = await find(null, { ...env, KUBERNETES_SERVICE_PORT: '6443' })
    expect(other.server).toBe(`${row.server}:6443`)
  })
})

describe('a faulty kubeconfig', () => {
  test.each<{ name: string; text: string; error: RegExp; cause?: RegExp }>([
    { name: 'an empty file', text: '', error: /no current context with a cluster/ },
    {
      name: 'no current context',
      text: 'clusters: [{name: a, cluster: {server: "https://a"}}]',
      error: /no current context with a cluster/,
    },
    {
      name: 'a context without a cluster',
      text: 'current-context: a\ncontexts: [{name: a, context: {cluster: b, user: c}}]',
      error: /no current context with a cluster/,
    },
    {
      name: 'a server that is no URL',
      text: 'current-context: a\ncontexts: [{name: a, context: {cluster: a}}]\nclusters: [{name: a, cluster: {server: here}}]',
      error: /no server that is a URL/,
    },
    {
      name: 'a proxy',
      text: 'current-context: a\ncontexts: [{name: a, context: {cluster: a}}]\nclusters: [{name: a, cluster: {server: "https://a", proxy-url: "http://p"}}]',
      error: /proxy-url .* not supported/,
    },
    {
      name: 'invalid YAML',
      text: 'users:\n- name: a\n bad',
      error: /kubeconfig .* is unreadable/,
      cause: /not valid YAML at line \d+/,
    },
  ])('gives an error with the fault: $name', async ({ text, error, cause = /^$/ }) => {
    const path = join(await scratchFolder(), 'kubeconfig')
    await writeFile(path, text)
    const thrown = await find(path).catch((caught: unknown) => caught as Error)
    const because = thrown instanceof Error && thrown.cause instanceof Error ? thrown.cause : null
    expect(thrown).toMatchObject({ message: expect.stringMatching(error) as unknown })
    expect(because?.message ?? '').toMatch(cause)
  })

  test('gives an error with the fault: no file', async () => {
    await expect(find('/nowhere/kubeconfig')).rejects.toMatchObject({
      message: 'kubeconfig /nowhere/kubeconfig is unreadable',
      cause: { code: 'ENOENT' },
    })
  })

  test('gives an error with the fault: neither file, KUBECONFIG nor pod', async () => {
    const env = { KUBECONFIG: '', KUBERNETES_SERVICE_HOST: '' }
    await expect(find(null, env)).rejects.toThrow(/give --kubeconfig, set KUBECONFIG/)
  })

  test('gives an error for plain HTTP, unless insecure-skip-tls-verify allows it', async () => {
    const server = await startScriptedServer(good)
    const path = await writeKubeconfig({ server: server.url, cluster: {} })
    await expect(connectTo(path)).rejects.toThrow(/has no https, and no insecure-skip-tls-verify/)
    expect(server.received).toEqual([])
  })

  test('gives an error that quotes none of its secrets', async () => {
    const planted = plantCanary('kubeconfig')
    const path = join(await scratchFolder(), 'kubeconfig')
    await writeFile(path, `users:\n- name: a\n  user:\n    token: ${planted.secret}\n   bad: x\n`)
    const error = await find(path).catch((thrown: unknown) => thrown as Error)
    const chain = [error, (error as Error).cause].map((one) => String((one as Error).stack))
    expect(findCanaries({ chain: chain.join('\n') }, [planted])).toEqual([])
  })
})
