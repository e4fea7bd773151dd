import { expect, test } from 'vitest'
import { clientEventType, withoutContent } from '../../../../src/gateway/selfservice/watch.ts'
import { key } from './key-objects.ts'

test.each([
  { known: false, type: 'ADDED', isVisible: true, sentAs: 'ADDED', knownThen: true },
  { known: false, type: 'ADDED', isVisible: false, sentAs: null, knownThen: false },
  { known: false, type: 'MODIFIED', isVisible: true, sentAs: 'ADDED', knownThen: true },
  { known: false, type: 'MODIFIED', isVisible: false, sentAs: null, knownThen: false },
  { known: false, type: 'DELETED', isVisible: true, sentAs: null, knownThen: false },
  { known: false, type: 'DELETED', isVisible: false, sentAs: null, knownThen: false },
  { known: true, type: 'ADDED', isVisible: true, sentAs: 'MODIFIED', knownThen: true },
  { known: true, type: 'MODIFIED', isVisible: true, sentAs: 'MODIFIED', knownThen: true },
  { known: true, type: 'MODIFIED', isVisible: false, sentAs: 'DELETED', knownThen: false },
  { known: true, type: 'DELETED', isVisible: true, sentAs: 'DELETED', knownThen: false },
  { known: true, type: 'DELETED', isVisible: false, sentAs: 'DELETED', knownThen: false },
] as const)(
  '$type of an object, visible: $isVisible, known: $known, is sent as $sentAs (12.3, B10)',
  ({ known, type, isVisible, sentAs, knownThen }) => {
    const uids = new Set(known ? ['one', 'other'] : ['other'])
    expect(clientEventType(uids, type, 'one', isVisible)).toBe(sentAs)
    expect([...uids].toSorted()).toEqual(knownThen ? ['one', 'other'] : ['other'])
  },
)

const bare = {
  apiVersion: 'management.platform.sh/v1',
  kind: 'OwnedAccessKey',
  metadata: { name: 'ci', uid: 'uid-ci', creationTimestamp: '2026-11-21T10:00:00Z' },
  spec: {},
}

test('the event of an object that becomes invisible has only its name (12.3)', () => {
  const object = key({ metadata: { labels: { a: 'b' } }, spec: { displayName: 'x', scope: {} } })
  expect(withoutContent(object)).toEqual(bare)
  const row = { cells: ['ci', 'True', null, 'user:ada'], object }
  expect(withoutContent({ kind: 'Table', columnDefinitions: null, rows: [row] })).toEqual({
    kind: 'Table',
    columnDefinitions: null,
    rows: [{ cells: ['ci', null, null, null], object: bare }],
  })
})
