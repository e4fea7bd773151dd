/** What was read from bytes; else in words why it is refused, for whoever sent it. */
export type Reading<Value> =
  | { readonly ok: true; readonly value: Value }
  | { readonly ok: false; readonly because: string }

/** It was read. */
export const read = <Value>(value: Value): Reading<Value> => ({ ok: true, value })

/** It is refused; the reason says what would be right. */
export const refused = (because: string): Reading<never> => ({ ok: false, because })
