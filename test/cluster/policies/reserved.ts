// Who may write what is reserved for the operator and the gateway.
import { onOurs, WRITES } from './callers.ts'
import { DIGEST, KEY } from './last-applied.ts'
import type { Manifest, Row } from './ways.ts'

/** What each caller may beside reading and writing our kinds. */
export const RESERVED_CALLERS = {
  writer: [WRITES],
  generator: [WRITES, onOurs(['generate'], ['ownedaccesskeys'])],
  delegate: [WRITES, onOurs(['delegate'], ['ownedaccesskeys'])],
} as const

type Caller = keyof typeof RESERVED_CALLERS

const LABEL = 'management.platform.sh/made-with'
const labelled = (value: string, more: object = {}): Manifest => ({
  metadata: { labels: { [LABEL]: value, ...more } },
  spec: {},
})
const UNLABELLED: Manifest = { spec: {} }

const keyOf = (spec: Manifest['spec']): Manifest => ({ spec })
const OF_BOB = { user: 'bob', groups: ['dev'] }

/** The name is that of the object, which the row does not know. */
const keyRefused = {
  code: 403,
  says: 'spec.key: setting the key of an existing object needs the verb generate on ownedaccesskeys/',
} as const

const digestRefused = {
  code: 403,
  says: 'spec.user: naming user bob in a key that holds a digest needs the verb impersonate on users/bob, which generator does not have; leave key out and one is generated, or have that granted',
} as const

const labelRefused = (by: Caller, instead: string) =>
  ({
    code: 403,
    says: `metadata.labels: ${LABEL} names the key that this one was made with; changing it needs the verb delegate on ownedaccesskeys, which ${by} does not have; ${instead}`,
  }) as const

const KEEP = 'keep it as it is'
const OMIT = 'leave it out'

/** Each way of setting a key and the label, by a user who may and by one who may not. */
// biome-ignore format: a table
export const reservedRows: readonly Row<Caller>[] = [
  { name: 'an object with a key', by: 'writer', to: keyOf({ key: KEY }) },
  { name: 'an object without a key to one with it', by: 'writer', from: keyOf(OF_BOB), to: keyOf({ ...OF_BOB, key: KEY }), refused: keyRefused },
  { name: 'his own object without a key to one with it', by: 'writer', from: keyOf({ user: 'writer' }), to: keyOf({ user: 'writer', key: KEY }), refused: keyRefused },
  { name: 'an object of nobody to one with a key', by: 'writer', from: keyOf({}), to: keyOf({ key: KEY }), refused: keyRefused },
  { name: 'an object with an empty key to one with a digest', by: 'writer', from: keyOf({ key: '' }), to: keyOf({ key: DIGEST }), refused: keyRefused },
  { name: 'an object without a key to one with an empty key', by: 'writer', from: keyOf({}), to: keyOf({ key: '' }) },
  { name: 'not the key', by: 'writer', from: keyOf({ key: KEY }), to: keyOf({ key: KEY, ttl: 60 }) },
  { name: 'an object without a key to one with it', by: 'generator', from: keyOf(OF_BOB), to: keyOf({ ...OF_BOB, key: KEY }) },
  { name: 'an object of nobody to one with a digest', by: 'generator', from: keyOf({}), to: keyOf({ key: DIGEST }) },
  { name: 'an object of a user to one with a digest', by: 'generator', from: keyOf({ user: 'bob' }), to: keyOf({ user: 'bob', key: DIGEST }), refused: digestRefused },
  { name: 'an object without a key to one with it', by: 'delegate', from: keyOf(OF_BOB), to: keyOf({ ...OF_BOB, key: KEY }) },
  { name: 'an object of a user to one with a digest', by: 'delegate', from: keyOf({ user: 'bob' }), to: keyOf({ user: 'bob', key: DIGEST }) },
  { name: 'an object with the label', by: 'writer', to: labelled('a'), refused: labelRefused('writer', OMIT) },
  { name: 'an object with an empty label', by: 'writer', to: labelled(''), refused: labelRefused('writer', OMIT) },
  { name: 'no label to one', by: 'writer', from: UNLABELLED, to: labelled('a'), refused: labelRefused('writer', OMIT) },
  { name: 'the label to another', by: 'writer', from: labelled('a'), to: labelled('b'), refused: labelRefused('writer', KEEP) },
  { name: 'the label to none', by: 'writer', from: labelled('a'), to: UNLABELLED, refused: labelRefused('writer', KEEP) },
  { name: 'an empty label to none', by: 'writer', from: labelled(''), to: UNLABELLED, refused: labelRefused('writer', KEEP) },
  { name: 'the label to none', by: 'generator', from: labelled('a'), to: UNLABELLED, refused: labelRefused('generator', KEEP) },
  { name: 'another label', by: 'writer', from: labelled('a'), to: labelled('a', { note: 'changed' }) },
  { name: 'not the label', by: 'writer', from: labelled('a'), to: { ...labelled('a'), spec: { disabled: true } } },
  { name: 'an object with the label', by: 'delegate', to: labelled('a') },
  { name: 'the label to another', by: 'delegate', from: labelled('a'), to: labelled('b') },
  { name: 'the label to none', by: 'delegate', from: labelled('a'), to: UNLABELLED },
]
