import { describe, expect, test } from 'vitest'
import { ReferenceIndex, type Referrer } from '../../../../src/sync/references/index-by-name.ts'
import type { ObjectReference } from '../../../../src/sync/patches/reference.ts'

const web: Referrer = { kind: 'Endpoints', key: 'shop/web' }
const api: Referrer = { kind: 'Endpoints', key: 'shop/api' }
const webService: Referrer = { kind: 'Service', key: 'shop/web' }

const secret = (name: string, namespace = 'shop'): ObjectReference => ({
  apiVersion: 'v1',
  kind: 'Secret',
  namespace,
  name,
})

/** An index that records its changes, such as `+Secret shop/a`, with what it says about them at that time. */
function recordingIndex() {
  const index = new ReferenceIndex()
  const changes: string[] = []
  index.subscribe(({ target: { kind, namespace, name }, isReferenced }) => {
    expect(index.isReferenced(kind, `${namespace}/${name}`)).toBe(isReferenced)
    changes.push(`${isReferenced ? '+' : '-'}${kind} ${namespace}/${name}`)
  })
  /** The changes since the last call. */
  const take = (): readonly string[] => changes.splice(0)
  return { index, take }
}

describe('the index of references', () => {
  test('finds the referrers of each object, by kind, namespace and name (19.5)', () => {
    const { index } = recordingIndex()
    index.set(web, [secret('a'), secret('a', 'other')])
    index.set(api, [secret('a')])
    index.set(webService, [{ ...secret('a'), kind: 'ConfigMap' }])
    expect(index.referrersOf('Secret', 'shop/a')).toEqual([web, api])
    expect(index.referrersOf('Secret', 'other/a')).toEqual([web])
    expect(index.referrersOf('ConfigMap', 'shop/a')).toEqual([webService])
    expect(index.referrersOf('Secret', 'shop/b')).toEqual([])
    expect(index.isReferenced('Secret', 'shop/a')).toBe(true)
    expect(index.isReferenced('ConfigMap', 'other/a')).toBe(false)
  })

  test('reports an object with its first referrer, and without its last one (19.5)', () => {
    const { index, take } = recordingIndex()
    index.set(web, [secret('a'), secret('b')])
    expect(take()).toEqual(['+Secret shop/a', '+Secret shop/b'])
    index.set(api, [secret('a')])
    expect(take()).toEqual([])
    index.remove(web)
    expect(take()).toEqual(['-Secret shop/b'])
    expect(index.referrersOf('Secret', 'shop/a')).toEqual([api])
    index.remove(api)
    expect(take()).toEqual(['-Secret shop/a'])
    expect(index.referrersOf('Secret', 'shop/a')).toEqual([])
  })

  test('replaces what a referrer names, and reports only what changes (19.5)', () => {
    const { index, take } = recordingIndex()
    index.set(web, [secret('a'), secret('b')])
    take()
    index.set(web, [secret('c'), secret('b'), secret('b')])
    expect(take()).toEqual(['-Secret shop/a', '+Secret shop/c'])
    index.set(web, [secret('b'), secret('c')])
    expect(take()).toEqual([])
    expect(index.referrersOf('Secret', 'shop/b')).toEqual([web])
  })

  test('a referrer of another kind with the same key is another one (19.5)', () => {
    const { index, take } = recordingIndex()
    index.set(web, [secret('a')])
    index.set(webService, [secret('a')])
    index.remove(web)
    expect(take()).toEqual(['+Secret shop/a'])
    expect(index.referrersOf('Secret', 'shop/a')).toEqual([webService])
  })

  test('an unknown referrer is removed without a change (19.5)', () => {
    const { index, take } = recordingIndex()
    index.remove(web)
    index.set(web, [])
    expect(take()).toEqual([])
  })

  test('a kind of another group is not the built-in one of its name (19.5)', () => {
    const { index, take } = recordingIndex()
    index.set(web, [{ ...secret('a'), apiVersion: 'example.com/v1' }])
    expect(take()).toEqual([])
    expect(index.isReferenced('Secret', 'shop/a')).toBe(false)
    index.set(api, [secret('a')])
    expect(index.referrersOf('Secret', 'shop/a')).toEqual([api])
  })

  test('every listener gets every change, though the first one throws (19.5)', () => {
    const index = new ReferenceIndex()
    const names: string[] = []
    index.subscribe(() => {
      throw new Error('the first')
    })
    index.subscribe(({ target }) => names.push(target.name))
    expect(() => index.set(web, [secret('a'), secret('b')])).toThrow('the first')
    expect(names).toEqual(['a', 'b'])
  })

  test('names of prototypes are names (19.5)', () => {
    const { index, take } = recordingIndex()
    index.set({ kind: 'Endpoints', key: '__proto__' }, [secret('constructor', '__proto__')])
    expect(take()).toEqual(['+Secret __proto__/constructor'])
    expect(index.isReferenced('Secret', 'shop/constructor')).toBe(false)
  })
})
