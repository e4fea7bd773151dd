import { expect, test } from 'vitest'
import { createReconcileContext } from '../../../../src/kube/controller/reconcile-context.ts'
import type { CachedObject } from '../../../../src/kube/informer/store.ts'
import type { Log } from '../../../../src/runtime/log.ts'
import { memoryLog } from '../../../support/memory-log.ts'

const stored = { name: 'a', namespace: 'shop', uid: 'uid-a', resourceVersion: '7' }

/** A log that counts the loggers made from it. */
function countingLog() {
  const { log, lines } = memoryLog()
  const made: object[] = []
  const counting: Log = { ...log, child: (fields) => (made.push(fields), log.child(fields)) }
  return { counting, lines, made }
}

test('every line of a reconcile has one ID, and the object that the store had when its log was read', () => {
  const { counting, lines } = countingLog()
  let now: CachedObject | undefined = { ...stored }
  const context = createReconcileContext({
    controller: 'things',
    key: 'shop/a',
    objectOf: () => now,
    log: counting,
  })
  const { log } = context
  now = undefined
  log.info({ step: 1 }, 'released')
  context.log.info({ step: 2 }, 'released')
  const own = { controller: 'things', object: stored, reconcileID: context.reconcileID }
  expect(lines.map(({ fields }) => fields)).toEqual([
    { ...own, step: 1 },
    { ...own, step: 2 },
  ])
  expect(context.reconcileID).toMatch(/^[0-9a-f-]{36}$/)
})

test('an object that does not exist is in the lines by the name that its controller knows', () => {
  const { counting, lines } = countingLog()
  const object = { namespace: 'shop', name: 'a' }
  const { log } = createReconcileContext({
    controller: 'things',
    key: 'things/shop/a',
    objectOf: () => object,
    log: counting,
  })
  log.info({}, 'done')
  expect(lines.map(({ fields }) => fields['object'])).toEqual([object])
})

test('a reconcile without a line makes no logger, and each has another ID', () => {
  const { counting, made } = countingLog()
  const contexts = ['a', 'b'].map((key) =>
    createReconcileContext({ controller: 'things', key, objectOf: () => undefined, log: counting }),
  )
  expect(new Set(contexts.map(({ reconcileID }) => reconcileID)).size).toBe(2)
  expect(made).toEqual([])
  contexts[0]?.log.info({}, 'done')
  expect(made).toMatchObject([{ object: { name: 'a' } }])
})
