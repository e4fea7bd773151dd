// What a store lacks of a list (threats F5).
import { expect, test } from 'vitest'
import { missedVersions } from '../../../../src/kube/informer/list-comparison.ts'

const object = (name: string, resourceVersion: string, uid = `uid-of-${name}`) => ({
  name,
  uid,
  resourceVersion,
})

test.each([
  { name: 'nothing', stored: [], listed: [], missed: [] },
  { name: 'the same', stored: [object('a', '9')], listed: [object('a', '9')], missed: [] },
  { name: 'a newer version', stored: [object('a', '10')], listed: [object('a', '9')], missed: [] },
  {
    name: 'an older one',
    stored: [object('a', '9')],
    listed: [object('a', '10')],
    missed: ['a 10'],
  },
  { name: 'no such object', stored: [], listed: [object('a', '9')], missed: ['a 9'] },
  {
    name: 'one that is deleted',
    stored: [object('a', '9'), object('b', '8')],
    listed: [object('b', '8')],
    missed: ['a uid-of-a'],
  },
  {
    name: 'one that was created anew',
    stored: [object('a', '9', 'old')],
    listed: [object('a', '12', 'new')],
    missed: ['a 12'],
  },
])('a store that has $name lacks $missed (7.4)', ({ stored, listed, missed }) => {
  expect([...missedVersions(stored, listed)]).toEqual(missed)
})
