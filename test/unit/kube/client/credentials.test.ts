import { chmod, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { plantCanary, findCanaries } from '../../../support/canary.ts'
import {
  type Answer,
  type Connected,
  type ScriptedServer,
  THINGS,
  connectTo,
  answersInTurn,
  json,
  refuse,
  scratchFolder,
  startScriptedServer,
  thing,
  writeKubeconfig,
} from '../informer/scripted-server.ts'

const MINUTE_MS = 60_000
const good = json(200, thing('a', 5))
const base64 = (text: string): string => Buffer.from(text).toString('base64')
const read = ({ client }: Connected): Promise<unknown> => client.get(THINGS, { name: 'a' })
const presented = ({ received }: ScriptedServer) =>
  received.map(({ headers }) => headers.authorization)

describe('a credential', () => {
  test.each([
    { name: 'a token', user: { token: 'abc' }, header: 'Bearer abc' },
    {
      name: 'a name and a password',
      user: { username: 'ann', password: 'p:w' },
      header: `Basic ${base64('ann:p:w')}`,
    },
    {
      name: 'a token beside a name',
      user: { token: 'abc', username: 'ann', password: 'p' },
      header: 'Bearer abc',
    },
    { name: 'none', user: {}, header: undefined },
  ])('is sent with each request: $name', async ({ user, header }) => {
    const server = await startScriptedServer(good)
    await read(await connectTo(await writeKubeconfig({ server: server.url, user })))
    expect(presented(server)).toEqual([header])
  })

  test('is sent with the impersonated user of the kubeconfig', async () => {
    const server = await startScriptedServer(good)
    const user = { token: 'abc', as: 'bob' }
    await read(await connectTo(await writeKubeconfig({ server: server.url, user })))
    expect(server.received[0]?.headers).toMatchObject({ 'impersonate-user': 'bob' })
  })

  describe('in a token file', () => {
    /** The file is beside the kubeconfig, which names it by a relative path. */
    async function clientWithTokenFile(answer: Answer) {
      const folder = await scratchFolder()
      const server = await startScriptedServer(answer)
      const user = { tokenFile: 'secrets/token', token: 'of-the-kubeconfig' }
      const rotate = (token: string) => writeFile(join(folder, 'secrets/token'), `${token}\n`)
      await mkdir(join(folder, 'secrets'))
      await rotate('first')
      const it = await connectTo(await writeKubeconfig({ server: server.url, user, folder }))
      return { it, server, rotate, folder }
    }

    test('is read again after a minute', async () => {
      const { it, server, rotate } = await clientWithTokenFile(good)
      await read(it)
      await rotate('second')
      await it.clock.advance(MINUTE_MS - 1)
      await read(it)
      await it.clock.advance(1)
      await read(it)
      expect(presented(server)).toEqual(['Bearer first', 'Bearer first', 'Bearer second'])
    })

    test('is read again at once when the server refuses it', async () => {
      const refuseFirst: Answer = (response, request) =>
        (request.headers.authorization === 'Bearer first' ? refuse(401) : good)(response, request)
      const { it, server, rotate } = await clientWithTokenFile(refuseFirst)
      await rotate('first')
      await expect(read(it)).rejects.toMatchObject({ code: 401 })
      await rotate('second')
      await read(it)
      await read(it)
      const first = 'Bearer first'
      const second = 'Bearer second'
      expect(presented(server)).toEqual([first, first, first, second, second])
    })

    test('may be missing for a while', async () => {
      const { it, server, rotate, folder } = await clientWithTokenFile(good)
      await rm(join(folder, 'secrets/token'))
      await expect(read(it)).rejects.toMatchObject({
        message: 'the credentials for the API server are unreadable',
        cause: { code: 'ENOENT' },
      })
      await rotate('second')
      await read(it)
      expect(presented(server)).toEqual(['Bearer second'])
    })
  })

  test('is not sent a third time after two refusals', async () => {
    const server = await startScriptedServer(refuse(401, { reason: 'Unauthorized' }))
    const user = { token: 'abc' }
    const it = await connectTo(await writeKubeconfig({ server: server.url, user }))
    await expect(read(it)).rejects.toMatchObject({ code: 401, reason: 'Unauthorized' })
    expect(server.received).toHaveLength(2)
  })

  test('is read again also when the server refuses a watch', async () => {
    const server = await startScriptedServer(
      answersInTurn(refuse(401), (response) => response.end('{}\n')),
    )
    const { client } = await connectTo(await writeKubeconfig({ server: server.url }))
    const { signal } = new AbortController()
    const stream = await client.watch(THINGS, {}, undefined, signal)
    expect(String(Buffer.concat(await stream.toArray()))).toBe('{}\n')
  })
})

describe('a credential plugin', () => {
  /** A credential plugin that prints a file, or runs the given program. */
  async function plugin(answer: Answer, program = 'cat "$(dirname "$0")/credential"') {
    const folder = await scratchFolder()
    const command = join(folder, 'plugin.sh')
    await writeFile(command, `#!/bin/sh\necho run >> "$(dirname "$0")/runs"\n${program}\n`)
    await chmod(command, 0o755)
    const print = (status: object) =>
      writeFile(
        join(folder, 'credential'),
        JSON.stringify({
          apiVersion: 'client.authentication.k8s.io/v1',
          kind: 'ExecCredential',
          status,
        }),
      )
    const exec = { apiVersion: 'client.authentication.k8s.io/v1', command, args: [] }
    const server = await startScriptedServer(answer)
    const it = await connectTo(await writeKubeconfig({ server: server.url, user: { exec } }))
    const runs = async () =>
      (await readFile(join(folder, 'runs'), 'utf8')).trim().split('\n').length
    return { it, server, print, runs }
  }

  test('runs once for all calls that wait for it', async () => {
    const { it, server, print, runs } = await plugin(good)
    await print({ token: 'abc' })
    await Promise.all(Array.from({ length: 20 }, () => read(it)))
    await it.clock.advance(10 * MINUTE_MS)
    await read(it)
    expect(new Set(presented(server))).toEqual(new Set(['Bearer abc']))
    expect(await runs()).toBe(1)
  })

  test('runs again when its credential has expired', async () => {
    const { it, server, print, runs } = await plugin(good)
    await print({ token: 'abc', expirationTimestamp: '2020-01-01T00:00:00Z' })
    await read(it)
    await print({ token: 'def', expirationTimestamp: '2999-01-01T00:00:00Z' })
    await it.clock.advance(MINUTE_MS)
    await read(it)
    expect(presented(server)).toEqual(['Bearer abc', 'Bearer def'])
    expect(await runs()).toBe(2)
  })

  test('runs again at once when the server refuses its credential', async () => {
    const { it, server, print, runs } = await plugin(answersInTurn(good, refuse(401), good))
    await print({ token: 'abc', expirationTimestamp: '2999-01-01T00:00:00Z' })
    await read(it)
    await print({ token: 'def', expirationTimestamp: '2999-01-01T00:00:00Z' })
    await read(it)
    expect(presented(server)).toEqual(['Bearer abc', 'Bearer abc', 'Bearer def'])
    expect(await runs()).toBe(2)
  })

  test.each([
    { name: 'fails', program: 'echo no luck >&2; exit 3', says: /no luck/ },
    { name: 'removes itself', program: 'rm "$0"; exec "$0"', says: /./ },
    { name: 'prints no credential', program: 'echo "{}"', says: /./ },
  ])('that $name fails the call', async ({ program, says }) => {
    const { it, server } = await plugin(good, program)
    await expect(read(it)).rejects.toMatchObject({
      message: 'the credentials for the API server are unreadable',
      cause: { message: expect.stringMatching(says) as unknown },
    })
    expect(server.received).toEqual([])
  })

  test('that does not exist fails the call', async () => {
    const exec = { apiVersion: 'client.authentication.k8s.io/v1', command: '/nowhere/plugin' }
    const it = await connectTo(
      await writeKubeconfig({ server: 'http://127.0.0.1:1', user: { exec } }),
    )
    await expect(read(it)).rejects.toMatchObject({ cause: { code: 'ENOENT' } })
  })

  test('that prints text around its token is not quoted in the error', async () => {
    const planted = plantCanary('plugin')
    const { it } = await plugin(good, `echo '${planted.secret}: {"status": 1}'`)
    const error = (await read(it).catch((thrown: unknown) => thrown)) as Error
    expect(error.message).toMatch(/printed no JSON/)
    expect(
      findCanaries({ stack: String(error.stack), cause: String(error.cause) }, [planted]),
    ).toEqual([])
  })
})
