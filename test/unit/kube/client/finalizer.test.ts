import { describe, expect, test } from 'vitest'
import { removeFinalizer, withoutFinalizer } from '../../../../src/kube/client/finalizer.ts'
import {
  type Answer,
  THINGS,
  connectTo,
  json,
  refuse,
  startScriptedServer,
  thing,
  writeKubeconfig,
} from '../informer/scripted-server.ts'

const OURS = 'g.io/ours'
const seen = (...finalizers: readonly string[]) => ({ name: 'a', uid: 'a-uid', finalizers })

test.each([
  { name: 'alone', finalizers: [OURS], at: 0 },
  { name: 'behind others', finalizers: ['x', 'y', OURS], at: 2 },
  { name: 'before others', finalizers: [OURS, 'x'], at: 0 },
])('withoutFinalizer removes our finalizer and no other: $name', ({ finalizers, at }) => {
  expect(withoutFinalizer(seen(...finalizers), OURS)).toEqual([
    { op: 'test', path: '/metadata/uid', value: 'a-uid' },
    { op: 'test', path: `/metadata/finalizers/${at}`, value: OURS },
    { op: 'remove', path: `/metadata/finalizers/${at}` },
  ])
})

describe('the removal of a finalizer, after the answer', () => {
  const a = thing('a', 6)
  test.each<{ name: string; answer: Answer; outcome: object }>([
    { name: '200: removed', answer: json(200, a), outcome: { result: a } },
    { name: '404: gone already', answer: refuse(404), outcome: { result: null } },
    {
      name: '422 of a failed test: the cache was stale',
      answer: refuse(422, { reason: 'Invalid' }),
      outcome: { error: { name: 'StatusError', code: 409, reason: 'Conflict' } },
    },
    {
      name: '422 with a cause: a rule or policy refuses',
      answer: refuse(422, {
        reason: 'Invalid',
        details: { causes: [{ reason: 'FieldValueForbidden', field: 'x' }] },
      }),
      outcome: { error: { name: 'StatusError', code: 422 } },
    },
    { name: '409: the cache was stale', answer: refuse(409), outcome: { error: { code: 409 } } },
    { name: '403: not allowed', answer: refuse(403), outcome: { error: { code: 403 } } },
    { name: '500', answer: refuse(500), outcome: { error: { code: 500 } } },
  ])('$name', async ({ answer, outcome }) => {
    const server = await startScriptedServer(answer)
    const { client } = await connectTo(await writeKubeconfig({ server: server.url }))
    const made = await removeFinalizer(client, THINGS, seen('x', OURS), OURS).then(
      (result) => ({ result }),
      (error: unknown) => ({ error }),
    )
    expect(made).toMatchObject(outcome)
    const [request] = server.received
    expect(`${request?.method} ${request?.path}`).toBe('PATCH /apis/g.io/v1/things/a')
    expect(JSON.parse(request?.body ?? '')).toEqual(withoutFinalizer(seen('x', OURS), OURS))
  })
})
