import { expect, test } from 'vitest'
import {
  isVersion2In,
  lookedUpTokenIn,
  renewedTokenIn,
  writeFault,
  writtenIn,
} from '../../../../src/domain/store/store-answers.ts'

const sent = (status: number, body: unknown) => ({
  status,
  body: Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)),
})
const around = (data: unknown) => ({ lease_duration: 0, warnings: null, auth: null, data })

const UNKNOWN = { kind: 'fault', fault: expect.stringContaining('unknown shape') }
const NO_MOUNT = { kind: 'fault', fault: expect.stringContaining('--secret-store-mount') }
const NO_ROUTE = { errors: ['no handler for route "x/data/p/a". route entry not found.'] }

const CREATED = '2025-12-01T00:00:00.123456789Z'

test.each([
  {
    name: 'a version',
    status: 200,
    body: around({ version: 3, created_time: CREATED }),
    written: { version: 3, createdTime: CREATED },
  },
  {
    name: 'that another version is current',
    status: 400,
    body: { errors: ['check-and-set parameter did not match the current version'] },
    written: 'conflict',
  },
])('a write that is answered with $name has an outcome (36.4)', ({ status, body, written }) => {
  expect(writtenIn(sent(status, body))).toEqual({ kind: 'found', value: written })
})

test.each([
  { status: 200, body: around({}), fault: UNKNOWN.fault },
  { status: 200, body: around({ version: 3 }), fault: UNKNOWN.fault },
  { status: 200, body: around({ version: 0 }), fault: UNKNOWN.fault },
  {
    status: 400,
    body: { errors: ['check-and-set parameter required for this call'] },
    fault: 'refused the write: 400',
  },
  { status: 400, body: { errors: 'x' }, fault: 'refused the write: 400' },
  {
    status: 404,
    body: { errors: ['check-and-set parameter did not match the current version'] },
    fault: 'refused the write: 404',
  },
  { status: 404, body: NO_ROUTE, fault: NO_MOUNT.fault },
])('a write that is answered $status is refused (36.4) [%$]', ({ status, body, fault }) => {
  expect(writtenIn(sent(status, body))).toEqual({ kind: 'fault', fault })
})

test('a write of custom metadata is refused in the same words (36.4)', () => {
  expect(writeFault(sent(404, NO_ROUTE))).toMatch('--secret-store-mount')
  expect(writeFault(sent(400, { errors: [] }))).toBe('refused the write: 400')
  expect(writeFault(sent(400, 'x'))).toMatch('unknown shape')
})

const END = '2026-01-02T00:00:00Z'

test.each([
  {
    name: 'a root token',
    data: { ttl: 0, creation_ttl: 0, expire_time: null },
    life: [0, false, 0],
  },
  {
    name: 'a token that ends',
    data: { ttl: 100, creation_ttl: 3600, expire_time: END, renewable: true },
    life: [100, true, 3600],
  },
  {
    name: 'a token in its last second',
    data: { ttl: 0, creation_ttl: 3600, expire_time: END, renewable: false },
    life: [1, false, 3600],
  },
])('the look-up of $name says how long it lives (36.5)', ({ data, life }) => {
  const [ttlSeconds, isRenewable, creationTtlSeconds] = life
  const value = { ttlSeconds, isRenewable, creationTtlSeconds }
  expect(lookedUpTokenIn(sent(200, around(data)))).toEqual({ kind: 'found', value })
})

test.each([
  { ttl: 1, creation_ttl: 1 },
  { ttl: '1', creation_ttl: 1, expire_time: END },
  { ttl: -1, creation_ttl: 1, expire_time: END },
  { ttl: 1, expire_time: END },
])('the look-up %j says nothing of a token (36.5)', (data) => {
  expect(lookedUpTokenIn(sent(200, around(data)))).toMatchObject(UNKNOWN)
})

test('a renewal says how long the token lives from now on (36.5)', () => {
  const renewed = (auth: unknown) => renewedTokenIn(sent(200, { auth }))
  expect(renewed({ client_token: 's.x', lease_duration: 60, renewable: true })).toEqual({
    kind: 'found',
    value: { ttlSeconds: 60, isRenewable: true, creationTtlSeconds: 60 },
  })
  for (const auth of [null, {}, { lease_duration: 60 }, { lease_duration: '60', renewable: true }])
    expect(renewed(auth)).toMatchObject(UNKNOWN)
})

const mount = (more: object = {}) =>
  around({ path: 'kv/', type: 'kv', options: { version: '2' }, ...more })

test.each([
  { name: 'version 2', status: 200, body: mount(), answer: { kind: 'found', value: true } },
  {
    name: 'version 1',
    status: 200,
    body: mount({ options: { version: '1' } }),
    answer: { fault: expect.stringContaining('version 2 of KV') },
  },
  {
    name: 'no version',
    status: 200,
    body: mount({ options: null }),
    answer: { fault: expect.stringContaining('version 2 of KV') },
  },
  {
    name: 'another engine',
    status: 200,
    body: mount({ type: 'pki' }),
    answer: { fault: expect.stringContaining('version 2 of KV') },
  },
  { name: 'another mount', status: 200, body: mount({ path: 'k/' }), answer: NO_MOUNT },
  { name: 'nothing', status: 404, body: mount(), answer: NO_MOUNT },
  { name: 'no JSON', status: 200, body: 'x', answer: NO_MOUNT },
])(
  'a mount of $name is written to only if it is of version 2 (36.4)',
  ({ status, body, answer }) => {
    expect(isVersion2In(sent(status, body), 'kv')).toMatchObject(answer)
  },
)
