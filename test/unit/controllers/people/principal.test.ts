import { describe, expect, test } from 'vitest'
import { userController } from '../../../../src/controllers/user/setup.ts'
import { statusEntry, textAfter } from '../../../support/key-builder.ts'
import { userObject } from '../../../support/object-builder.ts'

const READY = {
  type: 'Ready',
  status: 'True',
  reason: 'Active',
  message: 'Keys of user ada may work.',
  observedGeneration: 1,
  lastTransitionTime: textAfter(0),
} as const

/** What the controller of Users has published in a status that these fields of ours and of others make up. */
function publishedIn(ours: object, others: object = {}) {
  const store = userController.watches.users.createStore()
  store.put(
    userObject({
      metadata: { managedFields: [statusEntry(ours)] },
      status: { ...ours, ...others },
    }),
  )
  return store.get('ada')?.published
}

describe('the published status of a User (24.1)', () => {
  test('has the fields of our field manager', () => {
    const ours = { username: 'ada', observedGeneration: 1, conditions: [READY] }
    const others = { lastSignIn: textAfter(0), groups: [{ connector: 'oidc', name: 'dev' }] }
    expect(publishedIn(ours, others)).toEqual({
      nameInForce: 'ada',
      observedGeneration: 1,
      conditions: [READY],
    })
  })

  test('lacks fields that another client wrote', () => {
    const foreign = { username: 'ada', observedGeneration: 1, conditions: [READY] }
    expect(publishedIn({}, foreign)).toEqual({
      nameInForce: undefined,
      observedGeneration: undefined,
      conditions: [],
    })
  })

  test('lacks the default of the API server (4.3)', () => {
    expect(publishedIn({}, { observedGeneration: -1 })?.observedGeneration).toBeUndefined()
  })
})
