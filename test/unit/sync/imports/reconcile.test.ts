import { describe, expect, test } from 'vitest'
import { StatusError } from '../../../../src/kube/client/api-error.ts'
import type { KubeClient } from '../../../../src/kube/client/client.ts'
import { ReportedFailure } from '../../../../src/kube/controller/reported-failure.ts'
import { importsController } from '../../../../src/sync/imports/setup.ts'
import type { SyncedObject } from '../../../../src/sync/objects/synced-object.ts'
import { manualClock } from '../../../support/manual-clock.ts'
import { memoryLog } from '../../../support/memory-log.ts'
import { endpoints, importWorld, labelled, object } from '../import-world.ts'
import { memoryEvents } from '../memory-report.ts'
import { contextIn, reconcileContext } from '../../../support/reconcile-context.ts'

const KEY = 'secrets/shop/db'

/** The controller with a virtual cluster that answers each write, unless it refuses all; its watch tells of deletions. */
function controllerWorld(refusal: StatusError | null = null) {
  const world = importWorld()
  const writes: string[] = []
  const counted: string[] = []
  const thrown: unknown[] = []
  const write = (text: string, answer: unknown): Promise<never> => {
    writes.push(text)
    return refusal === null ? Promise.resolve(answer as never) : Promise.reject(refusal)
  }
  const client: Partial<KubeClient> = {
    create: (_, { metadata, ...fields }, reason) => {
      const after = { ...fields, metadata: { ...metadata, uid: 'v1', resourceVersion: '5' } }
      return write(`create ${metadata.name} ${reason}`, after)
    },
    replace: (_, after, reason) => {
      const { name, resourceVersion } = after.metadata
      return write(`replace ${name} ${resourceVersion} ${reason}`, after)
    },
    delete: (_, { name, namespace }, { uid, resourceVersion }, reason) => {
      if (refusal === null) world.virtual.secrets.read(`${namespace}/${name}`, null)
      return write(`delete ${name} ${uid} ${resourceVersion} ${reason}`, null)
    },
  }
  const clock = manualClock(0)
  const { log, lines } = memoryLog()
  const { events, recorder } = memoryEvents()
  const spec = importsController({
    ...world,
    clock,
    clients: { virtual: client as KubeClient },
    events: recorder,
    observer: (kind) => ({
      wrote: (direction) => void counted.push(`${kind} ${direction}`),
      failed: (reason) => void counted.push(`${kind} ${reason}`),
      caughtUp: () => undefined,
    }),
    workers: 1,
  })
  /** A reconcile, and what it wrote. */
  const reconcile = async (): Promise<readonly string[]> => {
    await spec.reconcile(KEY, contextIn(spec, KEY, log)).catch((error: unknown) => {
      if (refusal === null) throw error
      thrown.push(error)
    })
    return writes.splice(0)
  }
  /** The Events since the last call. */
  const takeNotes = (): readonly string[] =>
    events
      .splice(0)
      .map(
        ({ regarding, reason, note }) => `${regarding.kind} ${regarding.name} ${reason}: ${note}`,
      )
  const refer = (name: string | null): void =>
    world.virtual.endpoints.read('shop/web', name === null ? null : endpoints('web', { a: name }))
  return { ...world, spec, reconcile, refer, takeNotes, events, counted, thrown, clock, lines }
}

const withData = (data: string): SyncedObject => {
  const host = labelled('db')
  return { ...host, object: { ...host.object, data: { password: data } } }
}

