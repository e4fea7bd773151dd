// The ways to write an object, and tests of tables of writes on each: a policy must hold on all of them.
import { isDeepStrictEqual } from 'node:util'
import { expect, test } from 'vitest'
import {
  ACCESS_KEY_CLAIMS,
  API_VERSION,
  FIELD_MANAGER,
  type Resource,
} from '../../../src/api/names.ts'
import type { KubeObject, OwnerReference } from '../../../src/api/objects.ts'
import { isMap } from '../../../src/domain/json/json.ts'
import { pathOf } from '../../../src/kube/client/client.ts'
import type { TestControlPlane } from '../../support/control-plane.ts'
import { LAST_APPLIED } from '../../support/installed-control-plane.ts'
import { uniqueName } from '../../support/object-builder.ts'
import type { RawAnswer, RawOptions } from '../../support/raw-client.ts'
import { isWhole, sampled } from '../../support/tier.ts'

/** The parts of an object that rows set. */
export interface Manifest {
  readonly metadata?: {
    readonly finalizers?: readonly string[]
    readonly ownerReferences?: readonly OwnerReference[]
    readonly annotations?: Readonly<Record<string, string>>
    readonly labels?: Readonly<Record<string, string>>
  }
  readonly spec: Readonly<Record<string, unknown>>
}

/** One write; `from` absent = a creation. */
export interface Write {
  readonly resource: Resource
  /** The credentials of the caller. */
  readonly kubeconfig: string
  readonly from?: Manifest
  readonly to: Manifest
  /** Absent = the object itself. */
  readonly subresource?: 'status'
  /** The name of the object; absent = one that no other has. */
  readonly named?: string
}

/** A write of a caller and its expected outcome. */
export interface Row<Caller extends string> extends Pick<Write, 'from' | 'to'> {
  readonly name: string
  readonly by: Caller
  /** Absent = the write is allowed. */
  readonly refused?: { readonly code: 403 | 422; readonly says: string }
}

/** The outcome of a write. */
export interface Written {
  readonly code: number
  /** The message of the refusal; empty when the write was allowed. */
  readonly message: string
  /** The stored object; null = none. */
  readonly stored: Manifest | null
}

/** The ways to create an object. */
export const CREATIONS = ['create', 'kubectl apply', 'server-side apply'] as const

/** The ways to change an object. */
export const CHANGES = [
  'update',
  'merge patch',
  'JSON patch',
  'kubectl apply',
  'server-side apply',
] as const

/** A way to create or change an object. */
export type Way = (typeof CREATIONS)[number] | (typeof CHANGES)[number]

type Sender = (write: Named) => Promise<Pick<Written, 'code' | 'message'>>

interface Named extends Write {
  readonly name: string
}

/** Creates `from` as admin, then writes `to` as the caller in the given way. */
export type Send = (way: Way, write: Write) => Promise<Written>

/** For a control plane without other writers of these objects. */
export function sender(plane: TestControlPlane): Send {
  const waysOf = waysTo(plane)
  return async (way, write) => {
    const named = { ...write, name: write.named ?? uniqueName('policy') }
    const { from } = write
    if (from) {
      // An apply removes only fields that an apply of the same manager has set.
      const setUp = way === 'kubectl apply' ? way : 'server-side apply'
      const { resource, name } = named
      const before = { resource, name, to: from, kubeconfig: plane.adminKubeconfig }
      const { code, message } = await waysOf[setUp](before)
      if (code >= 300) throw new Error(`set-up: ${message}`)
    }
    const { code, message } = await waysOf[way](named)
    const ignored = way === 'kubectl apply' ? [LAST_APPLIED] : []
    return { code, message, stored: await storedOf(plane, named, ignored) }
  }
}

function waysTo({ raw, ...plane }: TestControlPlane): Readonly<Record<Way, Sender>> {
  const answered = ({ code, body }: RawAnswer<{ readonly message?: string }>) => ({
    code,
    message: code < 300 ? '' : (body.message ?? ''),
  })
  const patch = async (write: Named, body: unknown, type: string, query = '') => {
    const options: RawOptions = { contentType: `application/${type}`, kubeconfig: write.kubeconfig }
    return answered(await raw('PATCH', `${pathTo(write)}${query}`, body, options))
  }
  return {
    create: async (write) =>
      answered(await raw('POST', pathOf(write.resource, placeOf(write)), manifestOf(write), write)),
    update: async (write) => {
      const { body: now } = await raw<KubeObject>('GET', pathTo(write))
      const { resourceVersion } = now.metadata
      return answered(
        await raw('PUT', pathTo(write), manifestOf(write, { resourceVersion }), write),
      )
    },
    'merge patch': (write) => patch(write, mergePatch(write), 'merge-patch+json'),
    'JSON patch': (write) => patch(write, jsonPatch(write), 'json-patch+json'),
    // As the operator's field manager, whose name must grant nothing.
    'server-side apply': (write) =>
      patch(write, manifestOf(write), 'apply-patch+yaml', `?fieldManager=${FIELD_MANAGER}`),
    'kubectl apply': async (write) => {
      const input = JSON.stringify(manifestOf(write))
      const { kubeconfig } = write
      const { code, stderr } = await plane.kubectl(['apply', '-f', '-'], { input, kubeconfig })
      if (code === 0) return { code: write.from ? 200 : 201, message: '' }
      return { code: codeIn(stderr), message: stderr }
    },
  }
}

