// The files of the way to the sign-in process, and their rotation (contract 25.1).
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { startSignIn } from '../../../../src/commands/gateway/sign-in.ts'
import type { SignInFlagSettings } from '../../../../src/commands/gateway/sign-in-flags.ts'
import { serverPair } from '../../../support/certificate-builder.ts'
import { manualClock } from '../../../support/manual-clock.ts'
import { memoryLog } from '../../../support/memory-log.ts'
import { PAGE, PAIR, TOKEN, gatewayTo, startStandIn } from '../../gateway/signin/signing-in.ts'

const OTHER = serverPair('another')

/** The way to a sign-in process by files. */
async function byFiles(parts: Partial<SignInFlagSettings> = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'sign-in-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const [caFile, tokenFile] = [join(folder, 'ca.crt'), join(folder, 'token')]
  writeFileSync(caFile, PAIR.caPem)
  writeFileSync(tokenFile, `${TOKEN}\n`)
  const process = await startStandIn(PAGE)
  const clock = manualClock(0)
  const stopping = new AbortController()
  onTestFinished(() => stopping.abort())
  const { log, lines } = memoryLog()
  const { origin } = process
  const signIn = startSignIn(
    {
      settings: { signIn: { origin, caFile, tokenFile, namespace: 's', ...parts } },
      clock,
      log,
      lifecycle: { stopping: stopping.signal, onStop: () => undefined } as never,
      metrics: { limited: () => undefined },
    },
    { get: async () => Promise.reject(new Error('nothing is read')) },
  )
  const gateway = await gatewayTo(process, { signIn })
  return { ...gateway, process, clock, lines, caFile, tokenFile }
}

describe('the files of the way to the sign-in process (25.1)', () => {
  test('are not there where no URL is given', () =>
    expect(
      startSignIn(
        {
          settings: { signIn: null },
          clock: manualClock(0),
          log: memoryLog().log,
          lifecycle: {} as never,
          metrics: { limited: () => undefined },
        },
        { get: async () => null },
      ),
    ).toBeNull())

  test('hold the token, which is read again when it changes', async () => {
    const { ask, process, clock, tokenFile, lines } = await byFiles()
    const sent = () => process.received.map(({ headers }) => new Map(headers).get('authorization'))
    await ask('GET /login')
    writeFileSync(tokenFile, 'the-next-one')
    await clock.advance(2000)
    await ask('GET /login')
    expect(sent()).toEqual([`Bearer ${TOKEN}`, 'Bearer the-next-one'])
    writeFileSync(tokenFile, 'two words')
    await clock.advance(2000)
    expect(await ask('GET /login')).toMatchObject({ code: 503 })
    rmSync(tokenFile)
    await clock.advance(2000)
    expect(await ask('GET /login')).toMatchObject({ code: 503 })
    expect(sent()).toHaveLength(2)
    expect(lines.map(({ sentence }) => sentence)).toContain(
      'the token for the sign-in process cannot be used',
    )
    expect(JSON.stringify(lines)).not.toContain('two words')
  })

  test('hold the authority, which is read again when it changes', async () => {
    const { ask, process, clock, caFile, lines } = await byFiles()
    expect(await ask('GET /login')).toMatchObject({ code: 200 })
    process.show(OTHER)
    for (const socket of process.sockets) socket.destroy()
    expect(await ask('GET /login')).toMatchObject({ code: 503 })
    writeFileSync(caFile, OTHER.caPem)
    await clock.advance(2000)
    expect(await ask('GET /login')).toMatchObject({ code: 200 })
    rmSync(caFile)
    await clock.advance(2000)
    expect(await ask('GET /login')).toMatchObject({ code: 503 })
    expect(lines.map(({ sentence }) => sentence)).toContain(
      'the authority of a certificate cannot be read',
    )
  })

  test('are not needed for the authority: then it is in the ConfigMap', async () => {
    const { ask, lines } = await byFiles({ caFile: null })
    expect(await ask('GET /login')).toMatchObject({ code: 503 })
    expect(lines[0]?.sentence).toBe('the authority of a certificate cannot be read')
  })
})
