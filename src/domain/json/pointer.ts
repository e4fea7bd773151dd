/** Where a value stands in the settings: names of fields and indexes of list entries. */
export type SettingPath = readonly (string | number)[]

const PLAIN_NAME = /^[A-Za-z_][A-Za-z0-9_-]*$/
const LONGEST_NAME = 64

/**
 * The path as people write it, such as `auth.connectors[0].id`; empty for the root.
 *
 * A name that is no identifier is quoted and escaped (a header name may hold line breaks) and cut
 * after 64 characters (the name may be a secret that slipped).
 */
export const pathText = (path: SettingPath): string =>
  path.map((step, at) => stepText(step, at === 0)).join('')

function stepText(step: string | number, first: boolean): string {
  if (typeof step === 'number') return `[${step}]`
  const name = step.length > LONGEST_NAME ? `${step.slice(0, LONGEST_NAME)}…` : step
  if (!PLAIN_NAME.test(name)) return `[${JSON.stringify(name)}]`
  return first ? name : `.${name}`
}

/** The parts of a JSON pointer (RFC 6901). */
export const partsOfPointer = (pointer: string): readonly string[] =>
  pointer
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))

/** The path of a JSON pointer, the form in which schema validators name places. */
export const pathOfPointer = (pointer: string): SettingPath =>
  partsOfPointer(pointer).map((step) => (/^\d+$/.test(step) ? Number(step) : step))

/** Whether a path's text is that of `outer` or of a place inside it. */
export const isWithin = (inner: string, outer: string): boolean =>
  inner.startsWith(outer) && /^([.[]|$)/.test(outer === '' ? '' : inner.slice(outer.length))
