import { describe, expect, test } from 'vitest'
import { answersInTurn, dropConnection, refuse, thing } from './scripted-server.ts'
import {
  EXPIRED_EVENT,
  type RecoveryRow,
  closedWatch,
  listPage,
  modified,
  openWatch,
  outcomeOf,
  startReflector,
  withoutWatchList,
} from './reflector-builder.ts'
describe('a server without WatchList', () => {
  const pages = [listPage(9, [thing('a', 1), thing('b', 2)], 'x'), listPage(9, [thing('c', 3)])]
  test.each<RecoveryRow>([
    {
      name: 'is asked for pages, then for a watch',
      answers: [withoutWatchList, ...pages, openWatch(modified('a', 10))],
      objects: ['a@10', 'b@2', 'c@3'],
      requests: ['stream', 'list', 'list x', 'follow 9'],
      restarts: ['refused'],
    },
    {
      name: 'that answers 400 is asked for pages too',
      answers: [refuse(400, { reason: 'BadRequest' }), ...pages, openWatch()],
      objects: ['a@1', 'b@2', 'c@3'],
      requests: ['stream', 'list', 'list x', 'follow 9'],
      restarts: ['refused'],
    },
    {
      name: 'is not asked for a WatchList stream again',
      answers: [
        withoutWatchList,
        ...pages,
        closedWatch(EXPIRED_EVENT),
        listPage(20, [thing('b', 2)]),
        refuse(404),
        listPage(30, [thing('c', 29)]),
        openWatch(),
      ],
      objects: ['c@29'],
      requests: ['stream', 'list', 'list x', 'follow 9', 'list', 'follow 20', 'list', 'follow 30'],
      restarts: ['refused', 'expired', 'absent'],
    },
    {
      name: 'that breaks the connection between pages is asked for the first page again',
      answers: [
        withoutWatchList,
        listPage(9, [thing('a', 1)], 'x'),
        dropConnection,
        ...pages,
        openWatch(),
      ],
      objects: ['a@1', 'b@2', 'c@3'],
      requests: ['stream', 'list', 'list x', 'list', 'list x', 'follow 9'],
      restarts: ['refused', 'failed'],
    },
    {
      name: 'whose continue token expires is asked for the first page again',
      answers: [
        withoutWatchList,
        listPage(9, [thing('a', 1)], 'x'),
        refuse(410, { reason: 'Expired' }),
        listPage(12, [thing('b', 2)]),
        openWatch(),
      ],
      objects: ['b@2'],
      requests: ['stream', 'list', 'list x', 'list', 'follow 12'],
      restarts: ['refused', 'expired'],
    },
  ])('$name', async (row) => {
    expect(await outcomeOf(row)).toEqual({ restarts: row.restarts, isSynced: true })
  })

  test('is asked for pages of 500', async () => {
    const reflector = await startReflector(answersInTurn(withoutWatchList, ...pages, openWatch()), {
      fieldSelector: 'x=y',
    })
    await reflector.waitUntil('the reflector watches', () =>
      reflector.requests().includes('follow 9'),
    )
    const query = { limit: '500', fieldSelector: 'x=y' }
    expect(reflector.server.received[1]?.query).toEqual(query)
    expect(reflector.server.received[2]?.query).toEqual({ ...query, continue: 'x' })
  })
})
