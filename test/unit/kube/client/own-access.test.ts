import { expect, onTestFinished, test } from 'vitest'
import { SECRETS } from '../../../../src/api/names.ts'
import { connect } from '../../../../src/kube/client/connection.ts'
import { isAllowed } from '../../../../src/kube/client/own-access.ts'
import { manualClock } from '../../../support/manual-clock.ts'
import {
  type Answer,
  answersInTurn,
  json,
  refuse,
  startScriptedServer,
  writeKubeconfig,
} from '../informer/scripted-server.ts'

const QUESTION = { verb: 'watch', resource: SECRETS, namespace: 'platform-sign-in', name: 's' }

async function ask(answer: Answer) {
  const server = await startScriptedServer(answersInTurn(answer))
  const clock = manualClock(0)
  const paths = [await writeKubeconfig({ server: server.url })]
  const connection = await connect({ kind: 'files', paths }, clock)
  onTestFinished(() => connection.close())
  const deps = {
    connection,
    clock,
    observer: { responded: () => undefined, wrote: () => undefined },
    userAgent: 'tester/1',
    fieldManager: 'tester',
    mayWrite: () => undefined,
  }
  return { server, answer: isAllowed(deps, QUESTION, new AbortController().signal) }
}

test('a question names verb, kind, namespace and name, and is no request for the object (6.8)', async () => {
  const { server, answer } = await ask(json(201, { status: { allowed: true } }))
  expect(await answer).toBe(true)
  expect(server.received).toMatchObject([
    { method: 'POST', path: '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews' },
  ])
  expect(JSON.parse(server.received[0]?.body ?? '')).toMatchObject({
    kind: 'SelfSubjectAccessReview',
    spec: {
      resourceAttributes: {
        verb: 'watch',
        group: '',
        version: 'v1',
        resource: 'secrets',
        namespace: 'platform-sign-in',
        name: 's',
      },
    },
  })
})

test.each([
  { name: 'a no', status: { allowed: false } },
  { name: 'a no that is also denied', status: { allowed: false, denied: true } },
  { name: 'an answer of another form', status: { allowed: 'true' } },
  { name: 'an answer without status', status: undefined },
])('$name allows nothing', async ({ status }) => {
  expect(await (await ask(json(201, { status }))).answer).toBe(false)
})

test('a refusal is an error', async () => {
  const { answer } = await ask(refuse(403, { reason: 'Forbidden' }))
  await expect(answer).rejects.toMatchObject({ code: 403 })
})
