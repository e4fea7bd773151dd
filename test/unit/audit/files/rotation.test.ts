import { expect, test } from 'vitest'
import { nextPortion } from '../../../../src/audit/files/rotation.ts'

const MAX = 100

// biome-ignore format: a table
test.each([
  { name: 'all fit into an empty file', lines: [10, 20], fileBytes: 0, isRotated: false, count: 2 },
  { name: 'a file may be filled to the last byte', lines: [40, 60], fileBytes: 0, isRotated: false, count: 2 },
  { name: 'one byte more is for the next file', lines: [40, 61], fileBytes: 0, isRotated: false, count: 1 },
  { name: 'a present file is filled', lines: [10, 10, 10], fileBytes: 80, isRotated: false, count: 2 },
  { name: 'a first line that does not fit rotates', lines: [21, 10], fileBytes: 80, isRotated: true, count: 2 },
  { name: 'after a rotation the new file is filled', lines: [60, 40, 1], fileBytes: 100, isRotated: true, count: 2 },
  { name: 'a longer line has an empty file of its own', lines: [500, 1], fileBytes: 0, isRotated: false, count: 1 },
  { name: 'a longer line leaves a file with lines', lines: [500, 1], fileBytes: 1, isRotated: true, count: 1 },
  { name: 'a line after a longer one leaves its file', lines: [1], fileBytes: 500, isRotated: true, count: 1 },
  { name: 'no line at all', lines: [], fileBytes: 50, isRotated: false, count: 0 },
])('a file is rotated before a line that would make it too long: $name (22.1)', ({ lines, fileBytes, isRotated, count }) => {
  expect(nextPortion(lines, fileBytes, MAX)).toEqual({ isRotated, count })
})
