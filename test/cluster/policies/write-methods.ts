// The ways to write an object, and what comes of each: a rule must hold on all of them.
import { isDeepStrictEqual } from 'node:util'
import { expect, test } from 'vitest'
import { API_VERSION, FIELD_MANAGER, type Resource } from '../../../src/api/names.ts'
import type { KubeObject, OwnerReference } from '../../../src/api/objects.ts'
import { pathOf } from '../../../src/kube/client/client.ts'
import type { TestControlPlane } from '../../support/control-plane.ts'
import { LAST_APPLIED } from '../../support/installed-control-plane.ts'
import { uniqueName } from '../../support/object-builder.ts'
import type { RawAnswer, RawOptions } from '../../support/raw-client.ts'
import { isWhole, sampled } from '../../support/tier.ts'

/** What a row says about an object. */
export interface Manifest {
  readonly metadata?: {
    readonly finalizers?: readonly string[]
    readonly ownerReferences?: readonly OwnerReference[]
    readonly annotations?: Readonly<Record<string, string>>
    readonly labels?: Readonly<Record<string, string>>
  }
  readonly spec: Readonly<Record<string, unknown>>
}

/** One write: of an object that is not there yet when `from` is absent. */
export interface Write {
  readonly resource: Resource
  /** Whose credentials. */
  readonly kubeconfig: string
  readonly from?: Manifest
  readonly to: Manifest
  /** Where the change is sent; absent, to the object itself. */
  readonly subresource?: 'status'
}

/** A write of a certain caller, and what is to come of it. */
export interface Row<Caller extends string> extends Pick<Write, 'from' | 'to'> {
  readonly name: string
  readonly by: Caller
  /** Absent: it is taken. */
  readonly refused?: { readonly code: 403 | 422; readonly says: string }
}

/** What came of it. */
export interface Written {
  readonly code: number
  /** What the server said when it refused; empty otherwise. */
  readonly message: string
  /** The object after it, as far as manifests go; null when there is none. */
  readonly stored: Manifest | null
}

/** The ways to make an object. */
export const CREATIONS = ['create', 'kubectl apply', 'server-side apply'] as const

/** The ways to change one. */
export const CHANGES = [
  'update',
  'merge patch',
  'JSON patch',
  'kubectl apply',
  'server-side apply',
] as const

/** A way to write. */
export type Way = (typeof CREATIONS)[number] | (typeof CHANGES)[number]

type Sender = (write: Named) => Promise<Pick<Written, 'code' | 'message'>>

interface Named extends Write {
  readonly name: string
}

/** Puts the object as it is before, as admin, and writes it in that way, as the caller. */
export type Send = (way: Way, write: Write) => Promise<Written>

