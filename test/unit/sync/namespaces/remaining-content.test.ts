import { describe, expect, test } from 'vitest'
import type { Resource } from '../../../../src/api/names.ts'
import type { ObjectMeta } from '../../../../src/api/objects.ts'
import type { KubeClient } from '../../../../src/kube/client/client.ts'
import type { NamespaceContent } from '../../../../src/kube/client/namespace-content.ts'
import {
  deleteOwnObjects,
  remainingContent,
} from '../../../../src/sync/namespaces/remaining-content.ts'
import type { HostPlace } from '../../../../src/sync/objects/host-name.ts'
import { marksOf } from '../../../../src/sync/objects/host-metadata.ts'
import { refusal } from '../memory-cluster.ts'
import { SEVERAL } from '../translation.ts'

const core = (plural: string): Resource => ({ group: '', version: 'v1', plural, kind: plural })
const SERVED = [core('services'), core('pods'), { ...core('jobs'), group: 'batch' }]

/** The content of a namespace; null = what can't be listed. */
const contentOf = (
  objects: Readonly<Record<string, readonly ObjectMeta[] | null>>,
  unknown: readonly string[] = [],
): NamespaceContent => ({
  resources: async () => ({ resources: SERVED, unknown }),
  list: async ({ plural }) => objects[plural] ?? (plural in objects ? null : []),
})

const metadata = (name: string, given: object = {}): ObjectMeta => ({
  name,
  namespace: 'vc-x-shop',
  uid: `${name}-uid`,
  resourceVersion: '7',
  creationTimestamp: '2026-01-01T00:00:00Z',
  ...given,
})

describe('a host namespace', () => {
  test.each([
    { name: 'is empty', content: contentOf({}), rest: { kind: 'nothing' } },
    {
      name: 'has what every namespace has',
      content: contentOf({ events: [metadata('e')] }),
      rest: { kind: 'nothing' },
    },
    {
      name: 'has an object',
      content: contentOf({ pods: [metadata('web')] }),
      rest: { kind: 'objects', content: 'pods web' },
    },
    {
      name: 'has an object of another group',
      content: contentOf({ jobs: [metadata('j')] }),
      rest: { kind: 'objects', content: 'jobs.batch j' },
    },
    {
      name: 'has kinds that cannot be listed',
      content: contentOf({ pods: null, jobs: null }),
      rest: { kind: 'unknown', content: 'pods, jobs.batch' },
    },
    {
      name: 'has kinds that are not known',
      content: contentOf({}, ['metrics.k8s.io/v1']),
      rest: { kind: 'unknown', content: 'metrics.k8s.io/v1' },
    },
    {
      name: 'has an object, and kinds that cannot be listed',
      content: contentOf({ services: null, pods: [metadata('web')] }),
      rest: { kind: 'objects', content: 'pods web' },
    },
  ])('$name (17.5)', async ({ content, rest }) => {
    expect(await remainingContent('vc-x-shop', content)).toEqual(rest)
  })
})

describe('objects of a virtual namespace that is gone', () => {
  const place: HostPlace = { ...SEVERAL, namespaces: [] }
  const marked = (name: string, of: string, given: object = {}): ObjectMeta => {
    const mapped: HostPlace = { ...place, namespaces: [[of, 'vc-x-shop']] }
    const virtual = { metadata: { name, namespace: of, uid: 'u1' } }
    const { labels, annotations } = marksOf(virtual, 'Service', mapped) as Record<string, object>
    return metadata(name, { annotations, ...given, labels: { ...labels, ...labelsIn(given) } })
  }
  const labelsIn = (given: object): object => ('labels' in given ? (given.labels as object) : {})

  /** What is deleted, and the result. */
  async function cleared(
    services: readonly ObjectMeta[] | null,
    given: { readonly place?: HostPlace; readonly of?: string; readonly refused?: Error } = {},
  ) {
    const deleted: unknown[] = []
    const host = {
      delete: async (...call: readonly unknown[]) => {
        deleted.push(call.slice(1))
        if (given.refused) throw given.refused
      },
    } as unknown as KubeClient
    const result = await deleteOwnObjects(
      { hostName: 'vc-x-shop', virtualName: given.of ?? 'shop' },
      { place: given.place ?? place, clients: { host }, content: contentOf({ services }) },
    )
    return [result, deleted]
  }
  const webDeleted = [
    { name: 'web', namespace: 'vc-x-shop' },
    { uid: 'web-uid', resourceVersion: '7' },
    'delete',
  ]

  test('are deleted as they were read, and looked for again (17.5)', async () => {
    const both = [marked('web', 'shop'), metadata('foreign')]
    expect(await cleared(both)).toEqual([{ kind: 'clearing' }, [webDeleted]])
  })

  test('are found where the mapping has changed (17.5)', async () => {
    const elsewhere: HostPlace = { ...place, namespaces: [['shop', 'other']] }
    const result = await cleared([marked('web', 'shop')], { place: elsewhere })
    expect(result).toEqual([{ kind: 'clearing' }, [webDeleted]])
  })

  test('are waited for while they terminate (17.5)', async () => {
    const ending = marked('web', 'shop', { deletionTimestamp: '2026-01-01T00:00:00Z' })
    expect(await cleared([ending])).toEqual([{ kind: 'clearing' }, []])
  })

  test('are looked for again when they have changed meanwhile (17.5)', async () => {
    const result = await cleared([marked('web', 'shop')], { refused: refusal(409, 'Conflict') })
    expect(result).toEqual([{ kind: 'clearing' }, [webDeleted]])
  })

  test('are an error when the host refuses, whose message may quote a Secret (17.5, 20)', async () => {
    const refused = refusal(403, 'Forbidden', 'the policy does not like "hunter2"')
    await expect(cleared([marked('web', 'shop')], { refused })).rejects.toMatchObject({
      code: 403,
      message: 'delete of services in namespace vc-x-shop: 403 Forbidden',
    })
  })

  test.each([
    { name: 'foreign objects', object: metadata('web') },
    { name: 'objects of another virtual namespace', object: marked('web', 'cart') },
    { name: 'copies', object: { ...marked('web', 'shop'), name: 'copy' } },
    {
      name: 'objects of another virtual cluster',
      object: marked('web', 'shop', { labels: { 'vcluster.platform.sh/managed-by': 'vc2' } }),
    },
    {
      name: 'those that are left alone',
      object: marked('web', 'shop', { labels: { 'vcluster.platform.sh/skip-sync': 'true' } }),
    },
  ])('are not $name (17.5)', async ({ object }) => {
    expect(await cleared([object])).toEqual([{ kind: 'none' }, []])
  })

  test('objects of a virtual namespace with another mapping by now are not deleted (17.5)', async () => {
    expect(await cleared([marked('web', 'shop')], { of: 'cart' })).toEqual([{ kind: 'none' }, []])
  })

  test('are unknown where they cannot be listed (17.5)', async () => {
    expect(await cleared(null)).toEqual([{ kind: 'unknown', content: 'services' }, []])
  })
})
