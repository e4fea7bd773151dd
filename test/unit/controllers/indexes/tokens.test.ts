import { expect, test } from 'vitest'
import {
  BY_ISSUED_UNDER,
  BY_OWNER,
  BY_UID,
  tokenEndMs,
} from '../../../../src/controllers/indexes/tokens.ts'
import {
  EventLoopShare,
  forEachYieldingByTime,
} from '../../../../src/runtime/concurrency/event-loop.ts'
import { manualClock } from '../../../support/manual-clock.ts'
import {
  issuedObject,
  owner,
  referenceTo,
  tokenObject,
  tokenStore,
} from '../../../support/token-builder.ts'

const named = (name: string, key?: string) => ({
  name,
  uid: `uid-${name}`,
  ...(key === undefined
    ? {}
    : { ownerReferences: [referenceTo({ name: key, uid: `uid-${key}` })] }),
})

test('the order of tokens: those without an end first, then by earliest end (2.7)', async () => {
  const out = (name: string, ttl: number) => issuedObject({ metadata: named(name), spec: { ttl } })
  const waiting = tokenObject({ metadata: named('waits') })
  const store = tokenStore(
    out('b', 60),
    out('d', 600),
    waiting,
    out('a', 59),
    out('c', 60),
    out('e', 3600),
  )
  const names: string[] = []
  const eventLoop = new EventLoopShare(manualClock(0))
  await forEachYieldingByTime(eventLoop, store.values(), tokenEndMs, ({ name }) => names.push(name))
  expect(names).toEqual(['waits', 'a', 'b', 'c', 'd', 'e'])
})

test('indexes by owner, by the key of issue, and by uid (5.1, 5.4, 7.4)', () => {
  const issued = issuedObject({ metadata: named('out', 'ci') }, { owner: owner() })
  const store = tokenStore(
    tokenObject({ metadata: named('waits', 'ci') }),
    tokenObject({ metadata: named('other', 'cd') }),
    tokenObject({ metadata: named('alone') }),
    issued,
    { ...issued, metadata: { ...issued.metadata, ...named('stripped'), ownerReferences: [] } },
  )
  const names = (index: string, value: string) => store.by(index, value).map(({ name }) => name)
  expect(names(BY_OWNER, 'uid-ci')).toEqual(['waits', 'out'])
  expect(names(BY_ISSUED_UNDER, 'uid-ci')).toEqual(['out', 'stripped'])
  expect(names(BY_UID, 'uid-other')).toEqual(['other'])
})
