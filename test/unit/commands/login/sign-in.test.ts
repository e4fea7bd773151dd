// A person signs in at a terminal, by a loopback port or by a pasted code, and what others can do meanwhile.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { PassThrough } from 'node:stream'
import { describe, expect, onTestFinished, test } from 'vitest'
import { httpsSender } from '../../../../src/commands/shared/https.ts'
import { type SignInTerminal, signIn } from '../../../../src/commands/login/sign-in.ts'
import { identityOfNew } from '../../../../src/commands/login/platform.ts'
import { eventually as eventuallyWithin } from '../../../support/eventually.ts'
import { manualClock } from '../../../support/manual-clock.ts'
import {
  END,
  type StandInPlatform,
  openPage,
  refuse,
  startPlatform,
  submit,
} from './stand-in-platform.ts'

const eventually = <T extends {}>(what: string, probe: () => T | undefined): Promise<T> =>
  eventuallyWithin(what, probe, { withinMs: 5000 })

/** A terminal of one test. `opened` has the address once the browser opens it. */
function terminalOf(changes: Partial<SignInTerminal> = {}) {
  const clock = manualClock(0)
  const input = new PassThrough()
  const giveUp = new AbortController()
  const lines: string[] = []
  const opened = Promise.withResolvers<string>()
  const terminal: SignInTerminal = {
    clock,
    input,
    isInteractive: true,
    say: (line) => void lines.push(line),
    openBrowser: (url) => opened.resolve(url),
    signal: giveUp.signal,
    ...changes,
  }
  return { terminal, clock, input, giveUp, lines, opened: opened.promise }
}

const platformOf = ({ url, caPem }: StandInPlatform) => ({ url, send: httpsSender(caPem) })

/** The address among the lines, once it is there. */
const addressIn = (lines: readonly string[]): Promise<string> =>
  eventually('the address is shown', () =>
    lines.find((line) => line.startsWith('  https:'))?.trim(),
  )

