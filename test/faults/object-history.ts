import { afterAll } from 'vitest'
import {
  ACCESS_KEYS,
  CONFIG_MAPS,
  CREATED_ANNOTATION,
  JWKS_CONFIG_MAP,
  type Resource,
  TOKENS,
} from '../../src/api/names.ts'
import type { ConfigMap, KubeObject } from '../../src/api/objects.ts'
import type { KubeClient } from '../../src/kube/client/client.ts'
import { jsonLines } from '../../src/kube/client/request.ts'
import type { StoredKey } from '../cluster/keys/key-client.ts'
import { jwksIn } from '../cluster/tokens/platform-state.ts'
import type { StoredToken } from '../cluster/tokens/token-client.ts'
import type { TestControlPlane } from '../support/control-plane.ts'
import { eventually } from '../support/eventually.ts'
import { OPERATOR_ACCOUNT } from '../support/installed-control-plane.ts'
import { issuesOf } from './observed-writes.ts'

/** Every version of every key that was ever stored, not only the last one. */
export interface KeyHistory {
  /** Names of the objects in which a field that is written once had two values by now. */
  rewritten(): Promise<readonly string[]>
}

/** What the operator writes into an object once, for as long as that lives (contract 2.8, 3.1). */
const WRITTEN_ONCE: readonly ((key: StoredKey) => string | undefined)[] = [
  ({ spec }) => spec.key,
  ({ metadata }) => metadata.annotations?.[CREATED_ANNOTATION],
]

/**
 * Records by a watch of the admin's, which gets each revision that etcd has, until the last test of
 * the file. The API server must not be stopped meanwhile.
 */
export async function recordKeys(admin: KubeClient): Promise<KeyHistory> {
  const ending = new AbortController()
  afterAll(() => ending.abort())
  const allDay = { watch: 'true', timeoutSeconds: '86400' }
  // The storage of a kind that is new is not there at once.
  const stream = await eventually(
    'the watch of the keys is open',
    () => admin.watch(ACCESS_KEYS, allDay, undefined, ending.signal),
    SOON,
  )
  const versions: StoredKey[] = []
  const reading = { hasEnded: false }
  const read = async (): Promise<void> => {
    for await (const event of jsonLines(stream, () => undefined)) {
      versions.push((event as { readonly object: StoredKey }).object)
    }
  }
  void read()
    .catch(() => undefined)
    .then(() => (reading.hasEnded = true))
  return {
    rewritten: async () => {
      await eventually('the record is complete', () => hasAllOf(admin, versions), SOON)
      if (reading.hasEnded) throw new Error('the watch that records the keys has ended')
      const objects = Map.groupBy(versions, ({ metadata }) => metadata.uid).values()
      return [...objects].flatMap((object) => (isRewritten(object) ? nameOf(object) : []))
    },
  }
}

const SOON = { withinMs: 10_000 }
const MORE_THAN_THERE_ARE = 10_000

async function hasAllOf(
  admin: KubeClient,
  versions: readonly StoredKey[],
): Promise<true | undefined> {
  const { items } = await admin.list(ACCESS_KEYS, {}, MORE_THAN_THERE_ARE)
  const recorded = new Set(versions.map(({ metadata }) => metadata.resourceVersion))
  return items.every(({ metadata }) => recorded.has(metadata.resourceVersion)) || undefined
}

function isRewritten(object: readonly StoredKey[]): boolean {
  return WRITTEN_ONCE.some((fieldOf) => {
    // Not there yet is no value; gone again would be another one.
    const values = object.map(fieldOf)
    return new Set(values.slice(values.findIndex((value) => value !== undefined))).size > 1
  })
}

const nameOf = ([version]: readonly StoredKey[]): readonly string[] =>
  version ? [version.metadata.name] : []

/** Every version of every token and of the published keys that was ever stored, and who wrote them how often. */
export interface TokenHistory {
  /** What should never have been, in a sentence each; none when all was well. */
  faults(): Promise<readonly string[]>
}

type Plane = Pick<TestControlPlane, 'admin' | 'auditLog' | 'raw'>

/**
 * Records by watches of the admin's, which get each revision that etcd has, until the last test of the
 * file. The API server must not be stopped meanwhile.
 */
