// A request of a command line tool: what it trusts, and its bounds.
import { describe, expect, onTestFinished, test } from 'vitest'
import { httpsSender, isCertificate } from '../../../../src/commands/shared/https.ts'
import { recordAnswered } from '../../../support/recording-server.ts'

type Answer = Parameters<typeof recordAnswered>[0]

async function serve(answer: Answer) {
  const server = await recordAnswered(answer)
  onTestFinished(() => server[Symbol.asyncDispose]())
  return { server, send: httpsSender(server.caPem) }
}

describe('a request of a command line tool (27.2)', () => {
  test('is given up when there is no whole answer in time', async () => {
    const silent = await serve(() => undefined)
    const asked = silent.send(silent.server.url, { withinSeconds: 1 })
    await expect(asked).rejects.toThrow('no answer within 1 s')
    const slow = await serve((_, response) => void response.write('{'))
    await expect(slow.send(slow.server.url, { withinSeconds: 1 })).rejects.toThrow(
      'no answer within 1 s',
    )
  })

  test('is given up when the answer has more than 256 KiB', async () => {
    const { server, send } = await serve((_, response) => void response.end('x'.repeat(262_145)))
    await expect(send(server.url)).rejects.toThrow('the answer is too large')
    const largest = await serve((_, response) => void response.end('x'.repeat(262_144)))
    expect((await largest.send(largest.server.url)).body).toHaveLength(262_144)
  })

  test('follows no redirect with its key', async () => {
    const { server, send } = await serve((request, response) => {
      const location = request.url === '/' ? '/other' : '/'
      response.writeHead(307, { location }).end()
    })
    expect((await send(server.url, { method: 'DELETE', bearer: 'pak_1' })).status).toBe(307)
    expect(server.received().match(/pak_1/g)).toHaveLength(1)
    expect(server.received()).toMatch(/^DELETE \/ /)
  })

  test('goes to no server that another CA has signed', async () => {
    const { server } = await serve((_, response) => void response.end())
    const other = await serve((_, response) => void response.end())
    await expect(other.send(server.url, { bearer: 'pak_1' })).rejects.toThrow('certificate')
    expect(server.received()).not.toContain('pak_1')
  })
})

test.each([
  { name: 'nothing', pem: null, isOne: false },
  { name: 'an empty text', pem: '', isOne: false },
  { name: 'another text', pem: 'hello', isOne: false },
  { name: 'half of a certificate', pem: '-----BEGIN CERTIFICATE-----\nMII', isOne: false },
])('$name is a certificate: $isOne', ({ pem, isOne }) => expect(isCertificate(pem)).toBe(isOne))