describe('a sign-in at a terminal (25.2, 27.2)', () => {
  test('ends with the key when the browser delivers the code', async () => {
    const platform = await startPlatform()
    const { terminal, opened, lines, input } = terminalOf()
    const signedIn = signIn(platformOf(platform), terminal)
    const page = await openPage(platform, await opened)
    expect((await submit(page)).status).toBe(200)
    const { accessKey, expirationTimestamp } = await signedIn
    expect(platform.isGood(accessKey)).toBe(true)
    expect(expirationTimestamp).toBe(END)
    expect(lines.join('\n')).toContain(`check code ${page.checkCode.replace(/^..../, '$&-')}.`)
    for (const secret of platform.secrets) expect(lines.join('\n')).not.toContain(secret)
    expect(input.listenerCount('data')).toBe(0)
    await expect(submit(page)).rejects.toThrow('ECONNREFUSED')
  })

  test('ends with the key when the person pastes the code instead', async () => {
    const platform = await startPlatform()
    const { terminal, opened, input } = terminalOf()
    const signedIn = signIn(platformOf(platform), terminal)
    const page = await openPage(platform, await opened)
    input.write('\n  ')
    input.write(page.code.slice(0, 20))
    input.write(`${page.code.slice(20)} \r\nls\n`)
    expect(platform.isGood((await signedIn).accessKey)).toBe(true)
    await expect(submit(page)).rejects.toThrow('ECONNREFUSED')
  })

  test('takes no port where no browser is within reach', async () => {
    const platform = await startPlatform()
    const { terminal, lines, input } = terminalOf({ openBrowser: null, isInteractive: false })
    const signedIn = signIn(platformOf(platform), terminal)
    const address = await addressIn(lines)
    expect(address).not.toContain('port')
    const { code } = await openPage(platform, address)
    input.end(code)
    expect(platform.isGood((await signedIn).accessKey)).toBe(true)
    expect(lines.at(-1)).toBe('Paste the code that the page shows, and press Enter.')
  })

  test('listens before the browser opens', async () => {
    const platform = await startPlatform()
    const answered = Promise.withResolvers<number>()
    const { terminal, giveUp } = terminalOf({
      openBrowser: (url) => {
        const port = new URL(url).searchParams.get('port')
        submit({ port, code: 'c', state: 'x' }).then(
          ({ status }) => answered.resolve(status),
          answered.reject,
        )
      },
    })
    const signedIn = signIn(platformOf(platform), terminal)
    expect(await answered.promise).toBe(403)
    giveUp.abort()
    await expect(signedIn).rejects.toThrow('the sign-in was given up')
  })

  test('reads no input that is not of a person while the browser is open', async () => {
    const platform = await startPlatform()
    const { terminal, opened, input } = terminalOf({ isInteractive: false })
    const signedIn = signIn(platformOf(platform), terminal)
    const page = await openPage(platform, await opened)
    input.end()
    await submit(page)
    expect(platform.isGood((await signedIn).accessKey)).toBe(true)
  })

  test('says so where the browser cannot be opened, and waits for the code', async () => {
    const platform = await startPlatform()
    const { terminal, lines, giveUp } = terminalOf({ openBrowser: (_, onFailure) => onFailure() })
    const signedIn = signIn(platformOf(platform), terminal)
    await addressIn(lines)
    await eventually('the failure is shown', () =>
      lines.find((line) => line.startsWith('No browser could be opened')),
    )
    giveUp.abort()
    await expect(signedIn).rejects.toThrow('the sign-in was given up')
  })

  test('is over after five minutes, and its port closed', async () => {
    const platform = await startPlatform()
    const { terminal, clock, opened, input } = terminalOf()
    const signedIn = signIn(platformOf(platform), terminal)
    const outcome = signedIn.catch((error: unknown) => error)
    const page = await openPage(platform, await opened)
    await clock.advance(299_999)
    expect(await Promise.race([outcome, Promise.resolve('waits')])).toBe('waits')
    await clock.advance(1)
    expect(await outcome).toEqual(new Error('it took more than 5 minutes'))
    await expect(submit(page)).rejects.toThrow('ECONNREFUSED')
    expect(input.listenerCount('data')).toBe(0)
    expect(clock.pending()).toBe(0)
    expect(platform.asked).toEqual(['GET /login'])
  })

  test.each([
    { name: 'nothing', text: '', says: 'standard input has no code' },
    { name: 'two words', text: 'a code\n', says: 'standard input has no code in its first line' },
    { name: 'a line without an end', text: 'c'.repeat(20_000), says: 'no code in its first line' },
  ])('is refused with $name instead of a code, which no platform gets', async ({ text, says }) => {
    const platform = await startPlatform()
    const { terminal, input, lines } = terminalOf({ openBrowser: null })
    const signedIn = signIn(platformOf(platform), terminal)
    const outcome = signedIn.catch((error: unknown) => error)
    await addressIn(lines)
    if (text.length > 10_000) input.write(text)
    else input.end(text)
    expect(String(await outcome)).toContain(says)
    expect(platform.asked).toEqual([])
  })

  test.each([
    {
      name: 'a refusal',
      redeem: (response: Parameters<typeof refuse>[0]) =>
        refuse(response, 400, 'This code has ended or was used already. Start again'),
      says: 'This code has ended or was used already. Start again',
    },
    {
      name: 'a refusal that moves the cursor and has a key',
      redeem: (response: Parameters<typeof refuse>[0]) =>
        refuse(response, 503, `\u001b[2Jno ${KEY}`),
      says: '\\u001b[2Jno <hidden>',
    },
    {
      name: 'a page',
      redeem: (response: Parameters<typeof refuse>[0]) =>
        void response.writeHead(502).end('<html>'),
      says: 'the platform answers 502',
    },
    {
      name: 'no key',
      redeem: (response: Parameters<typeof refuse>[0]) => void response.end('{}'),
      says: 'the platform answers without a key',
    },
    {
      name: 'a key with a line break',
      redeem: (response: Parameters<typeof refuse>[0]) =>
        void response.end(JSON.stringify({ accessKey: `${'k'.repeat(40)}\n` })),
      says: 'the platform answers without a key',
    },
    {
      name: 'a time of another form',
      redeem: (response: Parameters<typeof refuse>[0]) =>
        void response.end(JSON.stringify({ accessKey: KEY, expirationTimestamp: 'soon' })),
      says: 'the platform answers without a key',
    },
    {
      name: 'a redirect',
      redeem: (response: Parameters<typeof refuse>[0]) =>
        void response.writeHead(307, { location: 'https://evil.example/' }).end(),
      says: 'the platform answers 307',
    },
    {
      name: 'an answer without an end',
      redeem: (response: Parameters<typeof refuse>[0]) => {
        const more = (): void => void response.write('x'.repeat(65_536), more)
        more()
      },
      says: 'the answer is too large',
    },
  ])('fails in one line where the platform answers with $name', async ({ redeem, says }) => {
    const platform = await startPlatform({ redeem })
    const { terminal, opened } = terminalOf()
    const outcome = signIn(platformOf(platform), terminal).catch((error: unknown) => error)
    await submit(await openPage(platform, await opened))
    const message = String(await outcome)
    expect(message).toContain(says)
    expect(message).not.toContain('\n')
    expect(message).not.toContain(KEY)
    for (const secret of platform.secrets) expect(message).not.toContain(secret)
  })

  test('is refused by a platform that this terminal does not trust', async () => {
    const platform = await startPlatform()
    const { terminal, opened } = terminalOf()
    const send = httpsSender(null)
    const outcome = signIn({ url: platform.url, send }, terminal).catch((error: unknown) => error)
    await submit(await openPage(platform, await opened))
    expect(String(await outcome)).toMatch(/does not answer: .*certificate/)
    expect(platform.asked).toEqual(['GET /login'])
  })
})

