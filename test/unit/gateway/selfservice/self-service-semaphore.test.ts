// Requests of the gateway under its own account are bounded: to the API server it is one user (12.2, 13.3).
import { Readable } from 'node:stream'
import { setImmediate as turn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { ACCESS_KEYS } from '../../../../src/api/names.ts'
import type { SelfServiceRequest } from '../../../../src/gateway/selfservice/request.ts'
import { SELF_SERVICE, sendAndRead } from '../../../../src/gateway/selfservice/upstream-client.ts'
import { type UpstreamAnswer, UpstreamUnavailable } from '../../../../src/kube/proxy/types.ts'
import { exchangeOf } from './self-service-request.ts'

/** An API server whose responses the test releases. */
function held() {
  const waiting: ((answer: UpstreamAnswer | Error) => void)[] = []
  const upstream: SelfServiceRequest['upstream'] = {
    send: () =>
      new Promise((resolve, reject) => {
        waiting.push((answer) => (answer instanceof Error ? reject(answer) : resolve(answer)))
      }),
  }
  const answerOne = (answer: UpstreamAnswer | Error): void => waiting.shift()?.(answer)
  return { upstream, waiting, answerOne }
}

const found = (): UpstreamAnswer => ({
  status: 200,
  headers: {},
  body: Readable.from([Buffer.from('{"kind":"OwnedAccessKey"}')]),
})

function asking(upstream: SelfServiceRequest['upstream'], user: string, as: 'gateway' | 'caller') {
  const exchange = exchangeOf({ verb: 'get', name: 'ci', answers: () => [200, {}] })
  const caller = { ...exchange.caller, identity: { user, groups: [] } }
  const question = { method: 'GET', resource: ACCESS_KEYS, name: 'ci', query: [] } as const
  const whole = { ...exchange, caller, upstream }
  return sendAndRead(whole, { ...question, as: as === 'gateway' ? as : { caller } }).catch(
    (error: Error) => error.name,
  )
}

test('the semaphore admits some requests of one caller at a time; the next wait, those of other callers do not (13.3)', async () => {
  const { upstream, waiting, answerOne } = held()
  const all = Array.from({ length: SELF_SERVICE.ofOne + 2 }, () =>
    asking(upstream, 'ada', 'gateway'),
  )
  await turn()
  expect(waiting).toHaveLength(SELF_SERVICE.ofOne)
  all.push(asking(upstream, 'bob', 'gateway'), asking(upstream, 'ada', 'caller'))
  await turn()
  expect(waiting).toHaveLength(SELF_SERVICE.ofOne + 2)
  answerOne(found())
  answerOne(new UpstreamUnavailable('unprocessed', 'gone'))
  for (let at = 0; at < 5; at += 1) await turn()
  expect(waiting, 'whatever came of two, two more go').toHaveLength(SELF_SERVICE.ofOne + 2)
  while (waiting.length > 0) {
    answerOne(found())
    for (let at = 0; at < 5; at += 1) await turn()
  }
  const answers = await Promise.all(all)
  expect(answers.filter((answer) => answer === 'UpstreamUnavailable')).toHaveLength(1)
})

test('the semaphore has a limit for all callers together (13.3)', async () => {
  const { upstream, waiting, answerOne } = held()
  const all = Array.from({ length: SELF_SERVICE.inAll + 5 }, (_, at) =>
    asking(upstream, `user-${at}`, 'gateway'),
  )
  await turn()
  expect(waiting).toHaveLength(SELF_SERVICE.inAll)
  for (let left = all.length; left > 0; left -= 1) {
    answerOne(found())
    for (let at = 0; at < 5; at += 1) await turn()
  }
  await Promise.all(all)
})