describe('the controller of imports', () => {
  test('creates, updates and deletes the copy, each on condition of what it has read (19.5)', async () => {
    const { reconcile, refer, candidates, virtual, counted, clock } = controllerWorld()
    refer('db')
    virtual.secrets.read('shop/db', null)
    candidates.read('host/db', withData('b25l'))
    expect(await reconcile()).toEqual(['create db import'])
    expect(virtual.secrets.getByKey('shop/db')?.object).toMatchObject({
      apiVersion: 'v1',
      kind: 'Secret',
      data: { password: 'b25l' },
    })
    expect(await reconcile()).toEqual([])
    candidates.read('host/db', withData('dHdv'))
    await clock.advance(1000)
    expect(await reconcile()).toEqual(['replace db 5 import'])
    candidates.read('host/db', null)
    await clock.advance(1000)
    expect(await reconcile()).toEqual(['delete db v1 5 import'])
    expect(counted).toEqual(['secrets toVirtual', 'secrets toVirtual', 'secrets toVirtual'])
  })

  test('deletes the copy that nothing names any more, of which the host object is not read (19.5)', async () => {
    const { reconcile, refer, candidates, virtual, clock } = controllerWorld()
    refer('db')
    virtual.secrets.read('shop/db', null)
    candidates.read('host/db', labelled('db'))
    await reconcile()
    refer(null)
    await clock.advance(1000)
    expect(await reconcile()).toEqual(['delete db v1 5 import'])
  })

  test.each([
    { name: 'the virtual object', virtualRead: false, hostRead: true },
    { name: 'the host object', virtualRead: true, hostRead: false },
  ])('does nothing before $name is read (19.5)', async ({ virtualRead, hostRead }) => {
    const { reconcile, refer, candidates, virtual } = controllerWorld()
    refer('db')
    if (virtualRead) virtual.secrets.read('shop/db', null)
    if (hostRead) candidates.read('host/db', labelled('db'))
    expect(await reconcile()).toEqual([])
  })

  test('keeps the copy while the host object is not read (19.5)', async () => {
    const { reconcile, refer, candidates, virtual } = controllerWorld()
    refer('db')
    virtual.secrets.read('shop/db', null)
    candidates.read('host/db', labelled('db'))
    await reconcile()
    candidates.release({ namespace: 'host', name: 'db' })
    expect(await reconcile()).toEqual([])
  })

  test('never touches an object that a user wrote (19.5)', async () => {
    const { reconcile, refer, candidates, virtual } = controllerWorld()
    refer('db')
    virtual.secrets.read('shop/db', object('secrets', ['shop', 'db'], {}, { data: { a: 'eA==' } }))
    candidates.read('host/db', labelled('db'))
    expect(await reconcile()).toEqual([])
    refer(null)
    expect(await reconcile()).toEqual([])
  })

  test('reports a refusal on each referrer, without a value of a Secret (19.5, 19.8)', async () => {
    const refusal = new StatusError({
      code: 403,
      reason: 'Forbidden',
      message: 'quota of b25l exceeded',
      retryAfterMs: null,
      isTestFailed: false,
    })
    const { reconcile, refer, candidates, virtual, takeNotes, counted, thrown } =
      controllerWorld(refusal)
    refer('db')
    virtual.endpoints.read('shop/api', endpoints('api', { b: 'db' }))
    virtual.secrets.read('shop/db', null)
    candidates.read('host/db', withData('b25l'))
    await reconcile()
    const note =
      'NotWritten: The virtual cluster refuses the import of Secret shop/db with 403 Forbidden'
    expect(takeNotes()).toEqual([`Endpoints web ${note}`, `Endpoints api ${note}`])
    expect(counted).toEqual(['secrets NotWritten'])
    // The controller logs what is thrown.
    expect(thrown).toMatchObject([
      { cause: { code: 403 }, message: 'import of Secret shop/db: 403 Forbidden' },
    ])
  })

  test('reports a refusal once on each referrer, also on one that comes later (19.5)', async () => {
    const refusal = new StatusError({
      code: 404,
      reason: 'NotFound',
      message: 'there is no such namespace',
      retryAfterMs: null,
      isTestFailed: false,
    })
    const { reconcile, refer, candidates, virtual, takeNotes, lines, thrown } =
      controllerWorld(refusal)
    refer('db')
    virtual.secrets.read('shop/db', null)
    candidates.read('host/db', labelled('db'))
    for (let times = 0; times < 3; times += 1) await reconcile()
    expect(thrown).toEqual(Array.from({ length: 3 }, () => expect.any(ReportedFailure)))
    expect(lines).toMatchObject([{ level: 'warn', sentence: 'an import is refused' }])
    expect(takeNotes()).toEqual([expect.stringMatching(/^Endpoints web NotWritten: /)])
    virtual.endpoints.read('shop/api', endpoints('api', { b: 'db' }))
    await reconcile()
    expect(takeNotes()).toEqual([expect.stringMatching(/^Endpoints api NotWritten: /)])
    // Once it is in step, another refusal is news.
    candidates.read('host/db', null)
    await reconcile()
    candidates.read('host/db', labelled('db'))
    await reconcile()
    expect(takeNotes()).toHaveLength(2)
    expect(lines.map(({ sentence }) => sentence)).toEqual([
      'an import is refused',
      'an import is in step again',
      'an import is refused',
    ])
  })

  test('the line and the Events of a refusal have the ID of their reconcile and the name of the copy (19.8)', async () => {
    const { reconcile, refer, candidates, virtual, events, lines } = controllerWorld(
      new StatusError({
        code: 403,
        reason: 'Forbidden',
        message: 'POST secrets: 403 Forbidden',
        retryAfterMs: null,
        isTestFailed: false,
      }),
    )
    refer('db')
    virtual.endpoints.read('shop/api', endpoints('api', { b: 'db' }))
    virtual.secrets.read('shop/db', null)
    candidates.read('host/db', labelled('db'))
    await reconcile()
    const reconcileID = lines[0]?.fields['reconcileID']
    expect(reconcileID).toMatch(/^[0-9a-f-]{36}$/)
    expect(events).toMatchObject([{ reconcileID }, { reconcileID }])
    refer(null)
    virtual.endpoints.read('shop/api', null)
    await reconcile()
    const line = {
      controller: 'sync-imports',
      kind: 'Secret',
      object: { namespace: 'shop', name: 'db' },
    }
    expect(lines.map(({ fields }) => fields)).toEqual([
      { ...line, because: 'import of Secret shop/db: 403 Forbidden', reconcileID },
      { ...line, reconcileID: expect.not.stringContaining(String(reconcileID)) as unknown },
    ])
  })

  test('delays the eleventh time in a minute that it makes the copy again, and writes the newest state then (19.7)', async () => {
    const { spec, reconcile, refer, candidates, virtual, clock } = controllerWorld()
    refer('db')
    candidates.read('host/db', withData('b25l'))
    // A user deletes it each time.
    for (let n = 0; n < 11; n += 1) {
      virtual.secrets.read('shop/db', null)
      expect(await reconcile()).toHaveLength(1)
    }
    virtual.secrets.read('shop/db', null)
    expect(await spec.reconcile(KEY, reconcileContext())).toEqual({ result: 'later', atMs: 60_000 })
    candidates.read('host/db', withData('dHdv'))
    expect(await reconcile()).toEqual([])
    await clock.advance(60_000)
    expect(await reconcile()).toHaveLength(1)
    expect(virtual.secrets.getByKey('shop/db')?.object).toMatchObject({
      data: { password: 'dHdv' },
    })
    expect(await reconcile()).toEqual([])
  })

  test('is queued by references, by either object, and at the start (19.5)', () => {
    const { spec, refer, candidates, virtual } = controllerWorld()
    const queued: string[] = []
    const take = (): readonly string[] => [...new Set(queued.splice(0))]
    refer('db')
    for (const watch of spec.watches) watch((key) => void queued.push(key))
    expect(take()).toEqual([KEY])
    candidates.read('host/db', labelled('db'))
    expect(take()).toEqual([KEY])
    virtual.secrets.read('shop/db', null)
    expect(take()).toEqual([KEY])
    virtual.secrets.read('shop/other', object('secrets', ['shop', 'other'], {}))
    expect(take()).toEqual([])
    refer('third')
    expect(take()).toEqual([KEY, 'secrets/shop/third'])
  })
})
