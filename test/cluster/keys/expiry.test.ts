/** @module-tag no-retry */
// Expired keys with a retention of a day (contract 5.2): they are created with an annotation that makes them expired at
// once. For retentions of seconds see retention.private.long.test.ts.
import { describe, expect, test } from 'vitest'
import { CREATED_ANNOTATION, EXPIRED_ANNOTATION } from '../../../src/api/names.ts'
import type { OwnedAccessKeySpec } from '../../../src/api/ownedaccesskey.gen.ts'
import { auditOf } from '../../support/audit-log.ts'
import { sharedControlPlane } from '../../support/control-plane.ts'
import { staysTrue } from '../../support/eventually.ts'
import { uniqueName } from '../../support/object-builder.ts'
import {
  type StoredKey,
  condition,
  keyClientOf,
  createdAgo,
  textAfter,
  writesTo,
} from './key-client.ts'

const plane = await sharedControlPlane()
const keys = keyClientOf(plane)
const audit = auditOf(plane)

const TTL = 60
const DAY = 86_400
const AGE = 3600

interface Row {
  readonly name: string
  readonly type?: OwnedAccessKeySpec['type']
  readonly labels?: Readonly<Record<string, string>>
  readonly annotations?: Readonly<Record<string, string>>
  /** The field manager that applies the key; absent = it is created by POST. */
  readonly manager?: string
}

const keep = { [EXPIRED_ANNOTATION]: 'Keep' }
const remove = { [EXPIRED_ANNOTATION]: 'Delete' }
const HELM = { 'app.kubernetes.io/managed-by': 'Helm' }
const INSTANCE = { 'app.kubernetes.io/instance': 'shop' }

const TOOL = 'because a GitOps tool applies it'
const ANNOTATED = 'as its annotation asks'

// biome-ignore format: a table
const KEPT: readonly (Row & { readonly because: string })[] = [
  { name: 'Argo CD by its annotation', type: 'Login', annotations: { 'argocd.argoproj.io/tracking-id': 'shop:x/y:z' }, because: TOOL },
  { name: 'Argo CD by its field manager', type: 'Login', labels: INSTANCE, manager: 'argocd-controller', because: TOOL },
  { name: 'Helm, a Login key', type: 'Login', labels: HELM, because: TOOL },
  { name: 'Flux, a Kustomization', type: 'Login', labels: { 'kustomize.toolkit.fluxcd.io/name': 'shop' }, because: TOOL },
  { name: 'Flux, a HelmRelease', type: 'Login', labels: { 'helm.toolkit.fluxcd.io/name': 'shop' }, because: TOOL },
  { name: 'Helm, a key of no type', labels: HELM, because: TOOL },
  { name: 'a Login key annotated with Keep', type: 'Login', annotations: keep, because: ANNOTATED },
  { name: 'a key of no type annotated with Keep', annotations: keep, because: ANNOTATED },
  { name: 'a key of Helm annotated with Keep', labels: HELM, annotations: keep, because: ANNOTATED },
]

// biome-ignore format: a table
const DELETED: readonly Row[] = [
  { name: 'a Login key', type: 'Login' },
  { name: 'a Login key of kubectl', type: 'Login', labels: { ...INSTANCE, 'app.kubernetes.io/managed-by': 'kubectl' } },
  { name: 'a Login key with an invalid annotation', type: 'Login', annotations: { [EXPIRED_ANNOTATION]: 'keep' } },
  { name: 'a key annotated with Delete', annotations: remove },
  { name: 'a key of Helm annotated with Delete', labels: HELM, annotations: remove },
]

/** Creates a key that is expired at once. */
async function overdue({ type, labels = {}, annotations, manager }: Row): Promise<StoredKey> {
  const metadata = { labels, annotations: { ...createdAgo(AGE).annotations, ...annotations } }
  const spec = { ttl: TTL, ...(type ? { type } : {}) }
  if (manager === undefined) return keys.create(spec, metadata)
  const parts = { metadata, spec: { user: 'ada', ...spec } }
  return keys.apply(uniqueName('applied'), manager, parts)
}

describe.concurrent('an expired key', () => {
  test.each(KEPT)('is kept: $name (4.4, 5.2)', async ({ because, ...row }) => {
    const created = await overdue(row)
    const key = await keys.shown(created, 'Expired')
    const end = textAfter(Date.parse(created.metadata.annotations?.[CREATED_ANNOTATION] ?? ''), TTL)
    expect(key.status.expirationTimestamp).toBe(end)
    expect(key.status).not.toHaveProperty('removalTimestamp')
    expect(condition(key, 'Ready').message).toBe(
      `The key expired ${end}, ${TTL} s after its creation; it is kept, ${because}.`,
    )
    const isThere = async () => expect(await keys.read(key)).toEqual(key)
    await staysTrue('the key is kept as it is', isThere, { forMs: 500 })
  })

  test.each(DELETED)('is marked and deleted at once: $name (5.2)', async (row) => {
    const mark = await audit.mark()
    const key = await overdue(row)
    await keys.gone(key)
    expect(await writesTo(key, audit, mark)).toEqual(['patch', 'patch status', 'delete', 'patch'])
  })

  test('of another type stays for a day, with the time of its removal in status (5.2, 4.4)', async () => {
    const key = await keys.shown(await overdue({ name: 'plain', type: 'User' }), 'Expired')
    const endMs = Date.parse(key.status.expirationTimestamp ?? '')
    // 24 h after its expiry, which is almost an hour ago.
    const removal = textAfter(endMs, DAY)
    expect(key.status.removalTimestamp).toBe(removal)
    expect(condition(key, 'Ready').message).toContain(`it is deleted ${removal}`)
  })

  test('is deleted at once when its retention is over (5.2)', async () => {
    const key = await keys.create({ ttl: TTL }, createdAgo(DAY + TTL))
    await keys.gone(key)
    expect(await keys.read(key)).toBeNull()
  })

  test('is kept after it is annotated with Keep (5.2)', async () => {
    const key = await keys.shown(await overdue({ name: 'plain' }), 'Expired')
    expect(key.status).toHaveProperty('removalTimestamp')
    await keys.patch(key, { metadata: { annotations: keep } })
    const kept = await keys.until(key, 'is kept', ({ status }) => !status.removalTimestamp)
    expect(condition(kept, 'Ready').message).toContain('as its annotation asks')
    await keys.patch(key, { metadata: { annotations: remove } })
    await keys.gone(key)
  })

  test('is Active again with a longer ttl (2.6)', async () => {
    const key = await keys.shown(await overdue({ name: 'plain' }), 'Expired')
    await keys.patch(key, { spec: { ttl: 2 * AGE } })
    const { status } = await keys.shown(key, 'Active')
    expect(status).not.toHaveProperty('removalTimestamp')
  })
})
