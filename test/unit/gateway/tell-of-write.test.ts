// What the log says of writes to our kinds: the API server's audit log names the gateway there (12.1).
import { expect, test } from 'vitest'
import { logWrite } from '../../../src/gateway/access-log.ts'
import { parseRequest } from '../../../src/gateway/request/parse.ts'
import { accessKey } from '../../support/access-key.ts'
import { rememberingLog } from '../../support/log.ts'

const KEYS = '/apis/management.platform.sh/v1/ownedaccesskeys'
const PASTED = `pak_${'0'.repeat(43)}_abcdef`
const caller = {
  key: accessKey({ name: 'ci', digest: '0123456789abcdef'.repeat(4) }),
  identity: { user: 'ada', groups: [] },
  scope: null,
  expiresMs: null,
}
const named = (...names: readonly string[]) =>
  names.map((name) => ({ metadata: { name }, spec: { key: 'secret' } }))

interface Row {
  readonly name: string
  readonly method: string
  readonly path: string
  readonly status?: number
  readonly body?: object
  readonly says: object
}

// biome-ignore format: a table
const ROWS: readonly Row[] = [
  { name: 'a change', method: 'PATCH', path: `${KEYS}/a`, says: { verb: 'patch', name: 'a', status: 200 } },
  { name: 'a key whose name was made up', method: 'POST', path: KEYS, status: 201, body: named('key-x7k2p')[0] ?? {}, says: { verb: 'create', names: ['key-x7k2p'], status: 201 } },
  { name: 'many that are deleted', method: 'DELETE', path: KEYS, body: { items: named('a', 'b') }, says: { verb: 'deletecollection', names: ['a', 'b'], status: 200 } },
  { name: 'what is only tried', method: 'DELETE', path: `${KEYS}/a?dryRun=All`, says: { verb: 'delete', name: 'a', dryRun: true, status: 200 } },
  { name: 'a refusal', method: 'POST', path: KEYS, status: 403, body: { kind: 'Status', metadata: {} }, says: { verb: 'create', status: 403 } },
  { name: 'a key in the place of a name', method: 'DELETE', path: `${KEYS}/${PASTED}`, status: 404, says: { verb: 'delete', name: '<hidden>', status: 404 } },
]

test.each(ROWS)('$name', ({ method, path, status = 200, body = {}, says }) => {
  const { log, lines } = rememberingLog()
  const reading = parseRequest(method, { kind: 'Management' }, path)
  if (!reading.ok) throw new Error(reading.because)
  const headers = { 'audit-id': 'an-audit-id' }
  logWrite(log, reading.request, caller, {
    status,
    headers,
    body: Buffer.from(JSON.stringify(body)),
  })
  expect(lines).toEqual([
    {
      level: 'info',
      sentence: 'asked to write an own kind',
      fields: {
        method,
        target: 'Management',
        group: 'management.platform.sh',
        resource: 'ownedaccesskeys',
        keyName: 'ci',
        keyID: '0123456789abcdef',
        user: 'ada',
        auditID: 'an-audit-id',
        ...says,
      },
    },
  ])
})

test.each(['GET', 'HEAD'])('%s is no write', (method) => {
  const { log, lines } = rememberingLog()
  const reading = parseRequest(method, { kind: 'Management' }, KEYS)
  if (!reading.ok) throw new Error(reading.because)
  logWrite(log, reading.request, caller, { status: 200, headers: {}, body: Buffer.from('{}') })
  expect(lines).toEqual([])
})
