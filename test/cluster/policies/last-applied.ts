// A key in clear in the annotation that client-side kubectl apply writes.
import { canary } from '../../support/canary.ts'
import { LAST_APPLIED } from '../../support/installed.ts'
import { onOurs, WRITES } from './callers.ts'
import type { Row } from './ways.ts'

/** A key that no annotation may show. */
export const KEY = canary('annotated').secret

/** A digest, which any annotation may show. */
export const DIGEST = `sha256:${'0123456789abcdef'.repeat(4)}`

/** What each caller may beside reading and writing our kinds. */
export const LAST_APPLIED_CALLERS = {
  writer: [WRITES],
  generator: [WRITES, onOurs(['generate'], ['ownedaccesskeys'])],
} as const

/** What the server says instead. */
export const ADVICE =
  'metadata.annotations: kubectl.kubernetes.io/last-applied-configuration would hold spec.key in clear; leave spec.key out, or remove the annotation and use kubectl apply --server-side; or write its digest, sha256:<hex>, which management-operator keygen prints, if you may impersonate those whom the key names'

const refused = { code: 422, says: ADVICE } as const

const applied = (spec: object, key?: string) => ({
  metadata: { annotations: { [LAST_APPLIED]: JSON.stringify({ spec }) } },
  spec: key === undefined ? {} : { key },
})

const HOLDS_KEY = { key: KEY }
const LONGER = `${KEY}-other`

/** Each way in which the annotation and the key may come together. */
// biome-ignore format: a table
export const lastAppliedRows: readonly Row<keyof typeof LAST_APPLIED_CALLERS>[] = [
  { name: 'a key that the annotation holds', by: 'writer', to: applied(HOLDS_KEY, KEY), refused },
  { name: 'a key that the annotation does not hold', by: 'writer', to: applied({ ttl: 60 }, KEY) },
  { name: 'a digest that the annotation holds', by: 'writer', to: applied({ key: DIGEST }, DIGEST) },
  { name: 'no key, which the annotation holds', by: 'writer', to: applied(HOLDS_KEY) },
  { name: 'the annotation to one that holds the key', by: 'writer', from: applied({}, KEY), to: applied(HOLDS_KEY, KEY), refused },
  { name: 'the key to what the annotation holds', by: 'generator', from: applied(HOLDS_KEY), to: applied(HOLDS_KEY, KEY), refused },
  { name: 'the key to a part of what it holds', by: 'generator', from: applied({ key: LONGER }), to: applied({ key: LONGER }, KEY), refused },
  { name: 'the key to what it holds a part of', by: 'generator', from: applied(HOLDS_KEY), to: applied(HOLDS_KEY, LONGER) },
  { name: 'the annotation, without the key', by: 'writer', from: applied({ ttl: 60 }, KEY), to: applied({ ttl: 90 }, KEY) },
]
