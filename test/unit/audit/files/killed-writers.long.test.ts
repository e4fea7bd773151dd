import { expect, test } from 'vitest'
import { randomFrom } from '../../../support/random.ts'
import { faultsOf, killWriters } from './killed-writers.ts'

const ROUNDS = 300

test('every line that was answered for is on record once, after three hundred kills amid rotations (22.1, 22.2)', {
  timeout: 600_000,
  tags: ['no-retry'],
}, async () => {
  expect(faultsOf(await killWriters(ROUNDS, randomFrom(2)), ROUNDS)).toEqual([])
})