/** Writes to a control plane on which no other client touches these objects. */
export function sender(plane: TestControlPlane): Send {
  const waysOf = waysTo(plane)
  return async (way, write) => {
    const named = { ...write, name: uniqueName('policy') }
    const { from } = write
    if (from) {
      // What an apply is to take away must have come by an apply of the same manager.
      const setUp = way === 'kubectl apply' ? way : 'server-side apply'
      const { resource, name } = named
      const before = { resource, name, to: from, kubeconfig: plane.adminKubeconfig }
      const { code, message } = await waysOf[setUp](before)
      if (code >= 300) throw new Error(`set-up: ${message}`)
    }
    const { code, message } = await waysOf[way](named)
    const unsaid = way === 'kubectl apply' ? [LAST_APPLIED] : []
    return { code, message, stored: await storedOf(plane, named, unsaid) }
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
      answered(await raw('POST', pathOf(write.resource, {}), manifestOf(write), write)),
    update: async (write) => {
      const { body: now } = await raw<KubeObject>('GET', pathTo(write))
      const { resourceVersion } = now.metadata
      return answered(
        await raw('PUT', pathTo(write), manifestOf(write, { resourceVersion }), write),
      )
    },
    'merge patch': (write) => patch(write, mergePatch(write), 'merge-patch+json'),
    'JSON patch': (write) => patch(write, jsonPatch(write), 'json-patch+json'),
    // Under the name of the operator's own field manager: that must protect nothing.
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

/** The code behind what kubectl prints; 0 when it is none of those that a policy answers. */
function codeIn(stderr: string): number {
  if (stderr.includes('Error from server (Forbidden)')) return 403
  return /^The \S+ "\S+" is invalid:/m.test(stderr) ? 422 : 0
}

const pathTo = ({ resource, name, subresource }: Named): string =>
  pathOf(resource, { name }, subresource)

function manifestOf({ resource, name, to }: Named, metadata: object = {}): object {
  const { kind } = resource
  return { apiVersion: API_VERSION, kind, ...to, metadata: { ...to.metadata, ...metadata, name } }
}

interface Difference {
  readonly section: 'metadata' | 'spec'
  readonly field: string
  /** undefined: it goes. */
  readonly value: unknown
}

function differences({ from = { spec: {} }, to }: Write): readonly Difference[] {
  return (['metadata', 'spec'] as const).flatMap((section) => {
    const before: Record<string, unknown> = { ...from[section] }
    const after: Record<string, unknown> = { ...to[section] }
    return [...new Set([...Object.keys(before), ...Object.keys(after)])]
      .filter((field) => !isDeepStrictEqual(before[field], after[field]))
      .map((field) => ({ section, field, value: after[field] }))
  })
}

function mergePatch(write: Write): object {
  const of = (section: Difference['section']) =>
    Object.fromEntries(
      differences(write)
        .filter((one) => one.section === section)
        .map(({ field, value }) => [field, value ?? null]),
    )
  return { metadata: of('metadata'), spec: of('spec') }
}

const jsonPatch = (write: Write): readonly object[] =>
  differences(write).map(({ section, field, value }) => {
    const path = `/${section}/${field}`
    return value === undefined ? { op: 'remove', path } : { op: 'add', path, value }
  })

/** Without what the server adds, and without these annotations. */
async function storedOf(
  { raw }: TestControlPlane,
  named: Named,
  unsaid: readonly string[],
): Promise<Manifest | null> {
  const { code, body } = await raw<KubeObject<Manifest['spec']>>('GET', pathTo(named))
  if (code === 404) return null
  const { finalizers, ownerReferences, annotations, labels } = body.metadata
  const others = Object.entries(annotations ?? {}).filter(([name]) => !unsaid.includes(name))
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

// Tables of writes as tests: each row on each way to write.

/** On which ways a table is tested. */
export interface Ways {
  /** Absent: on all. */
  readonly isMeant?: (way: Way) => boolean
  /** In `make test` each row takes one way of sending, the next row the next. */
  readonly oneInQuick?: true
}

/** Makes tests of a table; its callers must be known. */
export type TestTable<Caller extends string> = (
  resource: Resource,
  rows: readonly Row<Caller>[],
  ways?: Ways,
) => void

/** Tests tables on a control plane. kubectl is slow: in `make test` it takes a few rows of each. */
export function tableTester<Caller extends string>(
  plane: TestControlPlane,
  kubeconfigOf: (by: Caller) => string,
): TestTable<Caller> {
  const send = sender(plane)
  return (resource, rows, { isMeant = () => true, oneInQuick } = {}) => {
    const byKubectl = new Set(sampled(rows, oneInQuick ? rows.length : 6, 1))
    const cases = rows.flatMap((row, at) => {
      const ways = (row.from ? CHANGES : CREATIONS).filter(isMeant)
      const sent = ways.filter((way) => way !== 'kubectl apply')
      const fast = isWhole || !oneInQuick ? sent : [sent[at % sent.length]]
      return ways
        .filter((way) => (way === 'kubectl apply' ? byKubectl.has(row) : fast.includes(way)))
        .map((way) => ({
          ...row,
          way,
          does: `${row.by} ${row.refused ? 'may not' : 'may'} ${row.from ? 'change' : 'make'}`,
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
