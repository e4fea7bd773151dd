import { expect, test } from 'vitest'
import { storeErrorOf } from '../../../../src/audit/store/store-error.ts'

const MESSAGE = 'insert into audit_events values (canary)'

test.each([
  { name: 'PostgreSQL, statement_timeout', error: { code: '57014' }, failure: 'timeout' },
  {
    name: 'MariaDB, max_statement_time',
    error: { code: undefined, errno: 1969, sqlState: '70100' },
    failure: 'timeout',
  },
  { name: 'MySQL, max_execution_time', error: { code: 'ER_QUERY_TIMEOUT' }, failure: 'timeout' },
  {
    name: 'MariaDB, a check that fails',
    error: { code: 'ER_INNODB_AUTOEXTEND_SIZE_OUT_OF_RANGE', errno: 4025, sqlState: '23000' },
    failure: 'refused',
  },
  { name: 'PostgreSQL, NUL in a text', error: { code: '22021' }, failure: 'refused' },
  { name: 'MySQL, a packet', error: { code: 'ER_NET_PACKET_TOO_LARGE' }, failure: 'refused' },
  { name: 'SQLite, too big', error: { errcode: 18, code: 'ERR_SQLITE_ERROR' }, failure: 'refused' },
  {
    name: 'SQLite, full',
    error: { errcode: 13, code: 'ERR_SQLITE_ERROR' },
    failure: 'unavailable',
  },
  { name: 'PostgreSQL, full', error: { code: '53100' }, failure: 'unavailable' },
  { name: 'no connection', error: { code: 'ECONNREFUSED' }, failure: 'unavailable' },
  { name: 'a wrong password', error: { code: '28P01' }, failure: 'unavailable' },
  { name: 'no code', error: {}, failure: 'unavailable' },
  { name: 'a code that is text', error: { code: 'canary canary' }, failure: 'unavailable' },
])('a failure of the store is told by its code, and quotes nothing: $name (22.3)', (row) => {
  const failure = storeErrorOf(Object.assign(new Error(MESSAGE), row.error))
  expect(failure.failure).toBe(row.failure)
  expect(JSON.stringify(failure, Object.getOwnPropertyNames(failure))).not.toContain('canary')
})
