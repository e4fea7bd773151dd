import { expect, test } from 'vitest'
import { capsInForce } from '../../../../src/domain/config/caps.ts'

const ready = { type: 'Ready', status: 'True', reason: 'Applied' }
const status = (auth: unknown, conditions: unknown = [ready]) => ({
  observedGeneration: 1,
  conditions,
  auth,
})
const record = (settings: unknown) => ({ config: JSON.stringify(settings), origin: '{}' })
const auth = (max?: unknown, login?: unknown) => ({
  accessKeyMaxTTLSeconds: max,
  loginAccessKeyTTLSeconds: login,
})
const sixty = record({ auth: auth(60, 30) })
const fallback = { maxTtlSeconds: 60, loginTtlSeconds: 30 }
const defaults = { maxTtlSeconds: null, loginTtlSeconds: 1_728_000 }

test.each([
  {
    name: 'settled status',
    status: status(auth(90, 7)),
    record: sixty,
    from: 'status',
    caps: { maxTtlSeconds: 90, loginTtlSeconds: 7 },
  },
  {
    name: 'settled status without any: defaults',
    status: status(undefined),
    record: sixty,
    from: 'status',
    caps: defaults,
  },
  {
    name: '0 is no cap and no lifetime',
    status: status(auth(0, 0)),
    record: null,
    from: 'status',
    caps: { maxTtlSeconds: null, loginTtlSeconds: null },
  },
  {
    name: 'Ready=False of invalid settings counts',
    status: status(auth(90), [{ type: 'Ready', status: 'False', reason: 'Invalid' }]),
    record: sixty,
    from: 'status',
    caps: { ...defaults, maxTtlSeconds: 90 },
  },
  {
    name: 'not in force: the record',
    status: status(auth(90), [{ type: 'Ready', status: 'False', reason: 'NotInForce' }]),
    record: sixty,
    from: 'record',
    caps: fallback,
  },
  {
    name: 'no conditions yet: the record',
    status: { observedGeneration: 1, auth: auth(90) },
    record: sixty,
    from: 'record',
    caps: fallback,
  },
  {
    name: 'no generation yet: the record',
    status: { conditions: [ready], auth: auth(90) },
    record: sixty,
    from: 'record',
    caps: fallback,
  },
  {
    name: 'another condition only: the record',
    status: status(auth(90), [{ type: 'Other' }]),
    record: sixty,
    from: 'record',
    caps: fallback,
  },
  {
    name: 'no Config: the record',
    status: undefined,
    record: sixty,
    from: 'record',
    caps: fallback,
  },
  {
    name: 'record written by hand, without origin',
    status: undefined,
    record: { config: '{"auth":{"accessKeyMaxTTLSeconds":5}}' },
    from: 'record',
    caps: { ...defaults, maxTtlSeconds: 5 },
  },
  {
    name: 'nothing was ever seen: defaults',
    status: undefined,
    record: null,
    from: 'defaults',
    caps: defaults,
  },
])('$name', ({ status: published, record: recorded, from, caps }) => {
  expect(capsInForce(published, recorded)).toEqual({ known: true, caps, from })
})

test.each([
  { name: 'negative cap', status: status(auth(-1)), record: sixty },
  { name: 'fraction', status: status(auth(1.5)), record: sixty },
  { name: 'text', status: status(auth('60')), record: sixty },
  { name: 'null', status: status(auth(null)), record: sixty },
  { name: 'beyond exact integers', status: status(auth(2 ** 53)), record: sixty },
  { name: 'negative login lifetime', status: status(auth(60, -1)), record: sixty },
  { name: 'auth is no map', status: status('none'), record: sixty },
  { name: 'record with a negative cap', status: undefined, record: record({ auth: auth(-1) }) },
  { name: 'record without its key', status: undefined, record: {} },
  { name: 'record that is no JSON', status: undefined, record: { config: '{"auth":{"accessKey' } },
  { name: 'record that is a list', status: undefined, record: { config: '[]' } },
])('fails closed: $name', ({ status: published, record: recorded }) => {
  expect(capsInForce(published, recorded)).toMatchObject({ known: false })
})
