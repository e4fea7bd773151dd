// The requests of the reconciler at the end of a token object (contract 5.1, 5.2, 5.3).
import { describe, expect, test } from 'vitest'
import type { DirectClusterEndpointToken } from '../../../../src/api/directclusterendpointtoken.gen.ts'
import { REVOKE_FINALIZER, TOKENS } from '../../../../src/api/names.ts'
import { plan } from '../../../../src/controllers/directclusterendpointtoken/plan.ts'
import { reconcile } from '../../../../src/controllers/directclusterendpointtoken/reconcile.ts'
import { tokenOf } from '../../../../src/domain/token/token.ts'
import { after, textAfter } from '../../../support/key-builder.ts'
import {
  UNDER_CI,
  issuedObject,
  owner,
  tokenAfter,
  tokenCircumstances,
  tokenObject,
  withMetadata,
} from '../../../support/token-builder.ts'
import { contextIn } from '../../../support/reconcile-context.ts'
import { reconcileToken, tokenControllerDeps } from './token-reconcile.ts'

const done = { result: 'done' }

const underCi = () => issuedObject({ metadata: UNDER_CI, spec: { ttl: 600 } }, { owner: owner() })
const deleting = (object: DirectClusterEndpointToken) =>
  withMetadata(object, { deletionTimestamp: textAfter(60) })

describe('delete and release', () => {
  const ended = () => {
    const object = underCi()
    return (
      tokenAfter(object, plan(tokenOf(object), tokenCircumstances({ nowMs: after(600) }))) ?? object
    )
  }
  const now = 600 + 86_400

  test('delete carries uid and resourceVersion (5.2, 5.3)', async () => {
    const answer = withMetadata(deleting(ended()), { resourceVersion: '2' })
    const { asked, tokens, lines, outcome } = await reconcileToken({
      object: ended(),
      now,
      answers: { delete: () => Promise.resolve(answer) },
    })
    const body = { uid: 'uid-deploy', resourceVersion: '1' }
    expect(asked).toEqual([
      { verb: 'delete', kind: TOKENS.kind, name: 'deploy', reason: 'expired', body },
    ])
    expect([outcome, lines.map(({ sentence }) => sentence)]).toEqual([
      done,
      ['ended token deleted'],
    ])
    expect(tokens.get('deploy')?.isDeleting).toBe(true)
  })

  test('release removes only our finalizer (5.1)', async () => {
    const finalizers = ['a/b', REVOKE_FINALIZER]
    const object = withMetadata(deleting(tokenObject()), { finalizers })
    const terminating = tokenAfter(
      object,
      plan(tokenOf(object), tokenCircumstances({ nowMs: after(60) })),
    )
    const left = withMetadata(object, { finalizers: ['a/b'], resourceVersion: '2' })
    const { asked, tokens, lines } = await reconcileToken({
      object: terminating,
      answers: { patch: () => Promise.resolve(left as never) },
    })
    expect(asked).toEqual([
      {
        verb: 'patch',
        kind: TOKENS.kind,
        name: 'deploy',
        reason: 'finalizer',
        body: [
          { op: 'test', path: '/metadata/uid', value: 'uid-deploy' },
          { op: 'test', path: '/metadata/finalizers/1', value: REVOKE_FINALIZER },
          { op: 'remove', path: '/metadata/finalizers/1' },
        ],
      },
    ])
    expect(tokens.get('deploy')?.finalizers).toEqual(['a/b'])
    expect(lines).toMatchObject([{ sentence: 'token released' }])
  })

  test.each([
    { name: 'delete', object: ended(), sentence: 'ended token deleted' },
    {
      name: 'release',
      object: withMetadata(deleting(tokenObject()), { finalizers: [REVOKE_FINALIZER] }),
      sentence: 'token released',
    },
  ])(
    'the line of a $name names the token that it began with, although the store has another one by then',
    async ({ object, sentence }) => {
      let inStore = tokenOf(object)
      const replaced = () => {
        inStore = tokenOf(withMetadata(object, { uid: 'uid-another' }))
        return Promise.resolve(withMetadata(object, { resourceVersion: '2' }) as never)
      }
      const answers = { delete: replaced, patch: replaced }
      const { deps, context, lines } = tokenControllerDeps({ object, now, answers })
      const inLoop = contextIn({ name: 'tokens', objectOf: () => inStore }, 'deploy', context.log)
      await reconcile('deploy', deps, inLoop)
      expect(lines).toMatchObject([{ sentence, fields: { object: { uid: 'uid-deploy' } } }])
    },
  )

  test('an object that was deleted meanwhile is not logged', async () => {
    expect((await reconcileToken({ object: ended(), now })).lines).toEqual([])
    expect((await reconcileToken({ object: deleting(tokenObject()) })).lines).toEqual([])
  })
})
