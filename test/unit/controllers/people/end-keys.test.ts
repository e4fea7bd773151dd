// A deleted User: which keys are ended, how, and when the object goes.
import { describe, expect, test } from 'vitest'
import { REVOKE_FINALIZER } from '../../../../src/api/names.ts'
import type { OwnedAccessKey } from '../../../../src/api/ownedaccesskey.gen.ts'
import type { User } from '../../../../src/api/user.gen.ts'
import { userController } from '../../../../src/controllers/user/setup.ts'
import { StatusError } from '../../../../src/kube/client/api-error.ts'
import type { KubeClient } from '../../../../src/kube/client/client.ts'
import type { ObjectEvent } from '../../../../src/kube/event-recorder.ts'
import { objectNameFor, peopleIn } from '../../../../src/people/people-index.ts'
import { EventLoopShare } from '../../../../src/runtime/concurrency/event-loop.ts'
import { type Answers, recordingClient, refused } from '../../../support/fake-kube-client.ts'
import { after, textAfter } from '../../../support/key-builder.ts'
import { manualClock } from '../../../support/manual-clock.ts'
import { type Parts, keyObject, userObject } from '../../../support/object-builder.ts'
import { reconcileContext } from '../../../support/reconcile-context.ts'
import { keyStore } from '../../../support/token-builder.ts'
import { peopleStores } from '../../people/people-builder.ts'

const HELD = { finalizers: [REVOKE_FINALIZER] }
const FLUX = { labels: { 'kustomize.toolkit.fluxcd.io/name': 'platform' } }

const keyNamed = (name: string, metadata: object = {}, spec: object = {}): OwnedAccessKey =>
  keyObject({ metadata: { name, ...HELD, ...metadata }, spec: { user: 'ada', ...spec } })

/** A page of the list of keys; `next` is the token of the next page. */
interface Page {
  readonly items: readonly OwnedAccessKey[]
  readonly next?: string
}

/** The deletion of User ada, whose keys the API server lists in these pages. */
function deletion(
  pages: readonly Page[],
  answers: Answers = {},
  user: Parts<User> = {},
  fails: () => Promise<void> = () => Promise.resolve(),
) {
  const { client, asked } = recordingClient(answers)
  const events: ObjectEvent[] = []
  const selectors: (string | undefined)[] = []
  const list: KubeClient['list'] = async (_, { fieldSelector }, limit, next) => {
    await fails()
    expect(limit).toBe(500)
    selectors.push(fieldSelector)
    const page = pages[next === undefined ? 0 : Number(next)] ?? { items: [] }
    const items = page.items
      .filter(({ metadata: { name } }) => !ended.has(`delete ${name}`))
      .map((key) =>
        ended.has(`patch ${key.metadata.name}`)
          ? { ...key, spec: { ...key.spec, disabled: true } }
          : key,
      )
    return { ...page, items, resourceVersion: '9' }
  }
  /** `delete` and `patch` with the names of the keys that are gone, or disabled. */
  const ended = new Set<string>()
  const remove: KubeClient['delete'] = async (resource, ref, ...rest) => {
    const left = await client.delete(resource, ref, ...rest)
    if (left === null) ended.add(`delete ${ref.name}`)
    return left
  }
  const patch: KubeClient['patch'] = async (resource, ref, ...rest) => {
    const patched = await client.patch(resource, ref, ...rest)
    ended.add(`patch ${ref.name}`)
    return patched as never
  }
  const stores = {
    ...peopleStores(),
    users: userController.watches.users.createStore(),
    keys: keyStore(),
  }
  stores.users.begin()
  const metadata = { name: 'ada', ...HELD, deletionTimestamp: textAfter(0), ...user.metadata }
  stores.users.put(userObject({ ...user, metadata }))
  stores.users.end()
  const clock = manualClock(after(60))
  const controller = userController.setUp({
    client: { ...client, list, delete: remove, patch },
    stores,
    people: peopleIn(stores),
    events: {
      record: (event) => void events.push(event),
      flush: () => Promise.resolve(),
      stop: () => undefined,
    },
    clock,
    eventLoop: new EventLoopShare(clock),
  })
  const reconcile = () => controller.reconcile(metadata.name, reconcileContext())
  return { asked, events, selectors, reconcile }
}

const terminating: Answers['delete'] = (_, { name }) =>
  Promise.resolve(keyNamed(name, { deletionTimestamp: textAfter(60) }))

const verbsOf = (asked: ReturnType<typeof deletion>['asked']) =>
  asked.map(({ verb, kind, name, reason }) => `${verb} ${kind} ${name}: ${reason}`)

const RELEASE = 'patch User ada: finalizer'
const STATUS = 'apply User ada: status'
const AGAIN = { result: 'later', atMs: after(62) }
const DONE = { result: 'done' }

describe('keys that are made while a deleted User ends its keys (24.2)', () => {
  /** Keys without a finalizer, each of which the look of its number is the first to find. */
  const madeInTurn = (count: number) => {
    const young = Array.from({ length: count }, (_, at) => keyNamed(`k${at}`, { finalizers: [] }))
    const pages = [{ items: [] as readonly OwnedAccessKey[] }]
    const fails = async (): Promise<void> => {
      const found = young.shift()
      pages[0] = { items: found ? [found] : [] }
    }
    return { pages, fails }
  }
  const gone: Answers['delete'] = () => Promise.resolve(null)

  test('are deleted as well before it goes', async () => {
    const { pages, fails } = madeInTurn(3)
    const { asked, reconcile } = deletion(pages, { delete: gone }, {}, fails)
    expect(await reconcile()).toEqual(DONE)
    const ended = ['k0', 'k1', 'k2'].map((name) => `delete OwnedAccessKey ${name}: user-deleted`)
    expect(verbsOf(asked)).toEqual([...ended, RELEASE])
  })

  test('hold it while they are made without a pause', async () => {
    const { pages, fails } = madeInTurn(30)
    const { asked, reconcile } = deletion(pages, { delete: gone }, {}, fails)
    expect(await reconcile()).toEqual(AGAIN)
    expect(verbsOf(asked)).not.toContain(RELEASE)
  })
})

