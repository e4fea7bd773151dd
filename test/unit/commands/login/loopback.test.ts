// The server that waits for the code: its bounds, and what ends it.
import { once } from 'node:events'
import { connect } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import { startLoopback } from '../../../../src/commands/login/loopback.ts'
import { exchange, submit } from './stand-in-platform.ts'

/** A server for one test, and the form that it waits for. */
async function start() {
  const loopback = await startLoopback({ state: 'S', platform: 'https://platform.example.com' })
  onTestFinished(() => loopback[Symbol.dispose]())
  const { port } = loopback
  return { ...loopback, form: { port: String(port), code: 'c.1', state: 'S' } }
}

describe('the loopback port (25.2, 27.2, SH)', () => {
  test('gives the code of the page, and shows one that has nothing of it', async () => {
    const { code, form } = await start()
    const answer = await submit(form)
    expect(await code).toBe('c.1')
    expect(answer.status).toBe(200)
    expect(answer.body).toContain('You can close this window')
    expect(answer.body).not.toContain('c.1')
    expect(answer.headers).toMatchObject({
      'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
      'cache-control': 'no-store',
      connection: 'close',
    })
  })

  test('listens on 127.0.0.1 alone', async () => {
    const { port } = await start()
    const other = connect(port, '127.0.0.2')
    const [error] = (await once(other, 'error')) as [NodeJS.ErrnoException]
    expect(error.code).toBe('ECONNREFUSED')
  })

  test('takes one code only', async () => {
    const { code, form } = await start()
    await submit(form)
    expect((await submit({ ...form, code: 'c.2' })).status).toBe(400)
    expect(await code).toBe('c.1')
  })

  test('waits on after a wrong state, and gives up after ten', async () => {
    const { code, form } = await start()
    const other = await start()
    for (let at = 0; at < 9; at += 1) {
      expect((await submit({ ...form, state: `${at}` })).status).toBe(403)
      await submit({ ...other.form, state: `${at}` })
    }
    await submit(form)
    expect(await code).toBe('c.1')
    await submit({ ...other.form, state: '9' })
    await expect(other.code).rejects.toThrow('10 requests with a wrong state')
    expect((await submit(other.form)).status).toBe(400)
  })

  test('waits on after any other request', async () => {
    const { code, form } = await start()
    const { port } = form
    expect((await exchange(`http://127.0.0.1:${port}/`, {}, '')).status).toBe(404)
    const got = await exchange(`http://127.0.0.1:${port}/callback`, {}, '')
    expect(got).toMatchObject({ status: 405, headers: { allow: 'POST' } })
    for (let at = 0; at < 20; at += 1)
      expect((await submit(form, { headers: { host: `evil.example:${port}` } })).status).toBe(403)
    await submit(form)
    expect(await code).toBe('c.1')
  })

  test('reads 16 KiB of a body, and no more', async () => {
    const { port, code, form } = await start()
    const socket = connect(port, '127.0.0.1')
    const head = [
      'POST /callback HTTP/1.1',
      `Host: 127.0.0.1:${port}`,
      'Content-Length: 1000000000',
    ]
    socket.write(`${head.join('\r\n')}\r\nContent-Type: application/x-www-form-urlencoded\r\n\r\n`)
    socket.write('x'.repeat(17 * 1024))
    const [answer] = (await once(socket, 'data')) as [Buffer]
    expect(String(answer)).toMatch(/^HTTP\/1\.1 413 /)
    socket.destroy()
    await submit(form)
    expect(await code).toBe('c.1')
  })

  test('holds 16 connections, and is free again when they end', async () => {
    const { port, code, form } = await start()
    const idle = Array.from({ length: 16 }, () => connect(port, '127.0.0.1'))
    await Promise.all(idle.map((socket) => once(socket, 'connect')))
    await expect(submit(form)).rejects.toThrow(/ECONNRESET|hang up/)
    const left = idle.map((socket) => once(socket, 'close'))
    for (const socket of idle) socket.end()
    await Promise.all(left)
    await submit(form)
    expect(await code).toBe('c.1')
  })

  test('is closed with every connection once it is disposed of', async () => {
    const loopback = await startLoopback({ state: 'S', platform: 'https://p.example.com' })
    const socket = connect(loopback.port, '127.0.0.1')
    await once(socket, 'connect')
    const isClosed = once(
      socket.on('error', () => undefined),
      'close',
    )
    loopback[Symbol.dispose]()
    await isClosed
    const form = { port: String(loopback.port), code: 'c', state: 'S' }
    await expect(submit(form)).rejects.toThrow('ECONNREFUSED')
  })
})