export async function recordTokens(plane: Plane): Promise<TokenHistory> {
  const { admin } = plane
  const tokens = await record<StoredToken>(admin, TOKENS)
  const configMaps = await record<ConfigMap>(admin, CONFIG_MAPS, OPERATOR_ACCOUNT.namespace)
  return {
    faults: async () => {
      const [versions, others] = [await tokens(), await configMaps()]
      const records = others.filter(({ metadata }) => metadata.name === JWKS_CONFIG_MAP)
      const objects = Map.groupBy(versions, ({ metadata }) => metadata.uid).values()
      const issues = await loggedIssues(plane, versions)
      return [...objects].flatMap((object) => [
        ...twice(object),
        ...rewritten(object, issues),
        ...unpublished(object, records),
      ])
    },
  }
}

/** The issues in the log, once that knows of each token that was out: a watch may tell of a write before. */
function loggedIssues(
  plane: Plane,
  versions: readonly StoredToken[],
): Promise<ReadonlyMap<string, number>> {
  const out = versions.filter(({ status }) => status?.token)
  return eventually(
    'each token that was out is in the log',
    async () => {
      const issues = await issuesOf(plane)
      return out.every(({ metadata }) => issues.has(metadata.uid)) ? issues : undefined
    },
    SOON,
  )
}

/** Two tokens were out for one object. */
function twice(object: readonly StoredToken[]): readonly string[] {
  const tokens = new Set(object.map(({ status }) => status?.token).filter(Boolean))
  return tokens.size > 1 ? [`${tokenNameOf(object)} had ${tokens.size} tokens`] : []
}

/** The token was written once more when it was out, or without a status that ever showed it. */
function rewritten(
  object: readonly StoredToken[],
  issues: ReadonlyMap<string, number>,
): readonly string[] {
  const wanted = object.some(({ status }) => status?.token) ? 1 : 0
  const writes = issues.get(object[0]?.metadata.uid ?? '') ?? 0
  return writes === wanted
    ? []
    : [`the token of ${tokenNameOf(object)} was written ${writes} times`]
}

/** A token was out before the key that signed it was published. */
function unpublished(
  object: readonly StoredToken[],
  records: readonly ConfigMap[],
): readonly string[] {
  const issued = object.find(({ status }) => status?.token)
  if (!issued) return []
  const [header = ''] = issued.status.token?.split('.') ?? []
  const { kid } = JSON.parse(Buffer.from(header, 'base64url').toString()) as { kid: string }
  const wasPublished = records.some(
    (one) => revisionOf(one) < revisionOf(issued) && jwksIn(one).some((jwk) => jwk.kid === kid),
  )
  return wasPublished
    ? []
    : [`${tokenNameOf(object)} was signed by ${kid}, which was not published`]
}

const tokenNameOf = ([version]: readonly KubeObject[]): string => version?.metadata.name ?? ''
const revisionOf = ({ metadata }: KubeObject): number => Number(metadata.resourceVersion)

async function record<T extends KubeObject>(
  admin: KubeClient,
  resource: Resource,
  namespace?: string,
): Promise<() => Promise<readonly T[]>> {
  const ending = new AbortController()
  afterAll(() => ending.abort())
  const allDay = { watch: 'true', timeoutSeconds: '86400' }
  // The storage of a kind that is new is not there at once.
  const stream = await eventually(
    `the watch of ${resource.plural} is open`,
    () => admin.watch(resource, allDay, namespace, ending.signal),
    SOON,
  )
  const versions: T[] = []
  const reading = { hasEnded: false }
  const read = async (): Promise<void> => {
    for await (const event of jsonLines(stream, () => undefined)) {
      versions.push((event as { readonly object: T }).object)
    }
  }
  void read()
    .catch(() => undefined)
    .then(() => (reading.hasEnded = true))
  const isComplete = async (): Promise<true | undefined> => {
    const query = namespace === undefined ? {} : { namespace }
    const { items } = await admin.list(resource, query, MORE_THAN_THERE_ARE)
    const recorded = new Set(versions.map(({ metadata }) => metadata.resourceVersion))
    return items.every(({ metadata }) => recorded.has(metadata.resourceVersion)) || undefined
  }
  return async () => {
    await eventually(`the record of ${resource.plural} is complete`, isComplete, SOON)
    if (reading.hasEnded) throw new Error(`the watch of ${resource.plural} has ended`)
    return versions
  }
}
