import { describe, expect, onTestFinished, test } from 'vitest'
import { connect } from '../../../../src/kube/client/connection.ts'
import { createNamespaceContent } from '../../../../src/kube/client/namespace-content.ts'
import { manualClock } from '../../../support/manual-clock.ts'
import {
  type Answer,
  THINGS,
  dropConnection,
  json,
  refuse,
  startScriptedServer,
  thing,
  writeKubeconfig,
} from '../informer/scripted-server.ts'

/** The content that a server with these answers has, by path. */
async function contentOf(answers: Readonly<Record<string, Answer>>) {
  const server = await startScriptedServer((response, request) =>
    (answers[request.path] ?? refuse(404))(response, request),
  )
  const clock = manualClock(0)
  const source = {
    kind: 'files' as const,
    paths: [await writeKubeconfig({ server: server.url })],
  }
  const connection = await connect(source, clock)
  onTestFinished(() => connection.close())
  const content = createNamespaceContent({
    connection,
    clock,
    observer: { responded: () => undefined, wrote: () => undefined },
    userAgent: 'tester/1',
    fieldManager: 'tester',
    mayWrite: () => undefined,
  })
  return { content, server }
}

const kind = (name: string, given: object = {}) => ({
  name,
  kind: name,
  namespaced: true,
  verbs: ['get', 'list'],
  ...given,
})
const serves = (...resources: readonly object[]): Answer =>
  json(200, { kind: 'APIResourceList', resources })
const groups = (...names: readonly string[]): Answer =>
  json(200, {
    kind: 'APIGroupList',
    groups: names.map((groupVersion) => ({ versions: [{ groupVersion }] })),
  })

describe('the kinds that an API server stores in namespaces', () => {
  test('are those of all groups, without subresources, questions and cluster-scoped ones (17.5)', async () => {
    const { content } = await contentOf({
      '/apis': groups('apps/v1'),
      '/api/v1': serves(
        kind('pods'),
        kind('pods/log'),
        kind('nodes', { namespaced: false }),
        kind('bindings', { verbs: ['create'] }),
      ),
      '/apis/apps/v1': serves(kind('deployments')),
    })
    expect(await content.resources()).toEqual({
      resources: [
        { group: '', version: 'v1', plural: 'pods', kind: 'pods' },
        { group: 'apps', version: 'v1', plural: 'deployments', kind: 'deployments' },
      ],
      unknown: [],
    })
  })

  test('stand once where several versions are served (17.5)', async () => {
    const { content } = await contentOf({
      '/apis': groups('g.io/v2', 'g.io/v1'),
      '/api/v1': serves(),
      '/apis/g.io/v2': serves(kind('things')),
      '/apis/g.io/v1': serves(kind('things'), kind('olds')),
    })
    const { resources } = await content.resources()
    expect(resources.map(({ plural, version }) => `${plural} ${version}`)).toEqual([
      'things v2',
      'olds v1',
    ])
  })

  test('are unknown in a group whose server is down (17.5)', async () => {
    const { content } = await contentOf({
      '/apis': groups('metrics.k8s.io/v1'),
      '/api/v1': serves(kind('pods')),
      '/apis/metrics.k8s.io/v1': refuse(503),
    })
    expect(await content.resources()).toMatchObject({ unknown: ['metrics.k8s.io/v1'] })
  })

  test('are no list that is empty when the groups cannot be read (17.5)', async () => {
    const { content } = await contentOf({ '/apis': refuse(403), '/api/v1': serves() })
    await expect(content.resources()).rejects.toMatchObject({ code: 403 })
  })
})

describe('the objects of a kind in a namespace', () => {
  const PATH = '/apis/g.io/v1/namespaces/shop/things'
  const a = thing('a', 1, { namespace: 'shop' })
  const b = thing('b', 2, { namespace: 'shop' })

  test('are read as metadata, page by page (17.5)', async () => {
    const { content, server } = await contentOf({
      [PATH]: (response, request) =>
        (request.query['continue'] === undefined
          ? json(200, { metadata: { continue: 'more' }, items: [a] })
          : json(200, { metadata: {}, items: [b] }))(response, request),
    })
    expect(await content.list(THINGS, 'shop')).toEqual([a.metadata, b.metadata])
    for (const { headers } of server.received)
      expect(headers.accept).toMatch(/^application\/json;as=PartialObjectMetadataList/)
  })

  test('are none where Go writes null (17.5)', async () => {
    const { content } = await contentOf({ [PATH]: json(200, { metadata: {}, items: null }) })
    expect(await content.list(THINGS, 'shop')).toEqual([])
  })

  test.each([403, 404, 503])('are unknown after a %d (17.5)', async (code) => {
    const { content } = await contentOf({ [PATH]: refuse(code) })
    expect(await content.list(THINGS, 'shop')).toBeNull()
  })

  test.each<{ name: string; answer: Answer }>([
    { name: 'another answer', answer: json(200, { metadata: {} }) },
    { name: 'no answer', answer: dropConnection },
  ])('are no empty list after $name (17.5)', async ({ answer }) => {
    const { content } = await contentOf({ [PATH]: answer })
    await expect(content.list(THINGS, 'shop')).rejects.toThrow(/./)
  })
})
