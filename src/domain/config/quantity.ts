// Kubernetes quantities, as far as comparing two of them needs.

const QUANTITY = /^\+?(\d+(?:\.\d*)?|\.\d+)(Ki|Mi|Gi|Ti|Pi|Ei|n|u|m|k|M|G|T|P|E|[eE][+-]?\d{1,3})?$/

const FACTORS: ReadonlyMap<string, number> = new Map([
  ...['Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'].map((unit, at) => [unit, 1024 ** (at + 1)] as const),
  ...['n', 'u', 'm', '', 'k', 'M', 'G', 'T', 'P', 'E'].map(
    (unit, at) => [unit, 1000 ** (at - 3)] as const,
  ),
])

/** Whether the text is a quantity of 0 or more, such as `500m` or `20Gi`. */
export const isQuantity = (text: string): boolean => QUANTITY.test(text)

/** The amount, near enough to compare; null when it is no quantity. */
export function amountOf(quantity: number | string): number | null {
  const [, digits, unit = ''] = QUANTITY.exec(String(quantity)) ?? []
  if (digits === undefined) return null
  const factor = FACTORS.get(unit)
  return factor === undefined ? Number(digits + unit) : Number(digits) * factor
}
