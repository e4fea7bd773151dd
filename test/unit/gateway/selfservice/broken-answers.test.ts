// An answer of the API server that is read as a whole, and breaks off on the way.
import { Readable } from 'node:stream'
import { expect, test } from 'vitest'
import { readReply } from '../../../../src/gateway/selfservice/upstream-client.ts'
import { UpstreamUnavailable } from '../../../../src/kube/proxy/types.ts'

/** Half an object; then the connection breaks. */
async function* broken(): AsyncGenerator<Buffer> {
  yield Buffer.from('{"kind":"OwnedAccessKey","metadata":{')
  throw await Promise.resolve(new Error('the connection to the API server broke off'))
}

const answer = () => ({ status: 200, headers: {}, body: Readable.from(broken()) })

test('an answer that breaks off is the same as none: a 503, not a fault of the gateway (9.4)', async () => {
  await expect(readReply(answer(), () => undefined)).rejects.toBeInstanceOf(UpstreamUnavailable)
})

test('an error of the reservation of memory stays what it is', async () => {
  const full = new Error('the buffer is full')
  const reading = readReply(answer(), () => {
    throw full
  })
  await expect(reading).rejects.toBe(full)
})
