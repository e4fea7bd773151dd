import { Readable } from 'node:stream'
import { expect, test } from 'vitest'
import { readReply } from '../../../../src/gateway/selfservice/upstream-client.ts'

const answer = (bytes: number) => ({
  status: 200,
  headers: {},
  body: Readable.from([Buffer.from(JSON.stringify({ spec: 'x'.repeat(bytes) }))], {
    objectMode: false,
  }),
})

test.each([
  { name: 'large responses are parsed in turns of their own', bytes: 20_000, apart: true },
  { name: 'small responses do not wait', bytes: 20, apart: false },
])('$name (13.3)', async ({ bytes, apart }) => {
  let turns = 0
  let isDone = false
  const count = (): void => {
    turns += 1
    if (!isDone) setImmediate(count)
  }
  const read = Array.from({ length: 50 }, async () => {
    await readReply(answer(bytes), () => undefined)
    return turns
  })
  setImmediate(count)
  const at = await Promise.all(read)
  isDone = true
  const most = Math.max(...at.map((turn) => at.filter((other) => other === turn).length))
  expect(most > 2).toBe(!apart)
})
