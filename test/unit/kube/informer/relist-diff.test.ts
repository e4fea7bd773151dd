// What a store lacks of a list (threats F5).
import { describe, expect, test } from 'vitest'
import { createListComparison } from '../../../../src/kube/informer/relist-diff.ts'

const object = (name: string, resourceVersion: string, uid = `uid-of-${name}`) => ({
  name,
  uid,
  resourceVersion,
})
type Objects = readonly ReturnType<typeof object>[]

/** The results of comparisons one after the other. */
const compared = (...rounds: readonly { readonly stored: Objects; readonly listed: Objects }[]) => {
  const compare = createListComparison()
  return rounds.map(({ stored, listed }) => compare(stored, listed))
}

describe('a store is complete that has (7.4)', () => {
  test.each([
    { name: 'nothing, as the list', stored: [], listed: [] },
    { name: 'the same', stored: [object('a', '9')], listed: [object('a', '9')] },
    { name: 'a newer version', stored: [object('a', '10')], listed: [object('a', '9')] },
  ])('$name', ({ stored, listed }) => {
    const round = { stored, listed }
    expect(compared(round, round)).toEqual(['complete', 'complete'])
  })
})

describe('a store is behind, and at the next comparison its watch is broken, that has (7.4)', () => {
  test.each([
    { name: 'an older version', stored: [object('a', '9')], listed: [object('a', '10')] },
    { name: 'not such an object', stored: [], listed: [object('a', '9')] },
    {
      name: 'one that is deleted',
      stored: [object('a', '9'), object('b', '8')],
      listed: [object('b', '8')],
    },
    {
      name: 'one that was created anew',
      stored: [object('a', '9', 'old')],
      listed: [object('a', '12', 'new')],
    },
  ])('$name', ({ stored, listed }) => {
    const round = { stored, listed }
    expect(compared(round, round, round)).toEqual(['behind', 'broken', 'behind'])
    expect(compared(round, { stored: listed, listed }, round)).toEqual([
      'behind',
      'complete',
      'behind',
    ])
  })
})

describe('one object that changes all the time (7.4)', () => {
  const seconds = [1, 2, 3, 4]
  test('is missed twice behind a watch that is broken, whichever versions the lists have', () => {
    const stored = [object('busy', '10'), object('calm', '5')]
    const rounds = seconds.map((second) => ({
      stored,
      listed: [object('busy', `${10 + 50 * second}`), object('calm', '5')],
    }))
    expect(compared(...rounds)).toEqual(['behind', 'broken', 'behind', 'broken'])
  })

  test('is missed twice also where it is deleted and created again each time', () => {
    const stored = [object('busy', '10')]
    const rounds = seconds.map((second) => ({
      stored,
      listed: [object('busy', `${10 + 50 * second}`, `uid ${second}`)],
    }))
    expect(compared(...rounds)).toEqual(['behind', 'broken', 'behind', 'broken'])
  })

  test('is never missed twice behind a watch that delivers, a moment late each time', () => {
    const rounds = seconds.map((second) => ({
      stored: [object('busy', `${9 + 50 * second}`)],
      listed: [object('busy', `${10 + 50 * second}`)],
    }))
    expect(compared(...rounds)).toEqual(['behind', 'behind', 'behind', 'behind'])
  })

  test('is never missed twice either where it is deleted and created again each time', () => {
    const rounds = seconds.map((second) => ({
      stored: second % 2 === 0 ? [] : [object('busy', `${10 + 50 * second}`, `uid ${second}`)],
      listed: [object('busy', `${11 + 50 * second}`, `uid ${second} again`)],
    }))
    expect(compared(...rounds)).toEqual(['behind', 'behind', 'behind', 'behind'])
  })
})
