import { describe, expect, test } from 'vitest'
import { quantity, quantityAmount } from '../../../../../src/domain/settings/formats.ts'

// What resource.ParseQuantity of k8s.io/apimachinery 0.36 makes of each, printed by AsApproximateFloat64.
// biome-ignore format: a table
const TAKEN: readonly (readonly [string, number])[] = [
  ['1', 1], ['+1', 1], ['5.', 5], ['.5', 0.5], ['500m', 0.5], ['1n', 1e-9], ['2u', 2e-6], ['3k', 3000], ['1E', 1e18],
  ['1Ki', 1024], ['1.Ki', 1024], ['1.5Gi', 1_610_612_736], ['.5Ei', 2 ** 59], ['1E5', 100_000], ['1e+5', 100_000],
  ['1e-5', 1e-5], ['1e0005', 100_000], ['1e1000', Infinity], ['1e99999', Infinity], ['0e5', 0],
  // A number that is left out is 0, as is one below 0 that is 0.
  ['Ki', 0], ['Mi', 0], ['Gi', 0], ['Ti', 0], ['E', 0], ['P', 0], ['T', 0], ['G', 0], ['M', 0], ['k', 0], ['m', 0], ['u', 0],
  ['n', 0], ['e3', 0], ['E3', 0], ['E+1', 0], ['.', 0], ['+', 0], ['+.', 0], ['+Ki', 0], ['-Ki', 0], ['.Ki', 0], ['.e3', 0],
  ['-e3', 0], ['-', 0], ['-0', 0], ['00', 0], ['000Ki', 0], ['0Pi', 0], ['-0Pi', 0],
]

const REFUSED = [
  '',
  '1e',
  'e',
  '1e+',
  'Pi',
  'Ei',
  '.Ei',
  '+Pi',
  '1ki',
  '1K',
  '1KiB',
  '1EE',
  '1Ei5',
  '1E5i',
  '1m1',
  '1.-1',
].concat(['+-1', '1 ', ' 1', '1_0', '0x1', '1,5', 'one', '20 GB', '1\n', '१'])

describe('quantities are parsed like in Kubernetes (6.5)', () => {
  test.each(TAKEN)('%s is %d', (text, amount) => {
    expect(quantityAmount(text)).toBeCloseTo(amount, 12)
    expect(quantity(text)).toBeNull()
  })

  test.each(REFUSED)('%j is no quantity', (text) => {
    expect(quantityAmount(text)).toBeNull()
    expect(quantity(text)).not.toBeNull()
  })

  test.each(['-1', '-1Ki', '-.5', '-1e-5'])('%s is below 0', (text) => {
    expect(quantityAmount(text)).toBeNull()
  })

  test('a huge exponent, which takes apimachinery minutes, is rejected', () => {
    expect(['1e2147483648', '1e-100000', '1e99999999999'].map(quantityAmount)).toEqual([
      null,
      null,
      null,
    ])
  })
})
