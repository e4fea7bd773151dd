// Text whose runs of white space are one space each: patterns over longer runs would take long to fail.
const NAME = '[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?'
const VALUE = `(?:${NAME})?`
const KEY = `(?:([-a-z0-9.]{1,253})/)?${NAME}`
const OPERATION = [
  ` ?(?:==|=|!=) ?${VALUE}`,
  ' ?[<>] ?\\d{1,18}',
  ` (?:in|notin) ?\\( ?${VALUE} ?(?:, ?${VALUE} ?)*\\)`,
].join('|')
const REQUIREMENT = ` ?(?:! ?${KEY}|${KEY}(?:${OPERATION})?) ?(,|$)`
const SUBDOMAIN = /^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*$/

/**
 * Whether the text is a label selector to the API server. One with a NUL is none here: the API server reads
 * to there.
 */
export function isLabelSelector(text: string): boolean {
  const tidy = text.replace(/[ \t\r\n]+/g, ' ')
  if (/^ ?$/.test(tidy)) return true
  const requirement = new RegExp(REQUIREMENT, 'y')
  for (;;) {
    const [, absent, present, end] = requirement.exec(tidy) ?? []
    const prefix = absent ?? present
    if (end === undefined || (prefix !== undefined && !SUBDOMAIN.test(prefix))) return false
    if (end === '') return true
  }
}