/** The status code of an error that kubectl prints; 0 = not one of a policy. */
function codeIn(stderr: string): number {
  if (stderr.includes('Error from server (Forbidden)')) return 403
  return /^The \S+ "\S+" is invalid:/m.test(stderr) ? 422 : 0
}

/** Claims are written into namespace default. */
const placeOf = ({ resource }: Pick<Write, 'resource'>): { readonly namespace?: string } =>
  resource === ACCESS_KEY_CLAIMS ? { namespace: 'default' } : {}

const pathTo = (write: Named): string =>
  pathOf(write.resource, { ...placeOf(write), name: write.name }, write.subresource)

function manifestOf(write: Named, more: object = {}): object {
  const { resource, name, to } = write
  const metadata = { ...to.metadata, ...placeOf(write), ...more, name }
  return { apiVersion: API_VERSION, kind: resource.kind, ...to, metadata }
}

interface Difference {
  readonly section: 'metadata' | 'spec'
  readonly field: string
  readonly before: unknown
  /** undefined = the field is removed. */
  readonly value: unknown
}

function differences({ from = { spec: {} }, to }: Write): readonly Difference[] {
  return (['metadata', 'spec'] as const).flatMap((section) => {
    const before: Record<string, unknown> = { ...from[section] }
    const after: Record<string, unknown> = { ...to[section] }
    return [...new Set([...Object.keys(before), ...Object.keys(after)])]
      .filter((field) => !isDeepStrictEqual(before[field], after[field]))
      .map((field) => ({ section, field, before: before[field], value: after[field] }))
  })
}

function mergePatch(write: Write): object {
  const of = (section: Difference['section']) =>
    Object.fromEntries(
      differences(write)
        .filter((one) => one.section === section)
        .map(({ field, before, value }) => [field, replacing(before, value)]),
    )
  return { metadata: of('metadata'), spec: of('spec') }
}

/** The part of a merge patch that makes `value` of `before`. */
function replacing(before: unknown, value: unknown): unknown {
  if (!isMap(before) || !isMap(value)) return value ?? null
  const removed = Object.keys(before).filter((name) => !Object.hasOwn(value, name))
  return { ...Object.fromEntries(removed.map((name) => [name, null])), ...value }
}

const jsonPatch = (write: Write): readonly object[] =>
  differences(write).map(({ section, field, value }) => {
    const path = `/${section}/${field}`
    return value === undefined ? { op: 'remove', path } : { op: 'add', path, value }
  })

/** The stored object without server-set fields and `ignored` annotations. */
async function storedOf(
  { raw }: TestControlPlane,
  named: Named,
  ignored: readonly string[],
): Promise<Manifest | null> {
  const { code, body } = await raw<KubeObject<Manifest['spec']>>('GET', pathTo(named))
  if (code === 404) return null
  const { finalizers, ownerReferences, annotations, labels } = body.metadata
  const others = Object.entries(annotations ?? {}).filter(([name]) => !ignored.includes(name))
  return {
    metadata: {
      ...(finalizers && { finalizers }),
      ...(ownerReferences && { ownerReferences }),
      ...(others.length > 0 && { annotations: Object.fromEntries(others) }),
      ...(labels && { labels }),
    },
    spec: body.spec ?? {},
  }
}

/** The ways in which a table is tested. */
export interface Ways {
  /** Absent = all ways. */
  readonly isTested?: (way: Way) => boolean
  /** In `make test` each row is tested in one way, in turn. */
  readonly oneInQuick?: true
}

/** Defines the tests of a table. */
export type TestTable<Caller extends string> = (
  resource: Resource,
  rows: readonly Row<Caller>[],
  ways?: Ways,
) => void

/** `kubeconfigOf` must know the callers of the rows. kubectl is slow: in `make test` it gets a few rows per table. */
export function tableTester<Caller extends string>(
  plane: TestControlPlane,
  kubeconfigOf: (by: Caller) => string,
): TestTable<Caller> {
  const send = sender(plane)
  return (resource, rows, { isTested = () => true, oneInQuick } = {}) => {
    const byKubectl = new Set(sampled(rows, oneInQuick ? rows.length : 6, 1))
    const cases = rows.flatMap((row, at) => {
      const ways = (row.from ? CHANGES : CREATIONS).filter(isTested)
      const sent = ways.filter((way) => way !== 'kubectl apply')
      const fast = isWhole || !oneInQuick ? sent : [sent[at % sent.length]]
      return ways
        .filter((way) => (way === 'kubectl apply' ? byKubectl.has(row) : fast.includes(way)))
        .map((way) => ({
          ...row,
          way,
          does: `${row.by} ${row.refused ? 'may not' : 'may'} ${row.from ? 'change' : 'create'}`,
        }))
    })
    test.concurrent.each(cases)('$does $name by $way', async ({ way, by, refused, ...write }) => {
      const written = await send(way, { ...write, resource, kubeconfig: kubeconfigOf(by) })
      expect(written).toEqual(expected(write, refused))
    })
  }
}

function expected(
  { from, to }: Pick<Row<string>, 'from' | 'to'>,
  refused: Row<string>['refused'],
): Written {
  if (!refused) return { code: from ? 200 : 201, message: '', stored: whole(to) }
  const message: string = expect.stringContaining(`denied request: ${refused.says}`)
  return { code: refused.code, message, stored: from ? whole(from) : null }
}

const whole = ({ metadata = {}, spec }: Manifest): Manifest => ({ metadata, spec })