describe('the keys of a deleted User (24.2)', () => {
  test('are deleted by uid and resourceVersion, page by page, and the User waits for them', async () => {
    const pages = [{ items: [keyNamed('a')], next: '1' }, { items: [keyNamed('b')] }]
    const { asked, selectors, reconcile } = deletion(pages, { delete: terminating })
    expect(await reconcile()).toEqual(AGAIN)
    expect(selectors).toEqual(['spec.user=ada', 'spec.user=ada'])
    expect(verbsOf(asked)).toEqual([
      'delete OwnedAccessKey a: user-deleted',
      'delete OwnedAccessKey b: user-deleted',
      STATUS,
    ])
    expect(asked[0]?.body).toEqual({ uid: 'uid-a', resourceVersion: '1' })
    expect(JSON.stringify(asked.at(-1)?.body)).toContain('and 2 of them are left')
  })

  test('that are gone at once do not keep the User', async () => {
    const { asked, reconcile } = deletion([{ items: [keyNamed('a', { finalizers: [] })] }])
    expect(await reconcile()).toEqual(DONE)
    expect(verbsOf(asked)).toEqual(['delete OwnedAccessKey a: user-deleted', RELEASE])
  })

  test('that a GitOps tool applies are disabled if they have not changed, with an Event, and do not keep the User', async () => {
    const patch: Answers['patch'] = (_, { name }) => Promise.resolve(keyNamed(name, FLUX) as never)
    const kept = keyNamed('kept', FLUX, { disabled: true })
    const { asked, events, reconcile } = deletion([{ items: [keyNamed('git', FLUX), kept] }], {
      patch,
    })
    expect(await reconcile()).toEqual(DONE)
    expect(verbsOf(asked)).toEqual(['patch OwnedAccessKey git: user-deleted', RELEASE])
    expect(asked[0]?.body).toEqual([
      { op: 'test', path: '/metadata/resourceVersion', value: '1' },
      { op: 'add', path: '/spec/disabled', value: true },
    ])
    expect(events.map(({ type, reason, regarding }) => [type, reason, regarding.name])).toEqual([
      ['Warning', 'KeyKept', 'git'],
      ['Warning', 'KeyKept', 'kept'],
    ])
  })

  test('that were disabled earlier get no further Event while others are left', async () => {
    const kept = keyNamed('kept', FLUX, { disabled: true })
    const pages = [{ items: [kept, keyNamed('a')] }]
    const { events, reconcile } = deletion(pages, { delete: terminating })
    expect(await reconcile()).toEqual(AGAIN)
    expect(events).toEqual([])
  })

  test('that wait for our finalizer keep the User, those that wait for others do not', async () => {
    const deleted = { deletionTimestamp: textAfter(1) }
    const released = keyNamed('foreign', { ...deleted, finalizers: ['example.com/x'] })
    const waiting = deletion([{ items: [keyNamed('ours', deleted), released] }])
    expect(await waiting.reconcile()).toEqual(AGAIN)
    expect(verbsOf(waiting.asked)).toEqual([STATUS])
    expect(await deletion([{ items: [released] }]).reconcile()).toEqual(DONE)
  })

  test('that have changed are left for the next look, and the others are ended', async () => {
    const remove: Answers['delete'] = (resource, { name }, ...rest) =>
      name === 'a'
        ? Promise.reject(refused(409, 'Conflict'))
        : (terminating?.(resource, { name }, ...rest) ?? Promise.resolve(null))
    const { asked, reconcile } = deletion([{ items: [keyNamed('a'), keyNamed('b')] }], {
      delete: remove,
    })
    expect(await reconcile()).toEqual(AGAIN)
    expect(JSON.stringify(asked.at(-1)?.body)).toContain('2 of them are left.')
  })

  test('that the API server refuses to end keep the User, which says why (5.1)', async () => {
    const remove = () => Promise.reject(refused(403, 'Forbidden'))
    const { asked, reconcile } = deletion([{ items: [keyNamed('a')] }], { delete: remove })
    await expect(reconcile()).rejects.toThrow('Forbidden')
    expect(JSON.stringify(asked.at(-1)?.body)).toContain(
      '1 of them is left, and the end of one failed: access key a, Forbidden.',
    )
  })

  test('are left when the list fails', async () => {
    const { asked, reconcile } = deletion([], {}, {}, () =>
      Promise.reject(refused(500, 'InternalError')),
    )
    await expect(reconcile()).rejects.toThrow(StatusError)
    expect(asked).toEqual([])
  })

  test('are found by a selector whose special characters are escaped', async () => {
    const username = String.raw`a,b=c\d`
    const user = { metadata: { name: objectNameFor(username) }, spec: { username } }
    const { selectors, reconcile } = deletion([], {}, user)
    await reconcile()
    expect(selectors).toEqual([String.raw`spec.user=a\,b\=c\\d`])
  })

  test('are left alone when the object has another name than the form of its own (24.1)', async () => {
    const user = { metadata: { name: 'ada-2' }, spec: { username: 'ada' } }
    const { selectors, asked, reconcile } = deletion([{ items: [keyNamed('a')] }], {}, user)
    await reconcile()
    expect(selectors).toEqual([])
    expect(verbsOf(asked)).toEqual(['patch User ada-2: finalizer'])
  })
})
