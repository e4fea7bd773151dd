import { createServer } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { AddressInfo } from 'node:net'
import { DataStore } from '../../../../src/audit/store/data-store.ts'
import type { ServerEndpoint } from '../../../../src/domain/settings/store-endpoint.ts'
import { systemClock } from '../../../../src/runtime/clock.ts'

const PASSWORD = 'pa55-canary'

function storeAt(kind: ServerEndpoint['kind'], host: string, port: number): DataStore {
  const endpoint: ServerEndpoint = {
    kind,
    host,
    port,
    user: 'audit',
    password: PASSWORD,
    database: 'audit',
    tls: 'off',
    rootCertificates: null,
  }
  const store = new DataStore(endpoint, systemClock())
  onTestFinished(() => store.close())
  return store
}

describe.each(['postgres', 'mysql'] as const)('%s', (kind) => {
  test.each([
    { host: '169.254.169.254', fault: 'is a metadata address' },
    { host: '0.0.0.0', fault: 'is an unspecified address' },
    { host: 'fe80::1', fault: 'is a link-local address' },
    { host: '::ffff:169.254.1.1', fault: 'is a link-local address' },
  ])('a store has no forbidden address such as $host (9.5, 22.3)', async ({ host, fault }) => {
    await expect(storeAt(kind, host, 5432).readPosition('s')).rejects.toThrow(
      `the address of the server ${fault}`,
    )
  })

  test('a store may be on a loopback address; one that is no database is an error without its password (22.3)', async () => {
    let connections = 0
    const server = createServer((socket) => {
      connections += 1
      socket.end('SSH-2.0-none\r\n')
    }).listen(0, '127.0.0.1')
    onTestFinished(() => void server.close())
    await new Promise((resolve) => server.once('listening', resolve))
    const { port } = server.address() as AddressInfo
    const failure: unknown = await storeAt(kind, '127.0.0.1', port)
      .readPosition('s')
      .catch((error: unknown) => error)
    expect(connections).toBeGreaterThan(0)
    expect(String(failure)).toMatch(/^StoreError: the data store cannot be/)
    expect(JSON.stringify(failure)).not.toContain(PASSWORD)
  })
})
