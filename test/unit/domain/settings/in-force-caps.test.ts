import { expect, test } from 'vitest'
import {
  type ConfigMapData,
  capsInForce,
  settingsInForce,
} from '../../../../src/domain/settings/effective-settings.ts'

type CapsInForce = ReturnType<typeof capsInForce>

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
const capsOf = (published: unknown, recorded: ConfigMapData | null): CapsInForce =>
  capsInForce(settingsInForce({ uid: 'uid-1', status: published }, recorded))
const sixty = record({ auth: auth(60, 30) })
const earlier = {
  ...sixty,
  origin: JSON.stringify({ uid: 'uid-0', spec: true, secret: null, carried: {} }),
}
const fallback = { maxTtlSeconds: 60, loginTtlSeconds: 30 }
const defaults = { maxTtlSeconds: null, loginTtlSeconds: 1_728_000 }

// biome-ignore format: a table
test.each([
  { name: 'the record', status: undefined, record: sixty, from: 'record', caps: fallback },
  { name: 'the record, not a status that another client wrote', status: status(auth(1, 1)), record: sixty, from: 'record', caps: fallback },
  { name: 'the record, not a status whose cap another client removed', status: status(auth(0)), record: sixty, from: 'record', caps: fallback },
  { name: 'a record without settings: defaults', status: undefined, record: record({}), from: 'record', caps: defaults },
  { name: 'a manual record without origin', status: undefined, record: { config: '{"auth":{"accessKeyMaxTTLSeconds":5}}' }, from: 'record', caps: { ...defaults, maxTtlSeconds: 5 } },
  { name: '0 means no cap and no lifetime', status: undefined, record: record({ auth: auth(0, 0) }), from: 'record', caps: { maxTtlSeconds: null, loginTtlSeconds: null } },
  { name: 'no record: the settled status', status: status(auth(90, 7)), record: null, from: 'status', caps: { maxTtlSeconds: 90, loginTtlSeconds: 7 } },
  { name: 'no record: the settled status of invalid settings', status: status(auth(90), [{ type: 'Ready', status: 'False', reason: 'Invalid' }]), record: null, from: 'status', caps: { ...defaults, maxTtlSeconds: 90 } },
  { name: 'a record of an earlier Config: the settled status', status: status(auth(90, 7)), record: earlier, from: 'status', caps: { maxTtlSeconds: 90, loginTtlSeconds: 7 } },
  { name: 'a record of an earlier Config, no settled status: the record', status: undefined, record: earlier, from: 'record', caps: fallback },
  { name: 'an unreadable record: the settled status', status: status(auth(90, 7)), record: {}, from: 'status', caps: { maxTtlSeconds: 90, loginTtlSeconds: 7 } },
])('capsInForce: $name (2.2, 6.5)', ({ status: published, record: recorded, from, caps }) => {
  expect(capsOf(published, recorded)).toEqual({ known: true, caps, from })
})

// biome-ignore format: a table
test.each([
  { name: 'nothing was ever in force', status: undefined, record: null },
  { name: 'a status without conditions', status: { observedGeneration: 1, auth: auth(90) }, record: null },
  { name: 'a status without a generation', status: { conditions: [ready], auth: auth(90) }, record: null },
  { name: 'a status with another condition only', status: status(auth(90), [{ type: 'Other' }]), record: null },
  { name: 'a status of a Config that is not in force', status: status(auth(90), [{ type: 'Ready', status: 'False', reason: 'NotInForce' }]), record: null },
  { name: 'a negative cap', status: undefined, record: record({ auth: auth(-1) }) },
  { name: 'a fraction', status: undefined, record: record({ auth: auth(1.5) }) },
  { name: 'a text', status: undefined, record: record({ auth: auth('60') }) },
  { name: 'null', status: undefined, record: record({ auth: auth(null) }) },
  { name: 'beyond exact integers', status: undefined, record: record({ auth: auth(2 ** 53) }) },
  { name: 'a negative login lifetime', status: undefined, record: record({ auth: auth(60, -1) }) },
  { name: 'auth is not a map', status: undefined, record: record({ auth: 'none' }) },
  { name: 'a malformed record, with any status', status: status(auth(90)), record: record({ auth: auth(-1) }) },
  { name: 'a malformed status without a record', status: status(auth(-1)), record: null },
  { name: 'a record without its key', status: undefined, record: {} },
  { name: 'a record that is not JSON', status: undefined, record: { config: '{"auth":{"accessKey' } },
  { name: 'a record that is a list', status: undefined, record: { config: '[]' } },
])('capsInForce fails closed: $name (6.5)', ({ status: published, record: recorded }) => {
  expect(capsOf(published, recorded)).toMatchObject({ known: false })
})