const KEY = `pak_${'a'.repeat(43)}_${'b'.repeat(6)}`

describe('a sign-in under attack (25.9, SH)', () => {
  test('waits on for its page where a foreign page posts a code of its own', async () => {
    const platform = await startPlatform()
    const { terminal, opened } = terminalOf()
    const signedIn = signIn(platformOf(platform), terminal)
    const page = await openPage(platform, await opened)
    const foreign = { ...page, code: 'code.of-the-attacker' }
    const headers = { origin: 'https://evil.example' }
    expect((await submit(foreign, { headers })).status).toBe(403)
    expect((await submit({ ...foreign, state: 'guessed' })).status).toBe(403)
    const rebound = { host: `evil.example:${page.port}` }
    expect((await submit(foreign, { headers: rebound })).status).toBe(403)
    await submit(page)
    expect(platform.isGood((await signedIn).accessKey)).toBe(true)
    expect(platform.secrets.has(foreign.code)).toBe(false)
  })

  test('gives a thief of the code nothing, as only the terminal has the verifier', async () => {
    const platform = await startPlatform()
    const { terminal, opened, giveUp } = terminalOf()
    const signedIn = signIn(platformOf(platform), terminal).catch((error: unknown) => error)
    const page = await openPage(platform, await opened)
    // A program of another user that has the port of this form.
    const stolen: string[] = []
    const thief = createServer((request, response) => {
      request.on('data', (piece: Buffer) => void stolen.push(String(piece)))
      request.on('end', () => response.end())
    }).listen(0, '127.0.0.1')
    onTestFinished(() => void thief.close())
    await eventually('the thief listens', () => thief.address() ?? undefined)
    const { port } = thief.address() as AddressInfo
    await submit({ ...page, port: String(port) })
    const code = new URLSearchParams(stolen.join('')).get('code') ?? ''
    expect(code).toBe(page.code)
    const { state } = page
    for (const verifier of [
      state,
      code,
      new URL(await opened).searchParams.get('code_challenge'),
    ]) {
      const body = JSON.stringify({ code, code_verifier: verifier })
      const answer = await httpsSender(platform.caPem)(`${platform.url}/auth/cli/token`, {
        method: 'POST',
        body,
      })
      expect(answer.status).toBe(400)
    }
    giveUp.abort()
    expect(String(await signedIn)).toContain('given up')
  })

  test('shows no verifier to the browser, and sends it to the platform alone', async () => {
    const platform = await startPlatform()
    const { terminal, opened, lines } = terminalOf()
    const signedIn = signIn(platformOf(platform), terminal)
    const address = await opened
    await submit(await openPage(platform, address))
    const { accessKey } = await signedIn
    const verifiers = [...platform.secrets].filter((one) => /^[A-Za-z0-9_-]{43}$/.test(one))
    expect(verifiers).toHaveLength(1)
    for (const text of [address, ...lines]) {
      for (const secret of [...verifiers, accessKey]) expect(text).not.toContain(secret)
    }
  })
})

describe('a new key (27.2)', () => {
  test.each([
    { refusesNewKey: 0, waitsMs: 0, isFound: true },
    { refusesNewKey: 1, waitsMs: 100, isFound: true },
    { refusesNewKey: 20, waitsMs: 2000, isFound: true },
    { refusesNewKey: 21, waitsMs: 2000, isFound: false },
  ])('that is refused $refusesNewKey times works: $isFound', async (row) => {
    const { refusesNewKey, waitsMs, isFound } = row
    const platform = await startPlatform({ refusesNewKey })
    const { terminal, opened } = terminalOf()
    const signedIn = signIn(platformOf(platform), terminal)
    await submit(await openPage(platform, await opened))
    const { accessKey } = await signedIn
    const clock = manualClock(0)
    const identity = identityOfNew(platformOf(platform), accessKey, clock)
    const over = identity.then(() => 'over')
    const waits = () => eventually('it waits', () => (clock.pending() > 0 ? 'waits' : undefined))
    while ((await Promise.race([over, waits()])) === 'waits') await clock.advance(100)
    const ada = { user: 'ada', teams: ['sre', 'dev'], keyName: 'login-x' }
    expect(await identity).toEqual(isFound ? ada : null)
    expect(clock.monotonicMs()).toBe(waitsMs)
  })
})
