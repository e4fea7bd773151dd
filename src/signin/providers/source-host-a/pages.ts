// Where the next page of a list is: header `Link` (RFC 8288), as GitHub sends it. Pure.

/** Where the list goes on: nowhere, at a URL, or at an address that must not be asked. */
type NextPage =
  | { readonly kind: 'end' }
  | { readonly kind: 'page'; readonly url: string }
  | { readonly kind: 'elsewhere' }

/** A link, and its parameters up to the next one. */
const LINK = /<([^<>]*)>([^<]*)/g

/** Where the page after this one is. @param link null = the answer has no such header */
export function nextPage(link: string | null, current: string): NextPage {
  for (const [, target = '', parameters = ''] of (link ?? '').matchAll(LINK)) {
    if (!isNext(parameters)) continue
    const url = URL.parse(target, current)
    // The token goes with the request: another server must not get it.
    return url !== null && url.origin === new URL(current).origin
      ? { kind: 'page', url: url.href }
      : { kind: 'elsewhere' }
  }
  return { kind: 'end' }
}

/** Whether the relation is `next`, alone or among others. Splits, as a regular expression could take quadratic time. */
const isNext = (parameters: string): boolean =>
  parameters.split(';').some((parameter) => {
    const [name = '', value = ''] = parameter.split('=', 2)
    if (name.trim().toLowerCase() !== 'rel') return false
    return value.replaceAll(/[",]/g, ' ').toLowerCase().split(' ').includes('next')
  })
