// Kubernetes quantities, as far as comparing two of them needs.

/**
 * What resource.ParseQuantity of apimachinery takes, a number that is left out and stands for 0 included. Of an
 * exponent it reads any number of digits, and computes for minutes on ten of them: five are all that is taken.
 */
const QUANTITY =
  /^([+-]?)(\d*)(?:\.(\d*))?(Ki|Mi|Gi|Ti|Pi|Ei|n|u|m|k|M|G|T|P|E|[eE][+-]?0*\d{1,5})?$/

/** Units before which a number can't be left out: the library finds no digits to multiply. */
const NEVER_ALONE: ReadonlySet<string> = new Set(['Pi', 'Ei'])

const FACTORS: ReadonlyMap<string, number> = new Map([
  ...['Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'].map((unit, at) => [unit, 1024 ** (at + 1)] as const),
  ...['n', 'u', 'm', '', 'k', 'M', 'G', 'T', 'P', 'E'].map(
    (unit, at) => [unit, 1000 ** (at - 3)] as const,
  ),
])

/** Whether the text is a quantity of 0 or more, such as `500m` or `20Gi`. */
export const isQuantity = (text: string): boolean => amountOf(text) !== null

/** The amount, near enough to compare; null when it is no quantity, or below 0. */
export function amountOf(quantity: number | string): number | null {
  const text = String(quantity)
  const found = text === '' ? null : QUANTITY.exec(text)
  if (!found) return null
  const [, sign, whole = '', fraction = '', unit = ''] = found
  if (whole + fraction === '' && NEVER_ALONE.has(unit)) return null
  if (sign === '-' && /[1-9]/.test(whole + fraction)) return null
  const digits = `${whole || '0'}.${fraction || '0'}`
  const factor = FACTORS.get(unit)
  return factor === undefined ? Number(digits + unit) : Number(digits) * factor
}
