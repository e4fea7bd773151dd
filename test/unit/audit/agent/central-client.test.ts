import { randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { createCentralClient } from '../../../../src/audit/agent/central-client.ts'
import { serverPair } from '../../../support/certificate-builder.ts'
import { manualClock } from '../../../support/manual-clock.ts'
import { temporaryFolder } from '../files/sink-folder.ts'
import { keyFile } from './sender-folder.ts'
import { configList } from './test-agent.ts'
import { type PlatformAnswer, status, TestPlatform } from './test-platform.ts'

/** A client of a platform that answers so. */
async function asking(answer: PlatformAnswer, ca?: string) {
  const platform = await TestPlatform.start(answer)
  const { path, key } = keyFile()
  const stop = new AbortController()
  onTestFinished(() => stop.abort())
  const clock = manualClock(0)
  const client = createCentralClient({
    url: platform.url,
    ca: ca ?? platform.ca,
    accessKeyFile: path,
    cluster: 'east',
    clock,
    signal: stop.signal,
  })
  return { client, platform, clock, path, key }
}

const json =
  (text: string): PlatformAnswer =>
  (_, response) =>
    response.writeHead(200, { 'content-type': 'application/json' }).end(text)

describe('the settings of the platform (23.1)', () => {
  test('come from the Config in force, with the key of the agent', async () => {
    const audit = { enabled: true, level: 2, path: '/var/log/gateway' }
    const { client, platform, key } = await asking(json(configList(audit)))
    expect(await client.readSettings()).toEqual({
      known: true,
      from: 'status',
      settings: expect.objectContaining({ audit }),
    })
    expect(platform.requests).toEqual([
      {
        method: 'GET',
        url: '/kubernetes/management/apis/management.platform.sh/v1/configs',
        authorization: `Bearer ${key}`,
        contentType: '',
        body: '',
      },
    ])
  })

  const config = (fields: unknown): string => JSON.stringify({ items: [fields] })
  const [, inForce] = JSON.parse(configList({})).items as readonly [unknown, unknown]
  test.each([
    { name: 'an empty list', text: '{"items":[]}', because: 'no settings were in force yet' },
    { name: 'no list', text: '{}', because: 'the platform answered without a list' },
    { name: 'no JSON', text: '<html>', because: 'the platform answered without a list' },
    { name: 'null', text: 'null', because: 'the platform answered without a list' },
    {
      name: 'a list of nulls',
      text: '{"items":[null,1,"x",[]]}',
      because: 'no settings were in force yet',
    },
    { name: 'a Config without status', text: config({}), because: 'no settings were in force yet' },
    {
      name: 'a Config that was not read yet',
      text: config({ status: { conditions: [{ type: 'Ready', reason: 'Applied' }], audit: {} } }),
      because: 'no settings were in force yet',
    },
    {
      name: 'two Configs in force',
      text: JSON.stringify({ items: [inForce, inForce] }),
      because: 'more than one Config of the platform is in force',
    },
  ])('are unknown from $name', async ({ text, because }) => {
    const { client } = await asking(json(text))
    expect(await client.readSettings()).toEqual({ known: false, because })
  })

  test.each([201, 302, 401, 403, 404, 500, 503])('are an error with answer %d', async (code) => {
    const { client } = await asking((_, response) =>
      response.writeHead(code, { location: '/elsewhere' }).end('SECRET of the answer'),
    )
    await expect(client.readSettings()).rejects.toThrow(
      new Error(`the platform answered ${code} when asked for its settings`),
    )
  })

  test('are an error when they have more than 4 MiB', async () => {
    const { client } = await asking(json(' '.repeat(4 * 1024 * 1024 + 1)))
    await expect(client.readSettings()).rejects.toThrow('more than 4194304 bytes')
  })

  test('are an error after 5 s without a whole answer', async () => {
    const { client, platform, clock } = await asking((_, response) => response.write('{'))
    const reading = client.readSettings().catch((error: unknown) => String(error))
    while (platform.requests.length === 0) await new Promise((resolve) => setImmediate(resolve))
    await clock.advance(5000)
    expect(await reading).toBe('Error: no answer within 5000 ms')
  })

  test('are not asked of a server with a certificate of another CA', async () => {
    const { client, platform } = await asking(json('{}'), serverPair('other').caPem)
    await expect(client.readSettings()).rejects.toThrow('certificate')
    expect(platform.requests).toEqual([])
  })
})

test('no error of the client has the access key, or what the platform answered (23.1)', async () => {
  const errors: string[] = []
  const secret = `pak_${randomBytes(32).toString('hex')}`
  const path = join(temporaryFolder(), 'key')
  const answers: readonly PlatformAnswer[] = [
    (request, response) => response.writeHead(403).end(request.authorization),
    (request, response) => response.socket?.end(`HTTP/1.1 200 ${request.authorization}\r\nx`),
    (request, response) => response.writeHead(302, { location: `/${request.authorization}` }).end(),
    (_, response) => response.destroy(),
    (request, response) => response.writeHead(200).end(request.authorization.repeat(100_000)),
    status(500),
  ]
  for (const answer of answers) {
    const platform = await TestPlatform.start(answer)
    const signal = new AbortController().signal
    const place = { url: platform.url, ca: platform.ca, accessKeyFile: path, cluster: 'east' }
    const client = createCentralClient({ ...place, clock: manualClock(0), signal })
    for (const text of [secret, `${secret} x`, `${secret}\0`]) {
      writeFileSync(path, text)
      const failed = (error: unknown): void =>
        void errors.push(`${String(error)} ${(error as Error).stack} ${JSON.stringify(error)}`)
      await client.readSettings().then(({ known }) => expect(known).toBe(false), failed)
      await client.sendEvents(Buffer.from('{}')).then(String, failed)
    }
  }
  expect(errors.length).toBeGreaterThan(20)
  for (const error of errors) expect(error).not.toContain(secret.slice(4, 16))
})
