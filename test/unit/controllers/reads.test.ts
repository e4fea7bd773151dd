// The controllers that decide by people and teams: none acts before both are known. Else it would call a key of a disabled
// user Active, or revoke a token for good because of a team that it has not read yet (24.2, 24.5).
import { expect, test } from 'vitest'
import { tokenController } from '../../../src/controllers/directclusterendpointtoken/setup.ts'
import { keyController } from '../../../src/controllers/ownedaccesskey/setup.ts'
import { teamController } from '../../../src/controllers/team/setup.ts'
import { userController } from '../../../src/controllers/user/setup.ts'
import { peopleIn } from '../../../src/people/people-index.ts'
import { manualClock } from '../../support/manual-clock.ts'
import { memoryLog } from '../../support/memory-log.ts'
import { keyStore, tokenStore } from '../../support/token-builder.ts'

const stores = {
  keys: keyStore(),
  tokens: tokenStore(),
  configMaps: {},
  signingSecrets: {},
  users: userController.watches.users.createStore(),
  teams: teamController.watches.teams.createStore(),
}
const setup = {
  settings: { configName: 'config', workers: 16, expiredRetentionMs: 0, tokenMaxTtlMs: 0 },
  stores,
  people: peopleIn(stores),
  clock: manualClock(0),
  log: memoryLog().log,
  metrics: {},
}

test.each([keyController, tokenController, userController])(
  'the controller $name reads people and teams before it acts',
  ({ setUp }) => {
    const { reads } = setUp(setup as never)
    for (const store of [stores.keys, stores.users, stores.teams]) expect(reads).toContain(store)
  },
)

test('the controller team reads teams and keys before it acts', () => {
  const { reads } = teamController.setUp(setup as never)
  for (const store of [stores.keys, stores.teams]) expect(reads).toContain(store)
})
