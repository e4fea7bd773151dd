// Records of all versions of objects, by watches, and checks over them: what is written once stays the same.
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
import type { StoredKey } from '../cluster/keys/key-client.ts'
import { jwksIn } from '../cluster/tokens/platform-state.ts'
import type { StoredToken } from '../cluster/tokens/token-client.ts'
import type { TestControlPlane } from '../support/control-plane.ts'
import { eventually } from '../support/eventually.ts'
import { OPERATOR_ACCOUNT } from '../support/installed-control-plane.ts'
import { recordVersions, revisionOf } from '../support/object-versions.ts'
import { issueCounts } from './operator-observations.ts'

/** A record of all versions of all keys, not only the last ones. */
export interface KeyHistory {
  /** Names of the keys in which a write-once field has changed. */
  rewritten(): Promise<readonly string[]>
}

/** Fields that the operator writes once into each object (contract 2.8, 3.1). */
const WRITTEN_ONCE: readonly ((key: StoredKey) => string | undefined)[] = [
  ({ spec }) => spec.key,
  ({ metadata }) => metadata.annotations?.[CREATED_ANNOTATION],
]

/** Watches keys as admin until the last test of the file; the API server must not stop meanwhile. */
export async function recordKeys(admin: KubeClient): Promise<KeyHistory> {
  const recorded = await record<StoredKey>(admin, ACCESS_KEYS)
  return {
    rewritten: async () => {
      const objects = Map.groupBy(await recorded(), ({ metadata }) => metadata.uid).values()
      return [...objects].flatMap((object) => (isRewritten(object) ? nameOf(object) : []))
    },
  }
}

const SOON = { withinMs: 10_000 }

function isRewritten(object: readonly StoredKey[]): boolean {
  return WRITTEN_ONCE.some((fieldOf) => {
    // Versions before the first value don't count; a removed value is a change.
    const values = object.map(fieldOf)
    return new Set(values.slice(values.findIndex((value) => value !== undefined))).size > 1
  })
}

const nameOf = ([version]: readonly StoredKey[]): readonly string[] =>
  version ? [version.metadata.name] : []

/** A record of all versions of tokens and of the JWKS, with the number of writes of each token. */
export interface TokenHistory {
  /** One sentence for each violation; empty when there is none. */
  faults(): Promise<readonly string[]>
}

type Plane = Pick<TestControlPlane, 'admin' | 'auditLog' | 'raw'>

/** Watches tokens and ConfigMaps as admin until the last test of the file; the API server must not stop meanwhile. */
export async function recordTokens(plane: Plane): Promise<TokenHistory> {
  const { admin } = plane
  const tokens = await record<StoredToken>(admin, TOKENS)
  const configMaps = await record<ConfigMap>(admin, CONFIG_MAPS, OPERATOR_ACCOUNT.namespace)
  return {
    faults: async () => {
      const [versions, others] = [await tokens(), await configMaps()]
      const records = others.filter(({ metadata }) => metadata.name === JWKS_CONFIG_MAP)
      const objects = Map.groupBy(versions, ({ metadata }) => metadata.uid).values()
      const issues = await auditedIssueCounts(plane, versions)
      return [...objects].flatMap((object) => [
        ...issuedTwice(object),
        ...rewritten(object, issues),
        ...unpublished(object, records),
      ])
    },
  }
}

/** Writes of each token by the audit log, once it has all issued tokens: a watch may be earlier than the log. */
function auditedIssueCounts(
  plane: Plane,
  versions: readonly StoredToken[],
): Promise<ReadonlyMap<string, number>> {
  const issued = versions.filter(({ status }) => status?.token)
  return eventually(
    'the audit log has each issued token',
    async () => {
      const issues = await issueCounts(plane)
      return issued.every(({ metadata }) => issues.has(metadata.uid)) ? issues : undefined
    },
    SOON,
  )
}

/** Violation: one object was issued two tokens. */
function issuedTwice(object: readonly StoredToken[]): readonly string[] {
  const tokens = new Set(object.map(({ status }) => status?.token).filter(Boolean))
  return tokens.size > 1 ? [`${tokenNameOf(object)} had ${tokens.size} tokens`] : []
}

/** Violation: the token was written again after its issue, or written and never stored. */
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

/** Violation: a token was issued before its signing key was published. */
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

/** The versions of a collection. */
async function record<T extends KubeObject>(
  admin: KubeClient,
  resource: Resource,
  namespace?: string,
): Promise<() => Promise<readonly T[]>> {
  const recorded = await recordVersions<T>(admin, resource, namespace)
  return async () => (await recorded()).map(({ object }) => object)
}
