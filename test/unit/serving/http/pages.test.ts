import { connect, type Socket } from 'node:net'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Log } from '../../../../src/runtime/log.ts'
import { healthPage, plainText, servePages } from '../../../../src/serving/http/pages.ts'
import { type LoggedLine, memoryLog } from '../../../support/memory-log.ts'

type HttpServer = Awaited<ReturnType<typeof servePages>>

const anyPort = { host: '127.0.0.1', port: 0 }
let log: Log
let lines: readonly LoggedLine[]
let server: HttpServer
let reason: string | null
let held: PromiseWithResolvers<void>

beforeEach(async () => {
  ;({ log, lines } = memoryLog())
  reason = null
  held = Promise.withResolvers()
  server = await servePages(
    anyPort,
    {
      '/readyz': healthPage('readyz', { 'stores synced': () => null, crds: () => reason }),
      '/broken': () => Promise.reject(new Error('HUNTER2')),
      '/held': async () => {
        await held.promise
        return plainText(200, 'late')
      },
    },
    log,
  )
})
afterEach(async () => {
  held.resolve()
  await server.close()
})

const get = (path: string, method = 'GET'): Promise<Response> =>
  fetch(`http://127.0.0.1:${server.port}${path}`, { method })

describe('the health page (contract 8.2)', () => {
  test.each([
    { name: 'every check passes', fails: null, path: '/readyz', status: 200, body: 'ok\n' },
    {
      name: 'every check passes, and the page is verbose',
      fails: null,
      path: '/readyz?verbose',
      status: 200,
      body: '[+]stores synced ok\n[+]crds ok\nreadyz check passed\n',
    },
    {
      name: 'every check passes, and verbose has a value',
      fails: null,
      path: '/readyz?verbose=true',
      status: 200,
      body: '[+]stores synced ok\n[+]crds ok\nreadyz check passed\n',
    },
    {
      name: 'a check fails',
      fails: 'not served',
      path: '/readyz',
      status: 500,
      body: '[+]stores synced ok\n[-]crds failed: not served\nreadyz check failed\n',
    },
    {
      name: 'a check fails, and the page is verbose',
      fails: 'not served',
      path: '/readyz?verbose',
      status: 500,
      body: '[+]stores synced ok\n[-]crds failed: not served\nreadyz check failed\n',
    },
  ])('answers $status where $name', async ({ fails, path, status, body }) => {
    reason = fails
    const response = await get(path)
    expect(response.status).toBe(status)
    expect(await response.text()).toBe(body)
    expect(response.headers.get('content-type')).toBe('text/plain; charset=utf-8')
  })
})

describe('the server of pages', () => {
  test.each([
    { method: 'HEAD', path: '/readyz', status: 200 },
    { method: 'POST', path: '/readyz', status: 405 },
    { method: 'DELETE', path: '/readyz', status: 405 },
    { method: 'GET', path: '/', status: 404 },
    { method: 'GET', path: '/readyz/', status: 404 },
    { method: 'GET', path: '/constructor', status: 404 },
    { method: 'POST', path: '/metrics', status: 404 },
  ])('answers $method $path with $status', async ({ method, path, status }) => {
    const response = await get(path, method)
    expect(response.status).toBe(status)
    expect(response.headers.get('allow')).toBe(status === 405 ? 'GET, HEAD' : null)
  })

  test('answers a page that fails with a 500 without the reason, which is in the log', async () => {
    const response = await get('/broken')
    expect(response.status).toBe(500)
    expect(await response.text()).not.toContain('HUNTER2')
    expect(lines).toMatchObject([{ level: 'error', fields: { err: new Error('HUNTER2') } }])
  })

  test('refuses headers beyond 8 KiB', async () => {
    const response = await fetch(`http://127.0.0.1:${server.port}/readyz`, {
      headers: { 'x-long': 'x'.repeat(9000) },
    })
    expect(response.status).toBe(431)
  })
})

describe('the server of pages, listening and closing,', () => {
  test('names a port that is in use', async () => {
    const taken = { host: '127.0.0.1', port: server.port }
    await expect(servePages(taken, {}, log)).rejects.toThrow(
      `cannot listen on 127.0.0.1:${server.port}: EADDRINUSE`,
    )
  })

  test('ends connections that are idle or without a request', async () => {
    const silent = await connected()
    await get('/readyz')
    const ended = new Promise((resolve) => silent.once('close', resolve))
    await server.close()
    await ended
    await expect(get('/readyz')).rejects.toThrow('fetch failed')
  })

  test('lets a response in progress finish', async () => {
    const answer = get('/held')
    await answered('/readyz')
    const closing = server.close()
    held.resolve()
    expect(await (await answer).text()).toBe('late\n')
    await closing
  })
})

async function connected(): Promise<Socket> {
  const socket = connect(server.port, '127.0.0.1')
  await new Promise((resolve) => socket.once('connect', resolve))
  return socket
}

/** Waits until an earlier request has arrived, by sending a later one and reading its response. */
const answered = async (path: string): Promise<void> => {
  await (await get(path)).text()
}
