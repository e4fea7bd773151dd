// Where a sign-in leads (contract 25.2): to a page of the platform's own, never another site, or to a terminal.
import { HttpFault } from '../http/request.ts'
import { type Terminal, terminalOf, terminalParameters } from './terminal.ts'

/** Where a sign-in leads. */
export interface Destination {
  /** Path of a page; null = the page that shows the person. */
  readonly next: string | null
  /** The terminal that the key is for; null = it is for this browser. */
  readonly terminal: Terminal | null
}

/** The page that shows the person. */
export const NOWHERE: Destination = { next: null, terminal: null }

/** The destination in the parameters of a page or a form. @throws HttpFault 400 for a malformed terminal */
export function destinationOf(parameters: URLSearchParams): Destination {
  const terminal = terminalOf(parameters)
  if (typeof terminal === 'string') throw new HttpFault(400, terminal)
  return { next: nextPath(parameters.get('next')), terminal }
}

/** The parameters that carry the destination from page to page. */
export function parametersOf({ next, terminal }: Destination): URLSearchParams {
  const parameters = terminal === null ? new URLSearchParams() : terminalParameters(terminal)
  if (next !== null) parameters.set('next', next)
  return parameters
}

/** The path of the page with the ways to sign in, for this destination. */
export function loginPath(destination: Destination): string {
  const query = parametersOf(destination).toString()
  return query === '' ? '/login' : `/login?${query}`
}

const LONGEST = 512
const VISIBLE = /^[!-~]*$/
/** The platform's own pages: none begins with two slashes, or with a backslash behind the first. */
const OWN_PAGES =
  /^(?:\/login|\/auth\/[A-Za-z0-9._~-]+\/[A-Za-z0-9._~-]+|\/oidc\/apps(?:\/[A-Za-z0-9._~-]+)+)$/

/** The path of the parameter `next`; null = it is absent, or leads to no page of the platform. */
function nextPath(next: string | null): string | null {
  if (next === null || next.length > LONGEST || !VISIBLE.test(next)) return null
  const path = /^[^?#]*/.exec(next)?.[0] ?? ''
  const hasDots = path.split('/').some((segment) => segment === '.' || segment === '..')
  return OWN_PAGES.test(path) && !hasDots ? next : null
}
