import { expect, test } from 'vitest'
import { ofForwarded } from '../../../src/commands/gateway/wiring.ts'
import { ANN, call } from '../kube/proxy/upstream-server.ts'

const FOR_ANN = { impersonation: ANN }
const BY_PROXY = { ...FOR_ANN, isProxied: true }
const OWN = { impersonation: null }

// biome-ignore format: a table
test.each([
  { name: 'its own requests, whatever comes of them', parts: OWN, codes: ['200', '403', '401', '<error>'], counted: ['200', '403', '401', '<error>'] },
  { name: "of a caller's, that its own credential is refused", parts: FOR_ANN, codes: ['200', '403', '401', '500', '<error>'], counted: ['401'] },
  { name: 'nothing of what somebody behind a proxy says', parts: BY_PROXY, codes: ['200', '401', '<error>'], counted: [] },
])('counted as of this process: $name (15)', ({ parts, codes, counted }) => {
  const told: string[] = []
  const { responded } = ofForwarded({
    responded: (method, code, dateMs) => void told.push(`${method} ${code} ${dateMs}`),
  })
  for (const code of codes) responded(call(parts), code)
  expect(told).toEqual(counted.map((code) => `GET ${code} null`))
})
