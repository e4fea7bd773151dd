import { expect, test } from 'vitest'
import { randomFrom } from '../../../support/random.ts'
import { faultsOf, killWriters } from './killed-writers.ts'

const ROUNDS = 10

test('every line that was answered for is on record once, after ten kills amid rotations (22.1, 22.2)', async () => {
  expect(faultsOf(await killWriters(ROUNDS, randomFrom(1)), ROUNDS)).toEqual([])
})
