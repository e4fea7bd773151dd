// An object that is translated, changed on both sides, and translated again.
import {
  type NamePath,
  nestedField,
  nestedMap,
  setNestedField,
} from '../../../src/domain/json/field-path.ts'
import type { Json, JsonMap } from '../../../src/domain/json/json.ts'
import type { SyncedKind } from '../../../src/sync/objects/synced-kinds.ts'
import { type ObjectPair, translate } from '../../../src/sync/pair/translation.ts'
import { countingSandbox } from './counting-sandbox.ts'
import { syncedPair, webOf } from './synced-pair.ts'

/** Another value of a field; undefined removes it. */
export type Change = readonly [path: NamePath, value: Json | undefined]

/** What a row says. */
export interface Given {
  readonly kind?: SyncedKind
  readonly patches?: readonly object[]
  readonly virtual: JsonMap
  /** What has changed on the host since the last write. */
  readonly host?: readonly Change[]
  /** What has changed in the virtual cluster since the last write. */
  readonly meanwhile?: readonly Change[]
  /** Whether this process wrote the objects; absent = yes. */
  readonly isRestarted?: true
}

const changed = (object: JsonMap, changes: readonly Change[]): JsonMap =>
  changes.reduce((one, [path, value]) => setNestedField(one, path, value), object)

const metadataOf = ({ virtual, host }: ObjectPair) => ({
  virtual: nestedMap(virtual, ['metadata']),
  host: nestedMap(host ?? {}, ['metadata']),
})

/** Translates an object, changes both sides, and translates again. */
export async function twice({
  kind = 'endpoints',
  patches = [],
  virtual,
  host = [],
  meanwhile = [],
  isRestarted,
}: Given) {
  const { translation: settings } = syncedPair(kind, { patches }).world
  const { evaluate } = countingSandbox()
  const stored = {
    ...virtual,
    metadata: { uid: 'u1', resourceVersion: '7', ...nestedMap(virtual, ['metadata']) },
  }
  const first = await translate({ virtual: stored, host: null }, null, settings, evaluate)
  if (!first.ok || first.state.host === null) throw new Error('it is refused')
  const given = { uid: 'h1', resourceVersion: '9', creationTimestamp: 'then' }
  const before = {
    virtual: first.state.virtual,
    host: changed(
      first.state.host,
      Object.entries(given).map(([key, value]) => [['metadata', key], value]),
    ),
  }
  const pair = { virtual: changed(before.virtual, meanwhile), host: changed(before.host, host) }
  const written = isRestarted ? null : metadataOf(before)
  const second = await translate(pair, written, settings, evaluate)
  if (!second.ok) throw new Error(second.failure.because)
  return { before, pair, after: second.state, refusals: second.refusals }
}

export const LABEL = ['metadata', 'labels', 'app']
/** Endpoints with a label and an annotation. */
export const labelled = webOf(
  'endpoints',
  { subsets: [] },
  { labels: { app: 'a' }, annotations: { note: 'n' } },
)
/** A field of an object. */
export const at = (object: JsonMap | null, path: NamePath): Json | undefined =>
  nestedField(object ?? {}, path)
